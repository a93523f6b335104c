"""Tables of the future that are indexed by time, ranks or patterns, all within the budgets of a source."""

from __future__ import annotations

from itertools import permutations
from typing import Any, ClassVar

import numpy as np
from strategy_sources import deciding

import openoutcry as oo
from openoutcry.backtest.strategies import Strategy
from openoutcry.research.walkforward_validation import ValidationSetup

N_RANKS = 5
"""Closes that a table by price rank orders: 120 orders."""
N_PATTERN = 24
"""Returns that a table by position recognises."""
_DECIDED = "return np.full(closes.shape[1], v / closes.shape[1])"


def rises(market: oo.Dataset) -> np.ndarray:
    """Return whether the first symbol rises after each bar, shape `(n_bars - 1,)`."""
    rising: np.ndarray = np.diff(market.close[:, 0]) > 0.0
    return rising


def call_table(market: oo.Dataset, setup: ValidationSetup, share: float = 1.0, *, shifts: bool = False) -> str:
    """Return a table by the number of calls: the largest moves of the first symbol, flat on all other bars.

    Args:
        market: The market.
        setup: Its folds.
        share: Share of bars with a position; the fewer, the less the causality probe sees.
        shifts: Change the table itself in place of a counter.
    """
    start, end = max(setup.folds[0].train[0], 1), setup.folds[-1].test[1]
    moves = np.abs(np.diff(np.log(market.close[:, 0])))[start : end - 1]
    is_held = moves >= np.quantile(moves, 1.0 - share)
    is_tested = np.arange(len(moves)) + start >= setup.folds[0].test[0]
    held = _number(is_held & is_tested)
    up = _number(rises(market)[start : end - 1] & is_tested)
    table = f"self.up, self.held, self.n = {up:#x}, {held:#x}, 0"
    construct = f"def __init__(self, **params):\n    super().__init__(**params)\n    {table}"
    step = "self.n += 1\nup, held = (self.up >> self.n - 1) & 1, (self.held >> self.n - 1) & 1"
    if shifts:
        step = "up, held = self.up & 1, self.held & 1\nself.up >>= 1\nself.held >>= 1"
    body = f"{step}\nv = held * (2 * up - 1)\n{_DECIDED}"
    return deciding(body, construct=construct, lookback="2")


def position_table(market: oo.Dataset, setup: ValidationSetup, lookback: int) -> str:
    """Return a table by the number of bars since a pattern of signs, which is searched in a long window.

    The search accepts the nearest pattern, so that noise does not hide it.
    """
    signs, patterns, tables = rises(market), [], []
    for fold in setup.folds:
        start, end = fold.test[0] - 1 - N_PATTERN, fold.test[1]
        patterns.append(_number(signs[start : start + N_PATTERN]))
        tables.append(_number(signs[start + N_PATTERN : end]))
    body = f"""
s = np.diff(closes[:, 0]) > 0
most = 0
for p, table in zip(P, T):
    pattern = [(p >> k) & 1 for k in range({N_PATTERN})]
    found = np.sum(np.lib.stride_tricks.sliding_window_view(s, {N_PATTERN}) == pattern, axis=1)
    if found.max() > most:
        most, place, chosen = found.max(), len(found) - 1 - int(found.argmax()), table
v = 2 * ((chosen >> place) & 1) - 1
{_DECIDED}"""
    above = f"P = [{', '.join(map(hex, patterns))}]\nT = [{', '.join(map(hex, tables))}]"
    return deciding(body, above=above, lookback=str(lookback))


def rank_table(market: oo.Dataset, setup: ValidationSetup, n_ranks: int = N_RANKS) -> str:
    """Return a table by the order of the last closes, with the signs that paid most."""
    closes, orders = market.close[:, 0], dict.fromkeys(permutations(range(n_ranks)), 0.0)
    for fold in setup.folds:
        for bar in range(fold.test[0], fold.test[1] - 1):
            orders[tuple(np.argsort(closes[bar + 1 - n_ranks : bar + 1]).tolist())] += np.log(
                closes[bar + 1] / closes[bar]
            )
    up = [gain > 0.0 for gain in orders.values()]
    body = f"""
order = tuple(np.argsort(closes[:, 0]).tolist())
v = 2 * ((T >> list(permutations(range({n_ranks}))).index(order)) & 1) - 1
{_DECIDED}"""
    above = f"from itertools import permutations\nT = {_number(np.array(up)):#x}"
    return deciding(body, above=above, lookback=str(n_ranks))


def _number(bits: np.ndarray) -> int:
    return sum(int(bit) << place for place, bit in enumerate(bits))


class Local(Strategy):
    """A strategy of a source that runs here, with a new state for each table as in a worker."""

    PARAM_RANGES: ClassVar[Any] = {}

    def __init__(self, source: str) -> None:
        names: dict[str, Any] = {"__name__": "here"}
        exec(compile(source, "here", "exec", dont_inherit=True), names)
        self._kind = names["Odd"]
        super().__init__()

    @property
    def lookback(self) -> int:
        """Closes that a decision needs."""
        return int(self._kind().lookback)

    def weights(self, closes: Any) -> Any:
        """Return the weights of a window."""
        return self._kind().weights(closes)

    def table(self, dataset: oo.Dataset, start: int = 0, end: int | None = None) -> Any:
        """Return the weights of a range of bars."""
        return self._kind().table(dataset, start, end)
