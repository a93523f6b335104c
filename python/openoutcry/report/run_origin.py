"""What made the decisions of a run: a strategy, a candidate or a table of weights."""

from __future__ import annotations

import re

from openoutcry.backtest.run import Run
from openoutcry.backtest.strategies.library import LIBRARY
from openoutcry.backtest.strategies.strategy_text import call_text, is_strategy_text

__all__ = ["origin_of"]

_PARTS = {"session_id": "research session", "trial": "trial"}
# `decision_makers.candidate_name` writes it; a record has no other trace of a candidate.
_CANDIDATE = re.compile(r"(?P<strategy>.+) \(candidate (?P<digest>[0-9a-f]{16})\)", re.DOTALL)


def origin_of(run: Run) -> list[tuple[str, str]]:
    """Return the strategy and the candidate of a run, by name; empty for others.

    Those of a run from a record are as the name of its agent states them.
    """
    named = _CANDIDATE.fullmatch(run.name)
    entries = [("strategy", strategy)] if (strategy := _strategy(run, named)) else []
    if run._candidate is not None:
        origin = run._candidate.provenance
        parts = (
            origin["digest"],
            *(f"{name} {origin[key]}" for key, name in _PARTS.items() if origin[key] is not None),
        )
        entries.append(("candidate", ", ".join(parts)))
    elif named is not None:
        entries.append(("candidate", f"{named['digest']}, the start of the digest of its file"))
    return entries + ([("decisions", "a table of target weights")] if run._is_table else [])


def _strategy(run: Run, named: re.Match[str] | None) -> str:
    if run.strategy is not None and "strategy" in run.strategy:
        return call_text(run.strategy["strategy"], run.strategy["params"])
    if named is not None:
        return named["strategy"]
    # A name without parameters may be that of a baseline.
    is_known = "=" in run.name and run.name.partition(":")[0] in LIBRARY and is_strategy_text(run.name)
    return run.name if is_known else ""
