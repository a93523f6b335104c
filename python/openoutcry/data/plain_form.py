"""What a file of the plain form was taken for, in the words of the other forms."""

from __future__ import annotations

from collections.abc import Sequence

from openoutcry import openoutcry_py as native
from openoutcry.data.dataframes import LONG


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
