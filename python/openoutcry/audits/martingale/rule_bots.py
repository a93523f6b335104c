"""Rule bots: the thirty rules of the realism gate and six aggressive rules.

The six rules trade heavily or double their stake.
"""

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
from openoutcry.audits.realism.trading_rules import Days, trading_days
from openoutcry.data.columns import known_periods
from openoutcry.openoutcry_py import MAX_ABS_WEIGHT

Table = npt.NDArray[np.float64]


def _all_symbols(closes: Table, _: Days) -> Table:
    return spread(np.ones(closes.shape), closes)


def _last_move(closes: Table, _: Days, *, sign: float) -> Table:
    return spread(sign * np.sign(change(closes, 1)), closes)


def _alternating(closes: Table, _: Days, *, low: float) -> Table:
    """Hold all symbols on even bars and `low` on odd ones, the maximum turnover."""
    even = np.arange(len(closes))[:, None] % 2 == 0
    return spread(np.where(even, 1.0, low) * np.ones(closes.shape), closes)


def _random(closes: Table, _: Days) -> Table:
    return spread(np.random.default_rng(0).uniform(-1.0, 1.0, closes.shape), closes)


def _doubling(closes: Table, _: Days) -> Table:
    """Double the stake after falls of the first symbol; reset it to 1/64 after rises."""
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
    _rule("hold-all", _all_symbols),
    _rule("long-short-1", _last_move, sign=1.0),
    _rule("in-and-out", _alternating, low=0.0),
    _rule("long-and-short", _alternating, low=-1.0),
    _rule("random", _random),
    _rule("doubling", _doubling),
)
"""The rules of `openoutcry.audits.realism`, and bots with the highest turnover or a doubling stake."""


def bot_weights(markets: Sequence[Market], bots: Sequence[Rule] = BOTS) -> Table:
    """Return the weights of bots after the warm-up; gross exposure is at most 1.

    Shape `(n_bars, n_bots, n_markets, n_symbols)`, float64, signed fraction of NAV.
    """
    tables = []
    for market in markets:
        days, year = trading_days(market.dataset), known_periods(market.dataset, "trading rules")
        tables.append([np.nan_to_num(bot(market.closes, days, year))[WARM_UP:] for bot in bots])
    by_market: Table = np.array(tables)
    by_bar: Table = by_market.transpose(2, 1, 0, 3)
    return by_bar


def table_policy(weights: Table, setting: Setting) -> Decide:
    """Return the policy of a weight table, scaled and clipped to a setting's limits."""
    if setting.long_only:
        weights = np.maximum(weights, 0.0)
    weights = np.clip(setting.gross * weights, -MAX_ABS_WEIGHT, MAX_ABS_WEIGHT)
    return lambda bar, _: weights[bar - WARM_UP]
