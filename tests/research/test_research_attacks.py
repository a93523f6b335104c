"""Attacks on research sessions: uncounted trials, a leaked holdout, a forged journal, a proposal that ends the session.

Each test is one attack. Further attacks are in `test_research_attacks_blocked.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from research_markets import noise, trending
from strategy_sources import deciding
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.cli.research import app
from openoutcry.harness.sandbox import Tier, this_host
from openoutcry.ledger import Ledger, Market
from openoutcry.records.chained_log import ChainedLog
from openoutcry.research.acceptance_gates import Thresholds, thresholds_of
from openoutcry.research.proposers import FixedProposer, RandomProposer
from openoutcry.research.selection_luck import PriorTrials, TrialCounter
from openoutcry.research.session_config import Budgets, ResearchConfig, Split
from openoutcry.research.session_manager import DivergedError, Workspace, replay, research, resume
from openoutcry.research.session_records import session_of
from openoutcry.research.trial import Result
from openoutcry.research.trial_scores import OosScore
from openoutcry.scoring.skill import Moments

pytestmark = pytest.mark.once
MARKET = trending(0, 1500, 3)
LAX = Thresholds(*(None,) * 5, min_trades=0, min_dsr=None, max_perturbation_loss=None, max_probe_changes=None)
CONFIG = ResearchConfig(budgets=Budgets(2, 40, 6), gates=LAX)
OPEN = replace(CONFIG, split=Split(holdout_bars=0))
WHY = "prices that have risen for weeks go on to rise, since investors react late"
BUY = "return np.where(np.isfinite(closes[-1]), 0.5, 0.0)"


class Cut(BaseException):
    """Simulates `kill -9`."""


def cut_at(event: str) -> Any:
    def watch(name: str, payload: Mapping[str, Any]) -> None:
        if name == event:
            raise Cut

    return watch


def run(
    folder: Path,
    config: ResearchConfig = CONFIG,
    market: oo.Dataset = MARKET,
    proposals: list[Any] | None = None,
    **workspace: Any,
) -> Result:
    proposer = RandomProposer() if proposals is None else FixedProposer(proposals)
    return research(lambda: market, proposer, config, Workspace(folder, **workspace))


def trend(**params: Any) -> dict[str, Any]:
    return {"kind": "tune", "strategy": "trend", "params": params, "rationale": WHY}


def code(source: str) -> dict[str, Any]:
    return {"kind": "code", "source": source, "rationale": WHY}


def rising(n_bars: int) -> oo.Dataset:
    """Return a market with a positive trend."""
    close = 100.0 * np.cumprod(1.003 + 0.01 * np.random.default_rng(0).standard_normal((n_bars, 2)), axis=0)
    dates = [str(date) for date in np.datetime64("2000-01-03") + np.arange(n_bars)]
    return oo.Dataset.from_arrays(dates, ["A", "B"], close)


needs_sandbox = pytest.mark.skipif(this_host().tier < Tier.T2, reason="needs a sandbox of T2")


# Trials are counted (A3, A10)


def test_sessions_at_the_same_time_count_the_trials_of_each_other(tmp_path: Path) -> None:
    """A10: the short list is judged at the final number of trials, including those of other sessions."""
    others: list[Result] = []

    def meanwhile(event: str, payload: Mapping[str, Any]) -> None:
        if event == "session_start":
            others.append(run(tmp_path / "b", replace(OPEN, seed=1), ledger=Ledger(tmp_path / "ledger")))

    result = run(tmp_path / "a", OPEN, ledger=Ledger(tmp_path / "ledger"), on_event=meanwhile)
    assert result.n_trials == result.n_session + others[0].n_session


def test_a_trial_counts_even_if_its_session_is_interrupted(tmp_path: Path) -> None:
    """A3: the result is visible before the session ends."""
    for seed in range(3):
        with pytest.raises(Cut):
            run(tmp_path, replace(OPEN, seed=seed), ledger=Ledger(tmp_path / "ledger"), on_event=cut_at("trial"))
    assert Ledger(tmp_path / "ledger").count(Market.of(MARKET)).n == 3


def test_a_trial_of_an_interrupted_session_is_served_as_a_duplicate(tmp_path: Path) -> None:
    """A3: a later session gets its scores from the ledger."""
    best = [{**trend(fast=20, slow=100), "strategy": "trend"}]
    with pytest.raises(Cut):
        run(tmp_path, OPEN, proposals=best, ledger=Ledger(tmp_path / "ledger"), on_event=cut_at("decision"))
    later = run(tmp_path, OPEN, proposals=best, ledger=Ledger(tmp_path / "ledger"))
    assert later.history[0].scores, "the scores of the earlier trial are reported"


@pytest.mark.parametrize("digits", [6, 7])
def test_a_market_with_rounded_prices_belongs_to_the_same_family(digits: int) -> None:
    """A10, trap 8: a second download, or a file with fewer digits, must not restart the count."""
    close = np.array([[float(f"{price:.{digits}g}") for price in row] for row in MARKET.close.tolist()])
    rounded = oo.Dataset.from_arrays(MARKET.dates, MARKET.symbols, close)
    assert Market.of(MARKET).is_of_family(Market.of(rounded))


# The holdout (A11)


def test_days_that_were_researched_before_are_not_an_unseen_holdout(tmp_path: Path) -> None:
    """A11: an earlier session without a holdout selected on the same days."""
    earlier = run(tmp_path / "a", OPEN, ledger=Ledger(tmp_path / "ledger"))
    later = run(tmp_path / "b", replace(CONFIG, seed=1), ledger=Ledger(tmp_path / "ledger"))
    assert earlier.trials[0].oos.folds[-1].last > later.start["holdout"][0]
    assert later.holdout_reuse != 0, "the holdout was seen by an earlier session"


def test_no_result_over_the_holdout_is_in_a_prompt(tmp_path: Path) -> None:
    """A11, L7: results of earlier sessions on these days are withheld from the proposer."""
    run(tmp_path / "a", OPEN, ledger=Ledger(tmp_path / "ledger"))
    later = run(tmp_path / "b", replace(CONFIG, seed=1), ledger=Ledger(tmp_path / "ledger"))
    assert later.prior_trials.prior is None


def test_only_results_that_cover_the_holdout_are_withheld(tmp_path: Path) -> None:
    """A11, L7: other results are in the prompt, and no session passes on results of days outside its window."""
    ledger = Ledger(tmp_path / "ledger")
    run(tmp_path / "a", proposals=[trend(fast=11)], ledger=ledger)
    run(tmp_path / "b", OPEN, proposals=[trend(fast=22)], ledger=ledger)
    # It ends before the holdout starts: its trials would reveal the holdout to a later session.
    between = run(tmp_path / "c", OPEN, MARKET.head(1300), [trend(fast=33)], ledger=ledger)
    assert between.prior_trials.prior is None
    prior = run(tmp_path / "d", replace(CONFIG, seed=1), ledger=ledger).prior_trials.prior or ""
    assert [f'"fast":{fast}' in prior for fast in (11, 22, 33)] == [True, False, True]
    assert prior.startswith("## Learnings from 2 prior backtests across 2 strategies\n")
    # Its tests end years earlier, but its research window does not.
    early = replace(OPEN, split=Split(train=200, test=100, holdout_bars=0))
    assert run(tmp_path / "f", early, proposals=[trend(fast=55)], ledger=ledger).prior_trials.prior
    last = run(tmp_path / "g", replace(CONFIG, seed=2), ledger=ledger).prior_trials.prior or ""
    assert '"fast":11' in last
    assert '"fast":55' not in last
    folds = replace(CONFIG, split=Split(n_folds=2))
    other = run(tmp_path / "e", folds, proposals=[trend(fast=44)], ledger=ledger).prior_trials.prior or ""
    assert '"fast":11' in other, "a session with other folds gets the result, too"


def test_without_a_ledger_the_holdout_stays_closed(tmp_path: Path) -> None:
    """A11: otherwise every session would claim to be the first."""
    results = [run(tmp_path, replace(CONFIG, seed=seed)) for seed in range(3)]
    assert [each.holdout_reuse for each in results] == [None] * 3
    assert all("a ledger is required" in each.holdout_note for each in results)


def test_a_session_resumes_only_with_its_own_ledger(tmp_path: Path) -> None:
    """A11: otherwise the opening would leave no trace in the first ledger."""
    with pytest.raises(Cut):
        run(tmp_path / "a", ledger=Ledger(tmp_path / "one"), on_event=cut_at("shortlist_frozen"))
    with pytest.raises(oo.OpenOutcryError):
        resume(lambda: MARKET, RandomProposer(), Workspace(tmp_path / "a", Ledger(tmp_path / "other")))


def test_a_forged_stop_event_does_not_hide_the_trials_of_other_sessions(tmp_path: Path) -> None:
    """A10: an interrupted journal with a forged earlier stop must still count them."""
    ledger = tmp_path / "ledger"
    with pytest.raises(Cut):
        run(tmp_path / "one", OPEN, ledger=Ledger(ledger), on_event=cut_at("decision"))
    run(tmp_path / "two", replace(OPEN, seed=9), ledger=Ledger(ledger))
    workspace = Workspace(tmp_path / "one", Ledger(ledger))
    recorded = session_of(workspace.journal)
    payload = {"reason": "cancelled", "tokens": 0, "n_before": 0, "n_trials": 1}
    with ChainedLog(workspace.journal, session=recorded.session_id) as log:
        log.append("stopped", payload)
    with pytest.raises(oo.OpenOutcryError, match="must count 2 trials of other sessions"):
        resume(lambda: MARKET, RandomProposer(), workspace)


def test_a_holdout_of_a_few_bars_is_refused() -> None:
    """A12: four returns have no statistical power, and a new holdout would be available every day."""
    with pytest.raises(oo.OpenOutcryError, match="holdout_bars"):
        Split(holdout_bars=5)


# The journal (A18)


def test_a_session_that_is_running_cannot_be_resumed(tmp_path: Path) -> None:
    """A18: two writers of one session would leave a journal that cannot be replayed."""
    resumed: list[str] = []

    def meanwhile(event: str, payload: Mapping[str, Any]) -> None:
        if event == "decision" and not resumed:
            resumed.append("tried")
            with pytest.raises(oo.OpenOutcryError):
                resume(lambda: MARKET, RandomProposer(), Workspace(tmp_path))

    run(tmp_path, OPEN, on_event=meanwhile)
    replay(lambda: MARKET, Workspace(tmp_path))


def command(tmp_path: Path, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(word) for word in words])
    return done.exit_code, done.output


@pytest.fixture
def file(tmp_path: Path) -> Path:
    market, path = noise(4, 600, 2), tmp_path / "market.csv"
    rows = [f"{date},{a!r},{b!r}" for date, (a, b) in zip(market.dates, market.close.tolist(), strict=True)]
    path.write_text("date,A,B\n" + "\n".join(rows) + "\n")
    (tmp_path / "proposals.json").write_text(json.dumps([trend(slow=65, fast=10)]))
    return path


def journal_of_run(tmp_path: Path, file: Path, *more: str) -> Path:
    words = ("run", "--data", file, "--provider", f"fixed:{tmp_path / 'proposals.json'}", "--no-ledger", "--out")
    code, output = command(tmp_path, *map(str, words), str(tmp_path / "out"), *more)
    assert code == 0, output
    return Workspace(tmp_path / "out").journal


def test_a_replay_uses_the_recorded_bars_per_year(tmp_path: Path, file: Path) -> None:
    """A18: `--periods-per-year` is part of the journal."""
    journal = journal_of_run(tmp_path, file, "--periods-per-year", "365")
    assert command(tmp_path, "replay", "--verify", str(journal))[0] == 0


def test_a_replay_accepts_a_moved_market_file(tmp_path: Path, file: Path) -> None:
    """A18: `--data` names the new location; the prices are the same."""
    journal = journal_of_run(tmp_path, file)
    elsewhere = file.rename(tmp_path / "elsewhere.csv")
    assert command(tmp_path, "replay", "--verify", str(journal), "--data", str(elsewhere))[0] == 0


def test_a_forged_blob_is_detected(tmp_path: Path) -> None:
    """A18: prompts and returns are compared with their hashes."""
    run(tmp_path, OPEN)
    for blob in Workspace(tmp_path).blobs.iterdir():
        blob.write_bytes(b"forged")
    with pytest.raises((DivergedError, oo.OpenOutcryError)):
        replay(lambda: MARKET, Workspace(tmp_path))


# No proposal ends a session


@pytest.mark.parametrize("name", ["self", "kind", "params"])
def test_a_param_with_any_name_is_rejected(tmp_path: Path, name: str) -> None:
    """A15, trap 3."""
    result = run(tmp_path, OPEN, proposals=[trend(**{name: 1}), trend(slow=100)])
    assert result.history[0].outcome == "rejected"
    assert result.n_session == 1


@needs_sandbox
def test_code_that_raises_for_neighbouring_params_is_a_trial_and_the_session_continues(tmp_path: Path) -> None:
    """A3: a fault during the perturbation is caught."""
    ranges = 'PARAM_RANGES = {"n": {"type": "int", "min": 2, "max": 40, "default": 20}}'
    source = deciding(f"if self.params['n'] != 20: raise ValueError('no')\n{BUY}").replace("PARAM_RANGES = {}", ranges)
    gates = replace(LAX, max_perturbation_loss=9.0)
    split, budgets = Split(n_folds=2, holdout_bars=0), Budgets(9, 9)
    config = replace(OPEN, gates=gates, allow_code=True, inner_trials=1, split=split, budgets=budgets)
    result = run(tmp_path, config, rising(160), [code(source)])
    assert result.n_session >= 1
    assert session_of(Workspace(tmp_path).journal).is_over


@needs_sandbox
def test_code_that_raises_in_the_holdout_fails_it(tmp_path: Path) -> None:
    """A12: the holdout is spent, so a verdict is required."""
    market = rising(160)
    source = deciding(f"if closes[-1, 0] == {float(market.close[-30, 0])!r}: raise ValueError('no')\n{BUY}")
    config = replace(CONFIG, allow_code=True, inner_trials=1, split=Split(n_folds=2))
    result = run(tmp_path, config, market, [code(source)], ledger=Ledger(tmp_path / "ledger"))
    assert [listed.verdict.passed for listed in result.shortlist if listed.verdict] == [False]


# Numbers


def test_a_threshold_beyond_the_range_of_a_float_is_refused() -> None:
    with pytest.raises(oo.OpenOutcryError):
        thresholds_of({"min_dsr": 10**400})


def test_an_invalid_training_cutoff_is_refused_before_a_session_starts(tmp_path: Path) -> None:
    """A17: otherwise its journal could be neither resumed nor replayed."""
    with pytest.raises(oo.OpenOutcryError):
        run(tmp_path, replace(OPEN, training_cutoff="soon"))
    assert not Workspace(tmp_path).journal.exists()


@pytest.mark.parametrize("n_trials", [1, 5, 50])
def test_autocorrelated_returns_without_an_edge_seldom_pass(n_trials: int) -> None:
    """A10: autocorrelation widens both the expected maximum and the error of the ratio itself."""
    rng, n_sessions, passed = np.random.default_rng(n_trials), 200, 0
    kernel = np.array([0.5, 0.25, 0.15, 0.1])
    for _ in range(n_sessions):
        counter, tracks = TrialCounter(PriorTrials(n_trials=n_trials)), rng.standard_normal((n_trials, 753))
        scores = [score(0.01 * np.convolve(track, kernel, "valid")) for track in tracks]
        best = sorted(scores, key=lambda each: -each.moments.sharpe if each.moments else 0.0)[:8]
        passed += any((counter.luck_of(each).dsr or 0.0) > 0.95 for each in best)
    assert passed <= 0.07 * n_sessions


def score(returns: np.ndarray) -> OosScore:
    excess = np.ascontiguousarray(returns)
    nav = np.concatenate([[1.0], np.cumprod(1.0 + excess)])
    return OosScore(None, 0.0, 0.0, (), Moments.of(excess), excess, nav, ())
