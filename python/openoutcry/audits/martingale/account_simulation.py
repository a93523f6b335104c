"""Accounts on martingales, and books of our own beside the engine's."""

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
TOO_RICH = 1e9
"""NAV at which an account has shown what there is to show, and is followed no further."""


@dataclass
class Tally:
    """What came of accounts: arrays of shape `(n_bots, n_markets)`.

    All sums are in units of the NAV at the beginning of each bar.

    Attributes:
        gain: Sum of rewards; in the bar of a ruin what was lost, be it more than there was.
        spread: Sum of squares of what the shares held moved the account by, night and day apart.
        excess: Sum of rewards less what the shares held brought: minus the costs, by the contract.
        highest: The largest excess of a bar, over the gross exposure in it where that is above 1, and the lowest in
            `lowest`: what rounding can be grows with it.
        lowest: As `highest`.
        traded: Sum of what was traded.
        n_bars: Bars until the account ended.
        n_ruined: 1 where nothing was left.
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
    def of(cls, n_bots: int, n_markets: int) -> Tally:
        """Return one of accounts that have not begun."""
        return cls(*(np.zeros((n_bots, n_markets)) for _ in fields(cls)))

    def summed(self) -> Tally:
        """Return the sums over markets, and the extremes: shape `(n_bots,)`."""
        made = {each.name: getattr(self, each.name).sum(axis=1) for each in fields(self)}
        return Tally(**made | {"highest": self.highest.max(axis=1), "lowest": self.lowest.min(axis=1)})

    def plus(self, other: Tally) -> Tally:
        """Return the same of these markets and others."""
        made = {each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)}
        highest, lowest = np.maximum(self.highest, other.highest), np.minimum(self.lowest, other.lowest)
        return Tally(**made | {"highest": highest, "lowest": lowest})

    def beside(self, other: Tally) -> Tally:
        """Return the same of these bots and others."""
        return Tally(*(np.concatenate([getattr(t, each.name) for t in (self, other)]) for each in fields(self)))

    def of_bot(self, bot: int) -> dict[str, float]:
        """Return the sums of a bot by name."""
        return {each.name: float(getattr(self, each.name)[bot]) for each in fields(self)}


class Tape:
    """Prices of markets, bar by bar, on the share basis of the bar."""

    def __init__(self, markets: Sequence[Market]) -> None:
        sets = [each.dataset for each in markets]
        self.has_opens = sets[0].has_opens
        self.close = np.stack([_carried(each.close) for each in sets])
        self.open = np.stack([each.opens for each in markets])
        self.dividends = np.stack([_or(each.dividends, 0.0, each.close) for each in sets])
        self.splits = np.stack([_or(each.splits, 1.0, each.close) for each in sets])
        self.closed = np.stack([np.isfinite(each.close) for each in sets])

    def moves(self, held: Table, holds: Table, bar: int) -> tuple[Table, Table]:
        """Return what the night before a bar and its day brought to shares.

        Args:
            held: Shares at the close before, shape `(n_bots, n_markets, n_symbols)`.
            holds: Shares after the fill.
            bar: The bar of the fill.
        """
        splits = self.splits[:, bar]
        held = held * splits
        before, after = self.close[:, bar - 1] / splits, self.close[:, bar]
        # Settled at the last close, and neither moves nor is traded.
        opened = np.where(self.closed[:, bar], self.open[:, bar], before)
        through_the_night = held if self.has_opens else holds
        night = through_the_night * (opened - before) + held * self.dividends[:, bar] / splits
        return night.sum(axis=-1), np.where(self.closed[:, bar], holds * (after - opened), 0.0).sum(axis=-1)


def play(
    markets: Sequence[Market], setting: Setting, n_bots: int, decide: Decide, window: tuple[int, int] | None = None
) -> Tally:
    """Run bots on markets, each an account a market.

    Args:
        markets: Of one size.
        setting: Costs and limits of all accounts.
        n_bots: Number of bots.
        decide: Called with the bar and the flat observation of all accounts, shape `(n_bots * n_markets, ...)`;
            returns weights of shape `(n_bots, n_markets, n_symbols)`.
        window: First bar to decide on, and the end; all after the warm-up by default.
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
    bar, tally = int(env.bars[0]), Tally.of(*shape)
    held: Table = np.zeros((*shape, markets[0].dataset.n_symbols))
    nav: Table = np.ones(shape)
    runs: npt.NDArray[np.bool_] = np.ones(shape, dtype=np.bool_)
    while runs.any():
        weights = np.where(runs[..., None], decide(bar, seen), 0.0)
        seen, rewards, terminated, truncated, _ = env.step(weights.reshape(len(env.nav), -1))
        bar += 1
        ended = terminated.reshape(shape)
        # What was ended by force holds nothing; it went through the bar with what it had asked for.
        holds = env.shares.reshape(held.shape)
        asked = weights * nav[..., None] / tape.close[:, bar - 1]
        _count(tally, tape, bar, (held, np.where(ended[..., None], asked, holds), nav), rewards.reshape(shape), runs)
        tally.n_ruined += runs & ended & (env.nav.reshape(shape) <= 0.0)
        held, nav = holds, env.nav.reshape(shape)
        runs &= ~ended & ~truncated.reshape(shape) & (nav < TOO_RICH)
        held = np.where(runs[..., None], held, 0.0)
        nav = np.where(runs, nav, 1.0)
    env.close()
    return tally


def _count(
    tally: Tally, tape: Tape, bar: int, account: tuple[Table, Table, Table], rewards: Table, runs: npt.NDArray[np.bool_]
) -> None:
    """Add a bar of the accounts that run."""
    held, holds, nav = account
    night, day = (move / nav for move in tape.moves(held, holds, bar))
    # Ruin is a reward of -1, whatever is owed beyond.
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


def _carried(close: Table) -> Table:
    """Return closes with the last one carried on; what never closed costs 1."""
    rows = np.maximum.accumulate(np.where(np.isfinite(close), np.arange(len(close))[:, None], 0), axis=0)
    return np.nan_to_num(np.take_along_axis(close, rows, axis=0), nan=1.0)


def _or(table: Table | None, nothing: float, like: Table) -> Table:
    return np.full(like.shape, nothing) if table is None else np.nan_to_num(table, nan=nothing)
