"""Checks everything that a server writes, whatever the story expects of it.

Each line: UTF-8, strict JSON, bounded. Each message: the JSON-RPC shape, exactly one answer
per request. Each result: the capability's output schema. Each error: schema/errors.json. MCP
messages: the official schema of their revision, when it is at hand.
"""
import base64
import functools
import json
import re

from client import ROOT, Failure, check, equal
from jsontext import Token, dump, parse
from official import (HANDSHAKE, META, NEWEST, REVISIONS, STATELESS, Official, conform, is_mcp,
                      jsonschema, plain, requested_revision)

LINE_MAX = 1 << 20
TOOLS_MAX = 9000            # bytes of the tools array, unless mcp.structured or mcp.tools=all
TEXT_MAX = 10000           # bytes of a tool result's text
ID_MAX = 1024               # bytes of a raw id
BATCH_ID_MAX = 256          # the same, in a batch
RESULT_META = "dev.procpen/result"
ERROR_META = "dev.procpen/error"
QUOTED = re.compile(r"""\"[^"]*"|`[^`]*`""")  # what a command or a client said
CALL = re.compile(r'\b(process_\w+) (\{"process_id":.*?\})')
# Of these the protocol says what stands in `data` beside our members.
OWN_DATA = {"ResourceNotFound", "MissingClientCapability", "UnsupportedProtocolVersion"}

ACTIONS = {"check_path", "use_full_path", "increase_limits", "optimize", "check_scope",
           "check_permissions", "retry", "list_processes", "check_status", "force_kill",
           "use_valid_filter", "use_valid_stream"}

# What no story can reach: the reason stands beside it. All others must be seen.
UNREACHED_ERRORS = {
    "InternalError": "a defect, or a system that fails (tests/fault)",
    "SandboxUnavailable": "needs a kernel that refuses the filter (tests/fault)",
    "ProcessRunning": "belongs to process.delete",
    "KillFailed": "needs a process that the server may not signal",
}


class Schemas:
    """All schemas, loaded once, and what has been exercised of them."""

    def __init__(self):
        folder = ROOT / "schema"
        self.capabilities = {}
        for path in sorted(folder.glob("*.json")):
            data = json.loads(path.read_text())
            if isinstance(data, dict) and "outputSchema" in data:
                self.capabilities[data["name"]] = data
        self.tools = {name.replace(".", "_") for name, c in self.capabilities.items()
                      if "plain" not in c["flags"]}
        self.tool_methods = re.compile(r"(?<![\w./-])(?:%s)(?![\w/-]|\.\w)" % "|".join(
            sorted(re.escape(name) for name, c in self.capabilities.items()
                   if "plain" not in c["flags"] and "." in name)))
        self.unlisted = {name.replace(".", "_") for name, c in self.capabilities.items()
                         if "unlisted" in c["flags"]}
        messages = json.loads((folder / "messages.json").read_text())
        self.own = {m["name"]: m for m in messages["messages"] if m["from"] == "server"}
        self.said = {name: self._validator({"components": {"schemas": messages["schemas"]},
                                            **m["params"]}) for name, m in self.own.items()}
        self.listed = {name: {p for p, schema in c["inputSchema"]["properties"].items()
                              if schema.get("x-listed", True) and not schema.get("x-plain")}
                       for name, c in self.capabilities.items()}
        self.errors = self._load_errors(folder / "errors.json")
        self.outputs = {name: self._validator(c["outputSchema"])
                        for name, c in self.capabilities.items()}
        self.audit = self._validator(json.loads((folder / "audit.json").read_text()))
        self.official = Official()
        self.seen_capabilities = set()
        self.seen_errors = set()
        self.seen_dialects = set()

    def seen(self):
        return self.seen_capabilities, self.seen_errors, self.seen_dialects

    def add_seen(self, others):
        """What another process has exercised."""
        for own, other in zip(self.seen(), others):
            own |= other

    @staticmethod
    def _validator(schema):
        return jsonschema.Draft202012Validator(schema) if jsonschema else None

    @staticmethod
    def _load_errors(path):
        data = json.loads(path.read_text())
        rows = data if isinstance(data, list) else data["errors"]
        return {row["name"]: row["code"] for row in rows}

    def missing(self):
        """What a whole run should have exercised and did not."""
        dialects = {"plain", "without initialize", *REVISIONS}
        wanted = [("capability", set(self.capabilities) - self.seen_capabilities),
                  ("error type", set(self.errors) - self.seen_errors - set(UNREACHED_ERRORS)),
                  ("dialect", dialects - self.seen_dialects)]
        return ["%s %s was never exercised" % (kind, name)
                for kind, names in wanted for name in sorted(names)]


class Follows:
    """What holds for the events of every follow, whoever asked for it."""
    MEMBERS = {"started": {"pid", "request_id"}, "stdout": {"offset", "encoding", "data"},
               "stderr": {"offset", "encoding", "data"}, "gap": {"stream", "from", "to"},
               "stdin_error": {"errno"},
               "exited": {"exit_code", "signal", "state", "reason", "stdout_size", "stderr_size"}}
    DATA_MAX = 64 << 10

    def __init__(self):
        self.seen = {}   # follow_id -> type of its last event, or "closed"
        self.seq = {}
        self.at = {}     # (follow_id, stream) -> offset behind the last event; None: unknown

    def event(self, m):
        kind, id = m["type"], m.get("follow_id")
        extra = set(m) - {"follow_id", "seq", "process_id", "timestamp_ms", "type", "error"}
        equal(extra, self.MEMBERS[kind], "members of %s" % kind)
        equal("seq" in m, id is not None, "seq with follow_id")
        if id is None:
            equal(kind, "exited", "an event without a follow")
            return
        check(self.seen.get(id) not in ("exited", "closed"),
              "%s of %s after its end (%s)" % (kind, id, self.seen.get(id)))
        equal(m["seq"], self.seq.get(id, -1) + 1, "seq of %s" % id)
        check(kind == "started" or id in self.seen or "error" in m, "%s begins with %s" % (id, kind))
        self.seen[id], self.seq[id] = kind, m["seq"]
        if kind in ("stdout", "stderr"):
            self._output(id, m)
        elif kind == "gap":
            self._advance(id, m["stream"], m["from"], m["to"])

    def _output(self, id, m):
        if m["encoding"] == "base64":
            size = len(base64.b64decode(m["data"]))
        elif "\ufffd" in m["data"]:
            size = None  # of so many bytes that only the next offset tells
        else:
            size = len(m["data"].encode())
        check(m["data"], "an event without data")
        check(size is None or size <= self.DATA_MAX, "an event of %s bytes" % size)
        self._advance(id, m["type"], m["offset"], None if size is None else m["offset"] + size)

    def _advance(self, id, stream, start, end):
        before = self.at.get((id, stream))
        check(before is None or before == start,
              "%s of %s goes on at %s, not at %s" % (stream, id, start, before))
        check(end is None or end > start, "an empty range of %s at %s" % (id, start))
        self.at[id, stream] = end


class Session:
    """Follows both directions of one session."""

    def __init__(self, schemas, line_bytes=4 << 20):
        self.schemas = schemas
        self.line_bytes = line_bytes
        self.revision = None
        self.sent = bytearray()
        self.open = {}        # id token -> (method, params) of requests that must be answered
        self.loose = {}       # the same, of messages that may be answered under their id
        self.silent = set()   # ids that were cancelled in a dialect that then stays silent
        self.asked = {}       # ids of the server's own requests
        self.progress = {}    # token -> last progress
        self.listening = set()  # ids of subscriptions that were acknowledged
        self.follows = Follows()

    # -- from the client

    def client_bytes(self, data):
        self.sent += data
        *lines, rest = bytes(self.sent).split(b"\n")
        self.sent = bytearray(rest)
        for line in lines:
            self._client_line(line)

    def client_eof(self):
        self._client_line(bytes(self.sent))
        self.sent = bytearray()

    def _client_line(self, line):
        line = line.removeprefix(b"\xef\xbb\xbf")
        if len(line) > self.line_bytes:
            return
        try:
            message = parse(line)
            refused = _refusable(message)
        except ValueError:
            refused = True
        if refused:
            self._client_refused(line)
            return
        for item in message if isinstance(message, list) else [message]:
            if isinstance(item, dict):
                self._client_message(item, BATCH_ID_MAX if item is not message else ID_MAX)

    def _client_refused(self, line):
        """Text that is no strict JSON may still be answered under its id."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return
        if isinstance(message, dict) and "id" in message:
            self.loose[dump(message["id"])] = (None, None)

    def _client_message(self, m, id_max):
        method, params = m.get("method"), m.get("params")
        if method == "notifications/cancelled" and isinstance(params, dict):
            self.silent.add(dump(params.get("requestId")))
        if "id" not in m:
            return
        key = dump(m["id"])
        well_formed = (m.get("jsonrpc") == "2.0" and isinstance(method, str)
                       and _is_id(m["id"], id_max))
        taken = well_formed and _id_value(m["id"]) in map(_id_value_of, self.open)
        if well_formed and not taken:
            self.open[key] = (method, params)
        elif not well_formed:
            self.loose[key] = (method, params)

    # -- from the server

    def server_line(self, line):
        """Raises Failure when the line is not what any server of ours may write."""
        check(len(line) < LINE_MAX, "a line of %d bytes" % len(line))
        try:
            message = parse(line)
        except ValueError as e:
            raise Failure("not strict JSON (%s): %.200r" % (e, line))
        if isinstance(message, list):
            check(message, "an empty array as an answer")
            for item in message:
                self._server_message(item)
        else:
            self._server_message(message)

    def _server_message(self, m):
        check(isinstance(m, dict) and m.get("jsonrpc") == "2.0", "no jsonrpc 2.0: %.200r" % m)
        if "method" in m:
            self._server_speaks(m)
            return
        check(set(m) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}),
              "not the members of an answer: %s" % sorted(m))
        if m["id"] is None:
            check("error" in m, "a result with id null")
            self._error(m["error"])
            return
        key = dump(m["id"])
        if key in self.open:
            method, params = self.open.pop(key)
        elif key in self.loose:
            method, params = self.loose.pop(key)
        else:
            raise Failure("an answer to no open request: id %s" % key)
        self.listening.discard(key)
        if "error" not in m:
            self._result(method, params, m)
            return
        self._error(m["error"])
        if is_mcp(method) or requested_revision(params) is not None:
            self._names_tools([m["error"]["message"], *self._said(m["error"]["data"])])
            self.schemas.official.error(self._revision(params), m)

    def _revision(self, params):
        """What the request with these params speaks."""
        if requested_revision(params) is not None:
            return STATELESS
        return self.revision or NEWEST

    def _server_speaks(self, m):
        method = m["method"]
        check(set(m) <= {"jsonrpc", "id", "method", "params"}, "extra members: %s" % sorted(m))
        own = self.schemas.own.get(method)
        if own:
            check(("id" in m) == (own["kind"] == "request"), "%s is no %s" % (method, own["kind"]))
            conform(self.schemas.said[method], plain(m["params"]), method)
            if method == "process.event":
                self.follows.event(plain(m["params"]))
        if "id" in m:
            check(dump(m["id"]) not in self.asked, "a question with an id used before")
            self.asked[dump(m["id"])] = m
            if not own:
                check(self.revision, "%s before initialize" % method)
                self.schemas.official.request(self.revision, m)
        elif not own:
            self.schemas.official.notification(self._notified_revision(method, m["params"]), m)

    def _notified_revision(self, method, params):
        """Whom a notification is for, and whether it may come."""
        if method == "notifications/progress":
            return self._progress(params)
        subscription = params.get("_meta", {}).get(META + "subscriptionId")
        if subscription is None:
            check(self.revision, "%s before initialize" % method)
            return self.revision
        key = dump(subscription)
        check(self.open.get(key, [None])[0] == "subscriptions/listen",
              "%s for %s, which no client subscribed to" % (method, key))
        first = method == "notifications/subscriptions/acknowledged"
        check(first != (key in self.listening), "%s for %s out of turn" % (method, key))
        self.listening.add(key)
        return STATELESS

    def _progress(self, params):
        token, value = dump(params["progressToken"]), float(params["progress"])
        owners = [p for _, p in self.open.values() if isinstance(p, dict)
                  and isinstance(p.get("_meta"), dict) and "progressToken" in p["_meta"]
                  and dump(p["_meta"]["progressToken"]) == token]
        check(owners, "progress for %s, which no open request wants" % token)
        check(value > self.progress.get(token, -1), "progress %s of %s does not grow"
              % (value, token))
        self.progress[token] = value
        return self._revision(owners[-1])

    def _error(self, error):
        check(set(error) == {"code", "message", "data"}, "error members: %s" % sorted(error))
        check(isinstance(error["message"], str) and error["message"], "an empty message")
        self._error_data(error["data"], error["code"])

    def _error_data(self, data, code):
        check(isinstance(data, dict), "error without data")
        name = data.get("type")
        check(name in self.schemas.errors, "unknown error type %r" % name)
        check(self.schemas.errors[name] == code, "%s with code %r" % (name, code))
        further = {"uri"} if name == "InvalidParams" else set()  # a resource that is not there
        check(name in OWN_DATA or
              set(data) <= {"type", "hint", "retryable", "actions", "details"} | further,
              "data: %s" % sorted(data))
        check(isinstance(data.get("retryable"), bool), "%s: retryable is no boolean" % name)
        check(isinstance(data.get("hint"), str) and data["hint"], "%s: no hint" % name)
        check(data["hint"][0].isupper() or data["hint"][0].isdigit(),
              "%s: the hint begins with no capital: %s" % (name, data["hint"]))
        self._actions(data)
        self.schemas.seen_errors.add(name)

    @staticmethod
    def _actions(data):
        actions = data.get("actions")
        check(isinstance(actions, list), "%s: no actions" % data["type"])
        check(all(set(a) == {"name", "text"} and a["name"] in ACTIONS and a["text"]
                  for a in actions), "actions: %r" % actions)
        names = [a["name"] for a in actions]
        check(len(set(names)) == len(names), "an action twice: %s" % names)
        check(("retry" in names) == data["retryable"],
              "%s: retryable %s with %s" % (data["type"], data["retryable"], names))

    def _names_tools(self, texts):
        """What we say over MCP names no method of plain JSON-RPC that is a tool there."""
        for text in texts:
            found = self.schemas.tool_methods.search(QUOTED.sub("", text))
            check(not found, "a method where MCP has a tool: %.600s" % text)

    @staticmethod
    def _said(data):
        """The texts of an error beside its message."""
        return [data.get("hint", ""), *(a["text"] for a in data["actions"])]

    def _result(self, method, params, message):
        result = message["result"]
        if method in self.schemas.capabilities:
            conform(self.schemas.outputs[method], result, "result of " + method)
            self.schemas.seen_capabilities.add(method)
            self.schemas.seen_dialects.add("plain")
            if method == "process.unfollow" and result["closed"]:
                self.follows.seen[params["follow_id"]] = "closed"
            return
        check(is_mcp(method), "a result for %r" % method)
        if method == "initialize":
            self.revision = result.get("protocolVersion")
            check(self.revision in HANDSHAKE, "unknown revision %r" % self.revision)
        revision = self._revision(params)
        self.schemas.official.result(revision, method, message)
        if method == "tools/list":
            self._tools(revision, result)
        elif method == "tools/call" and result.get("resultType", "complete") == "complete":
            self._tool_result(revision, params["name"], result)
            self._named_calls(result, set(params.get("arguments") or {}))
        elif method == "tasks/get" and result["status"] == "completed":
            self._tool_result(revision, None, result["result"])

    def _tool_result(self, revision, name, result):
        """@name: the tool's, or None for a task, which is a run always."""
        stateless = revision == STATELESS
        self.schemas.seen_dialects.add(revision if self.revision or stateless
                                       else "without initialize")
        check(result["content"] and all(c["type"] == "text" for c in result["content"]),
              "content is not text")
        text = "\n".join(c["text"] for c in result["content"])
        size = len(text.encode())
        check(size <= TEXT_MAX, "a text of %d bytes" % size)
        if result.get("isError"):
            data = dict(result["_meta"][ERROR_META])
            self._structured_error(revision, data, result)
            check(isinstance(data.get("retryable"), bool), "retryable is no boolean")
            check(set(data) == {"type", "code", "retryable", "actions", "details"},
                  "error: %s" % sorted(data))
            self._actions(data)
            check(self.schemas.errors.get(data["type"]) == data["code"],
                  "%(type)s with code %(code)s" % data)
            self.schemas.seen_errors.add(data["type"])
            check(text.startswith(data["type"] + ": "), "text of an error: %.100r" % text)
            self._names_tools([text.partition("\n")[0], *self._said(data)])
            return
        self._names_tools([text] if name == "is_blocked" else
                          re.findall("^warning: .*", text, re.M))
        name = (name or "process_run").replace("process_", "process.")
        for group in ("agent", "server", "config"):
            name = name.replace(group + "_", group + ".")
        if revision < "2025-06-18":
            check("structuredContent" not in result, "structuredContent in " + revision)
        self.schemas.seen_capabilities.add(name)
        whole = plain(result["structuredContent"] if "structuredContent" in result
                      else result["_meta"][RESULT_META])
        conform(self.schemas.outputs[name], whole, "result of " + name)
        check(whole.get("process_id", "") in text or name == "process.logs",
              "the text does not name the process: %.200r" % text)

    def _named_calls(self, result, passed):
        """A call that the text names for its run has listed parameters, or those just @passed."""
        whole = result.get("_meta", {}).get(RESULT_META, {})
        for name, arguments in CALL.findall(result["content"][0]["text"]):
            call = json.loads(arguments)
            allowed = self.schemas.listed[name.replace("_", ".", 1)] | passed
            check(call["process_id"] != whole.get("process_id") or set(call) <= allowed,
                  "the text names a parameter of %s that is not listed: %s" % (name, arguments))

    @staticmethod
    def _structured_error(revision, data, result):
        if "structuredContent" not in result:
            return
        check(revision >= "2025-06-18", "structuredContent in " + revision)
        error = result["structuredContent"]["error"]
        check(isinstance(error.get("message"), str) and error.get("hint"), "no message or hint")
        check({k: v for k, v in error.items() if k not in ("message", "hint")} == data,
              "structured error")

    def _tools(self, revision, result):
        names = [t["name"] for t in result["tools"]]
        everything = any("profile" in t["inputSchema"]["properties"] for t in result["tools"])
        wanted = self.schemas.tools - (set() if everything else self.schemas.unlisted)
        check(set(names) == wanted and len(names) == len(wanted), "tools: %s" % names)
        size = len(json.dumps(result["tools"], separators=(",", ":")).encode())
        structured = any("outputSchema" in t for t in result["tools"])
        check(everything or structured or size <= TOOLS_MAX, "the tools take %d bytes" % size)
        for tool in result["tools"]:
            extra = {"inputSchema", "name", "description"}
            if revision >= "2025-03-26":
                extra |= {"annotations"}
            if revision >= "2025-06-18":
                extra |= {"title"}
            if "outputSchema" in tool:  # mcp.structured
                check(revision >= "2025-06-18", "outputSchema in " + revision)
                extra |= {"outputSchema"}
                if tool["name"] in ("process_logs", "process_list"):
                    extra |= {"_meta"}
            check(set(tool) == extra, "%s in %s: %s" % (tool["name"], revision, sorted(tool)))
            for key in ("inputSchema", "outputSchema"):
                if key in tool and jsonschema:
                    _check_shown_schema(dump(tool[key]))

    # -- at the end

    def finish(self):
        left = [key for key in self.open if key not in self.silent]
        check(not left, "never answered: ids %s" % ", ".join(left))


def _refusable(value, depth=1):
    """Is this valid JSON that a server of ours refuses as a whole?"""
    if isinstance(value, dict):
        return depth > 64 or any("\0" in k or _refusable(v, depth + 1) for k, v in value.items())
    if isinstance(value, list):
        return depth > 64 or any(_refusable(v, depth + 1) for v in value)
    return isinstance(value, int) and not -(1 << 63) <= value < 1 << 63


@functools.lru_cache(maxsize=None)
def _check_shown_schema(text):
    """Once for each: every list of tools has the same, and the metaschemas take long."""
    schema = json.loads(text)
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.Draft202012Validator.check_schema(schema)
    check(schema["type"] == "object", "a schema whose root is no object")
    check("x-" not in json.dumps(list(_keys(schema))), "x- keyword shown")


@functools.lru_cache(maxsize=2048)
def _id_value_of(key):
    return _id_value(parse(key))


def _id_value(value):
    """The same for all spellings of an id."""
    if isinstance(value, Token):
        return int(float(value))
    return value


def _is_id(value, id_max):
    if isinstance(value, Token):
        return float(value).is_integer()
    if isinstance(value, str):
        return len(dump(value)) <= id_max
    return isinstance(value, int) and not isinstance(value, bool)


def _keys(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)

