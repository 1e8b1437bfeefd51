"""JSON as it stands on the wire: tokens are kept, doubtful input is refused.

A number that Python would write differently (1.0, 1e2, -0) is kept as a Token, so that an
id that must come back unchanged can be compared exactly.
"""
import json


class Token(str):
    """A number, as it was written."""

    def __repr__(self):
        return "number " + str(self)


def _integer(text):
    return int(text) if str(int(text)) == text else Token(text)


def _constant(text):
    raise ValueError("%s is not JSON" % text)


def _pairs(pairs):
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("duplicate member name")
    return result


def parse(text):
    """Strict; raises ValueError."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "strict")
    try:
        value = json.loads(text, parse_int=_integer, parse_float=Token, parse_constant=_constant,
                           object_pairs_hook=_pairs)
    except RecursionError:
        raise ValueError("too deeply nested")
    if "\\ud" in text.lower():
        dump(value).encode()  # a lone surrogate is a UnicodeEncodeError, which is a ValueError
    return value


def dump(value):
    """Like json.dumps, with tokens as they were."""
    if isinstance(value, Token):
        return str(value)
    if isinstance(value, dict):
        return "{%s}" % ", ".join("%s: %s" % (json.dumps(k), dump(v)) for k, v in value.items())
    if isinstance(value, list):
        return "[%s]" % ", ".join(dump(v) for v in value)
    return json.dumps(value, ensure_ascii=False)
