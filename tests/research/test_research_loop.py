"""The research loop: rounds, budgets, trial counts, dry rounds and the short list (A1 to A6)."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from research_markets import noise, rising, trending

import openoutcry as oo
from openoutcry.ledger import Ledger
from openoutcry.ledger.run_summary import FIELDS
from openoutcry.research.acceptance_gates import Thresholds
from openoutcry.research.proposal_requests import Attempt, ProposalReply, ProposalRequest, TokenMeter, Usage
from openoutcry.research.proposers import FixedProposer, RandomProposer
from openoutcry.research.session_config import Budgets, Guard, ResearchConfig, Split
from openoutcry.research.session_manager import Workspace, research
from openoutcry.research.session_records import session_of
from openoutcry.research.trial import Result

MARKET = noise(7, 1000, 2)
WHY = "prices that have risen for weeks go on to rise, since investors react late"
LAX = Thresholds(*(None,) * 5, min_trades=0, min_dsr=None, max_perturbation_loss=None, max_probe_changes=None)


def trend(**params: Any) -> dict[str, Any]:
    return {"kind": "tune", "strategy": "trend", "params": {"slow": 100} | params, "rationale": WHY}


def config(**changes: Any) -> ResearchConfig:
    return replace(ResearchConfig(split=Split(holdout_bars=0)), **changes)


def run(
    proposals: Any, folder: Path, market: oo.Dataset = MARKET, settings: ResearchConfig | None = None, **more: Any
) -> Result:
    proposer = FixedProposer(proposals) if isinstance(proposals, list) else proposals
    return research(lambda: market, proposer, settings or config(), Workspace(folder, **more))


def events(folder: Path) -> list[tuple[str, Mapping[str, Any]]]:
    return [(each["event"], each["payload"]) for each in session_of(Workspace(folder).journal).events]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "out"


def test_a_session_goes_from_proposals_to_a_short_list(folder: Path) -> None:
    """A1."""
    result = run([trend(slow=100), trend(fast=20, slow=100)], folder)
    assert result.stopped_reason == "proposer_exhausted"
    assert [trial.outcome for trial in result.trials] == ["discarded", "discarded"]
    assert result.shortlist == ()
    assert [event for event, _ in events(folder)] == [
        "session_start",
        *["proposal", "trial", "decision"] * 2,
        "proposal",
        "stopped",
        "shortlist_frozen",
        "session_end",
    ]


def test_an_invalid_proposal_is_rejected_and_the_session_continues(folder: Path) -> None:
    """A4, A15 and traps 3 and 4: rejections are dry rounds and no trials, and never end the session."""
    wrong = [
        {"kind": "tune", "strategy": "no-such", "params": {}, "rationale": WHY},
        trend(fast="ten"),
        trend(fast=10.5),
        trend(fast=True),
        trend(fast=10**9),
        trend(pace=10),
        {**trend(), "rationale": "should work"},
        {**trend(), "rationale": None},
        {"strategy": "trend"},
        {"kind": "code", "source": "import os", "rationale": WHY},
        {**trend(), "extra": 1},
    ]
    result = run([*wrong, trend()], folder, settings=config(budgets=Budgets(10, 100, 100)))
    assert [card.outcome for card in result.history] == [*["rejected"] * len(wrong), "discarded"]
    assert result.n_session == 1
    reasons = [payload["reason"] for event, payload in events(folder) if event == "reject"]
    assert reasons == ["hygiene"] * len(wrong)


def test_params_count_as_tuned_if_they_differ_from_their_defaults(folder: Path) -> None:
    """A15 and trap 2."""
    result = run([trend(fast=10, slow=100)], folder, settings=config(max_tunable=1))
    assert "at most 1 params" in result.history[0].reasons[0]
    spelled = run([trend(fast=50, slow=100, side="long")], folder, settings=config(max_tunable=1))
    assert [trial.candidate.tuned for trial in spelled.trials] == [("slow",)]


def test_a_duplicate_is_a_dry_round_and_no_trial(folder: Path) -> None:
    """A3: an explicit default is the same configuration as an omitted one."""
    result = run([trend(), trend(), trend(fast=50, side="long")], folder)
    assert [card.outcome for card in result.history] == ["discarded", "rejected", "rejected"]
    assert result.n_session == 1
    assert result.stopped_reason == "dry_rounds"
    assert events(folder)[-1][1]["n_rounds"] == 3


def test_an_advance_resets_the_dry_rounds(folder: Path) -> None:
    """A4."""
    settings = config(gates=LAX, budgets=Budgets(10, 2))
    proposals = [trend(fast=fast, slow=slow) for fast in (5, 10, 20) for slow in (70, 100, 150)]
    result = run(proposals, folder, settings=settings)
    dry = [payload["n_dry"] for event, payload in events(folder) if event in ("decision", "reject")]
    outcomes = [card.outcome for card in result.history]
    expected, count = [], 0
    for outcome in outcomes:
        count = 0 if outcome == "advanced" else count + 1
        expected.append(count)
    assert dry == expected
    assert outcomes[0] == "advanced"
    assert result.stopped_reason in ("dry_rounds", "proposer_exhausted")


@pytest.mark.parametrize(
    ("budgets", "reason", "n_trials"),
    [
        (Budgets(2, 100), "trial_budget", 2),
        (Budgets(100, 100, 3), "round_budget", 3),
        (Budgets(100, 2), "dry_rounds", 2),
        (Budgets(100, 100, seconds=0.0), "time_budget", 0),
        (Budgets(100, 100, tokens=0), "token_budget", 0),
    ],
)
def test_each_budget_stops_the_session(folder: Path, budgets: Budgets, reason: str, n_trials: int) -> None:
    """A2."""
    proposals = [trend(fast=fast) for fast in range(5, 25)]
    result = run(proposals, folder, settings=config(budgets=budgets))
    assert (result.stopped_reason, result.n_session) == (reason, n_trials)


def test_stop_reasons_have_a_fixed_precedence(folder: Path) -> None:
    """A2: dry rounds before tokens before trials before rounds."""
    result = run([trend(fast=5), trend(fast=6)], folder, settings=config(budgets=Budgets(2, 2, 2)))
    assert result.stopped_reason == "dry_rounds"
    result = run([trend(fast=5), trend(fast=6)], folder, settings=config(budgets=Budgets(2, 3, 2)))
    assert result.stopped_reason == "trial_budget"


def test_rounds_are_limited_to_three_per_trial_by_default(folder: Path) -> None:
    wrong = {"strategy": "no-such", "rationale": WHY}
    result = run([wrong] * 50, folder, settings=config(budgets=Budgets(4, 100)))
    assert (result.stopped_reason, len(result.history)) == ("round_budget", 12)


class Model:
    """Returns scripted replies and uses tokens."""

    name = "model"

    def __init__(self, replies: list[ProposalReply], reserve: int = 100) -> None:
        self._replies, self._reserve = replies, reserve

    def reserve(self, request: ProposalRequest) -> int:
        return self._reserve

    def propose(self, request: ProposalRequest, meter: TokenMeter) -> ProposalReply:
        if request.round >= len(self._replies):
            return ProposalReply(is_exhausted=True)
        for attempt in self._replies[request.round].attempts:
            meter.spend(attempt.usage)
        return self._replies[request.round]


def scripted(proposal: Any = None, fault: str | None = None, tokens: int = 60) -> ProposalReply:
    attempt = Attempt("m", "propose", 200, Usage(tokens - 10, 10), "text", fault, 100)
    return ProposalReply(proposal, fault, "so it was", attempts=(attempt,), prompt="shown")


def test_no_round_starts_whose_reserve_could_exceed_the_limit(folder: Path) -> None:
    """A2 and A13."""
    model = Model([scripted(trend(fast=fast)) for fast in range(5, 15)])
    result = run(model, folder, settings=config(budgets=Budgets(10, 10, tokens=250)))
    assert (result.stopped_reason, result.tokens, result.n_session) == ("token_budget", 180, 3)


def test_replies_without_a_proposal_are_dry_rounds_and_their_tokens_count(folder: Path) -> None:
    """Trap 4: an unreadable response does not end the session."""
    model = Model([scripted(fault="parse"), scripted(trend()), scripted(fault="parse"), scripted(trend(fast=5))])
    result = run(model, folder, settings=config(budgets=Budgets(10, 10)))
    assert [card.outcome for card in result.history] == ["rejected", "discarded", "rejected", "discarded"]
    assert result.tokens == 240
    assert result.stopped_reason == "proposer_exhausted"


def test_an_unreachable_model_is_distinguished_from_dry_rounds(folder: Path) -> None:
    result = run(Model([scripted(fault="provider")] * 9), folder)
    assert (result.stopped_reason, len(result.history)) == ("proposer_failed", 3)


def test_a_cancelled_session_writes_its_results(folder: Path) -> None:
    stop = threading.Event()

    def watch(event: str, payload: Mapping[str, Any]) -> None:
        if event == "decision":
            stop.set()

    result = run([trend(fast=fast) for fast in range(5, 15)], folder, cancelled=stop, on_event=watch)
    assert (result.stopped_reason, result.n_session) == ("cancelled", 1)
    assert events(folder)[-1][0] == "session_end"


def test_a_planted_edge_is_found_and_passes_the_holdout_under_the_strict_preset(folder: Path) -> None:
    settings = ResearchConfig(budgets=Budgets(30, 40, 60), gates=Thresholds.preset("strict"))
    result = run(RandomProposer(), folder, trending(0), settings, ledger=Ledger(folder.parent / "ledger"))
    assert [listed.trial.candidate.name for listed in result.shortlist] == ["momentum"]
    best = result.shortlist[0]
    assert best.luck.n_trials == 30
    assert best.luck.dsr is not None
    assert best.luck.dsr > 0.95
    assert best.verdict is not None
    assert best.verdict.passed


def test_the_short_list_is_judged_by_all_trials_of_the_session(folder: Path) -> None:
    """A10: the first trial of a session must pass the gates at the final number of trials."""
    lone = replace(LAX, min_trades=None, min_dsr=0.5)
    many = [trend(fast=fast) for fast in range(5, 46)]
    market = noise(3, 1000, 2)
    seen = run(many[:1], folder, market, config(gates=lone))
    late = run(many, folder, market, config(gates=lone, budgets=Budgets(60, 60)))
    assert [trial.outcome for trial in seen.trials] == [late.trials[0].outcome] == ["advanced"]
    assert [listed.key for listed in seen.shortlist] == [seen.trials[0].key]
    assert late.trials[0].key not in [listed.key for listed in late.shortlist]
    reasons = {each.key: each.reason for each in late.dropped}
    assert "at the final 41 trials" in reasons[late.trials[0].key]


def test_the_short_list_includes_trials_that_only_passed_if_configured(folder: Path) -> None:
    proposals = [trend(fast=fast, slow=slow) for fast, slow in ((40, 150), (5, 70), (20, 80), (10, 100))]
    alone = run(proposals, folder, settings=config(gates=LAX, budgets=Budgets(10, 10)))
    both = run(proposals, folder, settings=config(gates=LAX, budgets=Budgets(10, 10), guard=Guard(advanced_only=False)))
    assert len(both.shortlist) > len(alone.shortlist)
    assert {listed.key for listed in alone.shortlist} <= {listed.key for listed in both.shortlist}
    assert all(listed.trial.outcome == "advanced" for listed in alone.shortlist)


def test_a_market_too_short_for_its_folds_is_refused(folder: Path) -> None:
    with pytest.raises(oo.OpenOutcryError):
        run([trend()], folder, noise(1, 140, 2))
    assert not Workspace(folder).journal.exists()


def test_a_library_lookback_longer_than_the_training_is_rejected(folder: Path) -> None:
    """A7."""
    result = run([trend(slow=300), trend()], folder)
    assert "lookback: a lookback of at most 199 bars" in result.history[0].reasons[0]
    assert (result.n_session, len(result.trials)) == (1, 1)


def test_the_ledger_records_why_a_metric_is_undefined(folder: Path) -> None:
    """L3: only metrics among the 17 are listed."""
    ledger = Ledger(folder.parent / "ledger")
    falling = rising(0, 600, 2, drift=-0.003, volatility=0.0001)
    assert run([trend()], folder, falling, ledger=ledger).trials[0].oos.summary.total_positions == 0
    found = ledger.list()[0].summary
    assert {"sharpe_ratio", "sortino_ratio", "calmar_ratio", "win_rate", "avg_win"} < set(found.undefined)
    assert set(found.undefined) == {name for name in FIELDS if getattr(found, name) is None}
    run([trend()], folder, ledger=ledger)
    assert ledger.list()[0].summary.undefined == {}
