"""Reference formulas for the scores that `rescoring` does not recompute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from openoutcry.arena.rescoring import Forecast


def murphy_decomposition(rows: Sequence[Forecast]) -> dict[str, Fraction] | None:
    """Return the Murphy decomposition of the binned Brier score, and the calibration error."""
    if not rows:
        return None
    bins: dict[int, list[Forecast]] = {}
    for d in rows:
        bins.setdefault(min(9, math.floor(d.p * 10)), []).append(d)
    n, base = len(rows), Fraction(sum(d.y for d in rows), len(rows))
    parts = {
        "reliability": Fraction(0),
        "resolution": Fraction(0),
        "uncertainty": base * (1 - base),
        "ece": Fraction(0),
        "binned_brier": Fraction(0),
    }
    for own in bins.values():
        mean, share = sum(d.p for d in own) / len(own), Fraction(sum(d.y for d in own), len(own))
        parts["reliability"] += len(own) * (mean - share) ** 2 / n
        parts["resolution"] += len(own) * (share - base) ** 2 / n
        parts["ece"] += len(own) * abs(mean - share) / n
        parts["binned_brier"] += sum((mean - d.y) ** 2 for d in own) / n
    return parts


def log_score(rows: Sequence[Forecast]) -> float | None:
    """Return the mean log probability of the outcomes, clipped."""
    least, most = Fraction(1, 1000), Fraction(999, 1000)
    logs = [math.log(min(most, max(least, d.p if d.y else 1 - d.p))) for d in rows]
    return math.fsum(logs) / len(logs) if logs else None
