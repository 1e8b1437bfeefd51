#!/usr/bin/env node
// A client of procpen without packages: node client.mjs [PROCPEN [WORKSPACE]]
//
// Starts a command in the background, reads what it writes, and kills it.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

class Procpen {
  constructor(program, workspace) {
    this.process = spawn(program, ["serve", "--workspace", workspace],
                         { stdio: ["pipe", "pipe", "inherit"] });
    this.ended = new Promise((resolve) => this.process.on("close", resolve));
    this.open = new Map();
    this.lastId = 0;
    createInterface({ input: this.process.stdout })
      .on("line", (line) => this.onMessage(JSON.parse(line)))
      .on("close", () => this.open.forEach(({ reject }) => reject(new Error("procpen has ended"))));
  }

  send(message) {
    this.process.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  }

  call(method, params = {}) {
    const id = ++this.lastId;
    this.send({ id, method, params });
    return new Promise((resolve, reject) => this.open.set(id, { resolve, reject }));
  }

  // An answer; a notification such as capability.notify; or the question capability.confirm.
  onMessage({ id, method, result, error }) {
    if (method) {
      if (id !== undefined) this.send({ id, result: { allow: false } });
      return;
    }
    const { resolve, reject } = this.open.get(id);
    this.open.delete(id);
    if (error) reject(new Error(`${error.message} ${error.data.hint}`));
    else resolve(result);
  }

  // End of file ends the server, and all that it runs.
  close() {
    this.process.stdin.end();
    return this.ended;
  }
}

const [program = "procpen", workspace = "."] = process.argv.slice(2);
const procpen = new Procpen(program, workspace);
const { process_id } = await procpen.call("process.run",
                                          { command: "echo ready; sleep 600", background: true });
const page = await procpen.call("process.logs", { process_id, wait_ms: 60000 });
const end = await procpen.call("process.kill", { process_id });
console.log("output:", page.stdout.trim());
console.log("state:", end.state);
process.exitCode = await procpen.close();
