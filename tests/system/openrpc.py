#!/usr/bin/env python3
"""The OpenRPC document: what rpc.discover answers, what docs/openrpc.json says, and whether it is one.

The rules are those of the specification (https://spec.open-rpc.org, 1.3.2), written down here once
more: fixed members, their types, the order of parameters, references that lead somewhere.
"""
import json
import re
import sys

from client import ROOT, Server, check, equal
from suite import Suite

sys.path.insert(0, str(ROOT / "tests" / "wire"))
from official import jsonschema

suite = Suite()
TEXT, OBJECT, LIST = str, dict, list
# Kind of object: its members and their types; those marked with * must be there.
RULES = {
    "document": {"openrpc*": TEXT, "info*": OBJECT, "methods*": LIST, "components": OBJECT,
                 "servers": LIST, "externalDocs": OBJECT},
    "info": {"title*": TEXT, "version*": TEXT, "description": TEXT, "license": OBJECT,
             "contact": OBJECT, "termsOfService": TEXT},
    "license": {"name*": TEXT, "url": TEXT},
    "method": {"name*": TEXT, "params*": LIST, "result": OBJECT, "summary": TEXT,
               "description": TEXT, "paramStructure": TEXT, "errors": LIST, "examples": LIST,
               "tags": LIST, "links": LIST, "servers": LIST, "deprecated": bool,
               "externalDocs": OBJECT},
    "content": {"name*": TEXT, "schema*": OBJECT, "summary": TEXT, "description": TEXT,
                "required": bool, "deprecated": bool},
    "error": {"code*": int, "message*": TEXT, "data": object},
    "pairing": {"name*": TEXT, "params*": LIST, "description": TEXT, "summary": TEXT,
                "result": OBJECT},
    "example": {"name": TEXT, "value*": object, "summary": TEXT, "description": TEXT},
    "components": {"errors": OBJECT, "schemas": OBJECT, "contentDescriptors": OBJECT,
                   "examples": OBJECT, "links": OBJECT, "examplePairings": OBJECT, "tags": OBJECT},
}


def obey(kind, value, where):
    """@value has the members that the specification has for @kind, and others only as x-."""
    check(isinstance(value, dict), "%s is no object" % where)
    rules = {name.rstrip("*"): (type_, name.endswith("*")) for name, type_ in RULES[kind].items()}
    for name, (type_, needed) in rules.items():
        check(name in value or not needed, "%s has no %s" % (where, name))
        check(name not in value or isinstance(value[name], type_),
              "%s: %s is no %s" % (where, name, type_.__name__))
    for name in value:
        check(name in rules or name.startswith("x-"), "%s: %s is not allowed" % (where, name))


def find(document, ref):
    """What "#/a/b" means in @document."""
    value = document
    for name in ref.removeprefix("#/").split("/"):
        check(name in value, "%s leads nowhere" % ref)
        value = value[name]
    return value


def check_schema(schema, where):
    if jsonschema:
        jsonschema.Draft7Validator.check_schema(schema)
    for name in re.findall(r'"(x-[a-z-]+)"', json.dumps(schema)):
        check(name in ("x-unit", "x-min-bytes", "x-max-bytes", "x-default", "x-messages"),
              "%s shows %s" % (where, name))


def check_content(content, where):
    obey("content", content, where)
    check_schema(content["schema"], where)


def check_examples(method, where):
    """Each pairing is by name, and its values are what the parameters' schemas want."""
    params = {p["name"]: p for p in method["params"]}
    for pairing in method["examples"]:
        obey("pairing", pairing, where)
        given = {}
        for example in pairing["params"]:
            obey("example", example, where)
            given[example["name"]] = example["value"]
        for name, value in given.items():
            check(name in params, "%s: an example with %s" % (where, name))
            if jsonschema:
                jsonschema.validate(value, params[name]["schema"])
        missing = [n for n, p in params.items() if p["required"] and n not in given]
        check(not missing, "%s: an example without %s" % (where, missing))


def check_method(document, method):
    where = method.get("name", "a method")
    obey("method", method, where)
    equal(method["paramStructure"], "by-name", where)
    for content in method["params"]:
        check_content(content, "%s.%s" % (where, content.get("name")))
    check_content(method["result"], where + " result")
    names = [p["name"] for p in method["params"]]
    equal(len(set(names)), len(names), "%s: names of parameters" % where)
    required = [p["required"] for p in method["params"]]
    equal(required, sorted(required, reverse=True), "%s: required parameters first" % where)
    for error in method["errors"]:
        obey("error", find(document, error["$ref"]), error["$ref"])
    check_examples(method, where)


def schemas():
    """The capabilities as schema/ has them."""
    found = [json.loads(p.read_text()) for p in (ROOT / "schema").glob("*.json")]
    return {c["name"]: c for c in found if isinstance(c, dict) and "inputSchema" in c}


def kept():
    return json.loads((ROOT / "docs" / "openrpc.json").read_text())


@suite.test()
def test_the_answer_is_the_page():
    server = Server()
    equal(server.call("rpc.discover"), kept(), "rpc.discover and docs/openrpc.json")
    equal(server.call("agent.session")["server"]["version"], kept()["info"]["version"], "version")
    server.stop()


@suite.test()
def test_the_pages_name_methods():
    """A client of plain JSON-RPC reads them; the names with an underscore are those of tools."""
    tools = {name.replace(".", "_") for name in schemas()} - {"is_blocked"}
    for page in ("openrpc.json", "reference.md"):
        text = (ROOT / "docs" / page).read_text().split("\n## Errors\n")[0]
        equal(sorted(tools.intersection(re.findall(r"[a-z_]+", text))), [], page)


@suite.test()
def test_it_is_an_openrpc_document():
    document = kept()
    obey("document", document, "document")
    check(re.fullmatch(r"1\.[0-9]+\.[0-9]+", document["openrpc"]), "version of the specification")
    obey("info", document["info"], "info")
    obey("license", document["info"]["license"], "license")
    obey("components", document["components"], "components")
    names = [m["name"] for m in document["methods"]]
    equal(len(set(names)), len(names), "names of methods")
    for method in document["methods"]:
        check_method(document, method)
    for name, error in document["components"]["errors"].items():
        obey("error", error, name)
        equal(error["data"]["type"], name, "type")
    for schema in document["components"]["schemas"].values():
        check_schema(schema, "components")
    for ref in re.findall(r'"\$ref": "([^"]+)"', json.dumps(document)):
        find(document, ref)


@suite.test()
def test_it_has_all_that_schema_has():
    document, wanted = kept(), schemas()
    methods = {m["name"]: m for m in document["methods"]}
    equal(set(methods), set(wanted), "methods")
    for name, capability in wanted.items():
        properties = capability["inputSchema"]["properties"]
        aliases = {p["x-alias"] for p in properties.values() if "x-alias" in p}
        params = {p["name"]: p for p in methods[name]["params"]}
        equal(set(params), set(properties) | aliases, "parameters of " + name)
        equal({n for n, p in params.items() if p["required"]},
              set(capability["inputSchema"].get("required", [])), "required by " + name)
        equal(set(methods[name]["result"]["schema"]["properties"]),
              set(capability["outputSchema"]["properties"]), "result of " + name)
        equal([e["$ref"].split("/")[-1] for e in methods[name]["errors"]], capability["errors"],
              "errors of " + name)
    rows = json.loads((ROOT / "schema" / "errors.json").read_text())
    equal(set(document["components"]["errors"]), {r["name"] for r in rows}, "errors")


def declared(document, method):
    """The types of error that @method names."""
    return {error["$ref"].split("/")[-1]
            for found in document["methods"] if found["name"] == method
            for error in found["errors"]}


def examples_of_all(document):
    """A call of each method, with the parameters of its first example."""
    return {m["name"]: {p["name"]: p["value"] for p in m["examples"][0]["params"]}
            for m in document["methods"]}


def check_is_declared(document, method, answer):
    kind = answer["error"]["data"]["type"]
    check(kind in declared(document, method), "%s may fail with %s too" % (method, kind))


@suite.test()
def test_errors_of_a_question_are_named():
    """Whoever asks a human makes a call wait, so it may find no place, and may be cancelled."""
    document = kept()
    for method, params in examples_of_all(document).items():
        server = Server("--set", "tier.%s=confirm" % method, "--set", "limits.requests=1")
        if "process_id" in params:  # nobody is asked about one that is not there
            over = method == "process.delete"
            run = server.run("true" if over else "sleep 100", background=not over,
                             stdin_mode="null" if over else "pipe")
            params = dict(params, process_id=run["process_id"])
        first = server.request(method, params)
        second = server.request(method, params)
        server.notify("$/cancelRequest", {"id": first})
        answer = server.answer(first)
        equal(answer["error"]["data"]["type"], "Cancelled", method)
        check_is_declared(document, method, answer)
        server.close_input() # refuses the question of one that has places of its own
        check_is_declared(document, method, server.answer(second))
        server.stop()


@suite.test()
def test_errors_without_workspace_are_named():
    document = kept()
    server = Server(cwd="home")
    for method, params in examples_of_all(document).items():
        answer = server.answer(server.request(method, params))
        if "error" in answer:
            check_is_declared(document, method, answer)
    server.stop()


if __name__ == "__main__":
    suite.main()
