"""Names that the allowed modules define, which a source does not coin."""

from __future__ import annotations

import builtins
import collections
import dataclasses
import functools
import inspect
import itertools
import keyword
import math
import statistics
import typing
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np

from openoutcry.backtest import strategies
from openoutcry.backtest.strategies import rolling_windows

_MODULES = (
    *(builtins, collections, collections.abc, dataclasses, functools, itertools, math, statistics, typing),
    *(np, np.linalg, np.random, np.fft, np.polynomial, np.lib.stride_tricks, np.typing),
    *(strategies, rolling_windows),
)
_OBJECTS = (np.finfo(np.float64), np.iinfo(np.int64), np.random.default_rng(0), np.add, math.sin)
# Keywords of compiled functions, which have no signature, and fields of named tuples that numpy returns.
_OTHERS = """
    openoutcry backtest annotations self cls args kwargs params lookback weights weigh decide closes window ends
    axis dtype out where keepdims initial order casting subok ddof correction copy like ndmin decimals sorter side kind
    eigenvalues eigenvectors U S Vh Q R sign logabsdet values indices counts inverse_indices start stop step key reverse
    default strict repeat func maxsize typed sep end file flush encoding errors cache_info cache_clear slope intercept
    _fields _replace _asdict _make
"""


@lru_cache(maxsize=1)
def library_names() -> frozenset[str]:
    """Return the names of modules, functions, attributes and keywords."""
    names = {*_OTHERS.split(), *keyword.kwlist, *keyword.softkwlist}
    for module in _MODULES:
        names |= {*module.__name__.split("."), *dir(module)}
        for value in [value for name, value in vars(module).items() if not name.startswith("__")]:
            names |= set(dir(value)) if isinstance(value, type) else set()
            names |= set(_keywords(value))
    for each in _OBJECTS:
        names |= set(dir(each))
    return frozenset(names)


def _keywords(value: Any) -> Iterator[str]:
    if not callable(value):
        return
    with suppress(ValueError, TypeError):
        yield from inspect.signature(value).parameters
