"""Rule bots: what thirty dumb rules and a few dumber ones would hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from openoutcry.audits.martingale.account_simulation import Decide
from openoutcry.audits.martingale.cost_settings import Setting
from openoutcry.audits.martingale.martingale_markets import WARM_UP, Market
from openoutcry.audits.realism import RULES, Rule
from openoutcry.audits.realism.rule_signals import change, spread
from openoutcry.audits.realism.trading_rules import Days, days_of
from openoutcry.openoutcry_py import MAX_ABS_WEIGHT

Table = npt.NDArray[np.float64]


def _everything(closes: Table, _: Days) -> Table:
    return spread(np.ones(closes.shape), closes)


def _yesterday(closes: Table, _: Days, *, sign: float) -> Table:
    return spread(sign * np.sign(change(closes, 1)), closes)


def _by_turns(closes: Table, _: Days, *, low: float) -> Table:
    """Hold all on even bars and `low` on odd ones: the most that can be traded."""
    even = np.arange(len(closes))[:, None] % 2 == 0
    return spread(np.where(even, 1.0, low) * np.ones(closes.shape), closes)


def _at_random(closes: Table, _: Days) -> Table:
    return spread(np.random.default_rng(0).uniform(-1.0, 1.0, closes.shape), closes)


def _doubled(closes: Table, _: Days) -> Table:
    """Stake twice as much after each fall of the first symbol, a 64th after a rise."""
    weights = np.zeros(closes.shape)
    stake, first = 1.0 / 64.0, closes[:, 0]
    for bar in range(1, len(closes)):
        stake = min(2.0 * stake, 1.0) if first[bar] < first[bar - 1] else 1.0 / 64.0
        weights[bar, 0] = stake
    return weights


def _rule(name: str, weigh: Callable[..., Table], **settings: float) -> Rule:
    return Rule(name, "simple", partial(weigh, **settings) if settings else weigh)


BOTS: tuple[Rule, ...] = (
    *RULES,
    _rule("hold-all", _everything),
    _rule("long-short-1", _yesterday, sign=1.0),
    _rule("in-and-out", _by_turns, low=0.0),
    _rule("long-and-short", _by_turns, low=-1.0),
    _rule("random", _at_random),
    _rule("doubling", _doubled),
)
"""The rules of `openoutcry.audits.realism` and what trades most, or stakes most after a loss."""


def weights_of(markets: Sequence[Market], bots: Sequence[Rule] = BOTS) -> Table:
    """Return what bots hold after the warm-up, gross at most 1.

    Shape `(n_bars, n_bots, n_markets, n_symbols)`.
    """
    tables = []
    for market in markets:
        days = days_of(market.dataset)
        tables.append([np.nan_to_num(bot(market.closes, days))[WARM_UP:] for bot in bots])
    whole: Table = np.array(tables)
    by_bar: Table = whole.transpose(2, 1, 0, 3)
    return by_bar


def deciding(weights: Table, setting: Setting) -> Decide:
    """Return the decisions of bots under a setting, none of which is refused."""
    if setting.long_only:
        weights = np.maximum(weights, 0.0)
    weights = np.clip(setting.gross * weights, -MAX_ABS_WEIGHT, MAX_ABS_WEIGHT)
    return lambda bar, _: weights[bar - WARM_UP]
