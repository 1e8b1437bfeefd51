"""Checks the audit log of one session: form, order, chain of hashes, who may read it."""
import hashlib
import json
import os
import stat

from client import check, equal
from jsontext import parse
from validate import conform


def records(state_dir, validator):
    """All records of the session's log, checked. None was written: an empty list."""
    folder = os.path.join(state_dir, "audit")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    if not names:
        return []
    equal(len(names), 1, "audit files of one server (%s)" % names)
    for path in (state_dir, folder):
        equal(stat.S_IMODE(os.stat(path).st_mode), 0o700, "mode of " + path)
    path = os.path.join(folder, names[0])
    equal(stat.S_IMODE(os.stat(path).st_mode), 0o600, "mode of " + path)
    with open(path, "rb") as f:
        data = f.read()
    check(data.endswith(b"\n"), "the audit log ends inside a line")
    return _chain(data[:-1].split(b"\n"), validator)


def _chain(lines, validator):
    found, before, last = [], "0" * 64, None
    for number, line in enumerate(lines, 1):
        where = "audit line %d" % number
        record = parse(line)
        conform(validator, json.loads(line), where)
        equal(record["prev"], before, where + ": prev")
        if last:
            equal(record["seq"], last["seq"] + 1, where + ": seq")
            equal(record["instance"], last["instance"], where + ": instance")
        before, last = hashlib.sha256(line).hexdigest(), record
        found.append(record)
    _ends(found)
    return found


def _ends(found):
    """Every run that was started has exactly one end, after its attempt."""
    ended = [r.get("process_id") for r in found if r["event"] == "end"]
    equal(len(ended), len(set(ended)), "end records with the same process_id")
    check(all(ended), "an end record without process_id")
