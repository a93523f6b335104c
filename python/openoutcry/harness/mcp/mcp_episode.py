"""An episode that advances by JSON decisions."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.harness.mcp.decision_backtest import DecisionBacktest, EpisodeRules


@dataclass
class Episode:
    """A running episode.

    Its score is a backtest of the decisions so far, by the same engine as its steps.

    Args:
        dataset: The market, as its session sees it.
        rules: The settings of the episode.
        most_bytes: Limit of the total size of its decisions.
    """

    dataset: Dataset
    rules: EpisodeRules
    most_bytes: int
    _texts: list[str] = field(default_factory=list)
    _n_bytes: int = 0
    _done: bool = False

    def __post_init__(self) -> None:
        settings = self.rules.settings
        self._env = native.TradingEnv.from_dataset(
            self.dataset._core,
            window=settings["window"],
            costs=settings["costs"],
            limits=settings["limits"],
            lookback=settings["lookback"],
            seed=settings["seed"],
        )
        self._observation = self._env.reset()

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self._done

    @property
    def n_made(self) -> int:
        """Number of decisions so far."""
        return len(self._texts)

    @property
    def n_left(self) -> int:
        """Number of remaining decisions, unless the account is liquidated before."""
        start, end = self.rules.window
        return 0 if self._done else end - start - 1 - self.n_made

    @property
    def backtest(self) -> DecisionBacktest:
        """The backtest of the decisions so far; after the end, over the complete window."""
        start, end = self.rules.window
        return DecisionBacktest(
            self.dataset, self.rules, tuple(self._texts), end if self._done else start + 1 + self.n_made
        )

    def observe(self) -> dict[str, Any]:
        """Return the current observation."""
        observation: dict[str, Any] = json.loads(self._observation)
        return observation

    def step(self, decision: str) -> dict[str, Any]:
        """Execute a decision, JSON text, and return reward, termination and info.

        Raises:
            OpenOutcryError: the decision is invalid, the decisions are too long in total, or the episode is over; the
                state is unchanged.
        """
        n_bytes = self._n_bytes + len(decision)
        if n_bytes > self.most_bytes:
            wanted = f"all decisions of a run must be at most {self.most_bytes:,} bytes in total"
            raise refusal("answer_too_long", f"{wanted}; received {n_bytes:,}")
        self._observation, reward, self._done, info = self._env.step(decision)
        self._texts.append(decision)
        self._n_bytes = n_bytes
        return {"reward": reward, "terminated": self._env.terminated, "info": json.loads(info)}
