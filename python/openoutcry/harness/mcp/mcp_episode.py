"""One episode that is stepped by decisions in JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.harness.mcp.decision_backtest import Decided, Rules


@dataclass
class Episode:
    """An episode under way.

    Its steps and its score are of the one engine: a score is the backtest of the decisions made.

    Args:
        dataset: The market, as its session sees it.
        rules: What it is traded under.
        most_bytes: Decisions of it together, all of which are kept.
    """

    dataset: Dataset
    rules: Rules
    most_bytes: int
    _texts: list[str] = field(default_factory=list)
    _n_bytes: int = 0
    _done: bool = False

    def __post_init__(self) -> None:
        told = self.rules.settings
        self._env = native.TradingEnv.from_dataset(
            self.dataset._core,
            window=told["window"],
            costs=told["costs"],
            limits=told["limits"],
            lookback=told["lookback"],
            seed=told["seed"],
        )
        self._observation = self._env.reset()

    @property
    def done(self) -> bool:
        """Whether no decision is asked for any more."""
        return self._done

    @property
    def n_made(self) -> int:
        """Decisions made so far."""
        return len(self._texts)

    @property
    def n_left(self) -> int:
        """Decisions still to be made, unless the account ends before."""
        start, end = self.rules.window
        return 0 if self._done else end - start - 1 - self.n_made

    @property
    def decided(self) -> Decided:
        """The decisions so far.

        Of an episode that is over they reach the end of its window, though the account may be gone before.
        """
        start, end = self.rules.window
        return Decided(self.dataset, self.rules, tuple(self._texts), end if self._done else start + 1 + self.n_made)

    def observe(self) -> dict[str, Any]:
        """Return the present observation."""
        seen: dict[str, Any] = json.loads(self._observation)
        return seen

    def step(self, decision: str) -> dict[str, Any]:
        """Carry out a decision, JSON text, and return what came of it.

        Raises:
            OpenOutcryError: it is no decision, decisions are too long together, or the episode is over; nothing has
                moved.
        """
        n_bytes = self._n_bytes + len(decision)
        if n_bytes > self.most_bytes:
            wanted = f"all decisions of a run must be at most {self.most_bytes:,} bytes in total"
            raise refusal("answer_too_long", f"{wanted}; received {n_bytes:,}")
        self._observation, reward, self._done, info = self._env.step(decision)
        self._texts.append(decision)
        self._n_bytes = n_bytes
        return {"reward": reward, "terminated": self._env.terminated, "info": json.loads(info)}
