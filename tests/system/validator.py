#!/usr/bin/env python3
"""The validator of tests/wire itself: it passes what is right and refuses what is not.

No server takes part. Without the official schemas only the rules that none of them has are shown.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "wire"))

from client import Failure, Skip, check
from suite import Suite
from validate import Schemas, Session

suite = Suite()
KEY = "io.modelcontextprotocol/"
NEW = {KEY + "protocolVersion": "2026-07-28", KEY + "clientCapabilities": {}}
INFO = {KEY + "serverInfo": {"name": "procpen", "version": "0"}}
DISCOVER = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {},
            "ttlMs": 0, "cacheScope": "public", "_meta": INFO}
TASK = {"resultType": "task", "taskId": "t", "status": "working", "ttlMs": 1, "_meta": INFO,
        "createdAt": "2026-11-21T08:00:00Z", "lastUpdatedAt": "2026-11-21T08:00:00Z"}
FORM = {"message": "m", "requestedSchema": {"type": "object", "properties": {}}}
OWN = {"type": "InvalidParams", "hint": "H", "retryable": False, "actions": [],
       "details": {}}


def line(**members):
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


def handshake(revision):
    """A session that speaks @revision."""
    session = Session(Schemas())
    session.client_bytes(line(id=0, method="initialize", params={}) + b"\n")
    session.server_line(line(id=0, result={"protocolVersion": revision, "capabilities": {},
                                           "serverInfo": {"name": "p", "version": "0"}}))
    return session


def asks(method, params=None, revision=None):
    """A session in which the client has called @method with id 1."""
    session = handshake(revision) if revision else Session(Schemas())
    if not revision:
        params = dict(params or {}, _meta=dict(NEW, **(params or {}).get("_meta", {})))
    session.client_bytes(line(id=1, method=method, params=params or {}) + b"\n")
    return session


def passes(session, *lines):
    for text in lines:
        session.server_line(text)


def refuses(session, *lines):
    """The last of the lines is refused, those before it are not."""
    passes(session, *lines[:-1])
    try:
        session.server_line(lines[-1])
    except Failure:
        return
    raise Failure("passed: %.300r" % lines[-1])


def error(code, kind, **data):
    return line(id=1, error={"code": code, "message": "m", "data": {**OWN, "type": kind, **data}})


def needs_schemas():
    if not Schemas().official.available():
        raise Skip("the official MCP schemas are not at hand")


@suite.test()
def test_rules_without_schemas():
    passes(asks("server/discover"), line(id=1, result=DISCOVER))
    refuses(asks("server/discover"), line(id=2, result=DISCOVER))
    refuses(asks("server/discover"), line(id=1, result=dict(DISCOVER, _meta={})))
    refuses(asks("server/discover"), line(id=1, result=dict(DISCOVER, resultType="done")))
    refuses(asks("server/discover"), line(id=1, result=DISCOVER), line(id=1, result=DISCOVER))
    refuses(asks("ping"), line(id=1, result={"resultType": "complete", "_meta": INFO}))
    passes(asks("ping", revision="2025-11-25"), line(id=1, result={}))
    refuses(asks("ping", revision="2025-11-25"), line(id=1, result={"resultType": "complete"}))
    refuses(asks("ping", revision="2025-11-25"), line(id=1, result={"x": 1}))
    refuses(asks("tools/call", {"name": "process_run"}), line(id=1, result=dict(
        TASK, resultType="input_required", ttlMs=1)))
    refuses(asks("tools/list"), line(id=1, result={"resultType": "input_required",
                                                   "requestState": "s", "_meta": INFO}))
    passes(asks("tools/list"), error(-32602, "InvalidParams"))
    refuses(asks("tools/list"), error(-32602, "InvalidParams", hint="h"))
    refuses(asks("tasks/get"), error(-32002, "ResourceNotFound"))
    refuses(asks("ping", revision="2025-11-25"), error(-32021, "MissingClientCapability"))


@suite.test()
def test_questions():
    ask = line(id="q", method="elicitation/create", params=FORM)
    mode = line(id="q", method="elicitation/create", params=dict(FORM, mode="form"))
    for revision, without, with_mode in (("2025-03-26", 0, 0), ("2025-06-18", 1, 0),
                                         ("2025-11-25", 1, 1)):
        (passes if without else refuses)(handshake(revision), ask)
        (passes if with_mode else refuses)(handshake(revision), mode)
    refuses(asks("tools/call"), ask)
    refuses(handshake("2025-11-25"), ask, ask)


@suite.test()
def test_notifications():
    def progress(token, value):
        return line(method="notifications/progress", params={"progressToken": token,
                                                             "progress": value})

    def updated(subscription, method="notifications/resources/updated", **params):
        return line(method=method, params={"_meta": {KEY + "subscriptionId": subscription},
                                           **params})

    def wants():
        return asks("tools/call", {"name": "x", "_meta": {"progressToken": 0}})

    passes(wants(), progress(0, 0), progress(0, 1))
    refuses(wants(), progress(0, 1), progress(0, 1))
    refuses(wants(), progress("0", 1))
    refuses(asks("tools/call"), progress(0, 1))
    listen = {"notifications": {"resourceSubscriptions": ["proc://logs/p"]}}
    ack = updated(1, "notifications/subscriptions/acknowledged", **listen)
    change = updated(1, uri="proc://logs/p")
    passes(asks("subscriptions/listen", listen), ack, change, change)
    refuses(asks("subscriptions/listen", listen), change)
    refuses(asks("subscriptions/listen", listen), ack, ack)
    refuses(asks("subscriptions/listen", listen), ack, updated("1", uri="proc://logs/p"))
    refuses(asks("tools/list"), ack)
    refuses(asks("tools/list"), line(method="notifications/resources/updated",
                                     params={"uri": "proc://logs/p"}))
    refuses(handshake("2025-11-25"), line(method="notifications/tasks", params={}))


@suite.test()
def test_schemas():
    needs_schemas()
    refuses(asks("server/discover"), line(id=1, result={k: v for k, v in DISCOVER.items()
                                                        if k != "ttlMs"}))
    passes(asks("tools/call", {"name": "process_run"}), line(id=1, result=TASK))
    refuses(asks("tools/call", {"name": "process_run"}),
            line(id=1, result=dict(TASK, status="done")))
    refuses(asks("tools/call", {"name": "process_run"}),
            line(id=1, result=dict(TASK, resultType="complete")))
    passes(asks("tools/call"), error(-32021, "MissingClientCapability",
                                     requiredCapabilities={"elicitation": {"form": {}}}))
    refuses(asks("tools/call"), error(-32021, "MissingClientCapability",
                                      requiredCapabilities=["elicitation"]))
    refuses(asks("tools/call"), error(-32022, "UnsupportedProtocolVersion", requested="x"))
    refuses(asks("resources/read", revision="2025-06-18"),
            line(id=1, result={"contents": [{"text": "x"}]}))
    refuses(handshake("2025-06-18"), line(method="notifications/message",
                                          params={"level": "loud", "data": 1}))
    check(Schemas().official.validator("2026-07-28", "JSONRPCMessage"), "no validator")


if __name__ == "__main__":
    suite.main()
