"""What an operator chooses of the rules: fees, and rates of the past.

What is refused here never comes into a log.
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

MOST_TEXT, MOST_N = 200, 1_000_000_000
_KINDS: Mapping[str, type] = {"theater": str, "rate": str, "n": int, "source": str, "period": str}


def chosen(before: Parameters, told: Mapping[str, str | None]) -> Parameters:
    """Return parameters with other fees.

    Args:
        before: What is in force.
        told: `fee_model`, `fee_rate` and `fee_step`, by these names; None leaves one as it is.

    Raises:
        OpenOutcryError: `argument_invalid`: a model that does not exist, or a number that is none.
    """
    kept = {each.name: getattr(before, each.name) for each in fields(before)}
    after = Parameters(**kept | {name: value for name, value in told.items() if value is not None})
    rate, step = _share(after.fee_rate), _share(after.fee_step)
    if rate is None or step in (None, "0"):
        wanted = "`fee_rate` from 0 to 1 and `fee_step` above 0 to 1, decimals of at most 6 places, are required"
        raise refusal("argument_invalid", f"{wanted}; received {after.fee_rate!r} and {after.fee_step!r}")
    return replace(after, fee_rate=rate, fee_step=step)


def _share(text: str) -> str | None:
    """Return a decimal from 0 to 1 in its one form; None where it is none."""
    if not re.fullmatch(r"0(\.[0-9]{1,6})?|1(\.0{1,6})?", text, re.ASCII):
        return None
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def table_of(content: bytes) -> bytes:
    """Return a table of past rates, read, as the bytes that the log's digest is of.

    Args:
        content: A JSON list, one row a theater at most, members as `BaseRate`.

    Raises:
        OpenOutcryError: `argument_invalid`: it is no such table.
    """
    try:
        rows = json.loads(content, object_pairs_hook=_members_once)
    except (RecursionError, ValueError) as error:
        raise _wanted("JSON that names each member once", str(error).partition("\n")[0]) from error
    if not isinstance(rows, list):
        raise _wanted("a list of rows", type(rows).__name__)
    table = [_row(place, each) for place, each in enumerate(rows)]
    named = [each.theater for each in table]
    if len(set(named)) < len(named):
        raise _wanted("one row a theater", f"more of {max(named, key=named.count)}")
    return native.canonicalize(json.dumps([each._asdict() for each in sorted(table)])).encode()


def _members_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise ValueError(f"{max(names, key=names.count)!r} comes twice")
    return dict(pairs)


def _row(place: int, told: Any) -> BaseRate:
    if not isinstance(told, dict) or told.keys() != _KINDS.keys():
        raise _wanted(f"row {place} with the members {', '.join(_KINDS)} and no other", _members(told))
    for name, kind in _KINDS.items():
        if type(told[name]) is not kind:
            raise _wanted(f"row {place} with a {'whole number' if kind is int else 'text'} as `{name}`", told[name])
    row = BaseRate(**told)
    if row.theater not in THEATERS:
        raise _wanted(f"row {place} of a theater of {', '.join(THEATERS)}", repr(row.theater))
    if not 0 <= row.n <= MOST_N:
        raise _wanted(f"row {place} with `n` from 0 to {MOST_N:,}", row.n)
    if not all(each.isprintable() and 0 < len(each.strip()) <= MOST_TEXT for each in (row.source, row.period)):
        raise _wanted(f"row {place} that names its `source` and `period`, in at most {MOST_TEXT} characters", "another")
    rate = _share(row.rate)
    if rate is None:
        raise _wanted(f"row {place} with a decimal from 0 to 1 as `rate`, of at most 6 places", repr(row.rate))
    return row._replace(rate=rate)


def _members(told: Any) -> str:
    return ", ".join(map(str, told)) or "none" if isinstance(told, dict) else type(told).__name__


def _wanted(what: str, came: object) -> OpenOutcryError:
    return refusal("argument_invalid", f"a table of past rates needs {what}; received {came}")
