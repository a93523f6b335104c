"""Labels, units, definitions and formatting of metrics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from openoutcry.report.text_format import DASH, PLUS_MINUS, TIMES, attribute, escape, number, percent, undefined_because

__all__ = ["METRICS", "Footnotes", "Metric", "get", "in_words", "show", "show_sharpe", "write"]


@dataclass(frozen=True)
class Metric:
    """Label and format of a metric.

    Attributes:
        label: Column heading.
        unit: Unit, as in `write`.
        help: Definition, in one clause.
    """

    label: str
    unit: str
    help: str


METRICS: dict[str, Metric] = {
    "return": Metric("Return", "gain", "total return of the window"),
    "cagr": Metric("CAGR", "gain", "compound annual growth rate"),
    "vol": Metric("Volatility", "share", "annualized standard deviation of bar returns"),
    "sharpe": Metric("Sharpe", "ratio", "annual Sharpe ratio, over the risk-free rate if the dataset has one"),
    "sharpe_se": Metric("Sharpe, std. error", "ratio", "standard error of the annual Sharpe ratio"),
    "delayed_sharpe": Metric("Sharpe, one bar later", "ratio", "the same decisions, executed one bar later"),
    "sortino": Metric("Sortino", "ratio", "annual mean return over downside deviation"),
    "max_drawdown": Metric("Max drawdown", "loss", "largest decline from a running peak"),
    "calmar": Metric("Calmar", "ratio", "CAGR over max drawdown"),
    "var_95": Metric("VaR 95%", "loss", "5th percentile of bar returns"),
    "cvar_95": Metric("CVaR 95%", "loss", "mean of the bar returns at or below VaR"),
    "tail_ratio": Metric("Tail ratio", "ratio", "95th over 5th percentile of bar returns"),
    "skew": Metric("Skewness", "ratio", "third standardized moment of bar returns"),
    "kurtosis": Metric("Kurtosis", "ratio", "fourth standardized moment, 3 for a normal distribution"),
    "turnover": Metric("Annual turnover", "times", "purchases plus sales, as a multiple of NAV"),
    "exposure": Metric("Gross exposure", "share", "mean sum of abs(weight) at a close"),
    "net_exposure": Metric("Net exposure", "share", "mean sum of signed weights at a close"),
    "max_gross_at_fill": Metric(
        "Gross exposure at fills", "share", "largest sum of abs(shares) times open over NAV, after fills at the open"
    ),
    "lowest_nav_inside": Metric(
        "Lowest NAV inside a bar",
        "ratio",
        "longs at the low and shorts at the high of the bar, before exits; 1 at start",
    ),
    "cost": Metric("Annual cost", "share", "all costs, as a share of NAV"),
    "n_returns": Metric("Returns", "count", "number of bar returns"),
}
"""Known metrics; any other name is shown verbatim, as a ratio."""


@dataclass
class Footnotes:
    """Numbered reasons below a table; the same reason has one number.

    Attributes:
        prefix: Of the ids.
        texts: The reasons, by number.
        is_short: Whether dashes have the link to their note only, without a title.
    """

    prefix: str
    texts: list[str] = field(default_factory=list)
    is_short: bool = False

    def mark(self, text: str) -> str:
        """Return the superscript link to the note with `text`."""
        if text not in self.texts:
            self.texts.append(text)
        index = self.texts.index(text) + 1
        return f'<sup><a href="#{self.prefix}-{index}" aria-label="note {index}">{index}</a></sup>'

    def render(self) -> str:
        """Return the list of notes, empty if there are none."""
        items = "".join(f'<li id="{self.prefix}-{i}">{escape(text)}</li>' for i, text in enumerate(self.texts, 1))
        return f'<ol class="notes">{items}</ol>' if items else ""


def get(metrics: Mapping[str, float | None], name: str) -> float | None:
    """Return a metric, or `None` if it is missing or not finite."""
    value = metrics.get(name)
    return value if value is not None and math.isfinite(value) else None


def in_words(reason: str) -> str:
    """Return the reason of an undefined number as a note for a reader."""
    known = undefined_because(reason)
    return reason if known == reason else f"undefined: {known}"


def show(
    name: str,
    metrics: Mapping[str, float | None],
    reasons: Mapping[str, str],
    footnotes: Footnotes | None = None,
    known: Mapping[str, Metric] = METRICS,
) -> str:
    """Return a metric as HTML; an undefined one is a dash with its reason."""
    value = get(metrics, name)
    reason = reasons.get(name, "")
    if value is None:
        # The delayed run is undefined for the reason of the run itself.
        reason = reason or reasons.get(name.removeprefix("delayed_"), "")
        reason = in_words(reason) or ("undefined for this run" if name in metrics else "not measured")
        title = "" if footnotes is not None and footnotes.is_short else attribute("title", reason)
        text = f'<span class="undefined"{title}>{DASH}</span>'
    else:
        text = write(value, known[name].unit if name in known else "ratio")
    return text + (footnotes.mark(reason) if footnotes is not None and reason else "")


def show_sharpe(
    metrics: Mapping[str, float | None],
    reasons: Mapping[str, str],
    footnotes: Footnotes | None = None,
    wrap: Callable[[str, str], str] = lambda _, text: text,
) -> str:
    """Return the Sharpe ratio with its standard error, as HTML.

    `wrap` wraps the HTML of a metric, given its name.
    """
    text = wrap("sharpe", show("sharpe", metrics, reasons, footnotes))
    if get(metrics, "sharpe") is None:
        return text
    error = wrap("sharpe_se", show("sharpe_se", metrics, reasons, footnotes))
    return f'{text} <span class="error">{PLUS_MINUS} {error}</span>'


def write(value: float, unit: str) -> str:
    """Format a number in its unit.

    Units are `gain` (signed percentage), `share` (percentage), `loss` (percentage, always negative), `times` (multiple
    of NAV), `probability`, `ratio`, `fine` (a ratio per bar), `count`, `least` (a count, rounded up).
    """
    if unit == "gain":
        return percent(value, signed=True)
    if unit == "loss":
        return percent(-abs(value))
    if unit == "share":
        return percent(value, 2 if abs(value) < 0.01 else 1)
    if unit == "times":
        return number(value, 1 if abs(value) >= 10.0 else 2) + TIMES
    if unit == "probability":
        return _probability(value)
    if unit == "least":
        return number(math.ceil(value), 0)
    if unit == "count":
        return number(value, 0 if value == round(value) else 1)
    return number(value, 4 if unit == "fine" else 2)


def _probability(value: float) -> str:
    # Rounding 0.9996 would display a certainty.
    if 0.0 < value < 0.0005:
        return "below 0.001"
    return "above 0.999" if 0.9995 <= value < 1.0 else number(value, 3)
