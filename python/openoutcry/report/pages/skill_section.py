"""Whether a result could be luck: the scorer's numbers with their definitions."""

from __future__ import annotations

import math

from openoutcry.report.charts.svg import place
from openoutcry.report.pages.metric_labels import Footnotes, Metric, get, show, write
from openoutcry.report.pages.page_parts import scroll
from openoutcry.report.pages.verdict_text import BAR_OF_SKILL
from openoutcry.report.text_format import escape, number, plural
from openoutcry.report.views.statistics_view import Skill

__all__ = ["SKILL", "skill_section"]

SKILL: dict[str, Metric] = {
    "dsr": Metric(
        "Deflated Sharpe ratio (DSR)",
        "probability",
        "probability that the true Sharpe ratio is above SR0, which the best of N tries without skill would show",
    ),
    "n_trials": Metric("N, trials counted", "count", "every try that the ledger knows of on this family of data"),
    "n_eff": Metric("N, effective", "count", "groups of tries that moved alike; beside N, which is what counts"),
    "sharpe_bar": Metric("Sharpe a bar", "fine", "of one bar, not annual: mean over deviation of the returns"),
    "sr0": Metric("SR0 a bar", "fine", "Sharpe ratio a bar that luck alone gives the best of N tries, on average"),
    "sigma_sr": Metric("Sigma of the tries", "fine", "spread of their Sharpe ratios a bar, 1 / sqrt(T - 1) at least"),
    "n_returns": Metric("T, returns", "count", "number of bar returns of this track"),
    "skew": Metric("Skew", "ratio", "third standard moment of the returns; below 0 the losses are the larger ones"),
    "kurtosis": Metric("Kurtosis", "ratio", "fourth standard moment; 3 for a normal, more for fat tails"),
    "psr": Metric(
        "Probabilistic Sharpe ratio (PSR)",
        "probability",
        "probability that the true Sharpe ratio is above zero, were this the only try ever made",
    ),
    "min_trl": Metric(
        "Minimum track record (MinTRL)", "least", "returns that a Sharpe ratio like this needs to be above zero at 95%"
    ),
    "min_btl": Metric(
        "Minimum backtest length (MinBTL)", "years", "years below which luck alone gives the best of N tries as much"
    ),
    "hac_se": Metric(
        "Sharpe, robust std. error", "ratio", "of the annual Sharpe ratio where returns follow each other"
    ),
}
"""Every number of the block with a wording of its own; any other name is shown as it is."""

_INPUTS = ("sharpe_bar", "sr0", "sigma_sr", "n_trials", "n_eff", "n_returns", "skew", "kurtosis")
_GAUGES = ("dsr", "psr")


def skill_section(skill: Skill, key: str) -> str:
    """Return what may be said of luck, and the numbers with their definitions."""
    footnotes = Footnotes(f"{key}-skill")
    known = [name for name in SKILL if name in skill.values]
    extra = [name for name in skill.values if name not in SKILL]
    rows = "".join(_row(name, skill, footnotes) for name in known + extra)
    table = (
        '<table class="metrics skill">'
        "<caption><span>What the answer rests on; inputs of the DSR are indented</span></caption>"
        '<thead><tr><th scope="col">Number</th><th scope="col">Value</th>'
        f'<th scope="col" class="help">What it is</th></tr></thead><tbody>{rows}</tbody></table>'
    )
    power = f'<p class="power">{escape(skill.power)}</p>' if skill.power else ""
    return f"<p>{escape(told(skill))}</p>{power}{scroll(table, 'What the answer rests on')}{footnotes.render()}"


def told(skill: Skill) -> str:
    """Return what the DSR allows to be said, and what the track's length does."""
    dsr, trials = get(skill.values, "dsr"), get(skill.values, "n_trials")
    if dsr is None:
        sentences = [f"The deflated Sharpe ratio is undefined: {skill.reasons.get('dsr', 'no reason was given')}."]
    else:
        tries = "" if trials is None else f" after {plural(int(trials), 'trial')}"
        side = "reaches" if dsr >= BAR_OF_SKILL else "is below"
        shown = write(dsr, "probability")
        sentences = [f"The deflated Sharpe ratio{tries} {side} {BAR_OF_SKILL:g}: {shown}."]
    needed, had = get(skill.values, "min_trl"), get(skill.values, "n_returns")
    if needed is not None and had is not None:
        enough = "long enough" if had >= needed else "too short"
        sentences.append(
            f"The track is {enough}: {number(had, 0)} returns, where {number(math.ceil(needed), 0)} are needed."
        )
    return " ".join(sentences)


def _row(name: str, skill: Skill, footnotes: Footnotes) -> str:
    metric = SKILL.get(name, Metric(name, "ratio", ""))
    value = get(skill.values, name)
    text = show(name, skill.values, skill.reasons, footnotes, SKILL)
    gauge = _gauge(metric.label, value) if name in _GAUGES and value is not None else ""
    kind = ' class="input"' if name in _INPUTS else ""
    head = f'<th scope="row">{escape(metric.label)}{gauge}</th>'
    return f'<tr{kind}>{head}<td>{text}</td><td class="help">{escape(metric.help)}</td></tr>'


def _gauge(label: str, value: float) -> str:
    side = "c-agent" if value >= BAR_OF_SKILL else "c-benchmark"
    at, bar = place(value), place(BAR_OF_SKILL)
    told = f"On a scale of 0 to 1; the mark is {BAR_OF_SKILL:g}."
    return (
        '<svg class="oo-chart oo-gauge" role="img" width="100%" height="14">'
        f"<title>{escape(label)} {write(value, 'probability')}</title><desc>{told}</desc>"
        '<g class="oo-grid"><line x1="0" x2="100%" y1="7" y2="7"/>'
        f'<line class="oo-zero" x1="{bar}" x2="{bar}" y1="1" y2="13"/></g>'
        f'<g class="{side}"><circle class="oo-point" cx="{at}" cy="7" r="4.5"/></g></svg>'
    )
