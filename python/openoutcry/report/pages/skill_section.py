"""Section with the skill statistics of a run and their definitions."""

from __future__ import annotations

import math

from openoutcry.report.charts.svg import place
from openoutcry.report.pages.metric_labels import Footnotes, Metric, get, show, write
from openoutcry.report.pages.page_parts import scroll
from openoutcry.report.pages.verdict_text import SKILL_THRESHOLD
from openoutcry.report.text_format import escape, number, undefined_because
from openoutcry.report.views.statistics_view import Skill
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["SKILL", "skill_section"]

SKILL: dict[str, Metric] = {
    "dsr": Metric(
        "Deflated Sharpe ratio (DSR)",
        "probability",
        "probability that the true Sharpe ratio is above SR0, the expected maximum of N trials without skill",
    ),
    "n_trials": Metric("N, trials counted", "count", "this run and the earlier trials stated with `--trials`"),
    "n_eff": Metric("N, effective", "count", "clusters of correlated trials; reported only, N is used for deflation"),
    "sharpe_bar": Metric("Sharpe per bar", "fine", "mean over standard deviation of the returns, not annualized"),
    "sr0": Metric("SR0 per bar", "fine", "expected maximum Sharpe ratio per bar of N trials without skill"),
    "sigma_sr": Metric(
        "Sigma of the trials", "fine", "standard deviation of their Sharpe ratios per bar, at least 1 / sqrt(T - 1)"
    ),
    "n_returns": Metric("T, returns", "count", "number of returns of this run"),
    "skew": Metric("Skewness", "ratio", "third standardized moment of the returns; negative for a heavier left tail"),
    "kurtosis": Metric("Kurtosis", "ratio", "fourth standardized moment; 3 for a normal distribution"),
    "psr": Metric(
        "Probabilistic Sharpe ratio (PSR)",
        "probability",
        "probability that the true Sharpe ratio is above zero, for a single trial",
    ),
    "min_trl": Metric(
        "Minimum track record length (MinTRL)",
        "least",
        "returns needed for this Sharpe ratio to be above zero at 95% confidence",
    ),
    "min_btl": Metric(
        "Minimum backtest length (MinBTL)",
        "years",
        "years below which the best of N trials without skill is expected to reach this Sharpe ratio",
    ),
    "hac_se": Metric(
        "Sharpe, HAC std. error", "ratio", "standard error of the annual Sharpe ratio, robust to autocorrelation"
    ),
}
"""Known numbers of the section; any other name is shown verbatim."""

_INPUTS = ("sharpe_bar", "sr0", "sigma_sr", "n_trials", "n_eff", "n_returns", "skew", "kurtosis")
_GAUGES = ("dsr", "psr")


def skill_section(skill: Skill, key: str) -> str:
    """Return the summary, the statistics and their definitions."""
    footnotes = Footnotes(f"{key}-skill")
    known = [name for name in SKILL if name in skill.values]
    extra = [name for name in skill.values if name not in SKILL]
    rows = "".join(_row(name, skill, footnotes) for name in known + extra)
    table = (
        '<table class="metrics skill">'
        "<caption><span>Skill statistics; inputs of the DSR are indented</span></caption>"
        '<thead><tr><th scope="col">Statistic</th><th scope="col">Value</th>'
        f'<th scope="col" class="help">Definition</th></tr></thead><tbody>{rows}</tbody></table>'
    )
    power = f'<p class="power">{escape(skill.power)}</p>' if skill.power else ""
    return f"<p>{escape(skill_sentence(skill))}</p>{power}{scroll(table, 'Skill statistics')}{footnotes.render()}"


def skill_sentence(skill: Skill) -> str:
    """Return sentences on the DSR and its threshold, and the length and MinTRL."""
    dsr, trials = get(skill.values, "dsr"), get(skill.values, "n_trials")
    if dsr is None:
        reason = skill.reasons.get("dsr", "no reason was given")
        sentences = [f"The deflated Sharpe ratio is undefined: {undefined_because(reason)}."]
    else:
        after = "" if trials is None else f" after {counted(int(trials), 'trial')}"
        side = "reaches" if dsr >= SKILL_THRESHOLD else "is below"
        shown = write(dsr, "probability")
        sentences = [f"The deflated Sharpe ratio{after} {side} {SKILL_THRESHOLD:g}: {shown}."]
    needed, had = get(skill.values, "min_trl"), get(skill.values, "n_returns")
    if needed is not None and had is not None:
        enough = "long enough" if had >= needed else "too short"
        sentences.append(
            f"The track record is {enough}: {number(had, 0)} of {number(math.ceil(needed), 0)} returns needed."
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
    side = "c-agent" if value >= SKILL_THRESHOLD else "c-benchmark"
    at, bar = place(value), place(SKILL_THRESHOLD)
    description = f"On a scale from 0 to 1; the threshold is {SKILL_THRESHOLD:g}."
    return (
        '<svg class="oo-chart oo-gauge" role="img" width="100%" height="14">'
        f"<title>{escape(label)} {write(value, 'probability')}</title><desc>{description}</desc>"
        '<g class="oo-grid"><line x1="0" x2="100%" y1="7" y2="7"/>'
        f'<line class="oo-zero" x1="{bar}" x2="{bar}" y1="1" y2="13"/></g>'
        f'<g class="{side}"><circle class="oo-point" cx="{at}" cy="7" r="4.5"/></g></svg>'
    )
