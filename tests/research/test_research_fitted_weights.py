"""Weights that code fits to the market in hindsight: other constants earn nothing; those of a rule earn as much."""

from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np
import pytest
from builders import count
from fitted_weights import FITS, weights_source
from hindsight_tables import Local
from honest_sources import HONEST
from research_markets import noise, trending
from strategy_sources import GOOD, deciding

from openoutcry.backtest.strategies import Strategy
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.research.cautions import of_constants
from openoutcry.research.constant_probe import N_REDRAWS, constant_probe
from openoutcry.research.constant_redraws import Redrawn, redrawn
from openoutcry.research.runnable_source import runnable_of
from openoutcry.research.session_config import Split
from openoutcry.research.source_checks import check_source
from openoutcry.research.source_information import Information, information_of, storable_sharpe
from openoutcry.research.walkforward_validation import ValidationResult, ValidationSetup, validate, validation_setup

pytestmark = pytest.mark.once
MARKET = noise(0, 300, 1)
SETUP = validation_setup(MARKET, MARKET.n_bars, Split(n_folds=2, holdout_bars=0), (CostModel.zero(), Limits()))
RANGES = check_source(GOOD).ranges


def build(other: Redrawn) -> Strategy:
    return Local(other.source)


def validated(source: str, setup: ValidationSetup = SETUP) -> ValidationResult:
    return validate(setup, Local(source), {})


@pytest.mark.parametrize("kind", [*FITS][: count(len(FITS), 3)])
def test_fitted_weights_are_within_the_budgets_and_earn_nothing_when_redrawn(kind: str) -> None:
    """96 digits passed `strict` on noise with a Sharpe ratio of 3.6, without a caution."""
    # Fifty expressions are above the budget.
    source = weights_source(MARKET, kind, 30 if kind == "expressions" else 50)
    assert check_source(source)
    validation = validated(source)
    assert (validation.oos.sharpe or 0.0) > 1.5
    loss, remark = constant_probe(SETUP, validation, (source, {}), build, 0)
    assert loss is not None
    assert loss > 0.65
    assert remark == f"mean of {N_REDRAWS} redraws"


@pytest.mark.parametrize("size", [4, 90])
def test_the_order_of_keywords_counts_more_than_it_holds(size: int) -> None:
    """A permutation of 90 coined names holds 459 bits, which fitted weights passed `strict` with."""
    names = [f"k{place}" for place in np.random.default_rng(0).permutation(90)]
    above = f"def hold({', '.join(f'k{place}' for place in range(90))}):\n    return k0"
    calls = [f"*dict({', '.join(f'{name}=-n' for name in names[at : at + size])})" for at in range(0, 90, size)]
    body = f"n = closes[-1, 0]\no = [int(e[1:]) for e in ({', '.join(calls)},)]\n"
    found = information_of(ast.parse(deciding(f"{body}return closes[-1] * 0.0 + o[0]", above=above)), {})
    assert found.literal_bits + (found.constant_bits or 0) > 900


@pytest.mark.parametrize("part", ["7, 4, 9, 0:len(r) * 0", "3, 0, 2, len(r)", "3, 7, 1, 9, 2, len(r)"])
def test_numbers_of_subscripts_that_are_lists_are_redrawn(part: str) -> None:
    turned = [", ".join([*part.split(", ")[k % 3 :: -1], *part.split(", ")[k % 3 + 1 :]]) for k in range(30)]
    source = deciding(f"r = closes\nreturn sum(np.concatenate([{', '.join(f'np.r_[{each}]' for each in turned)}]))")
    assert redrawn(source, {}, {}, np.random.default_rng(0)).source != source


def test_annotations_do_not_run() -> None:
    source = "from dataclasses import dataclass\n@dataclass\nclass Kept:\n    f0: -~+np\n    f1: ClassVar[+np] = 1\n"
    text = runnable_of(ast.parse(f"{source}def hold(k: +np) -> -np:\n    return k\n")).text
    assert "object" in text
    assert "ClassVar = 1" in text
    assert "np" not in text


@pytest.mark.parametrize("name", HONEST)
def test_honest_code_has_no_constants_to_redraw_or_decides_alike(name: str) -> None:
    source, closes = HONEST[name], trending(1, 700, 3).close
    checked = check_source(source)
    params = {param: spec["default"] for param, spec in checked.ranges.items()}
    other = redrawn(source, checked.ranges, params, np.random.default_rng(0))
    if other.source == source:
        assert other.params == params
        return
    # The names of modes are other words, in the params as in the code.
    made = [_made(each, given) for each, given in ((source, params), (other.source, other.params))]
    assert np.array_equal(*(each.weights(closes[: each.lookback]) for each in made), equal_nan=True)


def _made(source: str, params: dict) -> Strategy:
    names: dict = {"__name__": "here"}
    exec(compile(source, "here", "exec", dont_inherit=True), names)
    return names[check_source(source).class_name](**params)


def test_short_numbers_of_a_rule_stay() -> None:
    body = "r = closes[-1] / closes[0] - 1.0\nreturn np.where(r > 0.025, 0.5, -0.25) / np.sqrt(252) * 12"
    source = deciding(body, lookback="21")
    assert redrawn(source, {}, {}, np.random.default_rng(0)).source == source
    assert redrawn(GOOD, RANGES, {"n": 20, "size": 1.0}, np.random.default_rng(0)) == Redrawn(
        GOOD, {"n": 20, "size": 1.0}
    )


def test_params_that_a_proposal_fixes_are_redrawn_within_their_ranges() -> None:
    ranges = {
        "n": {"type": "int", "min": 10_000, "max": 99_999, "default": 48_371},
        "x": {"type": "categorical", "choices": ["4837182937", "1"], "default": "4837182937"},
    }
    params = {"n": 48_371, "x": "4837182937"}
    source = deciding("return closes[0] * int(self.params['x'])").replace(
        "PARAM_RANGES = {}", f"PARAM_RANGES = {ranges}"
    )
    other = redrawn(source, ranges, params, np.random.default_rng(0))
    assert other.params["n"] != 48_371
    assert 48_000 <= other.params["n"] < 49_000
    assert other.params["x"] != "4837182937"
    assert other.params["x"] in check_source(other.source).ranges["x"]["choices"]


def test_code_that_reads_its_ranges_is_not_measured() -> None:
    source = deciding("return closes[0] * len(self.PARAM_RANGES)")
    loss, why = constant_probe(SETUP, validated(weights_source(MARKET)), (source, {}), build, 0)
    assert loss is None
    assert "`PARAM_RANGES`" in why


def test_a_ratio_that_the_constants_could_store_has_a_caution() -> None:
    oos = validated(weights_source(MARKET)).oos
    (text,) = of_constants(Information(300, 3000, 100, 900, 200), oos)
    most = storable_sharpe(400, len(oos.returns), oos.periods_per_year or 0.0)
    assert f"hold 400 bits, which could store a Sharpe ratio of up to {most:.1f}" in text
    assert f"its ratio of {oos.sharpe:.2f} is not clearly above that" in text
    assert list(of_constants(Information(0, 3000, 0, 900, 200), oos)) == []
    longer = replace(oos, returns=np.tile(oos.returns, 40))
    assert list(of_constants(Information(2, 3000, 0, 900, 200), longer)) == [], "clearly above"
    assert list(of_constants(None, oos)) == [], "a library strategy"
