// HTTP in front of a server on stdio, for the conformance suite, which speaks HTTP only.
//
//   bridge.mjs RECORD COMMAND [ARGUMENT...]
//
// Listens on a free loopback port and prints its URL. The stateless era shares one child, each
// handshake session has its own. Ids and progress tokens are made unique on the way in and put
// back on the way out; nothing else of a message is touched. What only HTTP knows is answered
// here: status codes, headers that contradict the body, foreign origins, sessions. Lines are kept
// in RECORD.<pid> as tap.py keeps them. With NAMES in the environment, a part of own.json, the
// suite's tools and resources stand for the server's own.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";

const [record, ...command] = process.argv.slice(2);
const META = "io.modelcontextprotocol/";
const STATELESS = "2026-07-28";
const HEADER_MISMATCH = -32020;
const NAMED = { "tools/call": "name", "prompts/get": "name", "resources/read": "uri",
                "tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId" };

let lastId = 0;

/** What the suite's names stand for at one server: runs that are made first, by name, then tools
 * and resources, and the key of the one question that the server asks. */
class Names {
  constructor({ runs = {}, tools = {}, resources = {}, question } = {}) {
    Object.assign(this, { runs, tools, resources, question });
    this.missing = new Set(Object.keys(runs));
    this.ids = {};
  }

  /** The requests that make the runs, in the plain dialect. */
  requests() {
    return Object.entries(this.runs).map(([name, command]) =>
      ({ jsonrpc: "2.0", id: `run-${name}`, method: "process.run", params: { command } }));
  }

  /** The answer of one of the runs. */
  keep(message) {
    const name = message.id.replace(/^run-/, "");
    if (message.error) console.error(`run ${name}: ${JSON.stringify(message.error)}`);
    this.missing.delete(name);
    this.ids[name] = message.result?.process_id;
  }

  inward(message) {
    const { method, params } = message;
    if (method === "tools/call" && this.tools[params?.name])
      return { ...message, params: this.call(params) };
    const uri = this.resources[params?.uri];
    return uri ? { ...message, params: { ...params, uri: filled(uri, this.ids) } } : message;
  }

  /** The same call of process_run; any answer that accepts is a yes. */
  call(params) {
    const own = this.tools[params.name];
    const command = filled(own.command, params.arguments);
    const sent = { ...params, name: "process_run", arguments: { ...own, command } };
    if (params.inputResponses)
      sent.inputResponses = Object.fromEntries(
        Object.entries(params.inputResponses).map(([key, answer]) => [
          key === this.question ? "confirm" : key,
          answer?.content ? { ...answer, content: { allow: true } } : answer]));
    return sent;
  }

  outward(message) {
    const asked = message.result?.inputRequests;
    if (this.question && asked)
      message.result.inputRequests = { [this.question]: asked.confirm };
    return message;
  }
}

const table = JSON.parse(process.env.NAMES ?? "{}");

/** The text with {name} replaced by what @values has under that name. */
const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values?.[name] ?? "");

/** One server process and the HTTP exchanges that wait for it. */
class Child {
  constructor() {
    this.names = new Names(table);
    this.queue = [];          // what waits for the runs
    this.waiting = new Map(); // our id -> Exchange
    this.stream = null;       // the session's GET stream
    this.process = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "ignore"] });
    this.process.stdin.on("error", () => {});
    this.process.on("exit", () => this.waiting.forEach(x => x.error(-32603, "the server is gone")));
    let rest = "";
    this.process.stdout.setEncoding("utf8").on("data", data => {
      const lines = (rest + data).split("\n");
      rest = lines.pop();
      lines.forEach(line => this.take(line));
    });
    this.names.requests().forEach(message => this.write(message));
  }

  keep(mark, line) {
    if (record !== "-") appendFileSync(`${record}.${this.process.pid}`, `${mark} ${line}\n`);
  }

  send(message) {
    if (this.names.missing.size) this.queue.push(message);
    else this.write(this.names.inward(message));
  }

  write(message) {
    const line = JSON.stringify(message);
    this.keep(">", line);
    this.process.stdin.write(line + "\n");
  }

  take(line) {
    this.keep("<", line);
    let message;
    try {
      message = JSON.parse(line);
    } catch (error) {
      console.error(`the server wrote no JSON (${error.message}): ${line.slice(0, 200)}`);
      return;
    }
    if (this.names.missing.size) this.prepare(message);
    else if (message.method) this.spoken(message);
    else this.waiting.get(message.id)?.answer(this.names.outward(message));
  }

  /** What comes before all runs are made is about them. */
  prepare(message) {
    if (!message.method) this.names.keep(message);
    if (!this.names.missing.size) this.queue.splice(0).forEach(queued => this.send(queued));
  }

  /** A notification or request of the server's: to the exchange it belongs to. */
  spoken(message) {
    const params = message.params ?? {};
    const open = [...this.waiting.values()];
    const listener = this.waiting.get(params._meta?.[META + "subscriptionId"]);
    if (listener) {
      params._meta[META + "subscriptionId"] = listener.id;
      listener.event(message);
    } else if ("progressToken" in params) {
      const owner = open.find(x => x.ourToken === params.progressToken);
      owner?.event({ ...message, params: { ...params, progressToken: owner.token } });
    } else {
      const others = open.filter(x => x.method !== "subscriptions/listen");
      const target = others.findLast(x => x.wantsLogs) ?? others.at(-1) ?? this.stream;
      target?.event(message);
    }
  }

  end() {
    this.process.stdin.end();
    this.stream?.response.end();
  }
}

/** One POST that wants an answer, or the GET stream of a session. */
class Exchange {
  constructor(child, response, message, stateless) {
    Object.assign(this, { child, response, stateless, id: message?.id, method: message?.method });
    const meta = message?.params?._meta ?? {};
    this.token = meta.progressToken;
    this.wantsLogs = META + "logLevel" in meta;
    this.lacksMeta = stateless && !(typeof meta[META + "protocolVersion"] === "string" &&
                                    meta[META + "clientCapabilities"]);
  }

  forward(message) {
    this.ourId = ++lastId;
    const sent = { ...message, id: this.ourId };
    if (this.token !== undefined) {
      this.ourToken = `token-${this.ourId}`;
      sent.params = { ...sent.params, _meta: { ...sent.params._meta,
                                               progressToken: this.ourToken } };
    }
    this.child.waiting.set(this.ourId, this);
    this.response.on("close", () => this.closed());
    this.child.send(sent);
  }

  /** The client went away: in the stateless era that cancels. */
  closed() {
    if (!this.child.waiting.delete(this.ourId) || !this.stateless) return;
    this.child.send({ jsonrpc: "2.0", method: "notifications/cancelled",
                      params: { requestId: this.ourId } });
  }

  event(message) {
    if (!this.response.headersSent)
      this.response.writeHead(200, { "Content-Type": "text/event-stream",
                                     "Cache-Control": "no-cache", ...this.headers });
    this.response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }

  answer(message) {
    this.child.waiting.delete(this.ourId);
    const sent = { ...message, id: this.id };
    const subscription = message.result?._meta?.[META + "subscriptionId"];
    if (subscription !== undefined) sent.result._meta[META + "subscriptionId"] = this.id;
    if (this.response.headersSent) {
      this.event(sent);
      this.response.end();
    } else {
      reply(this.response, this.status(message.error?.code), sent, this.headers);
    }
  }

  status(code) {
    if (!this.stateless || code === undefined) return 200;
    if (code === -32601) return 404;
    return code === -32021 || code === -32022 || (code === -32602 && this.lacksMeta) ? 400 : 200;
  }

  error(code, text) {
    this.answer({ jsonrpc: "2.0", error: { code, message: text } });
  }
}

function reply(response, status, body, headers = {}) {
  response.writeHead(status, { "Content-Type": "application/json", ...headers });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

const refuse = (response, status, id, code, message) =>
  reply(response, status, { jsonrpc: "2.0", id: id ?? null, error: { code, message } });

const isLocal = name => /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(name);

function isForeign(request) {
  const origin = request.headers.origin;
  if (!isLocal(request.headers.host ?? "")) return true;
  return origin !== undefined && !isLocal(origin.replace(/^https?:\/\//, ""));
}

/** What the headers say against the body, or null. */
function contradiction(headers, message) {
  const named = NAMED[message.method];
  const version = message.params?._meta?.[META + "protocolVersion"];
  if (version !== undefined && headers["mcp-protocol-version"] !== version)
    return "MCP-Protocol-Version";
  if (headers["mcp-method"] !== message.method) return "Mcp-Method";
  if (named && headers["mcp-name"] !== String(message.params?.[named] ?? "")) return "Mcp-Name";
  return null;
}

const sessions = new Map();
let shared;

function postStateless(request, response, message) {
  const wrong = message.method && contradiction(request.headers, message);
  if (wrong) {
    refuse(response, 400, message.id, HEADER_MISMATCH, `${wrong} contradicts the body`);
    return;
  }
  shared ??= new Child();
  if (message.method && "id" in message) {
    new Exchange(shared, response, message, true).forward(message);
  } else {
    shared.send(message);
    reply(response, 202);
  }
}

function postSession(request, response, message) {
  let id = request.headers["mcp-session-id"];
  if (message.method === "initialize" && !id) {
    id = randomUUID();
    sessions.set(id, new Child());
  }
  const child = sessions.get(id);
  if (!child) {
    refuse(response, id ? 404 : 400, message.id, -32600, id ? "no such session" : "no session");
  } else if (message.method && "id" in message) {
    const exchange = new Exchange(child, response, message, false);
    exchange.headers = { "Mcp-Session-Id": id };
    exchange.forward(message);
  } else {
    child.send(message);
    reply(response, 202);
  }
}

function post(request, response, text) {
  let message;
  try {
    message = JSON.parse(text);
  } catch {
    refuse(response, 400, null, -32700, "no JSON");
    return;
  }
  const version = message?.params?._meta?.[META + "protocolVersion"];
  const stateless = version !== undefined ||
                    request.headers["mcp-protocol-version"] === STATELESS;
  (stateless ? postStateless : postSession)(request, response, message);
}

function get(request, response) {
  const child = sessions.get(request.headers["mcp-session-id"]);
  if (!child) {
    reply(response, 405);
    return;
  }
  child.stream = new Exchange(child, response, null, false);
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
  response.write(": open\n\n");
}

const server = createServer((request, response) => {
  if (isForeign(request)) {
    refuse(response, 403, null, -32600, "a foreign host or origin");
  } else if (request.method === "POST") {
    let text = "";
    request.setEncoding("utf8").on("data", data => (text += data))
      .on("end", () => post(request, response, text));
  } else if (request.method === "GET") {
    get(request, response);
  } else if (request.method === "DELETE" && sessions.has(request.headers["mcp-session-id"])) {
    sessions.get(request.headers["mcp-session-id"]).end();
    sessions.delete(request.headers["mcp-session-id"]);
    reply(response, 200);
  } else {
    reply(response, 405);
  }
});

server.listen(0, "127.0.0.1", () =>
  console.log(`http://127.0.0.1:${server.address().port}/mcp`));
process.on("SIGTERM", () => {
  shared?.end();
  sessions.forEach(child => child.end());
  process.exit(0);
});
