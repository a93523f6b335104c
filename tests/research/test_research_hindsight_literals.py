"""Hindsight in a literal: what a source may carry besides its logic."""

from __future__ import annotations

import ast
import inspect

import numpy as np
import pytest
from hindsight_sources import hidden_in, integer_table, string_table
from research_markets import noise
from strategy_sources import GOOD, deciding

import openoutcry as oo
from openoutcry.backtest.strategies import LIBRARY
from openoutcry.harness.sandbox import Tier, this_host
from openoutcry.research.code_loader import load_strategy_from_code
from openoutcry.research.proposal_checks import Candidate
from openoutcry.research.session_config import ResearchConfig
from openoutcry.research.source_checks import check_source
from openoutcry.research.source_information import (
    MAX_LITERAL_BITS,
    MAX_SHAPE_BITS,
    code_length,
    information_of,
    storable_sharpe,
    value_bits,
)
from openoutcry.research.strategy_builder import StrategyBuilder

pytestmark = pytest.mark.once
T2 = pytest.mark.skipif(this_host().tier < Tier.T2, reason="needs a sandbox of T2")
DATA = np.random.default_rng(7).integers(0, 64, 1300).tolist()
HIDDEN = (
    *("a decimal integer", "a hexadecimal integer", "a list of numbers", "a list of bools", "a list of floats"),
    *("bytes", "escapes", "the keys of a dict", "an f-string", "a default", "an annotation", "a comprehension"),
    *("a list of names", "joined parts", "keyword names", "an unbound name", "an unknown attribute"),
    *("a missing import", "a chain of conditions"),
)


def test_a_string_that_holds_the_signs_of_tomorrow_is_refused_with_a_hint() -> None:
    with pytest.raises(oo.OpenOutcryError, match=r"literals .* at most 1,024 bits.*received 65,\d+.*; hint: compute"):
        check_source(string_table(noise(1, 600)))


@pytest.mark.parametrize("base", [10, 16])
def test_the_same_in_a_long_integer_is_refused(base: int) -> None:
    with pytest.raises(oo.OpenOutcryError, match="literals of a source must hold at most"):
        check_source(integer_table(noise(1, 600), 8191, base))


@pytest.mark.parametrize("kind", HIDDEN)
def test_data_is_counted_wherever_it_hides(kind: str) -> None:
    """1,300 values of 6 bits, in another place of the syntax tree each time."""
    with pytest.raises(oo.OpenOutcryError, match="literals of a source must hold"):
        check_source(hidden_in(kind, DATA))


@pytest.mark.parametrize("kind", HIDDEN)
def test_a_little_data_is_accepted_everywhere(kind: str) -> None:
    """The refusals above are about the amount, not about the form."""
    assert check_source(hidden_in(kind, DATA[:12])).information.literal_bits > 0


def test_statements_as_data_are_counted_by_the_compressed_tree() -> None:
    names = "abcdefgh"
    rows = "".join(f"{names[d % 8]} {'+-*/'[d // 16]}= {names[d // 8]}\n" for d in DATA[:720])
    source = deciding(f"{' = '.join(names)} = closes[0, 0]\n{rows}return closes[0] * 0")
    with pytest.raises(oo.OpenOutcryError, match="syntax tree of a source must hold at most 10,240 bits"):
        check_source(source, earlier_gates=True)
    with pytest.raises(oo.OpenOutcryError, match="syntax tree of a source must have at most 1,200 nodes"):
        check_source(source)


def test_fixed_params_of_a_proposal_count_as_literals() -> None:
    names = [f"p{place}" for place in range(5)]
    spec = '{"type": "float", "min": 0, "max": 1, "default": 0.5}'
    ranges = "PARAM_RANGES = {" + ", ".join(f'"{name}": {spec}' for name in names) + "}"
    text = deciding("return closes[0] * 0", above=f"T = {10**240 // 7}").replace("PARAM_RANGES = {}", ranges)
    builder = StrategyBuilder(ResearchConfig(allow_code=True))
    rationale = "prices that have risen for weeks go on to rise, since investors react late"

    def checked(params: dict[str, float]) -> Candidate:
        return builder.check({"kind": "code", "source": text, "params": params, "rationale": rationale})

    assert checked(dict.fromkeys(names, 0.5)).params
    with pytest.raises(oo.OpenOutcryError, match="literals of a source must hold"):
        checked({name: float(value) for name, value in zip(names, np.random.default_rng(1).random(5), strict=True)})


def test_the_library_needs_two_thirds_of_the_budget_at_most() -> None:
    for kind in LIBRARY.values():
        tree = ast.parse(inspect.getsource(inspect.getmodule(kind)))  # type: ignore[arg-type]
        found = information_of(tree, kind.PARAM_RANGES)
        assert found.literal_bits <= 0.69 * MAX_LITERAL_BITS, kind
        assert found.shape_bits <= 0.69 * MAX_SHAPE_BITS, kind


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        (None, 1.0), (True, 1.0), ("", 0.0), ("abc", 24.0), ("ü", 16.0), (b"abc", 24.0), (0, 3.32), (7, 3.32),
        (20, 6.64), (252, 9.97), (10**6, 6.64), (0.05, 6.64), (0.1 + 0.2, 17 * 3.32 + 6.64), (1e-300, 13.3),
        (2**400, 401.0), (1j, 6.64), (float("inf"), 1.0), (-0.0, 3.32),
    ],
)  # fmt: skip
def test_a_literal_counts_by_its_digits_or_bytes(value: object, bits: float) -> None:
    assert value_bits(value) == pytest.approx(bits, abs=0.15)


def test_the_code_length_of_a_random_sequence_is_at_least_its_entropy() -> None:
    rng = np.random.default_rng(0)
    for n_letters in (2, 4, 16):
        tokens = [str(value) for value in rng.integers(0, n_letters, 2000)]
        assert 2000 * np.log2(n_letters) < code_length(tokens) < 2000 * np.log2(n_letters) * 1.3
    assert code_length(["a", "b"] * 1000) < 60.0


def test_the_sharpe_ratio_that_bits_can_store_bounds_the_best_of_many_random_tables() -> None:
    """The best of 2^12 tables without skill, 12 bits of hindsight, over 250 returns."""
    returns = np.random.default_rng(3).standard_normal((2**12, 250))
    best = (returns.mean(axis=1) / returns.std(axis=1)).max() * np.sqrt(252.0)
    assert 0.7 * storable_sharpe(12, 250, 252.0) < best < 1.1 * storable_sharpe(12, 250, 252.0)


READS = {
    "the docstring": 'T = "{0.__doc__}"\nreturn closes[0] * 0 + len(T.format(self)) / 1000',
    "the name of a class": "return closes[0] * 0 + len(repr(type(self))) / 1000",
    "a local name": (
        "def function_of_a_long_name(argument_of_a_long_name): pass\n"
        "try:\n    function_of_a_long_name()\n"
        "except TypeError as error:\n    return closes[0] * 0 + len(str(error)) / 1000"
    ),
    "a field": (
        "@dataclass\nclass Data:\n    a_field_of_a_long_name: int = 1\n"
        "return closes[0] * 0 + len(repr(Data())) / 1000"
    ),
}  # fmt: skip


@T2
@pytest.mark.parametrize("name", READS)
def test_comments_docstrings_and_coined_names_do_not_reach_the_worker(name: str) -> None:
    """What reads them back decides the same for any text in them."""
    base = deciding(READS[name], above="from dataclasses import dataclass")
    longer = base.replace("long", "very_" * 6 + "long").replace("Do something odd.", "Do something odd. " * 9)
    longer = longer.replace("class Odd", "class " + "Odd" * 9).replace("Data", "Data" * 7)
    assert longer != base
    short, long = (load_strategy_from_code(each) for each in (base, longer))
    closes = np.ones((3, 2))
    assert short.weights(closes).tolist() == long.weights(closes).tolist()
    assert "odd" not in long.checked.runnable.text.lower()


@T2
def test_a_message_of_the_worker_has_the_names_of_the_author() -> None:
    strategy = load_strategy_from_code(deciding("if False: momentum = 1\nreturn momentum"))
    with pytest.raises(oo.OpenOutcryError, match="momentum"):
        strategy.weights(np.ones((3, 2)))


EVERYTHING = '''
"""Uses every way to bind a name."""
import numpy as np
import statistics
from collections import namedtuple
from dataclasses import dataclass
from functools import partial, reduce
from openoutcry.backtest.strategies import Strategy, rolling_windows as rolled

Point = namedtuple("Point", "height width")
SCALE: float = 0.5

@dataclass(frozen=True)
class State:
    amount: float
    scale: float = SCALE

    def doubled(self, *, extra=0.0):
        return State(amount=2 * self.amount, scale=self.scale + extra)

def combined(first, *rest, offset=0.0, **more):
    total = first + offset
    for each in rest:
        total += each
    return total + sum(more.values())

class Every(Strategy):
    """Hold everything."""

    PARAM_RANGES = {"span": {"type": "int", "min": 2, "max": 9, "default": 3}}
    half = 0.5

    def __init__(self, **params):
        super().__init__(**params)
        self.cache = {}
        self.cache["key"] = 1

    @property
    def lookback(self):
        return self.params["span"]

    def smoothed(self, values, weight=1.0):
        counter = 0
        def inner():
            nonlocal counter
            counter += 1
            return counter
        inner()
        return values.mean(axis=0, keepdims=False) * weight * counter

    def weights(self, closes):
        slope = statistics.linear_regression([1, 2, 3], [1, 2, 4]).slope
        point = Point(height=1, width=2)
        state = State(amount=1.0).doubled(extra=0.25)
        match [point.height, point.width]:
            case [1, *others]:
                bonus = others[0]
            case _:
                bonus = 0
        try:
            raise ValueError("no")
        except ValueError as failure:
            text = str(failure)
        values, counts = np.unique(np.round(closes), return_counts=True)
        got = {name: len(name) for name in ("aa", "b")} | {text: 2}
        added = combined(1.0, 2.0, offset=0.5, other=0.25)
        fold = reduce(lambda left, right: left + right, [1, 2, 3])
        part = partial(combined, offset=1.0)(1)
        if (walrus := len(values)) > 0:
            added += walrus
        base = self.smoothed(closes, weight=0.001) * self.half * self.cache["key"]
        more = slope + bonus + state.amount + state.scale + added + fold + part + got["aa"] + got["no"] + counts.sum()
        return base * 0 + (base + more) / (1e4 * closes.shape[1])
'''


@T2
def test_the_runnable_source_decides_like_the_original() -> None:
    names: dict[str, object] = {"__name__": "here"}
    exec(compile(EVERYTHING, "here", "exec", dont_inherit=True), names)
    here = names["Every"](span=4)  # type: ignore[operator]
    market = noise(5, 30, 3)
    proxy = load_strategy_from_code(EVERYTHING, {"span": 4}, earlier_gates=True)
    assert proxy.table(market).tobytes() == here.table(market).tobytes()
    text = proxy.checked.runnable.text
    assert not any(word in text for word in ("doubled", "bonus", "combined", "failure", "Every", "everything"))
    assert "height" in text, "a name in a string stays"
    assert check_source(GOOD).information.literal_bits < 150
