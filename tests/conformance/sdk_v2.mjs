// @modelcontextprotocol/client 2.x against procpen; MODE is legacy, auto, or a pinned revision.
import { check, load, run, server, textOf, until } from "./client.mjs";

const { Client } = await load("@modelcontextprotocol/client");
const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");

const mode = process.env.MODE;
const modern = mode !== "legacy";
const opened = [];

async function connect(capabilities = {}, ...args) {
  const client = new Client({ name: "rig", version: "1" }, {
    capabilities,
    versionNegotiation: { mode: mode === "legacy" || mode === "auto" ? mode : { pin: mode } },
  });
  const problems = (client.problems = []);
  client.onerror = e => problems.push(String(e));
  await client.connect(new StdioClientTransport(server(...args)));
  opened.push(client);
  return client;
}

const runCommand = (client, args, options) =>
  client.callTool({ name: "process_run", arguments: args }, options);

/** The states of all runs, the newest first. */
const states = async client =>
  (await client.callTool({ name: "process_list", arguments: {} })).structuredContent.processes
    .map(p => p.state);

/** Answers every form with yes, or as @answer says. */
const answering = (client, seen, answer) =>
  client.setRequestHandler("elicitation/create", request => {
    seen.push(request.params);
    const fields = Object.keys(request.params.requestedSchema.properties);
    return answer ?? { action: "accept", content: Object.fromEntries(fields.map(f => [f, true])) };
  });

const confirming = ["--set", "tier.process.run=confirm"];
let c;

await run({
  "connect": async () => {
    c = await connect();
    check(c.getProtocolEra() === (modern ? "modern" : "legacy"), c.getProtocolEra());
    check(c.getNegotiatedProtocolVersion() === (modern ? "2026-07-28" : "2025-11-25"),
      c.getNegotiatedProtocolVersion());
    check(c.getServerVersion().name === "procpen", JSON.stringify(c.getServerVersion()));
    check(c.getInstructions().length < 2048, "long instructions");
  },
  "tools/list": async () => {
    const { tools } = await c.listTools();
    check(tools.some(t => t.name === "process_run" && t.outputSchema), JSON.stringify(tools));
  },
  "call, checked against its output schema": async () => {
    const result = await runCommand(c, { command: "echo out; echo err >&2; exit 3" });
    check(result.structuredContent.exit_code === 3 && !result.isError, JSON.stringify(result));
    check(textOf(result).includes("exit_code: 3"), textOf(result));
  },
  "an error the model can read": async () => {
    const result = await runCommand(c, { command: "true", timeuot: 5 });
    check(result.isError && textOf(result).includes("timeout"), JSON.stringify(result));
  },
  "an unknown tool is a protocol error": async () => {
    const error = await c.callTool({ name: "proces_run", arguments: {} }).catch(e => e);
    check(error.code === -32602, String(error));
  },
  "progress carries the newest line": async () => {
    const seen = [];
    await runCommand(c, { command: "for i in 1 2 3; do echo line $i; sleep 0.4; done" },
      { onprogress: p => seen.push(p) });
    check(seen.some(p => /line [123]/.test(p.message ?? "")), JSON.stringify(seen));
  },
  "cancelling kills the run and nothing is answered": async () => {
    const abort = new AbortController();
    const call = runCommand(c, { command: "sleep 60" }, { signal: abort.signal });
    setTimeout(() => abort.abort("enough"), 200);
    check(await call.then(() => false, () => true), "the call was answered");
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
    check(error.code === -32602, `${error} ${error.code}`); // -32002 becomes this in it;
  },
  "subscribed logs tell of output": async () => {
    const result = await runCommand(c, { command: "sleep 0.5; echo late; sleep 60",
                                         background: true });
    const id = result.structuredContent.process_id;
    const uri = `proc://logs/${id}`;
    let tell;
    const told = new Promise(resolve => (tell = resolve));
    c.setNotificationHandler("notifications/resources/updated", n => tell(n.params.uri));
    if (modern) {
      const subscription = await c.listen({ resourceSubscriptions: [uri] });
      check(subscription.honoredFilter.resourceSubscriptions?.includes(uri),
        JSON.stringify(subscription.honoredFilter));
      check(await told === uri, "another resource");
      await subscription.close();
    } else {
      await c.subscribeResource({ uri });
      check(await told === uri, "another resource");
      await c.unsubscribeResource({ uri });
    }
    await c.callTool({ name: "process_kill", arguments: { process_id: id, signal: "KILL" } });
  },
  "confirm: accepted": async () => {
    const asked = await connect({ elicitation: {} }, ...confirming);
    const seen = [];
    answering(asked, seen);
    const result = await runCommand(asked, { command: "echo yes" });
    check(seen.length === 1 && seen[0].message.includes("echo yes"),
      "asked: " + JSON.stringify(seen));
    check(result.structuredContent?.stdout_summary === "yes\n", JSON.stringify(result));
  },
  "confirm: declined and cancelled": async () => {
    const asked = await connect({ elicitation: {} }, ...confirming);
    for (const action of ["decline", "cancel"]) {
      const seen = [];
      answering(asked, seen, { action });
      const result = await runCommand(asked, { command: "echo no" });
      check(seen.length && result.isError, JSON.stringify(result));
    }
    check(!(await states(asked)).length, "something ran");
  },
  "confirm: a host that cannot ask is told what to do": async () => {
    const mute = await connect({}, ...confirming);
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
