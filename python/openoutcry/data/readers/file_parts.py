"""Names of files that are parts of one: years, months or ranges of one symbol."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from openoutcry.errors import refusal

_DAY = r"(?:19|20)\d\d(?:[-_.]?(?:0[1-9]|1[0-2])(?:[-_.]?[0-3]\d)?|[-_.]?[Qq][1-4])?"
# A year, quarter, month, day or a range of them, between separators.
_DATES = re.compile(rf"(?:(?<=[-_. ])|^){_DAY}(?:(?:[-_. ]|_to_|-to-){_DAY})?(?=[-_. ]|$)", re.ASCII)
_MOST_NAMES = 3
_SUFFIX = re.compile(r"(?:\.(?:csv|tsv|txt|json|parquet|feather|xlsx|gz|zip))+$", re.IGNORECASE)


def symbols_of(paths: Sequence[Path]) -> list[str]:
    """Return the symbol of each file, for files that do not name theirs.

    It is the stem of the file. If files differ only by the dates in their names, it is their common stem: of
    `AAPL_2019.csv` and `AAPL_2020.csv`, AAPL.

    Raises:
        OpenOutcryError: `duplicate_symbol`: two names have one stem, and differ by more than dates.
    """
    stems = [path.name.partition(".")[0] for path in paths]
    whole = [_SUFFIX.sub("", path.name) for path in paths]
    common = [_common(name) for name in whole]
    counts = Counter(common)
    if max(counts.values()) > 1 and len(set(stems)) > 1:
        stems = [_common(stem) for stem in stems]
    first: dict[str, str] = {}
    for stem, name, path in zip(stems, common, paths, strict=True):
        if first.setdefault(stem, name) != name:
            message = f"a symbol must be in files of one name; received {stem!r} again in {path.name!r}"
            raise refusal("duplicate_symbol", f"{message}; hint: name each file after its symbol, without dots")
    return stems


def market_name(paths: Sequence[Path]) -> str:
    """Return the name of the market of files: their common stem, or the first ones."""
    stems = list(dict.fromkeys(_common(path.name.partition(".")[0]) for path in paths))
    if len(stems) > _MOST_NAMES:
        return f"{stems[0]}-and-{len(stems) - 1}-others"
    return "-".join(stems)


def _common(name: str) -> str:
    """Return a name without its dates; the name if it is nothing else."""
    rest = re.sub(r"[-_. ]{2,}", lambda found: found[0][0], _DATES.sub("", name)).strip("-_. ")
    return rest or name
