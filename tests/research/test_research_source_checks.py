"""Static checks of strategy sources, and deduplication."""

from __future__ import annotations

import re

import pytest
from builders import count
from hypothesis import given, settings
from hypothesis import strategies as st
from strategy_sources import GOOD, deciding

import openoutcry as oo
from openoutcry.research.source_checks import MAX_BYTES, check_source


def test_a_valid_source_is_parsed() -> None:
    """A15: one strategy, a docstring, literal and valid ranges."""
    checked = check_source(GOOD)
    assert (checked.class_name, checked.description) == ("Rise", "Hold symbols that rose over the window.")
    assert list(checked.ranges) == ["n", "size"]
    assert len(checked.exact) == len(checked.normalised) == 64


INSIDE = "from openoutcry.backtest.strategies import Strategy\nclass A:\n    class B(Strategy):\n        x = 1"
MORE = '"p{0}": {{"type": "categorical", "choices": [1], "default": 1}},'
BAD = {
    "too large": ("# " + "x" * MAX_BYTES, "at most 32,768 bytes"),
    "no text": (b"x", "must be a string"),
    "nothing": ("", "exactly one class"),
    "no Python": ("class", "must be Python"),
    "a null": ("x = 1\0", "must be Python"),
    "a lone surrogate": ("x = '\ud800'", "must be Python; received UnicodeEncodeError"),
    "deep brackets": ("x = " + "(" * 3000 + ")" * 3000, "must be Python"),
    "a deep tree": ("x = " + "-" * 200 + "1", "at most 60 levels"),
    "a long chain": ("x = a" + ".b" * 7000, "at most 8,000 tokens"),
    "many nodes": ("x = [" + "1," * 3990 + "]\n" + "y=-x\n" * 400, "at most 5,000 nodes|at most 8,000 tokens"),
    "work at the top": (GOOD + "\nprint(1)\n", "imports, constants, functions and classes"),
    "a loop at the top": (GOOD + "\nwhile True: pass\n", "imports, constants"),
    "os": ("import os\n" + GOOD, "imports must be among"),
    "a part of numpy": ("import numpy.ctypeslib\n" + GOOD, "imports must be among"),
    "the package": ("from openoutcry import data\n" + GOOD, "imports must be among"),
    "all of it": ("from numpy import *\n" + GOOD, "must be explicit"),
    "a relative import": ("from . import x\n" + GOOD, "imports must be among"),
    "an import within": (deciding("import socket\nreturn 0"), "imports must be among"),
    "an operator of its own": (
        "class Tape:\n    def __lt__(self, other):\n        return True\n\n\n" + GOOD,
        "must not define operators",
    ),
    "a dunder": (deciding("return ().__class__"), "must not be Python internals"),
    "a dunder name": (deciding("return __builtins__"), "names must be available"),
    "eval": (deciding("return eval('1')"), "names must be available"),
    "open": (deciding("return open('x')"), "names must be available"),
    "getattr": (deciding("return getattr(self, 'x')"), "names must be available"),
    "async": (GOOD + "\nclass A:\n    async def f(self): pass\n", "plain function"),
    "a global": (deciding("global x\nx = 1"), "plain function"),
    "two strategies": (GOOD + GOOD.replace("Rise", "Fall"), "received 2"),
    "a child of it": (GOOD + "\nclass More(Rise):\n    pass\n", "received 2"),
    "none": (GOOD.replace("(Strategy)", ""), "received 0"),
    "one inside": (INSIDE, "received 1"),
    "no docstring": (re.sub(r'    """Hold.*?"""', "", GOOD, flags=re.S), "must have a docstring"),
    "an empty docstring": (re.sub(r'"""Hold.*?"""', '"""  """', GOOD, flags=re.S), "must have a docstring"),
    "no ranges": (GOOD.replace("PARAM_RANGES", "RANGES"), "once; received 0"),
    "ranges twice": (GOOD.replace("    @property", "    PARAM_RANGES = {}\n\n    @property"), "once; received 2"),
    "made ranges": (GOOD.replace("PARAM_RANGES = {", "PARAM_RANGES = dict() or {"), "must be a literal"),
    "a list as name": (GOOD.replace('"n": {"type"', '[]: {"type"'), "must be a literal"),
    "wrong ranges": (GOOD.replace('"max": 100', '"max": 1'), "`min` of `n` must be below `max`"),
    "a text": (GOOD.replace('"max": 100', '"max": "100"'), "`max` of `n`"),
    "infinity": (GOOD.replace('"max": 1.0', '"max": 1e999'), "`max` of `size`"),
    "six parameters": (
        GOOD.replace("PARAM_RANGES = {", "PARAM_RANGES = {" + "".join(MORE.format(k) for k in range(4))),
        "at most 5 parameters",
    ),
    "no hook": (GOOD.replace("def weights", "def sizes"), "must define `lookback` and `weights`"),
    "no lookback": (GOOD.replace("def lookback", "def depth"), "must define `lookback` and `weights`"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_an_invalid_source_is_refused(name: str) -> None:
    """A15, and trap 3: any text is either accepted or refused."""
    source, message = BAD[name]
    with pytest.raises(oo.OpenOutcryError, match=f"^argument_invalid: .*({message})") as caught:
        check_source(source)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "lines",
    [
        "import openoutcry.backtest.strategies as st\nclass A(st.WindowStrategy):",
        "from openoutcry import strategies\nclass A(strategies.Strategy):",
        "from openoutcry.backtest.strategies import WindowStrategy as W\nclass A(W):",
        "import openoutcry.backtest.strategies\nclass A(openoutcry.backtest.strategies.Strategy):",
    ],
)
def test_the_base_class_may_be_imported_in_any_way(lines: str) -> None:
    body = (
        '\n    "A."\n    PARAM_RANGES: dict = {}\n    lookback = 3\n    def weigh(self, ends): return ends[:, 0] * 0\n'
    )
    assert check_source(lines + body).class_name == "A"


def slug_of(text: str) -> str | None:
    try:
        check_source(text)
    except oo.OpenOutcryError as error:
        return error.slug
    return None


PIECES = st.sampled_from(
    [*re.findall(r"\w+|[^\w\s]|\n +|\n", GOOD), "\0", "(", "\ud800", "'", '"""', "\\", "\t", "lambda", "9" * 5000]
)


@settings(max_examples=count(5000, 60))
@given(st.one_of(st.text(), st.lists(PIECES, max_size=60).map(" ".join)))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Trap 3."""
    assert slug_of(text) in (None, "argument_invalid")


@settings(max_examples=count(5000, 60))
@given(st.integers(0, len(GOOD)), st.integers(0, 40), st.one_of(PIECES, st.text(max_size=3)))
def test_any_edit_of_a_valid_source_is_read_or_refused(at: int, n_cut: int, piece: str) -> None:
    """Trap 3."""
    assert slug_of(GOOD[:at] + piece + GOOD[at + n_cut :]) in (None, "argument_invalid")


def test_a_renamed_copy_has_the_same_normalised_hash() -> None:
    """Trap 12: comments, docstrings, layout and local names do not matter."""
    copy = GOOD.replace("Rise", "Brilliant").replace("change", "momentum").replace("# What", "# Why")
    copy = copy.replace("Hold symbols that rose over the window.", "Something new.").replace("closes", "prices")
    copy = copy.replace("import numpy as np", "import numpy as n").replace("np.", "n.")
    copy = copy.replace('PARAM_RANGES = {\n        "n"', 'PARAM_RANGES = {"n"')
    assert check_source(copy).normalised == check_source(GOOD).normalised
    assert check_source(copy).exact != check_source(GOOD).exact


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("> 0.0", ">= 0.0"), ("closes[0]", "closes[1]"), ('"default": 20', '"default": 21'), ('"n"] + 1', '"n"] + 2'),
        ("/ closes[0] - 1.0", "/ closes[0]"), ("np.nan_to_num(change)", "change"), ("* self", "/ self"),
        ('"max": 100', '"max": 100.0'), ("len(change)", "len(closes)"),
    ],
)  # fmt: skip
def test_a_changed_strategy_has_another_normalised_hash(old: str, new: str) -> None:
    other = GOOD.replace(old, new)
    assert other != GOOD
    if '"max": 100.0' in other:
        with pytest.raises(oo.OpenOutcryError):
            check_source(other)
    else:
        assert check_source(other).normalised != check_source(GOOD).normalised


def test_the_normalised_hash_of_a_source_is_stable() -> None:
    """It is stored in ledgers, and must not depend on the Python version."""
    assert check_source(GOOD).normalised == "763bcba9cbbb11d33ed54be6c8b41c21fbbd62fd29dbd7bf79a46095f06ee7eb"
