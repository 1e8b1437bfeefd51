// @modelcontextprotocol/client 2.x against procpen; MODE is legacy, auto, or a pinned revision.
import { check, load, run } from "./client.mjs";
import { Rig } from "./sdk_rig.mjs";

const { Client } = await load("@modelcontextprotocol/client");
const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");

const mode = process.env.MODE;
const modern = mode !== "legacy";
const rig = new Rig({
  Client, StdioClientTransport,
  options: {
    versionNegotiation: { mode: mode === "legacy" || mode === "auto" ? mode : { pin: mode } },
  },
  callTool: (client, request, options) => client.callTool(request, options),
  noResource: -32602, // -32002 becomes this in it
});
let c;

/** Answers every form with yes, or as @answer says. */
const answering = (client, seen, answer) =>
  client.setRequestHandler("elicitation/create", request => {
    seen.push(request.params);
    const fields = Object.keys(request.params.requestedSchema.properties);
    return answer ?? { action: "accept", content: Object.fromEntries(fields.map(f => [f, true])) };
  });

/** The stateless revision's way to subscribe, for checkSubscription(). */
const byListening = async uri => {
  const subscription = await c.listen({ resourceSubscriptions: [uri] });
  check(subscription.honoredFilter.resourceSubscriptions?.includes(uri),
    JSON.stringify(subscription.honoredFilter));
  return () => subscription.close();
};

await run({
  "connect": async () => {
    c = await rig.connect();
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
  ...rig.steps,
  "subscribed logs tell of output": () =>
    rig.checkSubscription(c, "notifications/resources/updated",
      modern ? byListening : rig.byRequest),
  "confirm: accepted": async () => {
    const asked = await rig.connectConfirming({ elicitation: {} });
    const seen = [];
    answering(asked, seen);
    const result = await rig.run(asked, { command: "echo yes" });
    check(seen.length === 1 && seen[0].message.includes("echo yes"),
      "asked: " + JSON.stringify(seen));
    check(result.structuredContent?.stdout_summary === "yes\n", JSON.stringify(result));
  },
  "confirm: declined and cancelled": async () => {
    const asked = await rig.connectConfirming({ elicitation: {} });
    for (const action of ["decline", "cancel"]) {
      const seen = [];
      answering(asked, seen, { action });
      const result = await rig.run(asked, { command: "echo no" });
      check(seen.length && result.isError, JSON.stringify(result));
    }
    check(!(await rig.states(asked)).length, "something ran");
  },
  ...rig.lastSteps,
});
process.exit(0);
