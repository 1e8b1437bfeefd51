"""Checks messages of a server against the official MCP schemas, each by its own revision.

The schemas are not part of this project: MCP_SCHEMAS names their folder (default: shared/mcp-schemas
beside the project), which holds <revision>.json and ext-tasks.json. What a schema leaves open (a
result is any object there) is found by the method that is answered. Rules that no schema has are
here too: which error codes there may be, what one era has and the other has not.
"""
import json
import os
from pathlib import Path

try:
    import jsonschema
except ImportError:  # the tests say so, see run.py
    jsonschema = None

from client import ROOT, Failure, check
from jsontext import dump

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
NEWEST = HANDSHAKE[-1]
STATELESS = "2026-07-28"
REVISIONS = HANDSHAKE + (STATELESS,)
TASKS = "ext-tasks"
META = "io.modelcontextprotocol/"

LISTS = {"tools/list": "ListToolsResult", "prompts/list": "ListPromptsResult",
         "resources/list": "ListResourcesResult",
         "resources/templates/list": "ListResourceTemplatesResult",
         "resources/read": "ReadResourceResult"}
COMMON_RESULTS = {"tools/call": "CallToolResult", "prompts/get": "GetPromptResult",
                  "completion/complete": "CompleteResult", **LISTS}
RESULTS = {
    "handshake": {"initialize": "InitializeResult", "ping": "EmptyResult",
                  "logging/setLevel": "EmptyResult", "resources/subscribe": "EmptyResult",
                  "resources/unsubscribe": "EmptyResult", **COMMON_RESULTS},
    "stateless": {"server/discover": "DiscoverResult",
                  "subscriptions/listen": "SubscriptionsListenResult",
                  "tasks/get": "GetTaskResult", "tasks/update": "UpdateTaskResult",
                  "tasks/cancel": "CancelTaskResult", **COMMON_RESULTS},
}
CACHED = {"server/discover", *LISTS}
MAY_NEED_INPUT = {"tools/call", "prompts/get", "resources/read"}
COMMON_NOTIFICATIONS = {"notifications/message": "LoggingMessageNotification",
                        "notifications/progress": "ProgressNotification",
                        "notifications/cancelled": "CancelledNotification",
                        "notifications/resources/updated": "ResourceUpdatedNotification",
                        "notifications/resources/list_changed": "ResourceListChangedNotification",
                        "notifications/tools/list_changed": "ToolListChangedNotification",
                        "notifications/prompts/list_changed": "PromptListChangedNotification"}
NOTIFICATIONS = {
    "handshake": COMMON_NOTIFICATIONS,
    "stateless": {"notifications/subscriptions/acknowledged":
                  "SubscriptionsAcknowledgedNotification",
                  "notifications/tasks": "TaskStatusNotification", **COMMON_NOTIFICATIONS},
}
REQUESTS = {"elicitation/create": "ElicitRequest", "sampling/createMessage": "CreateMessageRequest",
            "roots/list": "ListRootsRequest", "ping": "PingRequest"}
ERRORS = {-32021: "MissingRequiredClientCapabilityError",
          -32022: "UnsupportedProtocolVersionError"}


def conform(validator, value, what):
    """Raises Failure when @value breaks the schema; passes when there is none."""
    if validator is None:
        return
    error = jsonschema.exceptions.best_match(validator.iter_errors(plain(value)))
    if error:
        place = "/".join(str(p) for p in error.absolute_path)
        raise Failure("%s: %s: %.400s" % (what, place or "(root)", error.message))


def plain(value):
    """The value as an ordinary JSON parser sees it."""
    return json.loads(dump(value))


def era(revision):
    return "stateless" if revision == STATELESS else "handshake"


def requested_revision(params):
    """The revision that a stateless request names, None when it is no stateless one."""
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta.get(META + "protocolVersion") if isinstance(meta, dict) else None


def is_mcp(method):
    return any(method in table for table in RESULTS.values())


class Official:
    """The official schemas, loaded when they are wanted."""

    def __init__(self):
        self.folder = Path(os.environ.get("MCP_SCHEMAS") or
                           ROOT.parent / "shared" / "mcp-schemas")
        self.files, self.validators = {}, {}
        self.checked = 0  # messages that were compared with a schema

    def available(self):
        return bool(jsonschema) and not self.missing()

    def missing(self):
        """The names of those that are not here."""
        return [name for name in REVISIONS + (TASKS,)
                if not (self.folder / (name + ".json")).exists()]

    def _file(self, name):
        if name not in self.files:
            path = self.folder / (name + ".json")
            self.files[name] = json.loads(path.read_text()) if path.exists() else None
        return self.files[name]

    def validator(self, name, definition):
        """None when the official schemas, or what checks them, are not here."""
        key = (name, definition)
        if key not in self.validators:
            schema = self._file(name)
            if not schema or not jsonschema:
                return None
            place = "definitions" if "definitions" in schema else "$defs"
            kind = (jsonschema.Draft7Validator if place == "definitions"
                    else jsonschema.Draft202012Validator)
            check(definition in schema[place], "%s has no %s" % key)
            self.validators[key] = kind(dict(schema, **{"$ref": "#/%s/%s" % (place, definition)}))
        return self.validators[key]

    def _conform(self, name, definition, value):
        conform(self.validator(name, definition), value, "MCP %s %s" % (name, definition))

    def result(self, revision, method, message):
        """An answer to the request @method."""
        self.checked += 1
        result = message["result"]
        table = RESULTS[era(revision)]
        check(method in table, "a result for %s in %s" % (method, revision))
        check(isinstance(result, dict), "a result that is no object")
        self._conform(revision, "JSONRPCMessage", message)
        if revision == STATELESS:
            self._stateless_result(method, result)
        else:
            own = {"resultType", "ttlMs", "cacheScope"} & set(result)
            check(not own, "%s of the stateless era in %s" % (sorted(own), revision))
            self._conform(revision, table[method], result)
            check(table[method] != "EmptyResult" or not result, "members in an empty result")

    def _stateless_result(self, method, result):
        kind = result.get("resultType")
        info = result.get("_meta", {}).get(META + "serverInfo")
        check(isinstance(info, dict) and {"name", "version"} <= set(info),
              "%s: no server info in _meta" % method)
        check({"ttlMs", "cacheScope"} & set(result) <= ({"ttlMs", "cacheScope"}
              if method in CACHED and kind == "complete" else
              {"ttlMs"} if kind == "task" or method == "tasks/get" else set()),
              "%s (%s): cache hints where there are none" % (method, kind))
        if kind == "input_required":
            check(method in MAY_NEED_INPUT, "input_required for " + method)
            self._conform(STATELESS, "InputRequiredResult", result)
        elif kind == "task":
            check(method == "tools/call", "a task for " + method)
            self._conform(TASKS, "CreateTaskResult", result)
        else:
            check(kind == "complete", "resultType %r" % kind)
            self._conform(TASKS if method.startswith("tasks/") else STATELESS,
                          RESULTS["stateless"][method], result)

    def error(self, revision, message):
        """An error under the id of a request."""
        self.checked += 1
        code = message["error"].get("code")
        new = "JSONRPCErrorResponse" if revision >= "2025-11-25" else "JSONRPCError"
        self._conform(revision, new, message)
        self._conform(revision, "JSONRPCMessage", message)
        if revision == STATELESS:
            check(code != -32002, "-32002 belongs to the handshake era")
            check(not -32099 <= code <= -32020 or code in ERRORS, "error code %s" % code)
            if code in ERRORS:
                self._conform(STATELESS, ERRORS[code], message)
        else:
            check(not -32099 <= code <= -32020, "error code %s in %s" % (code, revision))

    def notification(self, revision, message):
        self.checked += 1
        method = message["method"]
        table = NOTIFICATIONS[era(revision)]
        check(method in table, "%s in %s" % (method, revision))
        self._conform(revision, "JSONRPCMessage", message)
        tasks = method == "notifications/tasks"
        self._conform(TASKS if tasks else revision, table[method], message)

    def request(self, revision, message):
        """A request of the server's own."""
        self.checked += 1
        method = message["method"]
        check(revision != STATELESS, "a request (%s) in the stateless era" % method)
        check(method in REQUESTS, "an unknown request: " + method)
        check(method != "elicitation/create" or revision >= "2025-06-18",
              "elicitation in " + revision)
        check(method != "elicitation/create" or "mode" not in message["params"]
              or revision >= "2025-11-25", "elicitation's mode in " + revision)
        self._conform(revision, "JSONRPCMessage", message)
        self._conform(revision, REQUESTS[method], message)
