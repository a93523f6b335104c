"""Hindsight by time: tables by calls, by bars since a pattern and by rank fail in disguise; rules do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import count
from hindsight_tables import Local, call_table, position_table, rank_table
from research_markets import noise, trending
from strategy_sources import GOOD, deciding

import openoutcry as oo
from openoutcry.backtest.strategies import LIBRARY
from openoutcry.harness.sandbox import Tier, this_host
from openoutcry.ledger import Ledger
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.records.chained_log import ChainedLog
from openoutcry.research.acceptance_gates import GATES_VERSION, Thresholds
from openoutcry.research.causality_check import causality_probe
from openoutcry.research.code_loader import load_strategy_from_code
from openoutcry.research.disguise_probe import DisguiseResult, disguise_probe
from openoutcry.research.disguised_markets import shuffled_spans, thinned
from openoutcry.research.proposers import FixedProposer
from openoutcry.research.session_config import Budgets, ResearchConfig, Split
from openoutcry.research.session_manager import Workspace, replay, research, resume
from openoutcry.research.session_records import session_of
from openoutcry.research.source_checks import check_source
from openoutcry.research.walkforward_validation import ValidationSetup, validate, validation_setup

pytestmark = pytest.mark.once
T2 = pytest.mark.skipif(this_host().tier < Tier.T2, reason="needs a sandbox of T2")


def setup_of(market: oo.Dataset, n_folds: int = 2) -> ValidationSetup:
    rules = CostModel(), Limits()
    return validation_setup(market, market.n_bars, Split(n_folds=n_folds, holdout_bars=0), rules)


def probed(source: str, setup: ValidationSetup) -> tuple[float, int, DisguiseResult]:
    """Return the Sharpe ratio of a source, the cuts that change a decision, and its losses in disguise."""
    strategy = Local(source)
    validation = validate(setup, strategy, {})
    n_changed = causality_probe(strategy, setup.dataset).n_changed
    return validation.oos.sharpe or 0.0, n_changed, disguise_probe(setup, validation, lambda _: Local(source), 0)


def test_a_table_by_bars_since_a_pattern_fails_with_gaps() -> None:
    """It has no state, finds its pattern despite noise, and was short-listed before: a loss of 0.05."""
    setup = setup_of(noise(1, 420, 1))
    train = setup.folds[0].train
    source = position_table(setup.dataset, setup, train[1] - train[0])
    assert check_source(source).information.literal_bits < 800
    sharpe, n_changed, found = probed(source, setup)
    assert sharpe > 10.0
    assert n_changed == 0
    assert max(found.levels, found.noise) < 0.25
    assert (found.gaps or 0.0) > 0.5
    assert "consecutive bars, such as a count of bars" in found.remark(0.25)


@pytest.mark.parametrize("shifts", [False, True])
def test_a_table_by_calls_is_a_constant_and_fails_out_of_order(shifts: bool) -> None:
    """Flat on 95 % of the bars, it passes the causality probe in a quarter of all sessions."""
    setup = setup_of(noise(3, 360, 1))
    source = call_table(setup.dataset, setup, 0.05, shifts=shifts)
    with pytest.raises(oo.OpenOutcryError, match="literals of a source must hold at most"):
        check_source(source)
    assert check_source(source, earlier_gates=True)
    sharpe, _, found = probed(source, setup)
    assert sharpe > 2.5
    assert max(found.levels, found.noise, found.coarse or 0.0) == 0.0, "no price decides"
    assert (found.order or 0.0) > 0.5


def test_a_table_by_the_rank_of_prices_fails_with_noise() -> None:
    setup = setup_of(noise(2, 360, 1))
    source = rank_table(setup.dataset, setup)
    assert check_source(source)
    sharpe, n_changed, found = probed(source, setup)
    assert sharpe > 5.0
    assert n_changed == 0
    assert (found.coarse or 0.0) > 0.5


HONEST = [
    ("trend", {"fast": 5, "slow": 65}),
    ("momentum", {"window": 25, "skip": 0, "side": "long-short"}),
    ("trend", {"fast": 20, "slow": 120, "side": "long-short"}),
    ("momentum", {"window": 60, "skip": 0}),
]


@pytest.mark.parametrize(("name", "changed"), HONEST[: count(4, 2)])
def test_an_honest_strategy_keeps_its_ratio_with_gaps_and_out_of_order(name: str, changed: dict[str, Any]) -> None:
    setup = setup_of(trending(1, 1200, 4), 3)
    strategy = LIBRARY[name](**changed)
    validation = validate(setup, strategy, strategy.params)
    found = disguise_probe(setup, validation, lambda params: LIBRARY[name](**params), 0)
    assert (validation.oos.sharpe or 0.0) > 1.2
    assert found.order == 0.0
    assert found.loss < 0.15


def test_a_thinned_market_keeps_its_history_its_splits_and_the_decisions_of_missing_bars() -> None:
    market = trending(0, 400, 2)
    splits = np.ones(market.close.shape)
    splits[300:390:3, 0] = 2.0
    market = oo.Dataset.from_arrays(
        market.dates, market.symbols, market.close / np.cumprod(splits, axis=0), splits=splits
    )
    found = thinned(market, np.random.default_rng(0), 50, 0.3)
    assert 0.55 < len(found.bars) / 400 < 0.85
    assert found.bars[:50].tolist() == list(range(50))
    assert set(range(300, 390, 3)) <= set(found.bars.tolist())
    assert np.array_equal(found.dataset.close, market.close[found.bars])
    first, end = found.span(100, 200)
    assert (found.bars[first] >= 100, found.bars[first - 1] < 100, found.bars[end - 1] < 200) == (True, True, True)
    spread = found.spread(found.bars[:, None].astype(float), 400)[:, 0]
    assert np.array_equal(spread[found.bars], found.bars)
    assert np.all(spread <= np.arange(400))
    assert np.all(np.diff(spread) >= 0.0)


def test_shuffled_spans_cover_a_range_once() -> None:
    spans = shuffled_spans(30, 333, np.random.default_rng(1), 20)
    assert spans != sorted(spans)
    assert sorted(bar for start, end in spans for bar in range(start, end)) == list(range(30, 333))
    assert max(end - start for start, end in spans) <= 20


@T2
def test_one_worker_decides_ranges_in_the_given_order() -> None:
    construct = "def __init__(self, **params):\n    super().__init__(**params)\n    self.n = 0"
    counting = deciding("self.n += 1\nreturn closes[0] * 0 + self.n / 100", construct=construct, lookback="2")
    first, second = load_strategy_from_code(counting).tables(noise(0, 12, 1), [(8, 10), (3, 5)])
    assert [*first[8:10, 0], *second[3:5, 0]] == [0.01, 0.02, 0.03, 0.04]


WHY = "prices that have risen for weeks go on to rise, since investors react late"
LOOSE = Thresholds(*(None,) * 6, min_dsr=None, max_disguise_loss=0.9)


@T2
@pytest.mark.parametrize("version", [4, 5])
def test_a_journal_of_earlier_gates_is_continued_and_verified_with_their_measures(tmp_path: Path, version: int) -> None:
    market, config = (
        trending(0, 300, 2),
        ResearchConfig(
            split=Split(n_folds=2, holdout_bars=0), budgets=Budgets(2, 2), gates=LOOSE, allow_code=True, inner_trials=1
        ),
    )
    proposals = [{"kind": "code", "source": GOOD, "params": {"n": 20}, "rationale": WHY}]
    ledger = Ledger(tmp_path / "ledger")
    empty = Workspace(tmp_path / "empty", ledger)
    research(lambda: market, FixedProposer([]), config, empty)
    start = session_of(empty.journal).start
    assert start["gates_version"] == GATES_VERSION == 7
    earlier = Workspace(tmp_path / "earlier", ledger)
    earlier.journal.parent.mkdir(parents=True)
    with ChainedLog(earlier.journal, session="1" * 8) as log:
        earlier_gates = {
            name: value for name, value in start["config"]["gates"].items() if name != "max_constants_loss"
        }
        config_then = {**start["config"], "gates": earlier_gates}
        log.append("session_start", {**start, "config": config_then, "gates_version": version})
    resume(lambda: market, FixedProposer(proposals), earlier)

    (event,) = (each for each in session_of(earlier.journal).events if each["event"] == "trial")
    assert (set(event["payload"]["information"]) == {"literal_bits", "shape_bits"}) == (version == 4)
    (trial,) = replay(lambda: market, earlier).trials
    (gate,) = (each for each in trial.gates if each.name == "disguise")
    assert gate.reason.endswith("with noise too") == (version == 4), "nothing else was measured"
    assert "constants" not in {each.name for each in trial.gates}
