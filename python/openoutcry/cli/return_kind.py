"""What the numbers of a file are: account values, returns or percentages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.data.readers.questions import Question, unstated
from openoutcry.data.readers.return_file import ReturnTable
from openoutcry.errors import OpenOutcryError, refusal
from openoutcry.scoring.return_values import are_gross, is_cumulative, percent_doubt

# Returns are below this value and equity is above it, except after large losses, where `--csv` is required.
_BETWEEN = 0.5
_KEYWORDS = {
    "equity": "for account values",
    "percent": "for percentages such as 1.2",
    "returns": "for returns such as 0.012",
}
# No percentage is below this value.
_LEAST_PERCENT = -100.0


def kind_of(path: Path, table: ReturnTable, periods_per_year: float | None) -> str:
    """Return `equity` or `returns` for a table that shows which it is.

    Raises:
        OpenOutcryError: `argument_invalid`: it must be stated.
    """
    if table.unsigned:
        named = f"{table.unsigned[0]!r}, which says percent, and no percent signs"
        raise _unstated(path, "`returns` or `percent`", named, "percent")
    # Percent signs say nothing about the columns without them.
    series = {name: values for name, values in table.series.items() if name not in table.signed}
    if not series:
        return "returns"
    lowest = min(float(values.min()) for values in series.values())
    highest = max(float(values.max()) for values in series.values())
    received = f"values from {lowest:g} to {highest:g}"
    if lowest > _BETWEEN:
        gross = next((name for name, values in series.items() if are_gross(values)), None)
        if gross is None:
            return "equity"
        received = f"{gross!r} around 1, which changes by large steps as 1 + returns do"
        raise _unstated(path, "`equity`, or `returns` after subtracting 1", received, "equity")
    if lowest < _LEAST_PERCENT:
        hint = "hint: divide basis points by 10,000, or profits in money by the account value before them"
        wanted = f"returns, percentages or account values are required in '{path}'"
        raise refusal("value_invalid", f"{wanted}; received {received}; {hint}")
    if lowest < -1.0:
        raise _unstated(path, "`percent` or `returns`", f"{received}, and no return is below -1", "percent")
    if lowest < 0.0 and (doubt := _doubt(replace(table, series=series), periods_per_year)):
        raise _unstated(path, "`percent` or `returns`", f"{received}: {doubt}", "percent")
    if highest >= _BETWEEN or lowest >= 0.0:
        raise _unstated(path, "`equity`, `returns` or `percent`", f"{received}, which fit them", "returns")
    return "returns"


def check_steps(path: Path, agents: Mapping[str, npt.NDArray[np.float64]]) -> None:
    """Refuse series that change by small steps, as cumulative returns do.

    Raises:
        OpenOutcryError: `argument_invalid`: `--csv` must state that they are returns.
    """
    found = [name for name, values in agents.items() if is_cumulative(values)]
    if found:
        received = f"{found[0]!r}, which changes by small steps as cumulative returns do"
        required = f"`--csv` is required for '{path}': `equity` after adding 1 to cumulative returns, or `returns`"
        raise unstated(Question("argument_invalid", required, received, _KEYWORDS["returns"], "--csv returns"))


def check_signs(path: Path, table: ReturnTable, kind: str) -> None:
    """Refuse account values with percent signs.

    Raises:
        OpenOutcryError: `argument_invalid`: `kind` is `equity`.
    """
    if kind == "equity" and table.signed:
        message = f"equity must be without percent signs; received {table.signed[0]!r} of '{path}'"
        raise refusal("argument_invalid", f"{message}; hint: `--csv returns`")


def _doubt(table: ReturnTable, periods_per_year: float | None) -> str:
    """Return how a column looks like percentages; else empty."""
    periods = periods_per_year
    if periods is None and table.are_dates and not table.questions:
        periods = native.inferred_periods_per_year(list(table.labels or ()))
    if periods is None:
        return ""
    doubts = ((name, percent_doubt(values, periods)) for name, values in table.series.items())
    return next((f"{name!r} {doubt}" for name, doubt in doubts if doubt), "")


def _unstated(path: Path, kinds: str, received: str, option: str) -> OpenOutcryError:
    required = f"`--csv` is required for '{path}': {kinds}"
    keyword = _KEYWORDS[option]
    return unstated(Question("argument_invalid", required, received, keyword, f"--csv {option}"))
