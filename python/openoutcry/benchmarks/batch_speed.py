"""Speed of the vector environment compared with a numpy environment."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from openoutcry.data.dataset import Dataset
from openoutcry.gym.vector import OpenOutcryVectorEnv
from openoutcry.openoutcry_py import CostModel, Limits

Actions = npt.NDArray[np.float32]
Step = Callable[[int], None]

LOOKBACK, EPISODE_BARS, N_BARS = 20, 252, 5000
SIZES = ((4, 1), (4, 64), (4, 1024), (4, 16384), (8, 1024), (30, 1024), (100, 64), (100, 1024), (100, 16384))
WAYS = ("copies", "reused", "out", "cursor")
# Rounds are short, since other load on a machine comes in bursts. A round starts with untimed steps to fill the caches,
# which hold the data of the other environments measured in turns.
ROUND_SECONDS, ROUND_STEPS, WARM_STEPS = 0.001, 6, 2
# Seconds per variant, and the minimum and maximum number of rounds.
SECONDS, FEWEST, MOST = 0.3, 5, 150

LINEAR = CostModel(fee_bps=5.0, slippage_bps=2.0, financing_bps=0.0, borrow_bps=0.0)
EVERY = CostModel(fee_bps=5.0, slippage_bps=2.0, impact_bps=10.0, financing_bps=100.0, cash_bps=50.0, borrow_bps=25.0)
JITTER = CostModel(
    fee_bps=5.0, slippage_bps=2.0, slippage_jitter=0.5, impact_bps=10.0, financing_bps=100.0, borrow_bps=25.0
)
FEATURES = {
    "fee + slippage": (LINEAR, Limits(allow_short=False)),
    "every cost and limit": (EVERY, Limits(max_participation=0.5, maintenance_margin=0.1)),
    "and jitter": (JITTER, Limits(max_participation=0.5, maintenance_margin=0.1)),
}
# Observed columns per symbol of the rows with features, in batches of these sizes.
N_COLUMNS, OBSERVED, COLUMN_SIZES = 8, "8 observed features", ((4, 1), (4, 64), (4, 1024))
# Goals for the ratio to numpy, `copies` and `reused`, by features, symbols and lanes.
GOALS: dict[tuple[str, int, int], tuple[float, float]] = {
    ("fee + slippage", 4, 1): (18.0, 40.0),
    ("fee + slippage", 4, 64): (8.6, 15.0),
    ("fee + slippage", 4, 1024): (5.6, 7.0),
    ("fee + slippage", 4, 16384): (4.4, 6.0),
    ("fee + slippage", 100, 64): (2.5, 4.5),
    ("fee + slippage", 100, 1024): (1.7, 3.2),
    ("fee + slippage", 100, 16384): (1.2, 4.0),
    ("every cost and limit", 4, 1): (15.0, 35.0),
    ("every cost and limit", 4, 64): (6.0, 10.0),
    ("every cost and limit", 4, 1024): (4.5, 5.0),
    ("every cost and limit", 4, 16384): (3.5, 4.0),
    ("every cost and limit", 100, 64): (2.0, 3.0),
    ("every cost and limit", 100, 1024): (1.4, 2.2),
    ("every cost and limit", 100, 16384): (1.1, 2.0),
}
# As far ahead as without features in memory that is used again. New observations of 4 kB a lane are limited by the
# bandwidth of the caches and of memory, which numpy shares.
NEW_OBSERVED = (18.0, 5.5, 3.0)
GOALS |= {
    (OBSERVED, n, lanes): (new, GOALS["fee + slippage", n, lanes][1])
    for (n, lanes), new in zip(COLUMN_SIZES, NEW_OBSERVED, strict=True)
}


@dataclass(frozen=True)
class Cell:
    """Measured speed of one variant, in lane steps per second."""

    features: str
    n_symbols: int
    num_envs: int
    way: str
    threads: int
    rate: float
    peer: float
    goal: float | None
    # Bytes of observations written per second, over the store bandwidth of the machine.
    stored: float

    @property
    def ratio(self) -> float:
        """Rate relative to the numpy environment."""
        return self.rate / self.peer

    @property
    def is_met(self) -> bool:
        """Whether the goal is met; True without a goal."""
        return self.goal is None or self.ratio >= self.goal

    def to_dict(self) -> dict[str, object]:
        """Return fields, ratio and whether the goal is met, as a JSON object."""
        return asdict(self) | {"ratio": self.ratio, "is_met": self.is_met}


class NumpyEnv:
    """A vector environment in plain numpy, as the baseline.

    Linear costs, long only, with the content of flat observations. Windows are gathered bar by bar, in the order of
    those, or as complete windows per symbol; which is faster depends on the size.
    """

    def __init__(self, close: npt.NDArray[np.float64], num_envs: int, columns: Actions | None = None) -> None:
        """Create `num_envs` accounts over one table of closes.

        `columns` are further numbers of an observation, shape `(n_bars, n_columns)`.
        """
        n_bars, self.n_symbols = close.shape
        returns = np.vstack([np.zeros((1, self.n_symbols)), np.diff(np.log(close), axis=0)])
        shown = returns if columns is None else np.hstack([returns, columns])
        self.rows = shown.astype(np.float32)
        self.relatives = np.exp(returns).astype(np.float32)
        self.windows = sliding_window_view(self.rows, LOOKBACK, axis=0)
        self.random, self.n_bars = np.random.default_rng(0), n_bars
        width = LOOKBACK * self.rows.shape[1]
        self.observation = np.empty((num_envs, width + self.n_symbols + 1), np.float32)
        self.back = np.arange(-LOOKBACK + 1, 1)
        self.bar = np.zeros(num_envs, np.int64)
        self.weights, self.cash = np.zeros((num_envs, self.n_symbols), np.float32), np.ones(num_envs, np.float32)
        self.nav = np.ones(num_envs, np.float32)
        self.left = np.ones(num_envs, np.int64)
        self.start(np.ones(num_envs, bool))
        # Spread the ends of episodes evenly over the steps, as they are in training.
        self.left -= np.arange(num_envs) * EPISODE_BARS // num_envs

    def start(self, mask: npt.NDArray[np.bool_]) -> None:
        """Start a random episode in the accounts of a mask."""
        n = int(mask.sum())
        self.bar[mask] = self.random.integers(LOOKBACK, self.n_bars - EPISODE_BARS - 1, n)
        self.left[mask] = EPISODE_BARS
        self.weights[mask] = 0.0
        self.cash[mask] = self.nav[mask] = 1.0

    def step(self, actions: Actions, gathers: bool) -> tuple[Actions, Actions]:
        """Trade to weights and return observations and log rewards.

        `gathers` selects bars one by one instead of complete windows.
        """
        actions = np.maximum(actions, 0.0)
        actions = actions / np.maximum(actions.sum(1, keepdims=True), 1.0)
        fee = np.float32(7e-4) * np.abs(actions - self.weights).sum(1)
        self.bar += 1
        grown = actions * self.relatives[self.bar]
        cash = 1.0 - actions.sum(1) - fee
        growth = grown.sum(1) + cash
        self.weights, self.cash = grown / growth[:, None], cash / growth
        self.nav = self.nav * growth
        self.left -= 1
        done = self.left == 0
        if done.any():
            self.start(done)
        width, n = LOOKBACK * self.rows.shape[1], len(actions)
        if gathers:
            self.observation[:, :width] = self.rows[self.bar[:, None] + self.back].reshape(n, -1)
        else:
            self.observation[:, :width] = self.windows[self.bar - LOOKBACK + 1].reshape(n, -1)
        self.observation[:, width:-1] = self.weights
        self.observation[:, -1] = self.cash
        return self.observation, np.log(growth)


class Pace:
    """Rate of a step function: the best of several short rounds.

    Other load on the machine only slows a round down.
    """

    def __init__(self, step: Step, lanes: int, clock: Callable[[], float] = time.process_time, cycle: int = 1) -> None:
        """Determine the steps per round; `step(k)` makes k steps of `lanes` lanes.

        If memory is reused after `cycle` steps, rounds and warm-up are multiples of a cycle.
        """
        self.step, self.lanes, self.clock, self.best = step, lanes, clock, 0.0
        self.warm = max(WARM_STEPS, cycle)
        step(2)
        self.k = 1
        while (spent := self._time(self.k)) < ROUND_SECONDS:
            self.k *= 2
        k = max(ROUND_STEPS, int(self.k * ROUND_SECONDS / spent))
        self.k = -(-k // cycle) * cycle
        self.spent = self._time(self.k)

    def _time(self, k: int) -> float:
        start = self.clock()
        self.step(k)
        return self.clock() - start

    def round(self) -> None:
        """Measure one round."""
        self.step(self.warm)
        self.best = max(self.best, self.k * self.lanes / self._time(self.k))


def rates(*paces: Pace) -> list[float]:
    """Return the rates of several step functions, measured in turns.

    Other load on the machine then affects all of them.
    """
    n_rounds = int(SECONDS * len(paces) / sum(pace.spent for pace in paces))
    for _ in range(min(max(n_rounds, FEWEST), MOST)):
        for pace in paces:
            pace.round()
    return [pace.best for pace in paces]


def measure(report: Callable[[Cell], None] | None = None, threads: tuple[int, ...] = (1, 2)) -> list[Cell]:
    """Return all cells; takes about two minutes.

    `report` receives each cell when it is measured.
    """
    cells = []
    store = _store_bandwidth()
    for n_symbols, num_envs in SIZES:
        plain, close = _market(n_symbols)
        columns = np.random.default_rng(3).normal(size=(N_BARS, n_symbols, N_COLUMNS)).astype(np.float32)
        random = np.random.default_rng(1)
        actions = random.dirichlet(np.ones(n_symbols + 1), num_envs)[:, :n_symbols].astype(np.float32)
        observed = {OBSERVED: FEATURES["fee + slippage"]} if (n_symbols, num_envs) in COLUMN_SIZES else {}
        for features, (costs, limits) in {**FEATURES, **observed}.items():
            shown = columns if features in observed else None
            dataset = plain if shown is None else _with_columns(plain, shown)
            ways = [(way, 1) for way in WAYS]
            # Smaller batches use one thread in any case.
            shared = num_envs * n_symbols >= 2 * 4096 and features == "fee + slippage"
            ways += [("reused", n) for n in threads if n > 1 and shared]
            variants = [_variant(dataset, actions, costs, limits, way, n) for way, n in ways]
            # Several threads are measured by the wall clock, one by CPU time.
            clocks = [time.process_time if n == 1 else time.perf_counter for _, n in ways]
            timed = zip(variants, clocks, strict=True)
            mine = [Pace(step, num_envs, clock, cycle) for (step, _, cycle), clock in timed]
            measured = rates(*_peers(close, actions, shown), *mine)
            peer = max(measured[:2])
            goals = dict(zip(("copies", "reused"), GOALS.get((features, n_symbols, num_envs), ()), strict=False))
            for (way, n), (_, width, _), here in zip(ways, variants, measured[2:], strict=True):
                goal, stored = goals.get(way) if n == 1 else None, here * width * 4 / store
                cells.append(Cell(features, n_symbols, num_envs, way, n, here, peer, goal, stored))
                if report is not None:
                    report(cells[-1])
    return cells


def _market(n_symbols: int) -> tuple[Dataset, npt.NDArray[np.float64]]:
    random = np.random.default_rng(7)
    close = 100.0 * np.exp(np.cumsum(random.normal(0.0, 0.01, (N_BARS, n_symbols)), axis=0))
    volume = np.exp(random.normal(16.0, 0.5, close.shape))
    dates = np.datetime64("2000-01-03") + np.arange(N_BARS)
    symbols = [f"S{i:03d}" for i in range(n_symbols)]
    return Dataset.from_arrays(dates, symbols, close, volume=volume), close


def _with_columns(dataset: Dataset, columns: Actions) -> Dataset:
    """Return a market with features, `(n_bars, n_symbols, n_features)`."""
    return dataset.with_features({f"f{k}": columns[:, :, k].astype(np.float64) for k in range(columns.shape[2])})


def _peers(close: npt.NDArray[np.float64], actions: Actions, columns: Actions | None) -> list[Pace]:
    """Return the numpy environment in its two variants."""

    def steps(env: NumpyEnv, gathers: bool, k: int) -> None:
        for _ in range(k):
            env.step(actions, gathers)

    # Feature by feature, as a row of the vector environment.
    table = None if columns is None else columns.swapaxes(1, 2).reshape(len(close), -1)
    return [Pace(partial(steps, NumpyEnv(close, len(actions), table), way), len(actions)) for way in (True, False)]


def _variant(
    dataset: Dataset, actions: Actions, costs: CostModel, limits: Limits, way: str, threads: int
) -> tuple[Step, int, int]:
    """Return a step function with its memory use.

    The memory use is the count of numbers written per observation, and of steps until memory is reused.
    """
    env = OpenOutcryVectorEnv(
        len(actions),
        dataset=dataset,
        window="random",
        episode_bars=EPISODE_BARS,
        observation="cursor" if way == "cursor" else "flat",
        lookback=LOOKBACK,
        reward="log",
        costs=costs,
        limits=limits,
        copy=way != "reused",
        threads=threads,
    )
    env.reset(seed=0)
    # In large batches the ends of episodes take at most a twentieth of a step, so they are not spread.
    if actions.size <= 1 << 17:
        _stagger(env, actions)
    bar_len = dataset.n_symbols * (1 + len(dataset.features))
    width = dataset.n_symbols + 1 + (0 if way == "cursor" else LOOKBACK * bar_len)
    out = np.empty((len(actions), width), np.float32) if way == "out" else None

    # The last results stay referenced until the next step, as in a learner, also between rounds: otherwise the
    # allocator would reuse the memory at once, or return it to the system.
    last: tuple[Any, ...] = (None,) * 5

    def steps(k: int) -> None:
        nonlocal last
        (observation, rewards, terminations, truncations, info), last = last, ()
        for _ in range(k):
            observation, rewards, terminations, truncations, info = env.step(actions, out)
        last = observation, rewards, terminations, truncations, info

    if way != "reused":
        return steps, width, 1
    # Sliding windows: a step writes the new bars and the account, and the complete window once per cycle.
    cycle = LOOKBACK // 2 + 1
    fewer = (LOOKBACK - 2) * bar_len * (cycle - 1) // cycle
    return steps, width - fewer, 2 * cycle


def _stagger(env: OpenOutcryVectorEnv, actions: Actions) -> None:
    """Spread the ends of episodes evenly over the steps, as they are in training."""
    phases = np.arange(env.num_envs) * EPISODE_BARS // env.num_envs
    for phase in range(EPISODE_BARS):
        env.step(actions)
        if (starts := phases == phase).any():
            env.reset(options={"reset_mask": starts})


def _store_bandwidth() -> float:
    """Return the store bandwidth to memory beyond the caches, in bytes per second."""
    array = np.empty(1 << 26, np.float32)

    def stores(k: int) -> None:
        for _ in range(k):
            array.fill(1.0)

    return rates(Pace(stores, array.nbytes))[0]
