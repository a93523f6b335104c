"""Data in places that once neither counted nor were redrawn: fits of 90 weights passed."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np
import pytest
from honest_sources import HONEST
from strategy_sources import GOOD, deciding

from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.research.constant_redraws import reads_its_ranges, redrawn
from openoutcry.research.runnable_source import runnable_of
from openoutcry.research.source_checks import check_source
from openoutcry.research.source_information import Information, information_of

DATA = np.random.default_rng(0).integers(0, 10, 90).tolist()
NAME = "v" + "".join("abcdefghij"[value] for value in DATA)
TOGETHER = "def p(x, *a): x.extend(a)\n"
N = "n = closes[-1, 0]\nx = []\n"


def information(body: str, above: str = "") -> Information:
    return information_of(ast.parse(deciding(f"{body}\nreturn closes[0] * 0", above=above)), {})


def passed(values: Sequence[object]) -> str:
    return deciding(f"{N}p(x, n, {', '.join(map(str, values))})\nreturn closes[0] * x[1]", above=TOGETHER)


REDRAWN = {
    "imaginary numbers": passed([f"{value}j" for value in DATA]),
    "powers of ten": passed([f"1e{value}" for value in DATA]),
    "0 to 3": passed([value % 4 for value in DATA]),
    "bools": passed([value > 4 for value in DATA]),
    "bounds of slices": passed([f"closes[{value}:]" for value in DATA]),
    "names as digits": passed(["ab"[value > 4] for value in DATA]).replace(
        "x = []", "x = []\n        a = -n\n        b = n"
    ),
    "names in formulas": deciding(
        "a = closes[0]\nb = -a\nx = a\n"
        + "\n".join(f"x = {'ab'[value > 4]} + b * x" for value in DATA[:40])
        + "\nreturn x"
    ),
    "a helper called lookback": deciding(
        f"{N}lookback(x, n)\nreturn closes[0] * x[1]",
        above=f"{TOGETHER}def lookback(x, n): p(x, n, {str(DATA)[1:-1]})",
    ),
    "the order of parameters": deciding(
        "return closes[0] * 0", above=f"def q({', '.join(f'k{value}' for value in range(30))}): return k0"
    ),
}


@pytest.mark.parametrize("channel", REDRAWN)
def test_data_in_an_unusual_place_is_redrawn(channel: str) -> None:
    source = REDRAWN[channel]
    assert redrawn(source, {}, {}, np.random.default_rng(0)).source != source


def test_honest_code_has_no_such_data() -> None:
    for source, _ in [(source, 0) for source in HONEST.values()] + [(GOOD, 0)]:
        other = redrawn(source, {}, {}, np.random.default_rng(0)).source
        numbers, others = (
            [node.value for node in ast.walk(ast.parse(each)) if isinstance(node, ast.Constant)]
            for each in (source, other)
        )
        assert [value for value in numbers if value in (0, 1, 2)] == [value for value in others if value in (0, 1, 2)]


def test_honest_code_of_many_parameters_and_fields_is_not_redrawn() -> None:
    """A redraw that moved `self`, or a parameter without its default, made code that does not run."""
    names = "abcdefghijklmno"
    defaults = ", ".join(f"{name}=0.5" for name in names[8:])
    helper = f"def blend({', '.join(names[:8])}, {defaults}): return {' + '.join(names)}"
    kept = f"class Kept:\n    def __init__(self, {', '.join(names)}): self.a = a"
    fields = "class Fields:\n" + "".join(f"    {name}: int\n" for name in names[:10]) + "    z: int = 1"
    for above in (helper, kept, fields):
        source = deciding("return closes[0] * 0", above=above)
        assert (
            redrawn(source, {}, {}, np.random.default_rng(0)).source
            == redrawn(source, {}, {}, np.random.default_rng(1)).source
        )


@pytest.mark.parametrize(
    "use",
    [
        f"{NAME} = n\no = list(dict({NAME}=n))",
        f"{NAME} = n\ntry:\n    n.{NAME}\nexcept AttributeError as e:\n    o = str(e)",
    ],
    ids=["a keyword", "an attribute"],
)
def test_a_variable_that_the_worker_also_sees_as_text_counts(use: str) -> None:
    """A keyword of any length was free if a variable had its name, and the worker received it as written."""
    renamed = information(N + use.replace(NAME, "zz"))
    assert information(N + use).literal_bits - renamed.literal_bits == 8 * (len(NAME) - 2)


def test_the_order_of_parameters_and_fields_counts_more_than_it_holds() -> None:
    """A permutation of 48 names holds 203 bits, which the message of a call without arguments tells."""
    names = [f"k{value}" for value in np.random.default_rng(0).permutation(48)]
    fields = "\n".join(f"    {name}: int" for name in names)
    for above in (f"def q({', '.join(names)}): return k0", f"class K:\n{fields}"):
        found = information(N, above)
        assert found.literal_bits + (found.constant_bits or 0) > 400


@pytest.mark.parametrize(
    ("source", "received"),
    [
        (deciding(f"w = PARAM_RANGES = {DATA}\nreturn closes[0] * w[0]"), "2 assignments"),
        (GOOD.replace("    PARAM_RANGES = {", "    kept = PARAM_RANGES = {"), "a chained assignment"),
    ],
)
def test_ranges_are_set_once_and_alone(source: str, received: str) -> None:
    """Numbers of `PARAM_RANGES` are not redrawn, and its words are free: under a second name they were a table."""
    with pytest.raises(OpenOutcryError, match=f"assigned once and alone, in the body.*received {received}"):
        check_source(source)


def test_a_pattern_reads_neither_ranges_nor_internals() -> None:
    body = "match self:\n    case Odd({}=x): pass\nreturn closes[0] * 0"
    assert reads_its_ranges(deciding(body.format("PARAM_RANGES")))
    with pytest.raises(OpenOutcryError, match="must not be Python internals; received '__dict__'"):
        check_source(deciding(body.format("__dict__")))


def test_parentheses_around_a_field_are_no_data() -> None:
    """`(a): int = 1` is no field of a dataclass: one bit per statement that no budget counted."""
    source = "class Kept:\n    a: int = 1\n    (b): int = 1\n"
    assert "(" not in runnable_of(ast.parse(source)).text
