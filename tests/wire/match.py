"""Does a message have what a story expects of it?

An expectation is JSON, and a subset: members that it does not name may be anything.

  "@any"            anything, but present          "@absent"   the member must not be there
  "@int" "@number"  a number (not a boolean)       "@string"   a string
  "@id"             a non-empty string             "@re:X"     a string in which X is found
  "@capture:name"   anything; later "$name"        ["@some", X, ...]  an array that has X, ...
  "@not:X"          a string in which X is not found

A whole message that is an array (a batch) may have its elements in any order.
"""
import re

from jsontext import Token, dump


def _wildcard(want, got, captures, where):
    """Why @got does not fit the wildcard @want; None if it does."""
    name, _, rest = want[1:].partition(":")
    number = isinstance(got, (int, Token)) and not isinstance(got, bool)
    text = isinstance(got, str) and not isinstance(got, Token)
    if name == "any":
        return None
    if name == "capture":
        captures[rest] = got
        return None
    if name == "int":
        fits = isinstance(got, int) and not isinstance(got, bool)
    elif name == "number":
        fits = number
    elif name == "string":
        fits = text
    elif name == "id":
        fits = text and got != ""
    elif name == "re":
        fits = text and re.search(rest, got, re.DOTALL) is not None
    elif name == "not":
        fits = text and re.search(rest, got, re.DOTALL) is None
    else:
        return "%s: the story has an unknown wildcard %s" % (where, want)
    return None if fits else "%s: %.300s is not %s" % (where, dump(got), want)


def _object(want, got, captures, where):
    if not isinstance(got, dict):
        return "%s: %.200s is no object" % (where, dump(got))
    for key, value in want.items():
        inner = where + "." + key
        if value == "@absent":
            if key in got:
                return "%s: is there (%.200s)" % (inner, dump(got[key]))
        elif key not in got:
            return "%s: is missing" % inner
        else:
            reason = mismatch(value, got[key], captures, inner)
            if reason:
                return reason
    return None


def _some(want, got, captures, where):
    for item in want[1:]:
        if all(mismatch(item, g, captures, where) for g in got):
            return "%s: nothing in %.300s is like %s" % (where, dump(got), dump(item))
    return None


def _array(want, got, captures, where):
    if not isinstance(got, list):
        return "%s: %.200s is no array" % (where, dump(got))
    if want[:1] == ["@some"]:
        return _some(want, got, captures, where)
    if len(want) != len(got):
        return "%s: %d elements, not %d" % (where, len(got), len(want))
    for i, (w, g) in enumerate(zip(want, got)):
        reason = mismatch(w, g, captures, "%s[%d]" % (where, i))
        if reason:
            return reason
    return None


def mismatch(want, got, captures, where="message"):
    """None if @got fits; else what differs first. Fills @captures."""
    if isinstance(want, str) and not isinstance(want, Token) and want.startswith("@"):
        return _wildcard(want, got, captures, where)
    if isinstance(want, dict):
        return _object(want, got, captures, where)
    if isinstance(want, list):
        return _array(want, got, captures, where)
    if type(want) is not type(got) or want != got:
        return "%s: %.300s, not %.300s" % (where, dump(got), dump(want))
    return None


def message_mismatch(want, got, captures):
    """Like mismatch(), for a whole message: the elements of a batch come in any order."""
    if not (isinstance(want, list) and isinstance(got, list)) or want[:1] == ["@some"]:
        return mismatch(want, got, captures)
    if len(want) != len(got):
        return "batch: %d answers, not %d" % (len(got), len(want))
    left = list(got)
    for item in want:
        for candidate in left:
            trial = dict(captures)
            if mismatch(item, candidate, trial) is None:
                captures.update(trial)
                left.remove(candidate)
                break
        else:
            return "batch: no answer is like %s in %.600s" % (dump(item), dump(got))
    return None
