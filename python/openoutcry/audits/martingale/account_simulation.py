"""Simulation of accounts on martingale markets, independent of the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from openoutcry.audits.martingale.cost_settings import Setting
from openoutcry.audits.martingale.martingale_markets import WARM_UP, Market
from openoutcry.gym.vector import Observation, OpenOutcryVectorEnv

Table = npt.NDArray[np.float64]
Decide = Callable[[int, Observation], Table]

LOOKBACK = 20
MAX_NAV = 1e9
"""NAV above which the simulation of an account stops."""


@dataclass
class Tally:
    """Totals of simulated accounts: arrays of shape `(n_bots, n_markets)`, float64.

    All sums are in units of the NAV at the start of each bar.

    Attributes:
        gain: Sum of rewards. In the bar of a ruin, the full loss, also where it exceeds the NAV.
        spread: Sum of squared account moves from positions; overnight and intraday moves are squared separately.
        excess: Sum of rewards less the profit of the positions. By the contract this is minus the costs.
        highest: Largest excess of a bar, divided by its gross exposure where that is above 1, because rounding errors
            grow with exposure.
        lowest: Smallest excess of a bar, scaled as `highest`.
        traded: Sum of traded notional.
        n_bars: Bars until the account ended.
        n_ruined: 1 where the account ended with no NAV.
    """

    gain: Table
    spread: Table
    excess: Table
    highest: Table
    lowest: Table
    traded: Table
    n_bars: Table
    n_ruined: Table

    @classmethod
    def zeros(cls, n_bots: int, n_markets: int) -> Tally:
        """Return the totals of accounts that have not traded yet."""
        return cls(*(np.zeros((n_bots, n_markets)) for _ in fields(cls)))

    def summed(self) -> Tally:
        """Return sums over markets, and the extremes over markets: shape `(n_bots,)`."""
        sums = {field.name: getattr(self, field.name).sum(axis=1) for field in fields(self)}
        return Tally(**sums | {"highest": self.highest.max(axis=1), "lowest": self.lowest.min(axis=1)})

    def plus(self, other: Tally) -> Tally:
        """Add the totals of the same bots on other markets."""
        sums = {field.name: getattr(self, field.name) + getattr(other, field.name) for field in fields(self)}
        highest, lowest = np.maximum(self.highest, other.highest), np.minimum(self.lowest, other.lowest)
        return Tally(**sums | {"highest": highest, "lowest": lowest})

    def concatenated(self, other: Tally) -> Tally:
        """Append the totals of other bots on the same markets."""
        return Tally(*(np.concatenate([getattr(t, field.name) for t in (self, other)]) for field in fields(self)))

    def bot_totals(self, bot: int) -> dict[str, float]:
        """Return the totals of one bot by field name."""
        return {field.name: float(getattr(self, field.name)[bot]) for field in fields(self)}


class Tape:
    """Unadjusted prices of several markets per bar, on the share basis of the bar."""

    def __init__(self, markets: Sequence[Market]) -> None:
        sets = [each.dataset for each in markets]
        self.has_opens = sets[0].has_opens
        self.close = np.stack([_forward_filled(each.close) for each in sets])
        self.open = np.stack([each.opens for each in markets])
        self.dividends = np.stack([_or_default(each.dividends, 0.0, each.close) for each in sets])
        self.splits = np.stack([_or_default(each.splits, 1.0, each.close) for each in sets])
        self.closed = np.stack([np.isfinite(each.close) for each in sets])

    def moves(self, held: Table, holds: Table, bar: int) -> tuple[Table, Table]:
        """Return the overnight and intraday profit of positions, in account currency.

        Args:
            held: Shares at the previous close, shape `(n_bots, n_markets, n_symbols)`.
            holds: Shares after the fill, same shape.
            bar: Bar of the fill.
        """
        splits = self.splits[:, bar]
        held = held * splits
        before, after = self.close[:, bar - 1] / splits, self.close[:, bar]
        # A settled symbol keeps its last close: it neither moves nor trades.
        opened = np.where(self.closed[:, bar], self.open[:, bar], before)
        through_the_night = held if self.has_opens else holds
        night = through_the_night * (opened - before) + held * self.dividends[:, bar] / splits
        return night.sum(axis=-1), np.where(self.closed[:, bar], holds * (after - opened), 0.0).sum(axis=-1)


def simulate(
    markets: Sequence[Market], setting: Setting, n_bots: int, decide: Decide, window: tuple[int, int] | None = None
) -> Tally:
    """Run every bot on every market, one account for each pair.

    Args:
        markets: Markets with the same number of bars and symbols.
        setting: Costs and limits of all accounts.
        n_bots: Number of bots.
        decide: Called with the bar and the flat observation of all accounts, shape `(n_bots * n_markets, ...)`.
            Returns weights of shape `(n_bots, n_markets, n_symbols)`.
        window: First decision bar and end bar; by default every bar after the warm-up.
    """
    tape, shape = Tape(markets), (n_bots, len(markets))
    env = OpenOutcryVectorEnv(
        n_bots * len(markets),
        dataset=[each.dataset for each in markets],
        window=window or (WARM_UP, markets[0].dataset.n_bars),
        costs=setting.costs,
        limits=setting.limits,
        observation="flat",
        lookback=LOOKBACK,
        copy=False,
    )
    seen, _ = env.reset(seed=0)
    bar, tally = int(env.bars[0]), Tally.zeros(*shape)
    held: Table = np.zeros((*shape, markets[0].dataset.n_symbols))
    nav: Table = np.ones(shape)
    runs: npt.NDArray[np.bool_] = np.ones(shape, dtype=np.bool_)
    while runs.any():
        weights = np.where(runs[..., None], decide(bar, seen), 0.0)
        seen, rewards, terminated, truncated, _ = env.step(weights.reshape(len(env.nav), -1))
        bar += 1
        ended = terminated.reshape(shape)
        # A liquidated account holds no shares, but its loss on this bar came from the position that it ordered.
        holds = env.shares.reshape(held.shape)
        ordered = weights * nav[..., None] / tape.close[:, bar - 1]
        _add_bar(
            tally, tape, bar, (held, np.where(ended[..., None], ordered, holds), nav), rewards.reshape(shape), runs
        )
        tally.n_ruined += runs & ended & (env.nav.reshape(shape) <= 0.0)
        held, nav = holds, env.nav.reshape(shape)
        runs &= ~ended & ~truncated.reshape(shape) & (nav < MAX_NAV)
        held = np.where(runs[..., None], held, 0.0)
        nav = np.where(runs, nav, 1.0)
    env.close()
    return tally


def _add_bar(
    tally: Tally, tape: Tape, bar: int, account: tuple[Table, Table, Table], rewards: Table, runs: npt.NDArray[np.bool_]
) -> None:
    """Add one bar of the running accounts to the totals."""
    held, holds, nav = account
    night, day = (move / nav for move in tape.moves(held, holds, bar))
    # The reward of a ruin is -1, also where the loss exceeds the NAV.
    rewards = np.where(rewards <= -1.0, night + day, rewards)
    excess = np.where(runs, rewards - (night + day), 0.0)
    price = (tape.open if tape.has_opens else tape.close)[:, bar - (0 if tape.has_opens else 1)]
    traded = np.abs(holds - held * tape.splits[:, bar]) * np.where(tape.closed[:, bar], price, 0.0)
    tally.gain += np.where(runs, rewards, 0.0)
    tally.spread += np.where(runs, night**2 + day**2, 0.0)
    tally.excess += excess
    exposure = (np.abs(held * tape.splits[:, bar]) + np.abs(holds)) * tape.close[:, bar]
    relative = excess / np.maximum(exposure.sum(axis=-1) / nav, 1.0)
    np.maximum(tally.highest, relative, out=tally.highest)
    np.minimum(tally.lowest, relative, out=tally.lowest)
    tally.traded += np.where(runs, traded.sum(axis=-1) / nav, 0.0)
    tally.n_bars += runs


def _forward_filled(close: Table) -> Table:
    """Forward-fill closes; a symbol that never closed gets a price of 1."""
    rows = np.maximum.accumulate(np.where(np.isfinite(close), np.arange(len(close))[:, None], 0), axis=0)
    return np.nan_to_num(np.take_along_axis(close, rows, axis=0), nan=1.0)


def _or_default(table: Table | None, default: float, like: Table) -> Table:
    return np.full(like.shape, default) if table is None else np.nan_to_num(table, nan=default)
