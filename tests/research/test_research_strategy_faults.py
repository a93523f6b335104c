"""Faults of generated code are reported as what they are, with bar and limit, by real workers with small limits."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from research_markets import noise
from strategy_sources import deciding

from openoutcry.harness.sandbox import Tier, this_host
from openoutcry.research import strategy_builder
from openoutcry.research.acceptance_gates import Thresholds
from openoutcry.research.code_loader import WorkerLimits, load_strategy_from_code
from openoutcry.research.proposers import FixedProposer
from openoutcry.research.session_config import Budgets, ResearchConfig, Split
from openoutcry.research.session_manager import Workspace, research
from openoutcry.research.strategy_faults import REASONS, StrategyError, described

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(this_host().tier < Tier.T2, reason=str(dict(this_host().missing))),
]
MARKET = noise(2, 120, 2)
LIMITS = WorkerLimits(answer_seconds=0.4, run_seconds=6.0, memory_bytes=2**30, print_bytes=2**16)
WHY = "prices that have risen for weeks go on to rise, since investors react late"


def at_40(then: str) -> str:
    """Return a source that misbehaves at bar 40."""
    price = float(MARKET.close[40, 0])
    return deciding(f"if closes[-1, 0] == {price!r}:\n    {then}\nreturn closes[0] * 0")


FAULTS = {
    "an endless loop": ("while True: pass", "timeout", "a strategy must answer within 0.4 s; received no answer"),
    "80 GB of zeros": ("x = np.zeros(10 ** 10)", "memory", "at most 1,024 MiB of memory; received"),
    "80 GB of a list": ("x = [0] * 10 ** 10", "memory", "at most 1,024 MiB of memory; received MemoryError"),
    "10 MB of prints": ("print('x' * 10 ** 7)", "output", "must print at most 65,536 bytes a table; received more"),
    "endless prints": ("while True: print('x' * 10 ** 4)", "output", "must print at most 65,536 bytes a table"),
    "an exit": ("raise SystemExit(3)", "crashed", "a strategy must run until its table ends; received its exit"),
    "a text": ("return 'abc'", "answer", "weights must be numbers"),
    "an exception": ("raise KeyError('x')", "error", "received KeyError: 'x'"),
    "a long answer": ("return np.zeros(10 ** 5)", "answer", "expected 2 weights"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_names_its_kind_its_limit_and_its_bar(name: str) -> None:
    then, reason, message = FAULTS[name]
    strategy = load_strategy_from_code(at_40(then), worker_limits=LIMITS)
    with pytest.raises(StrategyError) as caught:
        strategy.table(MARKET)
    assert caught.value.reason == reason
    assert message in str(caught.value)
    assert str(caught.value).endswith(f"at bar 40 ({MARKET.dates[40]})")
    assert described(caught.value).startswith(f"{reason}: ")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_prints_below_the_limit_are_ignored() -> None:
    strategy = load_strategy_from_code(at_40("print('x' * 1000)"), worker_limits=LIMITS)
    assert strategy.table(MARKET).shape == (120, 2)


def test_a_whole_table_has_a_limit_of_its_own() -> None:
    slow = deciding("x = [k for k in range(200_000)]\nreturn closes[0] * 0")
    limits = replace(LIMITS, start_seconds=0.4, run_seconds=0.05)
    with pytest.raises(StrategyError, match=r"complete its table within 0\.05 s.* at bar \d+ ") as caught:
        load_strategy_from_code(slow, worker_limits=limits).table(MARKET)
    assert caught.value.reason == "timeout"


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the workers of sessions small limits."""
    load: Callable[..., object] = load_strategy_from_code
    monkeypatch.setattr(
        strategy_builder, "load_strategy_from_code", lambda *a, **k: load(*a, **k, worker_limits=LIMITS)
    )


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("name", ["an endless loop", "80 GB of zeros", "10 MB of prints", "an exit"])
def test_a_session_rejects_it_by_its_kind_and_never_as_causality(name: str, tmp_path: Path) -> None:
    """It said `causality: 25 of 25 cuts` before."""
    then, reason, message = FAULTS[name]
    config = ResearchConfig(
        split=Split(n_folds=2, holdout_bars=0), budgets=Budgets(3, 1), gates=Thresholds(), allow_code=True
    )
    proposals = [{"kind": "code", "source": at_40(then), "rationale": WHY}]
    result = research(lambda: MARKET, FixedProposer(proposals), config, Workspace(tmp_path))
    (text,) = result.history[0].reasons
    assert text.startswith(f"{reason}: ")
    assert message in text
    assert "at bar 40 (" in text
    assert "causality" not in text
    assert result.n_session == 0


@pytest.mark.usefixtures("small_limits")
def test_a_fault_during_construction_is_reported_by_its_kind(tmp_path: Path) -> None:
    config = ResearchConfig(split=Split(n_folds=2, holdout_bars=0), budgets=Budgets(3, 9), allow_code=True)
    hangs = deciding("return closes[0] * 0", above="x = [0 for i in range(10 ** 5) for j in range(10 ** 5)]")
    exits = deciding("return closes[0] * 0", lookback="(_ for _ in ()).throw(SystemExit(1))")
    raises = deciding("return closes[0] * 0", lookback="1 // 0")
    sources = [exits, raises, *([hangs] if LIMITS.start_seconds < 5.0 else [])]
    proposals = [{"kind": "code", "source": source, "rationale": WHY} for source in sources]
    result = research(lambda: MARKET, FixedProposer(proposals), config, Workspace(tmp_path))
    assert [card.reasons[0].partition(":")[0] for card in result.history] == ["crashed", "construction"]


def test_every_reason_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "research.md").read_text(encoding="utf-8")
    assert all(f"`{reason}`" in page for reason in REASONS)
