"""History of a session's rounds, and its folds as dates, for the report."""

from __future__ import annotations

from openoutcry.report.views.search_view import FoldRow, HoldoutSpan, SearchView, TrialPoint
from openoutcry.research.parameter_maps import parameter_maps
from openoutcry.research.trial import Result, Trial
from openoutcry.research.walkforward_validation import ValidationSetup
from openoutcry.untrusted.counted_nouns import counted


def search_of(result: Result, setup: ValidationSetup, drawn: list[Trial]) -> SearchView:
    """Return the view of a session's search.

    Args:
        result: Result of the session.
        setup: Market and folds.
        drawn: Trials with a score per fold on the page, best first.
    """
    maps, not_drawn = parameter_maps(result)
    return SearchView(
        maps=maps,
        not_drawn=not_drawn,
        history=_history(result),
        budget=_budget(result),
        folds=_folds(setup, drawn),
        fold_names=[f"{trial.candidate.name} {trial.round + 1}" for trial in drawn],
        holdout=_holdout(result),
    )


def _history(result: Result) -> list[TrialPoint]:
    trials = {trial.round: trial for trial in result.trials}
    points = []
    for card in result.history:
        trial = trials.get(card.round)
        proposal = card.proposal or {}
        name = str(proposal.get("strategy") or proposal.get("kind") or "unreadable proposal")[:80]
        sharpe = None if trial is None else trial.oos.sharpe
        points.append(TrialPoint(card.round + 1, trial.candidate.name if trial else name, card.outcome, sharpe))
    return points


def _budget(result: Result) -> str:
    budgets = result.start["config"]["budgets"]
    parts = [f"{result.n_session:,} of {budgets['trials']:,} trials"]
    parts.append(f"{len(result.history):,}" + (f" of {budgets['rounds']:,}" if budgets["rounds"] else "") + " rounds")
    if budgets["tokens"]:
        parts.append(f"{result.tokens:,} of {budgets['tokens']:,} tokens")
    end = counted(budgets["dry_rounds"], "round without an advance ends", "rounds without an advance end")
    return f"Used: {', '.join(parts)}; {end} a session."


def _folds(setup: ValidationSetup, drawn: list[Trial]) -> list[FoldRow]:
    dates = setup.dataset.dates
    return [
        FoldRow(
            (dates[fold.train[0]], dates[fold.train[1] - 1]),
            (dates[fold.test[0]], dates[fold.test[1] - 1]),
            fold.test[0] - fold.train[1],
            fold.test[1] - fold.test[0],
            [trial.oos.folds[place].sharpe for trial in drawn],
        )
        for place, fold in enumerate(setup.folds)
    ]


def _holdout(result: Result) -> HoldoutSpan | None:
    window = result.start["holdout"]
    if not window:
        return None
    verdicts = [listed.verdict for listed in result.shortlist if listed.verdict is not None]
    if not verdicts:
        return HoldoutSpan(window[0], window[1], "not opened")
    n_passed = sum(verdict.passed for verdict in verdicts)
    return HoldoutSpan(window[0], window[1], f"{n_passed} of {len(verdicts)} passed")
