#!/usr/bin/env python3
"""A list in sandbox.network: commands connect to these TCP ports and reach nothing else by IP. Each way
out is first seen open without the list."""
import os
import re
import socket

from client import Skip, check, equal, hostile_program
from demands import Place
from suite import Suite

suite = Suite()
PYTHON = "/usr/bin/python3"
ORDINARY = 65534

# Arguments: a listed port, and another one. Each call is an attempt with a name.
WAYS = r"""
import ctypes, errno, os, socket, struct, sys
listed, other = int(sys.argv[1]), int(sys.argv[2])
def attempt(name, call):
    try:
        call()
        print(name, "open")
    except OSError as e:
        print(name, errno.errorcode.get(e.errno, e.errno))
def connect(port, family=socket.AF_INET, kind=socket.SOCK_STREAM, protocol=0, option=None):
    with socket.socket(family, kind, protocol) as s:
        s.settimeout(15)
        if option:
            s.setsockopt(*option)
        s.connect(("127.0.0.1" if family == socket.AF_INET else "::1", port))
        s.send(b"x")
def fast(port, how):
    with socket.socket() as s: # with a timeout it would be in progress
        if how == "to":
            s.sendto(b"x", 0x20000000, ("127.0.0.1", port))
        elif how == "msg":
            s.sendmsg([b"x"], [], 0x20000000, ("127.0.0.1", port))
        else:
            address = ctypes.create_string_buffer(struct.pack("<H", 2) + struct.pack(">H", port) +
                                                  bytes([127, 0, 0, 1]) + bytes(8))
            text = ctypes.create_string_buffer(b"x")
            iov = struct.pack("<QQ", ctypes.addressof(text), 1)
            iov = ctypes.create_string_buffer(iov)
            header = ctypes.create_string_buffer(
                struct.pack("<QIxxxxQQQQIxxxxIxxxx", ctypes.addressof(address), 16,
                            ctypes.addressof(iov), 1, 0, 0, 0, 0))
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.sendmmsg(s.fileno(), header, 1, 0x20000000) < 0:
                raise OSError(ctypes.get_errno(), "")
def bound():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen(1)
def again():
    with socket.socket() as s:
        s.connect(("127.0.0.1", listed))
        libc = ctypes.CDLL(None, use_errno=True)
        libc.connect(s.fileno(), struct.pack("<H", 0) + bytes(14), 16)
        s.connect(("127.0.0.1", other))
attempt("listed", lambda: connect(listed))
attempt("listed6", lambda: connect(listed, socket.AF_INET6))
attempt("bind", bound)
attempt("unix", lambda: socket.socketpair())
attempt("netlink", lambda: socket.socket(16, 3, 0).close())
attempt("tcp", lambda: connect(other))
attempt("tcp6", lambda: connect(other, socket.AF_INET6))
attempt("reconnect", again)
attempt("mapped", lambda: socket.create_connection(("::ffff:127.0.0.1", other), 15).close())
attempt("udp", lambda: connect(other, kind=socket.SOCK_DGRAM))
attempt("udp_listed", lambda: connect(listed, kind=socket.SOCK_DGRAM))
attempt("mptcp", lambda: connect(other, protocol=262))
attempt("raw", lambda: socket.socket(2, 3, 1).close())
attempt("ping", lambda: socket.socket(2, 2, 1).close())
attempt("packet", lambda: socket.socket(17, 3, 0).close())
attempt("fast_sendto", lambda: fast(other, "to"))
attempt("fast_sendmsg", lambda: fast(other, "msg"))
attempt("fast_sendmmsg", lambda: fast(other, "mmsg"))
attempt("fast_connect", lambda: connect(listed, option=(6, 30, 1)))
print("resolver", os.environ.get("RES_OPTIONS"))
"""
SHUT = {"tcp", "tcp6", "reconnect", "mapped", "udp", "udp_listed", "mptcp", "raw", "ping", "packet",
        "fast_sendto", "fast_sendmsg", "fast_sendmmsg", "fast_connect"}
OPEN = {"listed", "listed6", "bind", "unix", "netlink"}


class Listeners:
    """Services of this host on loopback, on two ports, by both families."""

    def __enter__(self):
        self.ports, self.sockets = [], []
        while len(self.ports) < 2:
            one, two = socket.socket(), socket.socket(socket.AF_INET6)
            one.bind(("127.0.0.1", 0))
            try:
                two.bind(("::1", one.getsockname()[1]))
            except OSError:
                continue
            self.ports.append(str(one.getsockname()[1]))
            for s in (one, two):
                s.listen(64)
                self.sockets.append(s)
        return self.ports

    def __exit__(self, *_):
        for s in self.sockets:
            s.close()


def ways(server, ports, **params):
    result = server.run(PYTHON, ["-c", WAYS, *ports], **params)
    equal(result["exit_code"], 0, result["stderr_summary"])
    return dict(re.findall(r"^(\S+) (\S+)$", result["stdout_summary"], re.M)), result["sandbox"]


def judges_ports(place):
    """Does Landlock know ports here (ABI 4)?"""
    server = place.server()
    active = server.call("agent.session")["sandbox"]["active"]
    server.stop()
    return any(name.startswith("landlock:") and int(name[9:]) >= 4 for name in active)


def test_ways(user, options):
    with Place(user) as place, Listeners() as ports:
        if not judges_ports(place):
            raise Skip("Landlock is missing, or below ABI 4")
        bare = place.server(*options)
        found, sandbox = ways(bare, ports)
        gaps = bare.call("agent.session")["sandbox"]["gaps"]
        bare.stop()
        for name in OPEN | SHUT - {"mptcp", "raw", "ping", "packet"}:
            if not (name.endswith("6") and found[name] == "EADDRNOTAVAIL"):
                equal(found[name], "open", "without the list: %s" % name)
        check(any(gap.startswith("network: all of it") for gap in gaps), gaps)
        check(not any(name.startswith("network_ports") for name in sandbox), sandbox)
        equal(found["resolver"], "None", "without the list")
        server = place.server(*options, "--set", "sandbox.network=53," + ports[0])
        # In shims that are used again, beside those of other runs.
        for params in ({}, {"network": False}, {}, {"explain_denials": True}, {"network": True},
                       {"profile": "strict"}, {}):
            found, sandbox = ways(server, ports, **params)
            equal({name for name in SHUT if found[name] == "open"}, set(), "open: %s" % params)
            check("network_ports:53," + ports[0] in sandbox, sandbox)
            equal(found["resolver"], "use-vc", "names by TCP")
            if not params.get("network", True) or "profile" in params:
                check(found["listed"] != "open", "without a network: %s" % found)
                continue
            equal({name: found[name] for name in OPEN}, dict.fromkeys(OPEN, "open"), str(params))
            equal((found["tcp"], found["udp"], found["fast_sendto"]), ("EACCES", "EAFNOSUPPORT", "EPERM"),
                  "what the command is told")
        gaps = server.call("agent.session")["sandbox"]["gaps"]
        check(any(gap.startswith("network: TCP to the listed ports") for gap in gaps), gaps)
        # A ruleset of its own cannot give a command back what ours takes.
        result = server.run(hostile_program("without"), ["landlock", PYTHON, "-c", WAYS, *ports])
        check("tcp open" not in result["stdout_summary"], result["stdout_summary"])
        server.stop()


for user in (0, ORDINARY):
    for options in ([], ["--set", "sandbox.namespaces=false"]):
        def test(user=user, options=options):
            if user and os.geteuid() != 0:
                raise Skip("only root can become another user")
            test_ways(user, options)
        test.__name__ = "test_ways_%s_%s" % ("ordinary" if user else "as_started",
                                             "plain" if options else "full")
        suite.test()(test)


@suite.test()
def test_start_is_refused():
    """Where the kernel cannot judge ports; and a list that is none."""
    with Place() as place:
        for value, more, wrapper, words in (
                ("443", [], ["landlock"], ("network_ports", "Landlock")),
                ("443", [], ["landlock_switched_off"], ("network_ports", "Landlock")),
                ("443", [], ["landlock_refused"], ("network_ports",)),
                ("443", ["--set", "sandbox.profile=none"], [], ("profile none",)),
                *((value, [], [], ("neither true nor false nor a list of at most 64 ports from 1 to 65535",))
                  for value in ("443,x", "443,,1", "0,443", "65536", "",
                                ",".join(str(n) for n in range(2, 67))))):
            prefix = [hostile_program("without"), *wrapper] if wrapper else []
            status, out, err = place.tool("run", *place.options("--set", "sandbox.network=" + value, *more),
                                          "true", wrapper=prefix)
            equal((status, out), (125 if len(words) > 1 or more or wrapper else 2, ""), "%s %s: %s" % (value[:20], wrapper, err))
            for word in words:
                check(word in err, "%s: no %r in %s" % (value[:20], word, err))


@suite.test()
def test_a_human_is_told():
    """A question about a run names the ports that it may use."""
    with Place() as place:
        if not judges_ports(place):
            raise Skip("Landlock is missing, or below ABI 4")
        server = place.server("--set", "packs=git:confirm", "--set", "sandbox.network=53,443")
        for params, ports in (({}, [53, 443]), ({"network": False}, None)):
            id = server.request("process.run", dict(params, command="git push --force"))
            question = server.receive()
            while question.get("method") != "capability.confirm":
                question = server.receive()
            equal(question["params"].get("network_ports"), ports, str(params))
            server.send({"jsonrpc": "2.0", "id": question["id"], "result": {"allow": False}})
            equal(server.answer(id)["error"]["data"]["type"], "PermissionDenied", "refused")
        server.stop()


@suite.test()
def test_where_it_is_set():
    """The same list by all ways, shown by config show, config.get and the schema; a project cannot change it."""
    with Place() as place:
        place.write("workspace/.procpen.json", '{"sandbox.network": true}')
        place.write("c.json", '{"sandbox.network": [1, 443]}')
        if not judges_ports(place):
            raise Skip("Landlock is missing, or below ABI 4")
        server = place.server("--config", place.path("c.json"), "--set", "config.project=narrow")
        equal(server.call("config.get", {"keys": ["sandbox.network"]})["sandbox.network"]["value"], [1, 443], "value")
        check("would loosen" in str(server.call("agent.session")["project"]), "the project's true")
        server.stop()
        for text, want in (("[1]", "1,"), ("[53, 443]", "53,443"), ("false", "false"), ("true", "true")):
            place.write("c.json", '{"sandbox.network": %s}' % text)
            status, out, err = place.tool("config", "show", "--config", place.path("c.json"))
            equal(status, 0, err)
            check("\nsandbox.network=%s\n" % want in out, out)
        for text in ("[]", '["x"]', "443", '"443"', "[0]", "[1.5]", "null", "{}"):
            place.write("c.json", '{"sandbox.network": %s}' % text)
            equal(place.tool("config", "validate", place.path("c.json"))[0], 1, text)


if __name__ == "__main__":
    suite.main()
