"""Families of markets with the same prices, and the identity of strategies and trials."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_runs import ledger_at, ledger_run, market

import openoutcry as oo
from openoutcry.ledger import Market, code_identity, code_strategy, strategy_id, trial_key

pytestmark = pytest.mark.once

FX = oo.data.load("ecb-fx")
WHOLE = Market.of(FX)


def with_changes(dataset: oo.Dataset, **changes: object) -> oo.Dataset:
    """Return a market of the closes of another."""
    columns = {"dates": dataset.dates, "symbols": dataset.symbols, "close": dataset.close, "periods_per_year": 252.0}
    return oo.Dataset.from_arrays(**{**columns, **changes})


def extended(dataset: oo.Dataset) -> oo.Dataset:
    """Return a market with ten bars more."""
    days = [str(np.datetime64(dataset.dates[-1]) + day) for day in range(1, 11)]
    close = np.vstack([dataset.close, dataset.close[-1] * np.linspace(1.0, 1.1, 10)[:, None]])
    return with_changes(dataset, dates=[*dataset.dates, *days], close=close)


SAME_PRICES = {
    "renamed": with_changes(FX, symbols=[f"X{place}" for place in range(FX.n_symbols)]),
    "sliced": FX.between(1000, 2000),
    "of one symbol": FX.select(["JPY"]),
    "of one symbol and two years": FX.select(["JPY"]).between(4000, 4500),
    "extended": extended(FX),
    "in another unit": with_changes(FX, close=FX.close * 100.0),
    "with an additional column": with_changes(FX, open=FX.close * 1.001),
    "with other periods per year": with_changes(FX, periods_per_year=365.0),
    "with times of day": with_changes(FX, dates=[f"{date}T00:00:00Z" for date in FX.dates]),
    "with additional days of other symbols": with_changes(
        FX,
        dates=sorted({*FX.dates, "2001-01-06", "2001-01-07"}),
        close=np.vstack([FX.close[:510], np.full((2, FX.n_symbols), np.nan), FX.close[510:]]),
    ),
}


@pytest.mark.parametrize("how", SAME_PRICES)
def test_a_changed_market_with_the_same_prices_is_in_the_same_family(tmp_path: Path, how: str) -> None:
    """A10: neither a new name nor another slice resets the trial count."""
    other = Market.of(SAME_PRICES[how])
    assert other.fingerprint != WHOLE.fingerprint
    assert WHOLE.is_of_family(other)
    assert other.is_of_family(WHOLE)
    ledger = ledger_at(tmp_path)
    ledger.add([ledger_run(1, market=WHOLE)])
    assert ledger.count(other).n == 1
    ledger.add([ledger_run(2, market=other)])
    assert ledger.count(WHOLE).n == ledger.count(other).n == 2
    assert ledger.top(5, market=other) == ledger.top(5, market=WHOLE)
    assert len(ledger.top(5, market=other)) == 2


def test_other_prices_are_in_another_family(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path)
    ledger.add([ledger_run(1, market=WHOLE)])
    for other in (
        oo.data.load("us-treasury"),
        oo.Dataset.synthetic(9, 2000, 1),
        with_changes(FX, close=FX.close * np.exp(np.random.default_rng(1).normal(0.0, 0.006, FX.close.shape))),
    ):
        assert not WHOLE.is_of_family(Market.of(other))
        assert ledger.count(Market.of(other)).n == 0
        assert ledger.top(5, market=Market.of(other)) == []
        assert ledger.prior_results(Market.of(other)) is None


def test_synthetic_markets_are_in_different_families() -> None:
    markets = [Market.of(oo.Dataset.synthetic(8, 1500, seed)) for seed in range(6)]
    assert all(len(each.anchors) > 100 for each in markets)
    assert not any(one.is_of_family(two) for one in markets for two in markets if one is not two)


def test_a_market_that_contains_two_others_merges_their_families(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path)
    one, two = Market.of(FX.select(["JPY"])), Market.of(FX.select(["USD"]))
    ledger.add([ledger_run(1, market=one), ledger_run(2, market=two), ledger_run(3, market=two)])
    assert [ledger.count(each).n for each in (one, two, WHOLE)] == [1, 2, 3]
    ledger.add([ledger_run(4, market=WHOLE)])
    assert [ledger.count(each).n for each in (one, two, WHOLE)] == [4, 4, 4]
    n, _, _ = ledger.count(one).sharpes_at(250)
    assert (n, len(ledger.top(10, market=one))) == (4, 4)


def test_a_small_market_must_share_all_anchors_and_one_without_anchors_matches_itself() -> None:
    assert market("a", (1, 2)).is_of_family(market("b", (1, 2, 3, 4)))
    assert not market("a", (1, 2)).is_of_family(market("b", (2, 3, 4)))
    assert not market("a", (1, 2, 3)).is_of_family(market("b", (1, 2, 4)))
    assert not market("a").is_of_family(market("b"))
    assert market("a").is_of_family(market("a", (1,)))


def test_a_market_survives_a_json_round_trip() -> None:
    assert Market.from_json(WHOLE.to_json()) == WHOLE
    assert Market.from_json({"fingerprint": "f", "new": 1}) == Market("f")
    for wrong in ({}, {"fingerprint": "f", "anchors": "é"}, {"fingerprint": "f", "symbols": 7}):
        with pytest.raises(oo.OpenOutcryError, match="must be valid"):
            Market.from_json(wrong)


# Strategies and trials

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(-1e9, 1e9) | st.text("abc\u00e9", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text("abc", min_size=1, max_size=2), JSON, min_size=1, max_size=4))
@settings(max_examples=100)
def test_the_strategy_id_does_not_depend_on_key_order(strategy: dict[str, object]) -> None:
    """L2."""
    turned = dict(reversed(strategy.items()))
    assert strategy_id(strategy) == strategy_id(turned)
    assert strategy_id(strategy) != strategy_id({**strategy, "more": 1})


def test_integral_floats_equal_integers_and_texts_do_not() -> None:
    """L2."""
    assert strategy_id({"n": 1}) == strategy_id({"n": 1.0})
    assert len({strategy_id({"n": each}) for each in (1, "1", True, None, 1.5)}) == 5


def test_the_trial_key_depends_on_every_input() -> None:
    """A3."""
    given_ = {"strategy": {"n": 1}, "fingerprint": "f", "window": ("a", "b"), "rules": {"fee": 1.0}, "version": "1"}
    others = [
        {"strategy": {"n": 2}},
        {"fingerprint": "g"},
        {"window": ("a", "c")},
        {"rules": {"fee": 2.0}},
        {"version": "2"},
    ]
    assert len({trial_key(**{**given_, **other}) for other in [{}, *others]}) == 6


CODE = '''
import numpy as np


class Trend(Strategy):
    """Hold what rose."""

    PARAM_RANGES = {"fast": {"type": "int", "min": 2}}

    def decide(self, seen):
        # the average of some
        mean = np.mean(seen.close[-self.fast :])
        return {"weight": float(seen.close[-1] > mean)}
'''
SAME = {
    "comments": ("# the average of some", "# another"),
    "layout": ("        mean = np", "\n        mean = (np"),
    "its docstring": ('"""Hold what rose."""', '"""Something else."""'),
    "its class's name": ("class Trend", "class Winner"),
    "a variable's name": ("mean", "average_of_some"),
    "an argument's name": ("seen", "observation"),
}
OTHER = {
    "a number": ("-1]", "-2]"),
    "an operator": (" > ", " < "),
    "a method": ("def decide", "def decline"),
    "a param": ("fast", "slow"),
    "a base": ("(Strategy)", "(Other)"),
    "what is imported": ("numpy", "numba"),
    "a range": ('"min": 2', '"min": 3'),
}


@pytest.mark.parametrize("how", [*SAME, *OTHER])
def test_code_identity_ignores_names_and_layout(how: str) -> None:
    """A renamed copy is not a new trial."""
    old, new = {**SAME, **OTHER}[how]
    changed = CODE.replace(old, new)
    if how == "a variable's name":
        changed = changed.replace("np.average_of_some", "np.mean")
    if how == "layout":
        changed = changed.replace(":])", ":]))")
    assert changed != CODE
    (one, exact), (two, other) = code_identity(CODE), code_identity(changed)
    assert (one == two, exact == other) == (how in SAME, False)
    assert code_strategy(CODE, {"fast": 3}) == {"code": one, "params": {"fast": 3}}


def test_invalid_python_is_refused() -> None:
    for wrong in ("class", "a\0b", "(" * 10_000):
        with pytest.raises(oo.OpenOutcryError, match="`source` must be Python"):
            code_identity(wrong)


def test_a_trial_of_another_session_is_found_and_counted_once(tmp_path: Path) -> None:
    """A3."""
    one, two = ledger_at(tmp_path, "one"), ledger_at(tmp_path, "two")
    run = ledger_run(1, trial="ab" * 32)
    one.add([replace(ledger_run(9, status="failed", trial="ab" * 32)), run])
    assert two.known("ab" * 32, but_session="two") == run.run_id
    two.add([ledger_run(2, trial="ab" * 32)])
    assert two.known("ab" * 32) == run.run_id
    assert two.known("cd" * 32) is None
    assert two.count(market()).n == 1
