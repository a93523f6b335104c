"""The martingale gate: where nobody can gain, whoever does has found a fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from openoutcry.audits.martingale.account_simulation import Tally, play
from openoutcry.audits.martingale.cost_settings import SETTINGS, Setting
from openoutcry.audits.martingale.evolution_strategy import GOALS, Hunt, acting, trained
from openoutcry.audits.martingale.martingale_markets import Market, market_of
from openoutcry.audits.martingale.martingale_result import Row, Verdict
from openoutcry.audits.martingale.profit_tests import p_values
from openoutcry.audits.martingale.rule_bots import BOTS, deciding, weights_of
from openoutcry.audits.realism.significance_tests import holm
from openoutcry.errors import refusal

Table = npt.NDArray[np.float64]
Draw = Callable[..., Market]

LEVEL = 0.01
ROUNDING = 1e-12
"""Largest excess of a bar that is rounding, in units of NAV, or of gross exposure where that is more."""
AT_A_TIME = 50
"""Markets that are held in memory together, and the most that hunters train on."""
NAMES = (*(bot.name for bot in BOTS), *(f"hunter of {goal}" for goal in GOALS))


def check(
    settings: Sequence[Setting] = SETTINGS,
    *,
    n_markets: int = 40,
    n_bars: int = 120,
    hunt: Hunt | None = None,
    seed: int = 0,
    draw: Draw = market_of,
    on_setting: Callable[[], object] | None = None,
) -> Verdict:
    """Let bots try to gain on martingales, and judge whether one did.

    Rules and two trained hunters trade each market under each setting. Two things must hold: no gain is significant,
    and what an account gained in a bar is what its shares gained, less what was charged.

    Args:
        settings: Costs and limits; `SETTINGS` has them one at a time.
        n_markets: Markets of the split `test`. Hunters train on as many of `train`, of other keys, at most 50.
        n_bars: Bars that are traded of each.
        hunt: How long hunters train; None for the defaults.
        seed: Seed of the first market.
        draw: Makes the markets, with the arguments of `market_of`.
        on_setting: Called whenever the bots have played some markets under a setting; `n_rounds` says how often.

    Raises:
        OpenOutcryError: a number cannot be used, or the engine refuses what a bot does.
    """
    hunt = hunt or Hunt()
    for name, value, least in (("n_markets", n_markets, hunt.n_markets), ("n_bars", n_bars, hunt.n_bars + 1)):
        if value < least:
            raise refusal("argument_invalid", f"`{name}` must be at least {least}; received {value}")
    names = [setting.name for setting in settings]
    if not names or len(set(names)) < len(names):
        message = "`settings` must hold one or more, each of its own name"
        raise refusal("argument_invalid", f"{message}; received {', '.join(names) or 'none'}")
    tallies: dict[str, Tally] = {}
    for kind in dict.fromkeys(setting.market for setting in settings):
        chosen = [setting for setting in settings if setting.market == kind]
        train = [draw(seed + i, split="train", n_bars=n_bars, kind=kind) for i in range(min(n_markets, AT_A_TIME))]
        hunters = [np.stack([trained(train, each, goal, hunt, seed) for goal in GOALS]) for each in chosen]
        for first in range(0, n_markets, AT_A_TIME):
            seeds = range(seed + first, seed + min(first + AT_A_TIME, n_markets))
            markets = [draw(each, split="test", n_bars=n_bars, kind=kind) for each in seeds]
            weights = weights_of(markets)
            for setting, parameters in zip(chosen, hunters, strict=True):
                made = _played(markets, setting, weights, parameters)
                tallies[setting.name] = tallies[setting.name].plus(made) if first else made
                if on_setting is not None:
                    on_setting()
    return Verdict(n_markets, n_bars, _rows([(setting, tallies[setting.name]) for setting in settings]))


def n_rounds(settings: Sequence[Setting], n_markets: int) -> int:
    """Return how often `check` calls `on_setting`."""
    return len(settings) * -(-n_markets // AT_A_TIME)


def _played(markets: Sequence[Market], setting: Setting, weights: Table, parameters: Table) -> Tally:
    """Return the sums of rules and hunters over markets, an entry a bot."""
    rules = play(markets, setting, len(BOTS), deciding(weights, setting))
    hunters = play(markets, setting, len(parameters), acting(parameters, len(markets), setting))
    return rules.summed().beside(hunters.summed())


def _rows(judged: Sequence[tuple[Setting, Tally]]) -> tuple[Row, ...]:
    values = [p_values(tally.gain, tally.spread, both_ways=setting.is_free) for setting, tally in judged]
    adjusted = holm(np.concatenate(values).tolist()) if values else []
    rows = []
    for index, (setting, tally) in enumerate(judged):
        for bot, name in enumerate(NAMES):
            rows.append(_row(setting, name, tally.of_bot(bot), adjusted[index * len(NAMES) + bot]))
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
