"""Synthetic markets for attacks, and records of agents on them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.backtest.run import run_backtest
from openoutcry.data.dataset import Dataset
from openoutcry.openoutcry_py import CostModel, Limits, Submission
from openoutcry.records.run_record import RunRecord
from openoutcry.scoring.scorer import score, submit
from openoutcry.scoring.verdict import Board

Table = npt.NDArray[np.float64]

YEAR = 252
_DAY_0 = np.datetime64("2000-01-03")


@dataclass(frozen=True)
class Stage:
    """A market with the windows and rules of its agents.

    Attributes:
        dataset: The market.
        windows: Bars `[start, end)` of each window.
        costs: Cost model.
        limits: Limits of decisions.
        seeds: Seeds of the slippage noise of each window.
        n_public: Number of initial windows with public prices.
    """

    dataset: Dataset
    windows: tuple[tuple[int, int], ...]
    costs: CostModel
    limits: Limits
    seeds: tuple[int, ...] = (0,)
    n_public: int = 0

    def config(self) -> dict[str, Any]:
        """Return the scorer configuration of this stage."""
        of = self.dataset.fingerprint
        return {
            "windows": [
                {"dataset": of, "start": start, "end": end, "sealed": place >= self.n_public}
                for place, (start, end) in enumerate(self.windows)
            ],
            "seeds": [str(seed) for seed in self.seeds],
            "draws": {"replicates": 499},
        }

    def markets(self) -> list[Dataset]:
        """Return the market."""
        return [self.dataset]

    def rules(self) -> tuple[CostModel, Limits]:
        """Return costs and limits."""
        return self.costs, self.limits

    def lookback(self) -> int:
        """Return the number of closes in an observation."""
        return native.DEFAULT_LOOKBACK

    def returns(self) -> Table:
        """Return the simple return of each symbol over each bar.

        Shape `(n_bars - 1, n_symbols)`, float64.
        """
        close = self.dataset.close
        moves: Table = close[1:] / close[:-1] - 1.0
        return moves

    def record(
        self, name: str, weights: Table, windows: tuple[tuple[int, int], ...] | None = None, trials: int = 0
    ) -> RunRecord:
        """Return the record of an agent with given weights, shape `(n_bars, n_symbols)`."""
        runs = []
        for window in self.windows if windows is None else windows:
            for seed in self.seeds:
                done = run_backtest(
                    self.dataset, weights, window, self.costs, self.limits, seed, name=name, capture=True
                )
                runs.append(done.record)
        return RunRecord.join(name, runs, trials)

    def net(self, weights: Table) -> Table:
        """Return the daily returns of weights after costs.

        Shape `(n_seeds, n_days)`, float64.
        """
        runs = [
            [run_backtest(self.dataset, weights, each, self.costs, self.limits, seed).returns for each in self.windows]
            for seed in self.seeds
        ]
        return np.array([np.concatenate(each) for each in runs])

    def submit(self, record: RunRecord) -> Submission:
        """Return the submission of a record."""
        return submit(record, self.dataset, self.costs, self.limits)

    def judge(self, *records: RunRecord | Submission, n_trials: int = 0, **settings: Any) -> Board:
        """Score records with the public scorer and return the board."""
        return score(list(records), suite=self, n_trials=n_trials, **settings)


def stage(
    random: np.random.Generator,
    *,
    n_windows: int = 4,
    length: int = YEAR,
    drift: float = 0.0,
    moves: Table | None = None,
    limits: Limits | None = None,
    **extra: Any,
) -> Stage:
    """Return a stage of four symbols with independent returns and no trading costs.

    Args:
        random: Generator of the returns.
        n_windows: Number of consecutive windows.
        length: Days of each window.
        drift: Mean daily return.
        moves: Given daily returns instead, shape `(n_days, n_symbols)`.
        limits: Limits of decisions.
        extra: Additional columns of the dataset.
    """
    n_days = n_windows * length
    if moves is None:
        moves = drift + 0.01 * random.standard_normal((n_days, 4))
    close = 100.0 * np.cumprod(np.vstack([np.ones(moves.shape[1]), 1.0 + moves]), axis=0)
    dates = np.datetime_as_string(_DAY_0 + np.arange(n_days + 1)).tolist()
    symbols = [f"S{place}" for place in range(moves.shape[1])]
    dataset = Dataset.from_arrays(dates, symbols, close, name="attacked", **extra)
    windows = tuple((place * length, (place + 1) * length + 1) for place in range(n_windows))
    return Stage(dataset, windows, CostModel.zero(), limits or Limits())


def constant_weights(at: Stage, *weights: float) -> Table:
    """Return constant weights for every bar."""
    return np.tile(np.array(weights), (at.dataset.n_bars, 1))


def random_weights(random: np.random.Generator, at: Stage, n: int = 1) -> Table:
    """Return the weights of random agents, shape `(n, n_bars, n_symbols)`, float64."""
    shape = (n, at.dataset.n_bars, at.dataset.n_symbols)
    sides: Table = np.where(random.random(shape) < 0.5, -1.0, 1.0) / at.dataset.n_symbols
    return sides


def daily_returns(at: Stage, weights: Table) -> Table:
    """Return the daily returns of weights without costs.

    Shape `(..., n_days)`, float64.
    """
    days: Table = np.einsum("...ti,ti->...t", weights[..., :-1, :], at.returns())
    return days


def luckiest_agent(random: np.random.Generator, at: Stage, n: int, days: slice = slice(None)) -> tuple[Table, Table]:
    """Return the weights and daily returns of the best of `n` random agents."""
    best, ratio = random_weights(random, at)[0], -np.inf
    for first in range(0, n, 50):
        drawn = random_weights(random, at, min(50, n - first))
        returns = daily_returns(at, drawn)[:, days]
        ratios = returns.mean(axis=1) / returns.std(axis=1)
        place = int(np.argmax(ratios))
        if ratios[place] > ratio:
            best, ratio = drawn[place].copy(), float(ratios[place])
    return best, daily_returns(at, best)


def skilled_weights(random: np.random.Generator, at: Stage, share: float = 0.6) -> Table:
    """Return the weights of an agent that predicts a share of all moves correctly."""
    weights = np.zeros((at.dataset.n_bars, at.dataset.n_symbols))
    moves = at.returns()
    right = random.random(moves.shape) < share
    weights[:-1] = np.where(right, 1.0, -1.0) * np.sign(moves) / at.dataset.n_symbols
    return weights


def forged(record: RunRecord, edit: Callable[[dict[str, Any]], None]) -> RunRecord:
    """Return a record with edited runs and a recomputed hash chain."""
    content = json.loads(record.to_json())
    for run in content["runs"]:
        edit(run)
        run["link"] = link = _sha256({"domain": "openoutcry/record/1", "header": run["header"]})
        for step in (*run["steps"], run["end"]):
            fields = {name: value for name, value in step.items() if name != "link"}
            step["link"] = link = _sha256({**fields, "previous": link})
    agent = {name: content[name] for name in ("agent_id", "in_sample_trials", "record_version")}
    ends = [run["end"]["link"] for run in content["runs"]]
    content["digest"] = _sha256({**agent, "domain": "openoutcry/record/1/agent", "runs": ends})
    return RunRecord.from_json(native.canonicalize(json.dumps(content)))


def _sha256(value: Any) -> str:
    return hashlib.sha256(native.canonicalize(json.dumps(value)).encode()).hexdigest()
