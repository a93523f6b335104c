"""Lines of a chained log: encode, decode, and detect a truncated one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from math import isfinite
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.errors import refusal

VERSION = 1
"""Value of `v` in records written by this version."""
GENESIS = "0" * 64
"""`prev_hash` of the first record of a log."""

# Limits of line length, for the memory of readers, and of nesting, for their parsers.
LONGEST, DEEPEST = 32 * 2**20, 64
# A character of the payload takes up to 4 bytes.
LONGEST_LINE = 4 * LONGEST + 2**16
_MOST = 2**53

EVENT, SESSION = r"[a-z][a-z0-9_]{0,63}", r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z"
_HEAD = re.compile(rf'\{{"event":"{EVENT}"(,"hash":"([0-9a-f]{{64}})"),"payload":(?=\{{)'.encode())
_TAIL = re.compile(
    rf',"prev_hash":"([0-9a-f]{{64}})","seq":(0|[1-9]\d{{0,15}}),"session_id":"{SESSION}","ts":"{TIME}","v":1\}}\Z'.encode()
)
# The parts before and after a payload, to find where a line is truncated.
_HEAD_PARTS = (b'{"event":"', EVENT.encode(), b'","hash":"', b"[0-9a-f]{64}", b'","payload":')
_TAIL_PARTS = (
    *(b',"prev_hash":"', b"[0-9a-f]{64}", b'","seq":', rb"(?:0|[1-9]\d{0,15})", b',"session_id":"'),
    *(SESSION.encode(), b'","ts":"', TIME.encode(), b'","v":1}'),
)
_LONGEST_TAIL = 512
_MEMBERS = {"event": str, "hash": str, "payload": dict, "prev_hash": str, "seq": int, "session_id": str, "ts": str}


def canonical(name: str, value: Any) -> str:
    """Return a value as RFC 8785 canonical JSON.

    Raises:
        OpenOutcryError: `argument_invalid`: the value contains NaN or an infinity, a key that is not a string, an
            integer beyond 2^53, a type that JSON does not have, or more than 64 levels.
    """
    _check(name, value, 0)
    try:
        return native.canonicalize(json.dumps(value, default=dict))
    except native.OpenOutcryError as error:
        raise refusal("argument_invalid", f"`{name}` must be valid Unicode; received {error}") from error


def _check(name: str, value: Any, depth: int) -> None:
    if value is None or isinstance(value, (str, bool)):
        return
    if isinstance(value, int):
        if not -_MOST <= value <= _MOST:
            raise refusal("argument_invalid", f"`{name}` must lie within 2^53 of 0; received {value}")
    elif isinstance(value, float):
        if not isfinite(value):
            raise refusal("argument_invalid", f"`{name}` must be finite; received {value}")
    elif depth >= DEEPEST:
        raise refusal("argument_invalid", f"`{name[:80]}` must have at most {DEEPEST} levels; received more")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise refusal("argument_invalid", f"keys of `{name}` must be texts; received {key!r}")
            _check(f"{name}.{key}", item, depth + 1)
    elif isinstance(value, (list, tuple)):
        for place, item in enumerate(value):
            _check(f"{name}[{place}]", item, depth + 1)
    else:
        raise refusal("argument_invalid", f"`{name}` must be a JSON value; received {type(value).__name__}")


class Draft:
    """A record without its position in the chain, prepared before the lock is taken."""

    def __init__(self, event: str, payload: Mapping[str, Any]) -> None:
        self._event = matching("event", event, EVENT)
        if not isinstance(payload, Mapping):
            raise refusal("argument_invalid", f"`payload` must be an object; received {type(payload).__name__}")
        self._payload = canonical("payload", payload)
        if len(self._payload) > LONGEST:
            wanted = f"`payload` must take at most {LONGEST} characters"
            raise refusal("argument_invalid", f"{wanted}; received {len(self._payload)}")

    def line(self, link: tuple[int, str], session: str, ts: str) -> tuple[str, str]:
        """Return the record as a line with its line end, and its hash."""
        head = f'{{"event":"{self._event}"'
        rest = (
            f',"payload":{self._payload},"prev_hash":"{link[1]}","seq":{link[0]},"session_id":"{session}",'
            f'"ts":"{ts}","v":{VERSION}}}'
        )
        digest = sha256((head + rest).encode()).hexdigest()
        return f'{head},"hash":"{digest}"{rest}\n', digest


def matching(name: str, value: Any, pattern: str) -> str:
    """Return a string that fully matches a pattern; raise otherwise."""
    if not isinstance(value, str) or not re.fullmatch(pattern, value, re.ASCII):
        raise refusal("argument_invalid", f"`{name}` must match `{pattern}`; received {value!r}")
    return value


def record_of(line: bytes) -> dict[str, Any] | None:
    """Return the record of a line without its line end.

    None if the line is not a valid record.

    Unknown members and a later `v` are accepted if the line is canonical and its hash is correct.
    """
    head = _HEAD.match(line)
    if head is not None and _TAIL.search(line, max(0, len(line) - _LONGEST_TAIL)):
        body = line[: head.start(1)] + line[head.end(1) :]
        if sha256(body).hexdigest().encode() != head[2]:
            return None
        record = parsed(line)
        return record if record is not None and isinstance(record.get("payload"), dict) else None
    return _record_by_members(line)


def _reject_constant(text: str) -> float:
    raise ValueError(text)


def _number(text: str) -> int | float:
    # RFC 8785 writes large floats without a decimal point, so an integer beyond 2^53 is a float.
    value = int(text)
    return value if -_MOST <= value <= _MOST else float(text)


# Shared: `json.loads` with these arguments would create a decoder per line.
_DECODER = json.JSONDecoder(parse_constant=_reject_constant, parse_int=_number)


def _record_by_members(line: bytes) -> dict[str, Any] | None:
    record = parsed(line)
    if record is None or not all(isinstance(record.get(name), kind) for name, kind in _MEMBERS.items()):
        return None
    if isinstance(record["seq"], bool) or not isinstance(record.get("v"), int) or isinstance(record["v"], bool):
        return None
    text = line.decode("utf-8")
    try:
        if native.canonicalize(text) != text:
            return None
        body = {name: value for name, value in record.items() if name != "hash"}
        digest = sha256(native.canonicalize(json.dumps(body)).encode()).hexdigest()
    except native.OpenOutcryError:
        return None
    return record if digest == record["hash"] else None


def parsed(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object of a line; None if the line is not one."""
    try:
        value = _DECODER.decode(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def is_truncated(line: bytes) -> bool:
    """Return whether a line is a truncated record: a proper prefix of one.

    A power failure can append zero bytes. A line with the end of a record is not truncated, even if it is invalid.
    """
    cut = line.rstrip(b"\0")
    if not cut:
        return bool(line)
    # With zeros, the last byte of the record may have been overwritten by one.
    closed = cut if len(cut) == len(line) else cut + b"}"
    if any(_TAIL.search(end, max(0, len(end) - _LONGEST_TAIL)) for end in (cut, closed)):
        return False
    at = _cut_at(cut, 0, _HEAD_PARTS)
    if at is None or at == len(cut):
        return at is not None
    end = _object_end(cut, at)
    if end is None or end == len(cut):
        return end is not None
    # A complete tail would be a record.
    return _cut_at(cut, end, _TAIL_PARTS) == len(cut)


def _cut_at(line: bytes, at: int, parts: Iterable[bytes]) -> int | None:
    """Return where the parts end; the end of the line if it is truncated within them.

    None if they do not match.
    """
    for part in parts:
        is_literal = not part.startswith((b"[", b"(", b"\\"))
        rest = line[at : at + _LONGEST_TAIL]
        if is_literal:
            if not rest.startswith(part):
                return len(line) if part.startswith(rest) else None
            at += len(part)
            continue
        found = re.match(part, rest)
        if found is None or at + found.end() == len(line):
            # Truncated within the part: the rest has only characters that the part allows.
            return len(line) if re.fullmatch(rb"[\w.:-]*", rest) and len(rest) < _LONGEST_TAIL else None
        at += found.end()
    return at


_STRUCTURE = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\.)*"|[{}\[\]]|"')


def _object_end(line: bytes, at: int) -> int | None:
    """Return where an object ends; the end of the line if it is truncated within it.

    None if there is no object.
    """
    if line[at : at + 1] != b"{":
        return None
    depth = 0
    for found in _STRUCTURE.finditer(line, at):
        token = found[0]
        if token in b"{[":
            depth += 1
        elif token in b"]}":
            depth -= 1
            if depth == 0:
                return found.end()
        elif token == b'"':
            return len(line)
    return len(line)
