"""Fields of a candidate's file, and their checks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from hashlib import sha256
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.arguments import rule_fields
from openoutcry.backtest.strategies.parameter_space import shown
from openoutcry.errors import refusal

CANDIDATE_FORMAT = "openoutcry/candidate/v1"
"""`format` of a candidate's file, which research writes."""

DIGEST = "digest"
"""Field with the digest of all others; files of earlier versions have none."""

_SHA = re.compile("[0-9a-f]{64}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[0-9T:.Z+ -]{0,40}")
_OBJECTS = ("params", "market", "provenance")
_LARGEST, _SHOWN = 1e300, 16
_HINT = "hint: use the file as research wrote it"


def digest_of_fields(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of all fields except the digest, in hexadecimal.

    It is that of their canonical JSON, so the layout of the file does not matter.

    Raises:
        OpenOutcryError: `argument_invalid`: a value has no canonical JSON.
    """
    fields = {name: value for name, value in content.items() if name != DIGEST}
    try:
        return sha256(native.canonicalize(json.dumps(fields)).encode()).hexdigest()
    except (native.OpenOutcryError, ValueError, RecursionError) as error:
        wanted = "a candidate must be a JSON object of finite numbers, without deep nesting"
        raise refusal("argument_invalid", f"{wanted}; received one with another value: {error}") from error


def checked_digest(content: Any) -> str:
    """Check the content of a candidate's file and return its digest.

    Raises:
        OpenOutcryError: `argument_invalid`: a field is missing, unknown or invalid, or the content has changed since
            research wrote it.
    """
    _check_fields(content)
    digest = digest_of_fields(content)
    if content.get(DIGEST, digest) != digest:
        wanted = f"a candidate must be as research wrote it, with the digest {content[DIGEST][:_SHOWN]}"
        hint = "restore the file" + ("" if "source" in content else f", or run the strategy as `{_call_of(content)}`")
        raise refusal("argument_invalid", f"{wanted}; received an edited one, {digest[:_SHOWN]}; hint: {hint}")
    return digest


def _call_of(content: Mapping[str, Any]) -> str:
    params = ",".join(f"{name}={value}" for name, value in content["params"].items())
    return shown(f"{content['strategy']}:{params}" if params else content["strategy"])[1:-1]


def _check_fields(content: Any) -> None:
    found = content.get("format") if isinstance(content, Mapping) else None
    if found != CANDIDATE_FORMAT:
        wanted = f"a candidate must be a file that research wrote, with `format` {CANDIDATE_FORMAT}"
        raise refusal("argument_invalid", f"{wanted}; received {shown(found if found else content)}")
    if not (isinstance(content.get("strategy"), str) and isinstance(content.get("params"), Mapping)):
        wanted = "a candidate must have `strategy`, a name, and `params`, an object"
        received = f"{shown(content.get('strategy'))}, {shown(content.get('params'))}"
        raise refusal("argument_invalid", f"{wanted}; received {received}")
    for field in _OBJECTS:
        if not isinstance(content.get(field), Mapping):
            wanted = f"`{field}` of a candidate must be an object"
            raise refusal("argument_invalid", f"{wanted}; received {shown(content.get(field))}")
    _check_known("a candidate", content, _FIELDS)
    _check_each("", content, _FIELDS, required=())
    for field, checks, required in _NESTED:
        _check_known(f"`{field}` of a candidate", content[field], checks)
        _check_each(f"{field}.", content[field], checks, required)
    held, last = content.get("holdout"), content["market"]["last"]
    if held is not None and held[0] <= last:
        wanted = f"`holdout` of a candidate must be after its research, {last}"
        raise refusal("argument_invalid", f"{wanted}; received {' .. '.join(held)}")
    for name, value in content["params"].items():
        if not (isinstance(value, (str, bool)) or _is_number(value)):
            wanted = "params of a candidate must be texts, numbers or bools"
            raise refusal("argument_invalid", f"{wanted}; received {shown(value)} for {shown(name)}")
    _check_rules("costs", content.get("costs", {}), native.CostModel)
    _check_rules("limits", content.get("limits", {}), native.Limits)


def _check_known(what: str, fields: Mapping[str, Any], known: Iterable[str]) -> None:
    names = list(known)
    for name in fields:
        if name not in names:
            similar = get_close_matches(name[:40], names, 1)
            hint = f"hint: `{similar[0]}`" if similar else f"hint: its fields are {', '.join(names)}"
            raise refusal("argument_invalid", f"{what} must have known fields only; received {shown(name)}; {hint}")


def _check_each(
    prefix: str,
    fields: Mapping[str, Any],
    checks: Mapping[str, tuple[str, Callable[[Any], bool]]],
    required: Iterable[str],
) -> None:
    for name in required:
        if name not in fields:
            raise refusal("argument_invalid", f"a candidate must have `{prefix}{name}`; received none; {_HINT}")
    for name, value in fields.items():
        wanted, is_valid = checks[name]
        if not is_valid(value):
            raise refusal(
                "argument_invalid", f"`{prefix}{name}` of a candidate must be {wanted}; received {shown(value)}"
            )


def _check_rules(field: str, rules: Any, kind: type[native.CostModel] | type[native.Limits]) -> None:
    """Check costs or limits; null is valid only where it is the default."""
    if not isinstance(rules, Mapping):
        raise refusal("argument_invalid", f"`{field}` of a candidate must be an object; received {shown(rules)}")
    defaults = rule_fields(kind)
    _check_known(f"`{field}` of a candidate", rules, defaults)
    for name, value in rules.items():
        is_flag = isinstance(defaults[name], bool)
        is_default = value is None and defaults[name] is None
        if not (is_default or (isinstance(value, bool) if is_flag else _is_number(value))):
            wanted = f"`{field}.{name}` of a candidate must be {'true or false' if is_flag else 'a finite number'}"
            hint = f"hint: omit it for the default, {defaults[name]}"
            raise refusal("argument_invalid", f"{wanted}; received {shown(value)}; {hint}")
    kind(**rules)


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and -_LARGEST <= value <= _LARGEST


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_date(value: Any) -> bool:
    return isinstance(value, str) and _DATE.fullmatch(value) is not None


def _is_sha(value: Any) -> bool:
    return isinstance(value, str) and _SHA.fullmatch(value) is not None


def _is_symbols(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value)) and len(set(value)) == len(value)


def _is_holdout(value: Any) -> bool:
    is_pair = isinstance(value, list) and len(value) == 2 and all(map(_is_date, value))
    return value is None or (is_pair and value[0] <= value[1])


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_any(value: Any) -> bool:
    return True


_TEXT, _STATED = ("a text", _is_text), ("a text or null", lambda value: value is None or isinstance(value, str))
_DATED, _OBJECT = ("a date such as 2020-01-31", _is_date), ("an object", _is_object)
_SHA256 = ("64 hexadecimal digits in lower case", _is_sha)
_LIST, _ANY = ("a list", _is_list), ("any value", _is_any)

_FIELDS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "format": _TEXT,
    "status": ("`candidate`", lambda value: value == "candidate"),
    "strategy": _TEXT,
    "params": _OBJECT,
    "source": ("the Python source of its strategy, and absent for a library strategy", _is_text),
    "isolation": _TEXT,
    "rationale": _STATED,
    "market": _OBJECT,
    "folds": _LIST,
    "holdout": ("its first and last date in order, or null for a session without one", _is_holdout),
    "costs": _OBJECT,
    "limits": _OBJECT,
    "evidence": _OBJECT,
    "cautions": _LIST,
    "cannot_see": _LIST,
    "provenance": _OBJECT,
    "digest": _SHA256,
}
_MARKET = {
    "name": _STATED,
    "symbols": ("a list of distinct names", _is_symbols),
    "n_bars": ("an integer of at least 1", lambda value: type(value) is int and value >= 1),
    "first": _DATED,
    "last": _DATED,
    "fingerprint": _SHA256,
    "whole_fingerprint": _SHA256,
}
_PROVENANCE = {
    "session_id": _TEXT,
    "trial": _TEXT,
    "round": ("an integer", lambda value: type(value) is int),
    "engine": _STATED,
    "gates_version": _ANY,
    "provider": _STATED,
    "data": _STATED,
    "git": _ANY,
}
_NESTED = (
    # Without these, nothing says which days are the holdout.
    ("market", _MARKET, ("symbols", "last")),
    ("provenance", _PROVENANCE, ()),
)
