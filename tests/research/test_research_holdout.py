"""The holdout: absent from research, opened once for a frozen list, and never shown afterwards (A11, A12)."""

from __future__ import annotations

import gc
import json
import sys
import types
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from research_markets import noise, trending

import openoutcry as oo
from openoutcry.ledger import Ledger
from openoutcry.research.acceptance_gates import Thresholds
from openoutcry.research.proposal_requests import ProposalReply, ProposalRequest, TokenMeter
from openoutcry.research.proposers import RandomProposer
from openoutcry.research.sealed_holdout import HoldoutVault
from openoutcry.research.session_config import Budgets, ResearchConfig, Split
from openoutcry.research.session_manager import Workspace, research
from openoutcry.research.session_records import session_of
from openoutcry.research.trial import Result

pytestmark = pytest.mark.once

MARKET = trending(0, 1500, 3)
LAX = Thresholds(*(None,) * 5, min_trades=0, min_dsr=None, max_perturbation_loss=None, max_probe_changes=None)
CONFIG = ResearchConfig(budgets=Budgets(4, 40, 12), gates=LAX)
SPLIT = Split()


def run(folder: Path, config: ResearchConfig = CONFIG, market: oo.Dataset = MARKET, proposer: Any = None) -> Result:
    ledger = Ledger(folder / "ledger")
    return research(lambda: market, proposer or RandomProposer(), config, Workspace(folder / "out", ledger))


def events(folder: Path, session: str | None = None) -> list[Mapping[str, Any]]:
    return [dict(each) for each in session_of(Workspace(folder / "out").journal, session).events]


def test_the_research_window_ends_an_embargo_before_the_holdout() -> None:
    vault = HoldoutVault(lambda: MARKET, replace(SPLIT, embargo=5))
    view = vault.research()
    assert view.n_bars == vault.research_end == 1500 - 60 - 5
    assert view.dates[-1] < MARKET.dates[-65]
    assert vault.window == (MARKET.dates[-60], MARKET.dates[-1])


class Watcher:
    """Collects all markets and arrays that a proposer can reach from any frame below the test."""

    name = "watcher"

    def __init__(self) -> None:
        self._inner = RandomProposer()
        self.lengths: set[int] = set()
        self.prices: set[float] = set()

    def reserve(self, request: ProposalRequest) -> int:
        return 0

    def propose(self, request: ProposalRequest, meter: TokenMeter) -> ProposalReply:
        if request.round not in (0, 2):
            return self._inner.propose(request, meter)
        frame, found = sys._getframe(), []
        while frame is not None and (frame is sys._getframe() or frame.f_code.co_filename != __file__):
            found += list(frame.f_locals.values())
            frame = frame.f_back
        seen = {id(globals()), id(sys.modules)}
        while found:
            each = found.pop()
            if id(each) in seen or isinstance(each, types.ModuleType):
                continue
            seen.add(id(each))
            if isinstance(each, oo.Dataset) and each.symbols[0] == "held-0":
                self.lengths.add(each.n_bars)
                self.prices |= set(each.close.ravel().tolist())
            elif isinstance(each, np.ndarray) and each.dtype == np.float64:
                self.prices |= set(each.ravel().tolist())
            found += gc.get_referents(each)
        return self._inner.propose(request, meter)


def test_no_object_that_research_can_reach_holds_a_holdout_price(tmp_path: Path) -> None:
    """A11: the prices are absent, not merely hidden."""
    path, market = tmp_path / "market.csv", trending(9, 1500, 3)
    rows = ["date,held-0,held-1,held-2"]
    rows += [
        f"{date},{','.join(map(repr, row))}" for date, row in zip(market.dates, market.close.tolist(), strict=True)
    ]
    path.write_text("\n".join(rows) + "\n")
    watcher = Watcher()
    research(lambda: oo.Dataset.from_csv(path), watcher, CONFIG, Workspace(tmp_path / "out"))
    assert watcher.lengths == {1500 - 60 - 1}
    assert float(market.close[700, 0]) in watcher.prices, "research prices are reachable"
    assert not watcher.prices & set(market.close[-61:].ravel().tolist())


def test_the_seal_is_written_before_the_holdout_is_opened(tmp_path: Path) -> None:
    result = run(tmp_path)
    recorded = events(tmp_path)
    names = [each["event"] for each in recorded]
    first = names.index("shortlist_frozen")
    assert names[first : first + 3] == ["shortlist_frozen", "holdout_seal", "holdout_opened"]
    assert names[first + 3 : -1] == ["holdout_score"] * len(result.shortlist)
    seal = recorded[first + 1]["payload"]
    assert seal["dataset_sha256"] == MARKET.fingerprint
    assert seal["window"] == [MARKET.dates[-60], MARKET.dates[-1]]
    assert seal["commit"] == recorded[first + 2]["payload"]["commit"]
    assert result.holdout_reuse == 0


def test_the_holdout_does_not_reorder_the_frozen_list(tmp_path: Path) -> None:
    config = replace(CONFIG, budgets=Budgets(12, 40), guard=replace(CONFIG.guard, advanced_only=False))
    result = run(tmp_path, config)
    frozen = next(each["payload"] for each in events(tmp_path) if each["event"] == "shortlist_frozen")
    assert [each["key"] for each in frozen["candidates"]] == [listed.key for listed in result.shortlist]
    ratios = [listed.oos.sharpe or 0.0 for listed in result.shortlist]
    assert ratios == sorted(ratios, reverse=True)
    held = [
        listed.verdict.sharpe for listed in result.shortlist if listed.verdict and listed.verdict.sharpe is not None
    ]
    assert held != sorted(held, reverse=True), "the two orders must differ on this market"


def test_a_spent_holdout_stays_closed_in_every_later_session(tmp_path: Path) -> None:
    """Trap 8."""
    first = run(tmp_path)
    later = run(tmp_path, replace(CONFIG, seed=1))
    assert first.holdout_reuse == 0
    assert later.prior_trials.holdout_spent == 1
    assert later.shortlist
    assert all(listed.verdict is None for listed in later.shortlist)
    assert later.holdout_reuse is None
    assert later.holdout_note
    assert [each["event"] for each in events(tmp_path)][-2] == "holdout_refused"


@pytest.mark.parametrize(
    "change",
    [
        lambda market: oo.Dataset.from_arrays(market.dates, market.symbols, market.close, name="another name"),
        lambda market: market.select(market.symbols[:2]),
        lambda market: market.between(100, market.n_bars),
        lambda market: market.head(market.n_bars - 7),
        lambda market: oo.Dataset.from_arrays(market.dates, ["x", "y", "z"], market.close),
    ],
    ids=["renamed", "fewer symbols", "later start", "earlier end", "symbols renamed"],
)
def test_a_spent_holdout_is_recognised_on_a_changed_market(tmp_path: Path, change: Any) -> None:
    """Trap 8: an overlapping holdout on the same family of markets is spent, and prior trials are counted."""
    first = run(tmp_path)
    later = run(tmp_path, replace(CONFIG, seed=1), change(MARKET))
    assert later.prior_trials.holdout_spent >= 1
    assert all(listed.verdict is None for listed in later.shortlist)
    assert later.prior_trials.n_trials == first.n_session


def test_a_later_holdout_of_an_extended_market_is_new(tmp_path: Path) -> None:
    run(tmp_path, market=MARKET.head(1400))
    later = run(tmp_path, replace(CONFIG, seed=1))
    assert later.prior_trials.holdout_spent == 0
    assert later.holdout_reuse == 0
    assert later.prior_trials.n_trials > 0


def test_burning_a_holdout_is_recorded_in_every_result(tmp_path: Path) -> None:
    run(tmp_path)
    later = run(tmp_path, replace(CONFIG, seed=1, burn_holdout=True))
    assert later.holdout_reuse == 1
    scores = [each["payload"] for each in events(tmp_path) if each["event"] == "holdout_score"]
    assert scores
    assert all(score["holdout_reuse"] == 1 for score in scores)


def test_an_empty_list_leaves_the_holdout_unspent(tmp_path: Path) -> None:
    strict = replace(CONFIG, gates=Thresholds(min_sharpe=99.0))
    assert run(tmp_path, strict, noise(1)).shortlist == ()
    later = run(tmp_path, replace(CONFIG, seed=1), noise(1))
    assert later.prior_trials.holdout_spent == 0
    assert later.holdout_reuse == 0


def numbers(value: Any) -> set[float]:
    if isinstance(value, Mapping):
        return set().union(*map(numbers, value.values()), set())
    if isinstance(value, (list, tuple)):
        return set().union(*map(numbers, value), set())
    return {value} if isinstance(value, float) and value not in (0.0, 1.0) else set()


def test_no_prompt_of_a_later_session_reveals_the_holdout(tmp_path: Path) -> None:
    """A11: no number and no date of it, at any precision that a prompt could show."""
    first = run(tmp_path)
    scores = [each["payload"] for each in events(tmp_path) if each["event"] == "holdout_score"]
    found = numbers([{name: value for name, value in each.items() if name != "params"} for each in scores]) - numbers(
        [each.oos.to_json() for each in first.trials]
    )
    later = run(tmp_path, replace(CONFIG, seed=1))
    assert later.prior_trials.prior
    blobs = Workspace(tmp_path / "out").blobs
    prompts = [
        (blobs / each["payload"]["prompt_sha256"]).read_text(encoding="utf-8")
        for each in events(tmp_path)
        if each["event"] == "proposal"
    ]
    assert prompts
    text = "\n".join(prompts)
    assert later.prior_trials.prior in text, "results of earlier sessions are in the prompt"
    assert "holdout" not in text.lower()
    assert not [date for date in MARKET.dates[-60:] if date in text]
    for value in found:
        assert f"{value:.4f}" not in text
        assert repr(value) not in text


def test_a_vault_opens_once_and_only_for_its_seal() -> None:
    vault = HoldoutVault(lambda: MARKET, SPLIT)
    seal = vault.seal([{"key": "a"}])
    other = HoldoutVault(lambda: MARKET, SPLIT).seal([{"key": "b"}])
    with pytest.raises(oo.OpenOutcryError, match="the seal of this holdout"):
        vault.open(other)
    vault.open(seal)
    with pytest.raises(oo.OpenOutcryError, match="opened once"):
        vault.open(seal)


def test_a_changed_market_is_refused_at_the_opening() -> None:
    markets = iter([MARKET, MARKET, trending(1, 1500, 3)])
    vault = HoldoutVault(lambda: next(markets), SPLIT)
    vault.research()
    seal = vault.seal([])
    with pytest.raises(oo.OpenOutcryError, match="the market must be the one"):
        vault.open(seal)


def test_the_holdout_verdict_follows_predefined_criteria(tmp_path: Path) -> None:
    """A12."""
    for listed in run(tmp_path).shortlist:
        verdict = listed.verdict
        assert verdict is not None
        assert verdict.n_returns == 59
        assert verdict.drawdown_limit == 1.5 * listed.oos.max_drawdown
        good = (verdict.sharpe or 0.0) > 0.0 and (verdict.psr or 0.0) >= 0.8
        assert verdict.passed == (good and verdict.max_drawdown <= verdict.drawdown_limit)
        assert json.dumps(verdict.to_json())
