"""Martingale gate: fail the engine if a bot profits where expected profit is zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from openoutcry.audits.martingale.account_simulation import Tally, simulate
from openoutcry.audits.martingale.cost_settings import SETTINGS, Setting
from openoutcry.audits.martingale.evolution_strategy import OBJECTIVES, Training, network_policy, train_network
from openoutcry.audits.martingale.martingale_markets import Market, market_of
from openoutcry.audits.martingale.martingale_result import Row, Verdict
from openoutcry.audits.martingale.profit_tests import p_values
from openoutcry.audits.martingale.rule_bots import BOTS, bot_weights, table_policy
from openoutcry.audits.realism.significance_tests import holm
from openoutcry.errors import refusal

Table = npt.NDArray[np.float64]
Draw = Callable[..., Market]

LEVEL = 0.01
ROUNDING = 1e-12
"""Largest excess of a bar that counts as rounding, in units of NAV, or of gross exposure where that is larger."""
MARKETS_PER_BATCH = 50
"""Markets held in memory at once, and the maximum number of training markets."""
NAMES = (*(bot.name for bot in BOTS), *(f"evolution-strategy-{objective}" for objective in OBJECTIVES))


def check(
    settings: Sequence[Setting] = SETTINGS,
    *,
    n_markets: int = 40,
    n_bars: int = 120,
    training: Training | None = None,
    seed: int = 0,
    draw: Draw = market_of,
    on_setting: Callable[[], object] | None = None,
) -> Verdict:
    """Run trading bots on martingale prices and test whether one of them profits.

    Rule bots and two trained networks trade each market under each setting. Two conditions must hold: no gain is
    statistically significant, and the reward of every bar equals the profit of the positions less the costs.

    Args:
        settings: Costs and limits; `SETTINGS` varies one at a time.
        n_markets: Markets of the split `test`. The networks train on as many markets of the split `train`, at most 50.
        n_bars: Traded bars of each market.
        training: Budget of the evolution strategies; None for the defaults.
        seed: Seed of the first market.
        draw: Creates a market; takes the arguments of `market_of`.
        on_setting: Called after each batch of markets under a setting; `n_rounds` returns the number of calls.

    Raises:
        OpenOutcryError: a number is out of range, or the engine rejects a decision of a bot.
    """
    training = training or Training()
    for name, value, least in (("n_markets", n_markets, training.n_markets), ("n_bars", n_bars, training.n_bars + 1)):
        if value < least:
            raise refusal("argument_invalid", f"`{name}` must be at least {least}; received {value}")
    names = [setting.name for setting in settings]
    if not names or len(set(names)) < len(names):
        message = "`settings` must contain at least one setting, with distinct names"
        raise refusal("argument_invalid", f"{message}; received {', '.join(names) or 'none'}")
    tallies: dict[str, Tally] = {}
    for kind in dict.fromkeys(setting.market for setting in settings):
        chosen = [setting for setting in settings if setting.market == kind]
        train = [
            draw(seed + i, split="train", n_bars=n_bars, kind=kind) for i in range(min(n_markets, MARKETS_PER_BATCH))
        ]
        networks = [
            np.stack([train_network(train, each, objective, training, seed) for objective in OBJECTIVES])
            for each in chosen
        ]
        for first in range(0, n_markets, MARKETS_PER_BATCH):
            seeds = range(seed + first, seed + min(first + MARKETS_PER_BATCH, n_markets))
            markets = [draw(each, split="test", n_bars=n_bars, kind=kind) for each in seeds]
            weights = bot_weights(markets)
            for setting, parameters in zip(chosen, networks, strict=True):
                totals = _simulate_bots(markets, setting, weights, parameters)
                tallies[setting.name] = tallies[setting.name].plus(totals) if first else totals
                if on_setting is not None:
                    on_setting()
    return Verdict(n_markets, n_bars, _rows([(setting, tallies[setting.name]) for setting in settings]))


def n_rounds(settings: Sequence[Setting], n_markets: int) -> int:
    """Return the number of calls that `check` makes to `on_setting`."""
    return len(settings) * -(-n_markets // MARKETS_PER_BATCH)


def _simulate_bots(markets: Sequence[Market], setting: Setting, weights: Table, parameters: Table) -> Tally:
    """Return the totals of rule bots and networks over markets, shape `(n_bots,)`."""
    rules = simulate(markets, setting, len(BOTS), table_policy(weights, setting))
    networks = simulate(markets, setting, len(parameters), network_policy(parameters, len(markets), setting))
    return rules.summed().concatenated(networks.summed())


def _rows(judged: Sequence[tuple[Setting, Tally]]) -> tuple[Row, ...]:
    values = [p_values(tally.gain, tally.spread, both_ways=setting.is_free) for setting, tally in judged]
    adjusted = holm(np.concatenate(values).tolist()) if values else []
    rows = []
    for index, (setting, tally) in enumerate(judged):
        for bot, name in enumerate(NAMES):
            rows.append(_row(setting, name, tally.bot_totals(bot), adjusted[index * len(NAMES) + bot]))
    return tuple(rows)


def _row(setting: Setting, bot: str, of: dict[str, float], p_value: float) -> Row:
    worst = max(of["highest"], -of["lowest"]) if setting.is_free else of["highest"]
    return Row(
        setting.name,
        bot,
        gain_bps=1e4 * of["gain"] / of["n_bars"],
        error_bps=1e4 * of["spread"] ** 0.5 / of["n_bars"],
        p_value=p_value,
        excess_bps=1e4 * of["excess"] / of["traded"] if of["traded"] > 0.0 else None,
        worst=worst,
        gains=p_value < LEVEL,
        unexplained=not worst <= ROUNDING,
        n_ruined=int(of["n_ruined"]),
    )
