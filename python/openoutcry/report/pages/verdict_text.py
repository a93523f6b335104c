"""Sentences about a result that claim no more than its standard error supports.

Two Sharpe ratios are compared as if their return series were independent. Agents on one market are correlated, and a
paired test can separate what this comparison cannot; `COMPARISON` says so to the reader.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from openoutcry import openoutcry_py as native
from openoutcry.report.charts import downsampling
from openoutcry.report.charts.sparklines import Z95
from openoutcry.report.pages.metric_labels import get
from openoutcry.report.text_format import PLUS_MINUS, number, percent, shorten, undefined_because
from openoutcry.report.views.run_view import BoardRow, RunView
from openoutcry.untrusted.counted_nouns import counted

__all__ = [
    "COMPARISON",
    "ONE_TRIAL",
    "SKILL_THRESHOLD",
    "board_verdict",
    "delay_sentence",
    "distinct_from_zero",
    "estimate",
    "journey",
    "separable",
    "sharpe_verdict",
    "tied_with_first",
    "versus",
]

SKILL_THRESHOLD = 0.95
"""Threshold of the deflated and the probabilistic Sharpe ratio."""

ONE_TRIAL = "This counts a single trial: a run selected from many needs a higher Sharpe ratio."

COMPARISON = (
    "Sharpe ratios are compared by their standard errors at the 95% level, as if the return series were independent"
    " and each agent were the only trial. A paired test may separate agents that trade the same market."
)


def sharpe_verdict(run: RunView | BoardRow) -> str:
    """Return the headline of a run: its Sharpe ratio and its significance."""
    sharpe, error = get(run.metrics, "sharpe"), get(run.metrics, "sharpe_se")
    if sharpe is None:
        return f"Sharpe undefined: {undefined_because(run.reasons.get('sharpe', 'no reason was given'))}"
    if "sharpe" in run.caveats:
        return f"Sharpe ratio not informative: {run.caveats['sharpe']}"
    if error is None:
        return f"Sharpe {number(sharpe)}, without a standard error: luck cannot be ruled out"
    text = f"Sharpe {number(sharpe)} {PLUS_MINUS} {number(error)}"
    if not distinct_from_zero(run):
        return f"{text}: not distinguishable from zero"
    side = "above" if sharpe > 0 else "below"
    return f"{text}: {side} zero by {number(abs(sharpe) / error, 1)} standard errors"


def journey(run: RunView, benchmark: RunView | None) -> str:
    """Return a sentence on the final NAV and maximum drawdown of a run."""
    first, last = downsampling.seconds([run.dates[0], run.dates[-1]])
    years = (last - first) / (365.25 * 86_400)
    end, deepest = float(run.nav[-1]), float(native.drawdowns(run.nav).min())
    span = f"{number(years, 1)} years" if years >= 1.0 else f"{counted(len(run.dates), 'bar')}"
    text = f"In {span}, a NAV of 1.00 became {number(end)}"
    text += f", with a maximum drawdown of {percent(-deepest)}." if deepest < 0.0 else "."
    if benchmark is not None:
        text += f" With {benchmark.name}, it became {number(float(benchmark.nav[-1]))}."
    return text


def estimate(run: RunView | BoardRow) -> tuple[float | None, float | None]:
    """Return the Sharpe ratio and its standard error, `None` if it cannot be ranked."""
    if "sharpe" in run.caveats:
        return None, None
    return get(run.metrics, "sharpe"), get(run.metrics, "sharpe_se")


def distinct_from_zero(run: RunView | BoardRow) -> bool:
    """Return whether a Sharpe ratio differs from zero at the 95% level."""
    sharpe, error = estimate(run)
    return sharpe is not None and error is not None and bool(abs(sharpe) > Z95 * error)


def versus(run: RunView, benchmark: RunView) -> str:
    """Return whether the standard errors separate a run from its benchmark."""
    apart = separable(run, benchmark)
    name = benchmark.name
    if apart is None and ("sharpe" in run.caveats or "sharpe" in benchmark.caveats):
        return f"Its Sharpe ratio cannot be compared with that of {name}."
    if apart is None:
        return f"Without both standard errors, it cannot be compared with {name}."
    if apart:
        ours, theirs = get(run.metrics, "sharpe") or 0.0, get(benchmark.metrics, "sharpe") or 0.0
        side = "above" if ours > theirs else "below"
        return f"Its Sharpe ratio is significantly {side} that of {name}."
    return f"Its Sharpe ratio is not significantly different from that of {name}."


def separable(first: RunView | BoardRow, second: RunView | BoardRow) -> bool | None:
    """Return whether two Sharpe ratios differ at the 95% level, `None` if undefined."""
    (a, se_a), (b, se_b) = estimate(first), estimate(second)
    if a is None or b is None or se_a is None or se_b is None:
        return None
    return bool(abs(a - b) > Z95 * math.hypot(se_a, se_b))


def tied_with_first(rows: Sequence[BoardRow]) -> list[bool]:
    """Return per row whether it is not significantly different from the first."""
    return [row is rows[0] or separable(rows[0], row) is False for row in rows]


def delay_sentence(run: RunView) -> str:
    """Return the effect of a one-bar execution delay on the Sharpe ratio."""
    now, later = get(run.metrics, "sharpe"), get(run.metrics, "delayed_sharpe")
    if now is None or later is None:
        reason = run.reasons.get("delayed_sharpe") or run.reasons.get("sharpe") or "the delayed run was not computed"
        return f"The Sharpe ratio one bar later is undefined: {undefined_because(reason)}."
    if "sharpe" in run.caveats:
        return f"The Sharpe ratio cannot show the cost of a delay: {run.caveats['sharpe']}."
    change = later - now
    text = f"Executed one bar later, the same decisions have a Sharpe ratio of {number(later)} instead of {number(now)}"
    if abs(change) < 0.005:
        return f"{text}: no visible change."
    error = get(run.metrics, "sharpe_se")
    scale = "" if error is None else f" (its standard error is {number(error)})"
    return f"{text}: the delay {'costs' if change < 0 else 'adds'} {number(abs(change))}{scale}."


def board_verdict(rows: Sequence[BoardRow]) -> str:
    """Return which agents differ significantly from the first, and from zero."""
    first, others = rows[0], rows[1:]
    if not others:
        return f"{sharpe_verdict(first)}."
    known = [v for v in (separable(first, row) for row in others) if v is not None]
    if not known:
        return "The standard errors do not allow a comparison of these agents."
    apart, tied, name = sum(known), len(known) - sum(known), shorten(first.agent, 60)
    if apart == 0:
        claim = f"No agent is significantly different from the first, {name}."
    elif tied == 0:
        others_text = "the other" if apart == 1 else f"all {apart} others"
        claim = f"The first, {name}, is significantly better than {others_text}."
    else:
        claim = f"The first, {name}, is tied with {_count(tied)} and significantly better than {_count(apart)}."
    above = sum(distinct_from_zero(row) and (get(row.metrics, "sharpe") or 0.0) > 0.0 for row in rows)
    if above == 0:
        return f"{claim} No Sharpe ratio is significantly above zero."
    ranked = sum(estimate(row)[0] is not None for row in rows)
    return f"{claim} {above} of {ranked} Sharpe ratios {'is' if above == 1 else 'are'} significantly above zero."


def _count(n: int) -> str:
    return "one other" if n == 1 else f"{n} others"
