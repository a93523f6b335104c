"""Hindsight in the shape of code: constant expressions, chains, ladders, nested calls and orders of arguments."""

from __future__ import annotations

import ast
import inspect

import numpy as np
import pytest
from hindsight_shapes import SHAPES, WORD, decoded, spelled
from honest_sources import HONEST
from strategy_sources import GOOD, deciding

import openoutcry as oo
from openoutcry.backtest.strategies import LIBRARY
from openoutcry.research.cautions import of_information
from openoutcry.research.constant_code import constant_code
from openoutcry.research.source_checks import check_source
from openoutcry.research.source_information import (
    MAX_CODE_NODES,
    MAX_LITERAL_BITS,
    MAX_TREE_BITS,
    Information,
    information_of,
    storable_sharpe,
)
from openoutcry.research.tree_code_length import TokenModel, token_bits, typical_model
from openoutcry.research.tree_tokens import tokens_of

BITS = np.random.default_rng(1).integers(0, 2, 1500).tolist()


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("is_constant", [True, False])
def test_a_shape_spells_data_and_is_accepted_when_it_is_small(kind: str, is_constant: bool) -> None:
    source = spelled(kind, BITS[:WORD], is_constant=is_constant)
    assert decoded(source) == int("".join(map(str, BITS[:WORD])), 2)
    assert check_source(source).information.tree_bits


@pytest.mark.parametrize("kind", SHAPES)
def test_no_shape_spells_320_bits(kind: str) -> None:
    """Up to 966 bits were accepted before."""
    with pytest.raises(oo.OpenOutcryError, match=r"must (hold|have) at most"):
        check_source(spelled(kind, BITS[:320]))


def test_nested_calls_of_constants_spell_no_320_bits_either() -> None:
    with pytest.raises(oo.OpenOutcryError, match=r"must (hold|have) at most"):
        check_source(spelled("nested lambdas", BITS[:320], is_constant=True))


@pytest.mark.parametrize("kind", ["nested lambdas", "annotations"])
def test_the_budgets_of_earlier_gates_still_accept_what_they_accepted(kind: str) -> None:
    checked = check_source(spelled(kind, BITS[:400]), earlier_gates=True)
    assert set(checked.information.to_json()) == {"literal_bits", "shape_bits"}


@pytest.mark.parametrize("kind", SHAPES)
def test_a_tree_is_longer_than_the_data_that_it_spells(kind: str) -> None:
    lengths = [
        sum(token_bits(tokens_of(ast.parse(spelled(kind, BITS[:n_bits]))).tokens)) for n_bits in (WORD, 4 * WORD)
    ]
    assert lengths[1] - lengths[0] > 3 * WORD


CONSTANT = {
    "the length of a display": "x = len([[], [], []])",
    "a chain of operators": "x = 1 + 1 * 2 ** 3 - 4",
    "booleans": "x = (True and False) or not True",
    "a method of a text": 'x = "abc".upper().count("A")',
    "a mapped sum": "x = sum(map(lambda v: v * 2, [1, 2]))",
    "an f-string": "x = len(f'{1}{2:>9}')",
    "a default": "def f(a=(1 + 2) * 3): return a\nx = 1",
    "the order of a dict": "x = list({1: 2, 3: 4})",
    "a helper of constants": "def f(a): return a * 2 + 1\nx = f(f(1))",
    "a state": "self.n = 1 + 1\nx = self.n * 2",
    "a statement": "x = 1\nx *= 3",
    "a comparison with a constant": "x = (1 < 2) + 0",
}  # fmt: skip


@pytest.mark.parametrize("name", CONSTANT)
def test_an_expression_of_constants_counts_as_a_literal(name: str) -> None:
    plain, spelt = (
        information_of(ast.parse(deciding(f"{text}\nreturn closes[0] * x")), {}).constant_bits or 0
        for text in ("x = 1", CONSTANT[name])
    )
    assert spelt > plain + 10


DEPENDENT = {
    "arithmetic": "x = closes[0] * 2 + closes.mean()",
    "a helper": "def f(a): return a * 2 + 1\nx = f(closes[0])",
    "a lambda": "f = lambda a: a * 2 + 1\nx = f(closes[0])",
    "a loop": "x = 0.0\nfor row in closes: x = x + row[0] * 2",
    "a condition": "x = 0.0\nif closes[0, 0] > 1: x = 1.0\nx = x * 2 + x",
    "a sorted key": "x = sorted(closes[0], key=lambda a: a * 2)[0]",
    "a comprehension": "x = sum(each * each for each in closes[0])",
    "an attribute": "self.last = closes[0]\nx = self.last * self.last",
    "a nested assignment": "x, (y, z) = closes[0], closes[1:3]\nx = x * y - z",
    "a list that a call changes": "seen = []\nseen.append(closes[0])\nx = seen[0] * 2 + 1",
    "a match": "match closes[0, 0]:\n    case y: x = y * y",
}  # fmt: skip


@pytest.mark.parametrize("name", DEPENDENT)
def test_an_expression_of_the_window_is_no_constant(name: str) -> None:
    tree = ast.parse(deciding(f"{DEPENDENT[name]}\nreturn closes[0] * x"))
    texts = [ast.unparse(node) for node in constant_code(tree)]
    assert not any(operator in text for text in texts for operator in "*+"), texts


@pytest.mark.parametrize("name", HONEST)
def test_honest_sources_need_two_thirds_of_the_budgets_at_most(name: str) -> None:
    found = check_source(HONEST[name]).information
    assert found.literal_bits + (found.constant_bits or 0) < 0.67 * MAX_LITERAL_BITS
    assert 1000 < (found.tree_bits or 0) < 0.67 * MAX_TREE_BITS
    assert (found.nodes or 0) < 0.67 * MAX_CODE_NODES


def test_the_library_fits_without_itself_among_the_typical_strategies() -> None:
    """Each strategy is measured with the five others as its prior."""
    sources = {kind: ast.parse(inspect.getsource(inspect.getmodule(kind))) for kind in LIBRARY.values()}  # type: ignore[arg-type]
    tokens = {kind: tokens_of(tree, kind.PARAM_RANGES).tokens for kind, tree in sources.items()}
    for kind, tree in sources.items():
        model = TokenModel()
        for other, sequence in tokens.items():
            if other is not kind:
                _bits_under(model, sequence)
        assert 300 < _bits_under(model, tokens[kind]) < 0.6 * MAX_TREE_BITS
        assert sum(1 for _ in ast.walk(tree)) < 0.67 * MAX_CODE_NODES
        found = information_of(tree, kind.PARAM_RANGES)
        assert found.literal_bits + (found.constant_bits or 0) < 0.8 * MAX_LITERAL_BITS


def _bits_under(model: TokenModel, tokens: list[str]) -> float:
    model.start()
    bits = 0.0
    for token in tokens:
        bits -= np.log2(model.probability(token))
        model.add(token)
    return float(bits)


def test_the_probabilities_of_all_next_tokens_sum_to_one_at_most() -> None:
    """So at most 2^b trees have a description of b bits."""
    model = typical_model()
    tokens = tokens_of(ast.parse(GOOD), ("n", "size")).tokens
    vocabulary = {token for counts in model._counts.values() for token in counts} | set(tokens)
    unseen = 8192 - len(vocabulary)
    for token in tokens[:150]:
        total = sum(map(model.probability, vocabulary)) + unseen * model.probability("never seen")
        assert 0.9 < total <= 1.0 + 1e-9
        model.add(token)


def test_a_repetition_is_cheap_and_a_random_choice_costs_its_entropy() -> None:
    rng = np.random.default_rng(0)
    assert sum(token_bits(["Add", "Sub"] * 500)) < 120.0
    for n_letters in (2, 4, 16):
        tokens = [str(value) for value in rng.integers(0, n_letters, 2000)]
        assert 2000 * np.log2(n_letters) < sum(token_bits(tokens)) < 2000 * np.log2(n_letters) * 1.3 + 700.0


def test_a_renamed_copy_has_the_same_tokens_and_an_annotation_counts() -> None:
    renamed = GOOD.replace("change", "moved").replace("Rise", "Climb")
    assert tokens_of(ast.parse(renamed), ("n", "size")).tokens == tokens_of(ast.parse(GOOD), ("n", "size")).tokens
    longer = GOOD.replace("def weights(self, closes)", "def weights(self, closes: list[int])")
    assert sum(token_bits(tokens_of(ast.parse(longer)).tokens)) > sum(token_bits(tokens_of(ast.parse(GOOD)).tokens)) + 5


def test_the_caution_reports_literals_and_tree() -> None:
    found = Information(100, 3000, 50, 900, 200)
    (text,) = of_information(found, 1000, 252.0)
    assert "holds 1,000 bits: 100 in literals, 900 in its syntax tree" in text
    assert "150 of 1,024 allowed are constant" in text
    assert f"Sharpe ratio of {storable_sharpe(1000, 1000, 252.0):.1f} over" in text
    (earlier,) = of_information(found.of_earlier_gates(), 1000, 252.0)
    assert "holds 3,100 bits: 100 in literals, 3,000 in its syntax tree" in earlier
    assert list(of_information(None, 1000, 252.0)) == []
