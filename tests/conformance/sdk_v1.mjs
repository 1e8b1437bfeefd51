// @modelcontextprotocol/sdk 1.x, the client most hosts have inside, against procpen.
import { check, load, run, server, textOf, until } from "./client.mjs";

const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
const types = await load("@modelcontextprotocol/sdk/types.js");

const opened = [];

async function connect(capabilities = {}, ...args) {
  const client = new Client({ name: "rig", version: "1" }, { capabilities });
  const problems = (client.problems = []);
  client.onerror = e => problems.push(String(e));
  await client.connect(new StdioClientTransport(server(...args)));
  opened.push(client);
  return client;
}

const runCommand = (client, args, options) =>
  client.callTool({ name: "process_run", arguments: args }, undefined, options);

/** The states of all runs, the newest first. */
const states = async client =>
  (await client.callTool({ name: "process_list", arguments: {} })).structuredContent.processes
    .map(p => p.state);

let c;

await run({
  "connect": async () => {
    c = await connect();
    check(c.getServerVersion().name === "procpen", "another server");
    check(c.getInstructions().length < 2048, "long instructions");
  },
  "ping": () => c.ping(),
  "tools/list": async () => {
    const { tools } = await c.listTools();
    const names = tools.map(t => t.name);
    check(names.includes("process_run") && !names.some(n => n.includes(".")), names.join());
  },
  "call, checked against its output schema": async () => {
    const result = await runCommand(c, { command: "echo out; echo err >&2; exit 3" });
    check(result.structuredContent.exit_code === 3 && !result.isError, JSON.stringify(result));
    check(textOf(result).includes("exit_code: 3"), textOf(result));
  },
  "call by the dotted name": async () => {
    const result = await c.callTool({ name: "process.run", arguments: { command: "true" } });
    check(result.structuredContent.exit_code === 0, JSON.stringify(result));
  },
  "an error the model can read": async () => {
    const result = await runCommand(c, { command: "true", timeuot: 5 });
    check(result.isError && textOf(result).includes("timeout"), JSON.stringify(result));
  },
  "an unknown tool is a protocol error": async () => {
    const error = await c.callTool({ name: "proces_run", arguments: {} }).catch(e => e);
    check(error.code === -32602, String(error));
  },
  "a megabyte of output comes in bounds": async () => {
    const result = await runCommand(c, { command: "yes 0123456789 | head -c 1000000" });
    check(result.structuredContent.stdout_size === 1000000, "size");
    check(textOf(result).length <= 10000, `${textOf(result).length} characters of text`);
  },
  "progress carries the newest line": async () => {
    const seen = [];
    await runCommand(c, { command: "for i in 1 2 3; do echo line $i; sleep 0.4; done" },
      { onprogress: p => seen.push(p) });
    check(seen.some(p => /line [123]/.test(p.message ?? "")), JSON.stringify(seen));
    check(seen.every((p, i) => !i || p.progress > seen[i - 1].progress), "progress falls");
  },
  "cancelling kills the run and nothing is answered": async () => {
    const abort = new AbortController();
    const call = runCommand(c, { command: "sleep 60" }, { signal: abort.signal });
    setTimeout(() => abort.abort("enough"), 200);
    check(await call.then(() => false, () => true), "the call was answered");
    await until(async () => (await states(c)).at(0) === "killed", "the run is not killed");
    check(!c.problems.length, c.problems.join());
  },
  "the client's time limit kills the run": async () => {
    const error = await runCommand(c, { command: "sleep 61" }, { timeout: 300 }).catch(e => e);
    check(error.code === types.ErrorCode.RequestTimeout, String(error));
    await until(async () => (await states(c)).at(0) === "killed", "the run is not killed");
  },
  "32 calls at once": async () => {
    const results = await Promise.all(Array.from({ length: 32 }, (_, i) =>
      runCommand(c, { command: "echo", args: [`n${i}`] })));
    results.forEach((r, i) =>
      check(r.structuredContent.stdout_summary === `n${i}\n`, JSON.stringify(r)));
  },
  "logs as a resource": async () => {
    const result = await runCommand(c, { command: "echo hello" });
    const uri = `proc://logs/${result.structuredContent.process_id}`;
    const { contents } = await c.readResource({ uri });
    check(contents.some(p => (p.text ?? "").includes("hello")), JSON.stringify(contents));
    const { resources } = await c.listResources();
    check(resources.some(r => r.uri === uri), JSON.stringify(resources));
    const { resourceTemplates } = await c.listResourceTemplates();
    check(resourceTemplates.some(t => t.uriTemplate.startsWith("proc://logs/")), "no template");
    const error = await c.readResource({ uri: "proc://logs/none" }).catch(e => e);
    check(error.code === -32002, String(error));
  },
  "subscribed logs tell of output": async () => {
    const result = await runCommand(c, { command: "sleep 0.5; echo late; sleep 60",
                                         background: true });
    const id = result.structuredContent.process_id;
    const uri = `proc://logs/${id}`;
    let tell;
    const told = new Promise(resolve => (tell = resolve));
    c.setNotificationHandler(types.ResourceUpdatedNotificationSchema, n => tell(n.params.uri));
    await c.subscribeResource({ uri });
    check(await told === uri, "another resource");
    await c.unsubscribeResource({ uri });
    await c.callTool({ name: "process_kill", arguments: { process_id: id, signal: "KILL" } });
  },
  "notices of starts": async () => {
    const seen = [];
    c.setNotificationHandler(types.LoggingMessageNotificationSchema, n => seen.push(n.params));
    await c.setLoggingLevel("info");
    await runCommand(c, { command: "true" });
    check(seen.some(p => p.level === "notice"), JSON.stringify(seen));
    await c.setLoggingLevel("error");
    seen.length = 0;
    await runCommand(c, { command: "true" });
    check(!seen.length, JSON.stringify(seen));
  },
  "confirm: accepted, while other calls go on": async () => {
    const asked = await connect({ elicitation: {} }, "--set", "tier.process.run=confirm");
    let question;
    asked.setRequestHandler(types.ElicitRequestSchema, async request => {
      question = request.params;
      await asked.ping();
      const fields = Object.keys(request.params.requestedSchema.properties);
      return { action: "accept", content: Object.fromEntries(fields.map(f => [f, true])) };
    });
    const result = await runCommand(asked, { command: "echo yes" });
    check(question?.message.includes("echo yes"), "asked: " + JSON.stringify(question));
    check(result.structuredContent?.stdout_summary === "yes\n", JSON.stringify(result));
  },
  "confirm: declined, cancelled and answered without content": async () => {
    const asked = await connect({ elicitation: {} }, "--set", "tier.process.run=confirm");
    for (const answer of [{ action: "decline" }, { action: "cancel" },
                          { action: "accept", content: {} }]) {
      asked.setRequestHandler(types.ElicitRequestSchema, () => answer);
      const result = await runCommand(asked, { command: "echo no" });
      check(result.isError, JSON.stringify(result));
    }
    check(!(await states(asked)).length, "something ran");
  },
  "confirm: a host that cannot ask is told what to do": async () => {
    const mute = await connect({}, "--set", "tier.process.run=confirm");
    const result = await runCommand(mute, { command: "echo no" });
    check(result.isError && /PermissionDenied/.test(textOf(result)), textOf(result));
    check(!(await states(mute)).length, "something ran");
  },
  "no complaint of the client": () =>
    opened.forEach(client => check(!client.problems.length, client.problems.join("; "))),
  "close": async () => {
    for (const client of opened) await client.close();
  },
});
process.exit(0);
