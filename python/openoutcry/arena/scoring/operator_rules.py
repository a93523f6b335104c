"""Scoring rules that an operator sets: fees and historical base rates.

They are validated here, before they are written to the log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.arena.protocol import THEATERS
from openoutcry.arena.scoring.score_inputs import BaseRate, Parameters
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError

MAX_TEXT, MAX_N = 200, 1_000_000_000
_KINDS: Mapping[str, type] = {"theater": str, "rate": str, "n": int, "source": str, "period": str}


def with_fees(before: Parameters, fees: Mapping[str, str | None]) -> Parameters:
    """Return parameters with some fee settings replaced.

    Args:
        before: Current parameters.
        fees: New `fee_model`, `fee_rate` and `fee_step`, by name; None keeps the current value.

    Raises:
        OpenOutcryError: `argument_invalid`: the fee model is unknown, or a number is invalid.
    """
    kept = {each.name: getattr(before, each.name) for each in fields(before)}
    after = Parameters(**kept | {name: value for name, value in fees.items() if value is not None})
    rate, step = _share(after.fee_rate), _share(after.fee_step)
    if rate is None or step in (None, "0"):
        wanted = "`fee_rate` from 0 to 1 and `fee_step` above 0 to 1, decimals of at most 6 places, are required"
        raise refusal("argument_invalid", f"{wanted}; received {after.fee_rate!r} and {after.fee_step!r}")
    return replace(after, fee_rate=rate, fee_step=step)


def _share(text: str) -> str | None:
    """Return a decimal from 0 to 1 in canonical form, or None if it is invalid."""
    if not re.fullmatch(r"0(\.[0-9]{1,6})?|1(\.0{1,6})?", text, re.ASCII):
        return None
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def canonical_rate_table(content: bytes) -> bytes:
    """Return a table of historical base rates as canonical JSON, for the log's digest.

    Args:
        content: A JSON list with at most one row per theater; rows have the fields of `BaseRate`.

    Raises:
        OpenOutcryError: `argument_invalid`: the table is invalid.
    """
    try:
        rows = json.loads(content, object_pairs_hook=_unique_keys)
    except (RecursionError, ValueError) as error:
        raise _invalid("valid JSON without duplicate keys", str(error).partition("\n")[0]) from error
    if not isinstance(rows, list):
        raise _invalid("a list of rows", type(rows).__name__)
    table = [_row(place, each) for place, each in enumerate(rows)]
    named = [each.theater for each in table]
    if len(set(named)) < len(named):
        raise _invalid("one row per theater", f"several for {max(named, key=named.count)}")
    return native.canonicalize(json.dumps([each._asdict() for each in sorted(table)])).encode()


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise ValueError(f"duplicate key {max(names, key=names.count)!r}")
    return dict(pairs)


def _row(place: int, fields_: Any) -> BaseRate:
    if not isinstance(fields_, dict) or fields_.keys() != _KINDS.keys():
        raise _invalid(f"row {place} with the fields {', '.join(_KINDS)} and no other", _field_names(fields_))
    for name, kind in _KINDS.items():
        if type(fields_[name]) is not kind:
            raise _invalid(f"row {place} with {'an integer' if kind is int else 'a string'} as `{name}`", fields_[name])
    row = BaseRate(**fields_)
    if row.theater not in THEATERS:
        raise _invalid(f"row {place} with one of the theaters {', '.join(THEATERS)}", repr(row.theater))
    if not 0 <= row.n <= MAX_N:
        raise _invalid(f"row {place} with `n` from 0 to {MAX_N:,}", row.n)
    if not all(each.isprintable() and 0 < len(each.strip()) <= MAX_TEXT for each in (row.source, row.period)):
        raise _invalid(f"row {place} with a `source` and `period` of 1 to {MAX_TEXT} characters", "another")
    rate = _share(row.rate)
    if rate is None:
        raise _invalid(f"row {place} with a decimal from 0 to 1 as `rate`, of at most 6 places", repr(row.rate))
    return row._replace(rate=rate)


def _field_names(row: Any) -> str:
    return ", ".join(map(str, row)) or "none" if isinstance(row, dict) else type(row).__name__


def _invalid(required: str, received: object) -> OpenOutcryError:
    return refusal("argument_invalid", f"a base-rate table needs {required}; received {received}")
