"""HTML report of a research session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openoutcry.ledger import FAMILY_LIMITS
from openoutcry.report.charts.equity_charts import Line
from openoutcry.report.pages.research_page import render_research
from openoutcry.report.text_format import number
from openoutcry.report.views.research_view import GateMark, ListedRow, ResearchView, RoundRow
from openoutcry.report.views.run_view import Provenance
from openoutcry.research.parameter_maps import shown
from openoutcry.research.proposal_requests import TrialCard
from openoutcry.research.search_history import search_of
from openoutcry.research.trial import Result, ShortlistEntry, Trial
from openoutcry.research.walkforward_validation import ValidationSetup
from openoutcry.untrusted.counted_nouns import counted

_DRAWN = 4
STOPPED = {
    "dry_rounds": "Stopped: the last rounds brought no improvement.",
    "token_budget": "Stopped: the token budget does not suffice for another proposal.",
    "trial_budget": "Stopped: the trial budget is used up.",
    "round_budget": "Stopped: the round budget is used up.",
    "time_budget": "Stopped: the time budget is used up.",
    "proposer_exhausted": "Stopped: the proposer has no further proposals.",
    "proposer_failed": "Stopped: the model sent no reply in the last rounds.",
    "cancelled": "Stopped by the user.",
}


def report_of(result: Result, setup: ValidationSetup, command: str = "") -> str:
    """Return the HTML page of a session, as `view_of`."""
    return render_research(view_of(result, setup, command))


def view_of(result: Result, setup: ValidationSetup, command: str = "") -> ResearchView:
    """Return the view of a session.

    Args:
        result: Result of the session.
        setup: Market, folds, costs and limits.
        command: Command that replays the session.
    """
    market = setup.dataset
    drawn, text = _drawn(result)
    names = {trial.key: f"{trial.candidate.name} of round {trial.round + 1}" for trial in result.trials}
    return ResearchView(
        goal=str(result.start["config"]["goal"]),
        market=f"{market.name}, {market.dates[0]} .. {market.dates[-1]}, {market.n_bars:,} research bars",
        session_id=result.session_id,
        stopped=STOPPED[result.stopped_reason],
        n_trials=result.n_trials,
        n_session=result.n_session,
        n_eff=result.advice.n_eff,
        pbo=result.advice.pbo,
        spa=result.advice.spa,
        tokens=result.tokens,
        shortlist=[_listed(each, result.holdout_reuse) for each in result.shortlist],
        dropped=[f"{names.get(each.key, each.key[:12])}: {each.reason}" for each in result.dropped],
        rounds=_rounds(result),
        lines=_lines(drawn, setup),
        caption=text,
        holdout=_holdout(result),
        prior=result.prior_trials.prior or "",
        notices=market.notices,
        holdout_notes=holdout_notes(result),
        provenance=_provenance(result, command),
        search=search_of(result, setup, drawn),
    )


def holdout_notes(result: Result) -> list[str]:
    """Return the power of the holdout, advice, and the limits of the family count."""
    power = result.holdout_power
    found = [] if power is None else [power.sentence, power.notice]
    return [note for note in found if note] + ([FAMILY_LIMITS] if result.start["holdout"] else [])


def _listed(listed: ShortlistEntry, reuse: int | None) -> ListedRow:
    verdict, oos = listed.verdict, listed.oos
    text = "not opened"
    if verdict is not None:
        sharpe = "undefined" if verdict.sharpe is None else number(verdict.sharpe)
        text = f"{'passed' if verdict.passed else 'failed'}, Sharpe ratio {sharpe}"
        text += f" over {counted(verdict.n_returns, 'bar')}"
        text += f", failed with {verdict.fault}" if verdict.fault else ""
        text += f", seen {counted(reuse, 'time')} before" if reuse else ""
    return ListedRow(
        name=listed.trial.candidate.name,
        params=shown(listed.trial.validation.params[-1]),
        sharpe=oos.sharpe,
        drawdown=oos.max_drawdown,
        dsr=listed.luck.dsr,
        dsr_if_one=listed.luck.dsr_if_one,
        dsr_alpha=listed.luck.dsr_alpha,
        holdout=text,
        passed=None if verdict is None else verdict.passed,
        cautions=listed.cautions,
    )


def _rounds(result: Result) -> list[RoundRow]:
    trials = {trial.round: trial for trial in result.trials}
    return [_round(card, trials.get(card.round)) for card in result.history]


def _round(card: TrialCard, trial: Trial | None) -> RoundRow:
    proposal = dict(card.proposal or {})
    if trial is None:
        name = str(proposal.get("strategy") or proposal.get("kind") or "unreadable proposal")
        params = proposal.get("params")
        rationale, source = str(proposal.get("rationale", "")), str(proposal.get("source") or "")
        text = shown(params) if isinstance(params, Mapping) else ""
        return RoundRow(card.round + 1, name[:80], text, rationale, card.outcome, card.reasons, source=source)
    return RoundRow(
        number=card.round + 1,
        name=trial.candidate.name,
        params=shown(trial.validation.params[-1]),
        rationale=trial.candidate.proposal.rationale,
        outcome=card.outcome,
        reasons=card.reasons,
        sharpe=trial.oos.sharpe,
        drawdown=trial.oos.max_drawdown,
        dsr=trial.luck.dsr,
        gates=[
            GateMark(gate.name, gate.value, f"{gate.op} {gate.threshold:g}", gate.passed, gate.reason)
            for gate in trial.gates
        ],
        source=trial.candidate.proposal.source or "",
    )


def _drawn(result: Result) -> tuple[list[Trial], str]:
    """Return the trials of the charts, best first, and the caption of their NAV."""
    trials: Sequence[Trial] = [listed.trial for listed in result.shortlist]
    text = "The short list against buy-and-hold, over the tests of all folds in sequence, after costs."
    if not trials:
        known = [trial for trial in result.trials if trial.oos.sharpe is not None]
        trials = sorted(known, key=lambda trial: -(trial.oos.sharpe or 0.0))
        text = "No candidate was kept. The best discarded trials against buy-and-hold, over all tests, after costs."
    return list(trials[:_DRAWN]), text if trials else ""


def _lines(drawn: Sequence[Trial], setup: ValidationSetup) -> list[Line]:
    """Return the NAV lines of the chart, the benchmark first."""
    if not drawn:
        return []
    first = drawn[0].oos
    dates = (_before(first.dates[0], setup), *first.dates)
    lines = [Line("buy-and-hold", dates, setup.benchmarks[0].nav, "benchmark")]
    for slot, trial in reversed(list(enumerate(drawn))):
        lines.append(Line(f"{trial.candidate.name} {trial.round + 1}", dates, trial.oos.nav, "series", slot))
    return lines


def _before(date: str, setup: ValidationSetup) -> str:
    dates = setup.dataset.dates
    return dates[dates.index(date) - 1]


def _holdout(result: Result) -> str:
    if result.holdout_note:
        return f"Holdout: {result.holdout_note}."
    if result.seal is None:
        return ""
    first, last = result.seal.window
    if result.holdout_reuse:
        times = counted(result.holdout_reuse, "time")
        return f"The holdout, {first} .. {last}, is not new: its days were seen {times} before."
    return f"The holdout, {first} .. {last}, was opened once for the frozen list."


def _provenance(result: Result, command: str) -> Provenance:
    start = result.start
    market, environment = start["market"], start["environment"]
    git = environment.get("git") or {}
    entries = [
        ("session", result.session_id),
        ("proposer", start["provider"] or "passed in Python"),
        ("data", start["data"] or market["name"]),
        ("research window", f"{market['first']} .. {market['last']}, {market['fingerprint']}"),
        ("complete market", market["whole_fingerprint"]),
        ("holdout", " .. ".join(start["holdout"]) if start["holdout"] else "none"),
        ("folds", "; ".join(_fold(fold) for fold in start["folds"])),
        ("engine", f"{start['engine']}, gates version {start['gates_version']}, seed {start['config']['seed']}"),
        ("sandbox", _sandbox(start)),
        ("tokens", f"{result.tokens:,}"),
    ]
    if git:
        entries.append(("commit", f"{git['commit']}{', with local changes' if git['dirty'] else ''}"))
    return Provenance(entries, verify=command, verified="every decision from the journal")


def _sandbox(start: Mapping[str, Any]) -> str:
    if not start["config"]["allow_code"]:
        return "not used: proposals could not be code"
    if start["config"]["unsafe_no_isolation"]:
        return "none: code had all rights of the process"
    return str(start["environment"]["tier"])


def _fold(fold: Mapping[str, Sequence[int]]) -> str:
    return f"train {fold['train'][0]}..{fold['train'][1]}, test {fold['test'][0]}..{fold['test'][1]}"
