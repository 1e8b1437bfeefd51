// @modelcontextprotocol/sdk 1.x, the client most hosts have inside, against procpen.
import { check, load, run, textOf } from "./client.mjs";
import { Rig } from "./sdk_rig.mjs";

const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
const types = await load("@modelcontextprotocol/sdk/types.js");

const rig = new Rig({
  Client, StdioClientTransport,
  callTool: (client, request, options) => client.callTool(request, undefined, options),
  noResource: -32002,
});
let c;

await run({
  "connect": async () => {
    c = await rig.connect();
    check(c.getServerVersion().name === "procpen", "another server");
    check(c.getInstructions().length < 2048, "long instructions");
  },
  "ping": () => c.ping(),
  "tools/list": async () => {
    const { tools } = await c.listTools();
    const names = tools.map(t => t.name);
    check(names.includes("process_run") && !names.some(n => n.includes(".")), names.join());
  },
  ...rig.steps,
  "call by the dotted name": async () => {
    const result = await c.callTool({ name: "process.run", arguments: { command: "true" } });
    check(result.structuredContent.exit_code === 0, JSON.stringify(result));
  },
  "a megabyte of output comes in bounds": async () => {
    const result = await rig.run(c, { command: "yes 0123456789 | head -c 1000000" });
    check(result.structuredContent.stdout_size === 1000000, "size");
    check(textOf(result).length <= 10000, `${textOf(result).length} characters of text`);
  },
  "the client's time limit kills the run": async () => {
    const error = await rig.run(c, { command: "sleep 61" }, { timeout: 300 }).catch(e => e);
    check(error.code === types.ErrorCode.RequestTimeout, String(error));
    await rig.checkNewestKilled(c);
  },
  "subscribed logs tell of output": () =>
    rig.checkSubscription(c, types.ResourceUpdatedNotificationSchema, rig.byRequest),
  "notices of starts": async () => {
    const seen = [];
    c.setNotificationHandler(types.LoggingMessageNotificationSchema, n => seen.push(n.params));
    await c.setLoggingLevel("info");
    await rig.run(c, { command: "true" });
    check(seen.some(p => p.level === "notice"), JSON.stringify(seen));
    await c.setLoggingLevel("error");
    seen.length = 0;
    await rig.run(c, { command: "true" });
    check(!seen.length, JSON.stringify(seen));
  },
  "confirm: accepted, while other calls go on": async () => {
    const asked = await rig.connectConfirming({ elicitation: {} });
    let question;
    asked.setRequestHandler(types.ElicitRequestSchema, async request => {
      question = request.params;
      await asked.ping();
      const fields = Object.keys(request.params.requestedSchema.properties);
      return { action: "accept", content: Object.fromEntries(fields.map(f => [f, true])) };
    });
    const result = await rig.run(asked, { command: "echo yes" });
    check(question?.message.includes("echo yes"), "asked: " + JSON.stringify(question));
    check(result.structuredContent?.stdout_summary === "yes\n", JSON.stringify(result));
  },
  "confirm: declined, cancelled and answered without content": async () => {
    const asked = await rig.connectConfirming({ elicitation: {} });
    for (const answer of [{ action: "decline" }, { action: "cancel" },
                          { action: "accept", content: {} }]) {
      asked.setRequestHandler(types.ElicitRequestSchema, () => answer);
      const result = await rig.run(asked, { command: "echo no" });
      check(result.isError, JSON.stringify(result));
    }
    check(!(await rig.states(asked)).length, "something ran");
  },
  ...rig.lastSteps,
});
process.exit(0);
