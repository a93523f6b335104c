"""Markets that attacks are played on, and the records that come of it."""

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
    """A market with the windows and rules that agents are held to.

    Attributes:
        dataset: The market.
        windows: Bars `[start, end)` of each window.
        costs: What trading costs.
        limits: What a decision may ask for.
        seeds: Keys of the slippage noise under which each window is run.
        n_public: Windows, the first ones, whose prices everybody could know.
    """

    dataset: Dataset
    windows: tuple[tuple[int, int], ...]
    costs: CostModel
    limits: Limits
    seeds: tuple[int, ...] = (0,)
    n_public: int = 0

    def config(self) -> dict[str, Any]:
        """Return what of the scorer's configuration it sets."""
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
        """Return how many closes an agent may be shown."""
        return native.DEFAULT_LOOKBACK

    def returns(self) -> Table:
        """Return what weights of a row earn, shape `(n_bars - 1, n_symbols)`."""
        close = self.dataset.close
        moves: Table = close[1:] / close[:-1] - 1.0
        return moves

    def record(
        self, name: str, weights: Table, windows: tuple[tuple[int, int], ...] | None = None, trials: int = 0
    ) -> RunRecord:
        """Return the record of weights, shape `(n_bars, n_symbols)`."""
        runs = []
        for window in self.windows if windows is None else windows:
            for seed in self.seeds:
                done = run_backtest(
                    self.dataset, weights, window, self.costs, self.limits, seed, name=name, capture=True
                )
                runs.append(done.record)
        return RunRecord.join(name, runs, trials)

    def net(self, weights: Table) -> Table:
        """Return what weights earn a day after costs, shape `(n_seeds, n_days)`."""
        runs = [
            [run_backtest(self.dataset, weights, each, self.costs, self.limits, seed).returns for each in self.windows]
            for seed in self.seeds
        ]
        return np.array([np.concatenate(each) for each in runs])

    def submit(self, record: RunRecord) -> Submission:
        """Return what the scorer may know of a record."""
        return submit(record, self.dataset, self.costs, self.limits)

    def judge(self, *records: RunRecord | Submission, n_trials: int = 0, **settings: Any) -> Board:
        """Return the board of records, by the very scorer that everybody gets."""
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
    """Return a stage of four symbols of independent days; trading is free.

    Args:
        random: Draws the days.
        n_windows: Windows, one after the other.
        length: Days of each.
        drift: Mean return of a day.
        moves: The days themselves, shape `(n_days, n_symbols)`.
        limits: What a decision may ask for.
        extra: More columns of the dataset.
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


def holding(at: Stage, *weights: float) -> Table:
    """Return weights that are the same on every bar."""
    return np.tile(np.array(weights), (at.dataset.n_bars, 1))


def noise(random: np.random.Generator, at: Stage, n: int = 1) -> Table:
    """Return the weights of agents that know nothing, shape `(n, n_bars, n_symbols)`."""
    shape = (n, at.dataset.n_bars, at.dataset.n_symbols)
    sides: Table = np.where(random.random(shape) < 0.5, -1.0, 1.0) / at.dataset.n_symbols
    return sides


def earned(at: Stage, weights: Table) -> Table:
    """Return what weights earn a day where trading is free, `(..., n_days)`."""
    days: Table = np.einsum("...ti,ti->...t", weights[..., :-1, :], at.returns())
    return days


def luckiest(random: np.random.Generator, at: Stage, n: int, days: slice = slice(None)) -> tuple[Table, Table]:
    """Return the weights and days of the best of `n` agents without skill."""
    best, ratio = noise(random, at)[0], -np.inf
    for first in range(0, n, 50):
        drawn = noise(random, at, min(50, n - first))
        tracks = earned(at, drawn)[:, days]
        ratios = tracks.mean(axis=1) / tracks.std(axis=1)
        place = int(np.argmax(ratios))
        if ratios[place] > ratio:
            best, ratio = drawn[place].copy(), float(ratios[place])
    return best, earned(at, best)


def skilled(random: np.random.Generator, at: Stage, share: float = 0.6) -> Table:
    """Return the weights of an agent that is right in a share of its calls."""
    weights = np.zeros((at.dataset.n_bars, at.dataset.n_symbols))
    moves = at.returns()
    right = random.random(moves.shape) < share
    weights[:-1] = np.where(right, 1.0, -1.0) * np.sign(moves) / at.dataset.n_symbols
    return weights


def forged(record: RunRecord, edit: Callable[[dict[str, Any]], None]) -> RunRecord:
    """Return a record whose runs were edited, with a chain that fits them."""
    whole = json.loads(record.to_json())
    for run in whole["runs"]:
        edit(run)
        run["link"] = link = _sha256({"domain": "openoutcry/record/1", "header": run["header"]})
        for step in (*run["steps"], run["end"]):
            fields = {name: value for name, value in step.items() if name != "link"}
            step["link"] = link = _sha256({**fields, "previous": link})
    agent = {name: whole[name] for name in ("agent_id", "in_sample_trials", "record_version")}
    ends = [run["end"]["link"] for run in whole["runs"]]
    whole["digest"] = _sha256({**agent, "domain": "openoutcry/record/1/agent", "runs": ends})
    return RunRecord.from_json(native.canonicalize(json.dumps(whole)))


def _sha256(value: Any) -> str:
    return hashlib.sha256(native.canonicalize(json.dumps(value)).encode()).hexdigest()
