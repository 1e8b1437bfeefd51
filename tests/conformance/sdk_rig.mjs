// Both generations of the SDK client against procpen: what they are driven by, and the steps that
// both take the same way.
import { check, server, textOf, until } from "./client.mjs";

/** Sessions with one generation: its two classes, and how it differs from the other. */
export class Rig {
  /** All that were opened, in order; steps use the first. */
  opened = [];

  constructor({ Client, StdioClientTransport, options, callTool, noResource }) {
    Object.assign(this, { Client, StdioClientTransport, options, callTool, noResource });
  }

  get first() {
    return this.opened[0];
  }

  async connect(capabilities = {}, ...args) {
    const client = new this.Client({ name: "rig", version: "1" }, { capabilities, ...this.options });
    const problems = (client.problems = []);
    client.onerror = e => problems.push(String(e));
    await client.connect(new this.StdioClientTransport(server(...args)));
    this.opened.push(client);
    return client;
  }

  /** A session in which each command needs a yes. */
  connectConfirming(capabilities) {
    return this.connect(capabilities, "--set", "tier.process.run=confirm");
  }

  run(client, args, options) {
    return this.callTool(client, { name: "process_run", arguments: args }, options);
  }

  /** The states of all runs, the newest first. */
  async states(client) {
    const { structuredContent } = await client.callTool({ name: "process_list", arguments: {} });
    return structuredContent.processes.map(p => p.state);
  }

  async checkNewestKilled(client) {
    await until(async () => (await this.states(client)).at(0) === "killed", "the run is not killed");
  }

  /** Output while subscribed is reported; @subscribe gives what ends the subscription. */
  async checkSubscription(client, notification, subscribe) {
    const { structuredContent: { process_id } } = await this.run(client,
      { command: "sleep 0.5; echo late; sleep 60", background: true });
    const uri = `proc://logs/${process_id}`;
    const told = new Promise(resolve =>
      client.setNotificationHandler(notification, n => resolve(n.params.uri)));
    const unsubscribe = await subscribe(uri);
    check(await told === uri, "another resource");
    await unsubscribe();
    await client.callTool({ name: "process_kill", arguments: { process_id, signal: "KILL" } });
  }

  /** The handshake's way to subscribe, for checkSubscription(). */
  byRequest = async uri => {
    await this.first.subscribeResource({ uri });
    return () => this.first.unsubscribeResource({ uri });
  };

  steps = {
    "call, checked against its output schema": async () => {
      const result = await this.run(this.first, { command: "echo out; echo err >&2; exit 3" });
      check(result.structuredContent.exit_code === 3 && !result.isError, JSON.stringify(result));
      check(textOf(result).startsWith("exit 3 in "), textOf(result));
    },
    "an error the model can read": async () => {
      const result = await this.run(this.first, { command: "true", timeuot: 5 });
      check(result.isError && textOf(result).includes("timeout"), JSON.stringify(result));
    },
    "an unknown tool is a protocol error": async () => {
      const error = await this.first.callTool({ name: "proces_run", arguments: {} }).catch(e => e);
      check(error.code === -32602, String(error));
    },
    "progress carries the newest line": async () => {
      const seen = [];
      await this.run(this.first, { command: "for i in 1 2 3; do echo line $i; sleep 0.4; done" },
        { onprogress: p => seen.push(p) });
      check(seen.some(p => /line [123]/.test(p.message ?? "")), JSON.stringify(seen));
      check(seen.every((p, i) => !i || p.progress > seen[i - 1].progress), "progress falls");
    },
    "cancelling kills the run and nothing is answered": async () => {
      const abort = new AbortController();
      const call = this.run(this.first, { command: "sleep 60" }, { signal: abort.signal });
      setTimeout(() => abort.abort("enough"), 200);
      check(await call.then(() => false, () => true), "the call was answered");
      await this.checkNewestKilled(this.first);
      check(!this.first.problems.length, this.first.problems.join());
    },
    "32 calls at once": async () => {
      const results = await Promise.all(Array.from({ length: 32 }, (_, i) =>
        this.run(this.first, { command: "echo", args: [`n${i}`] })));
      results.forEach((r, i) =>
        check(r.structuredContent.stdout_summary === `n${i}\n`, JSON.stringify(r)));
    },
    "logs as a resource": async () => {
      const result = await this.run(this.first, { command: "echo hello" });
      const uri = `proc://logs/${result.structuredContent.process_id}`;
      const { contents } = await this.first.readResource({ uri });
      check(contents.some(p => (p.text ?? "").includes("hello")), JSON.stringify(contents));
      const { resources } = await this.first.listResources();
      check(resources.some(r => r.uri === uri), JSON.stringify(resources));
      const { resourceTemplates } = await this.first.listResourceTemplates();
      check(resourceTemplates.some(t => t.uriTemplate.startsWith("proc://logs/")), "no template");
      const error = await this.first.readResource({ uri: "proc://logs/none" }).catch(e => e);
      check(error.code === this.noResource, `${error} ${error.code}`);
    },
    "confirm: a host that cannot ask is told what to do": async () => {
      const mute = await this.connectConfirming();
      const result = await this.run(mute, { command: "echo no" });
      check(result.isError && /PermissionDenied/.test(textOf(result)), textOf(result));
      check(!(await this.states(mute)).length, "something ran");
    },
  };

  /** What every script ends with. */
  lastSteps = {
    "no complaint of the client": () =>
      this.opened.forEach(c => check(!c.problems.length, c.problems.join("; "))),
    "close": async () => {
      for (const client of this.opened) await client.close();
    },
  };
}
