"""What a file of the plain form was taken for, in the words of the other forms."""

from __future__ import annotations

from collections.abc import Sequence

from openoutcry import openoutcry_py as native
from openoutcry.data import columns
from openoutcry.data.dataframes import LONG

_MIDNIGHTS = ("T00:00:00", "T00:00:00Z")


def in_days(core: native.Dataset, periods_per_year: float | None) -> native.Dataset:
    """Return a market with days for times that are all midnight, as other forms do."""
    dates = core.dates
    if dates[0][10:] not in _MIDNIGHTS or any(date[10:] not in _MIDNIGHTS for date in dates):
        return core
    stated = {"dates": [date[:10] for date in dates], "periods_per_year": periods_per_year}
    return columns.native_dataset(columns.values_of(core) | stated)


def described(core: native.Dataset, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return pairs of what was read and what it was taken for.

    Args:
        core: The market.
        names: Names of the columns, as written in the header.
    """
    written = {name.strip().strip('"').lower(): name.strip().strip('"') for name in names}
    date = written.get("date", "date")
    pairs = [(f"column {date!r}", f"date: year first, {_times(core.dates[0])}")]
    if "symbol" in written and "close" in written:
        kept = [role for role in LONG if role in written and role != "date"]
        pairs += [(f"column {written[role]!r}", role.replace("_", " ")) for role in kept]
    else:
        pairs.append(("symbols", f"{len(core.symbols)}, close of each"))
    return (*pairs, ("prices", "the file does not say whether they are adjusted"))


def _times(date: str) -> str:
    if len(date) == 10:
        return "days"
    return "times in UTC" if date.endswith("Z") else "times without a zone"
