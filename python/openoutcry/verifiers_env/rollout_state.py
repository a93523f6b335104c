"""State of a rollout: its episode as the model plays it.

Every answer advances it by one bar. An answer without a valid decision is a hold, and the model receives the error. So
no answer can end an episode early, stall it, or sell a position.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from openoutcry import openoutcry_py as native
from openoutcry.agents import Answer
from openoutcry.agents.day_orders import day_order_field
from openoutcry.data.bar_ranges import has_bar_ranges
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import Limits, OpenOutcryError
from openoutcry.verifiers_env import row_markets
from openoutcry.verifiers_env.task_rows import Row

# Read calls per bar; each further one is a hold, so that read calls cannot stall an episode.
MAX_READS = 4
# Maximum length of a stored answer, which bounds the size of a record.
MAX_CHARACTERS = 20_000
HOLD = '{"orders":[]}'
_N_DIGITS = 6
_PLAIN = ("`symbol`", "`action`", "`target_weight`", "`confidence`", "`rationale`")

text_of = json.JSONEncoder(separators=(",", ":")).encode
"""Return a value as compact JSON, the format of all messages to a model."""


@dataclass
class Window:
    """One window of an episode.

    Args:
        dataset: Its market.
        answers: Decisions at each close so far, as text of the model.
    """

    dataset: Dataset
    answers: list[Answer] = field(default_factory=list)


class RolloutState:
    """State of a rollout.

    Args:
        row: Its task row.
        draw: Returns the market of each window.

    Raises:
        OpenOutcryError: a market of the row cannot be drawn.
    """

    def __init__(self, row: Row, draw: Callable[[Row, int], Dataset] = row_markets.draw) -> None:
        self.row = row
        self.draw = draw
        self.windows: list[Window] = []
        self.n_malformed = 0
        self.n_reads = 0
        self.n_refused = 0
        self.has_finished = False
        self._open()

    @property
    def done(self) -> bool:
        """Whether the episode has ended."""
        return self.has_finished or (self._is_over and len(self.windows) == self.row.n_windows)

    @property
    def offers_day_orders(self) -> bool:
        """Whether the model is offered the fields of day orders.

        The row must have them, and the market opens, highs and lows.
        """
        return self.row.orders == "day" and has_bar_ranges(self.windows[0].dataset)

    @property
    def n_left(self) -> int:
        """Decisions left in this window."""
        return 0 if self._is_over else self.row.horizon - len(self.windows[-1].answers)

    @property
    def n_answers(self) -> int:
        """Answers so far, each of which advanced the episode by one bar."""
        return sum(len(window.answers) for window in self.windows)

    @property
    def observation(self) -> str:
        """The observation of the market, a `MarketObservation` of the contract in JSON."""
        return self._env.observation_json()

    def state(self) -> dict[str, Any]:
        """Return the account and the last closes, as shown to a model."""
        cash = self._env.observe_into(self._closes, self._shares, self._listed)
        listed = [symbol for symbol in zip(self._names, *self._arrays(), strict=True) if symbol[-1]]
        nav = self._env.nav
        state: dict[str, Any] = {"bars_left": self.n_left, "nav": _rounded(nav), "cash": _rounded(cash)}
        if self.row.n_windows > 1:
            state = {"window": f"{len(self.windows)} of {self.row.n_windows}"} | state
        held = {name: _rounded(shares * close / nav) for name, close, shares, _ in listed if shares and nav > 0.0}
        return state | {"weights": held, "closes": {name: _rounded(close) for name, close, _, _ in listed}}

    def history(self, symbol: str | None = None, n_bars: int | None = None) -> dict[str, list[float]]:
        """Return closes, oldest first, of each symbol or of one."""
        table = np.zeros((self.row.lookback, len(self._names)))
        self._env.observe_into(self._closes, self._shares, self._listed, table)
        return {
            name: [_rounded(close) for close in closes[-(n_bars or len(table)) :] if close]
            for name, closes, is_listed in zip(self._names, table.T.tolist(), self._listed, strict=True)
            if is_listed and symbol in (None, name)
        }

    def read(self) -> str | None:
        """Count a read call, and return the error message if the bar's limit is exceeded.

        A call beyond the limit is a hold.
        """
        self.n_reads += 1
        self._reads_of_bar += 1
        if self._reads_of_bar <= MAX_READS:
            return None
        return self.malformed(f"at most {MAX_READS} read calls are allowed per bar; received one more")

    def decide(self, text: str) -> tuple[bool, str]:
        """Execute a decision; return whether it was valid, and the next message.

        An invalid decision is a hold.
        """
        if len(text) > MAX_CHARACTERS:
            wanted = f"a decision must have at most {MAX_CHARACTERS:,} characters"
            return False, self.malformed(f"{wanted}; received {len(text):,}")
        try:
            if self.row.orders == "plain":
                _check_plain(text)
            stepped = self._env.step(text)
        except OpenOutcryError as error:
            return False, self.malformed(str(error), text)
        return True, self._message(self._record_step(Answer(text), stepped))

    def malformed(self, fault: str, text: str = "") -> str:
        """Hold all positions for one bar, in place of an invalid decision."""
        self.n_malformed += 1
        answer = Answer(text if _is_hold(text) else "")
        reported = self._record_step(answer, self._env.step(HOLD))
        return self._message({"error": f"{fault}. All positions were held for this bar."} | reported)

    def finish(self) -> str:
        """Hold the current positions to the end of the episode."""
        self.has_finished = True
        return text_of({"finished": True})

    def _arrays(self) -> tuple[list[float], list[float], list[int]]:
        return self._closes.tolist(), self._shares.tolist(), self._listed.tolist()

    def _open(self) -> None:
        window = Window(self.draw(self.row, len(self.windows)))
        self._env = native.TradingEnv.from_dataset(window.dataset._core, **settings(self.row))
        self._env.reset()
        self._names = window.dataset.symbols
        self._closes, self._shares = np.zeros((2, len(self._names)))
        self._listed = np.zeros(len(self._names), dtype=np.int8)
        self._is_over = False
        self._reads_of_bar = 0
        self.windows.append(window)

    def _record_step(self, answer: Answer, stepped: tuple[str, float, bool, str]) -> dict[str, Any]:
        """Store a step, and return its events."""
        _, _, self._is_over, info = stepped
        self._reads_of_bar = 0
        self.windows[-1].answers.append(answer)
        events = json.loads(info)["events"]
        self.n_refused += sum(event["slug"] == "refused" for event in events)
        # Fills are visible in the weights; other events are reported.
        reported = [event for event in events if event["slug"] != "filled"]
        return {"events": reported} if reported else {}

    def _message(self, result: dict[str, Any]) -> str:
        if not self._is_over:
            return text_of(result | self.state())
        ended = result | {"window_over": True, "nav": _rounded(self._env.nav)}
        if self.done:
            return text_of(ended)
        self._open()
        opening = {"next_window": self.state(), "history": self.history()}
        return text_of(ended | opening)


def settings(row: Row) -> dict[str, Any]:
    """Return the backtest settings of a window of the row."""
    return {
        "window": row.window,
        "costs": row.cost_model,
        "limits": Limits(),
        "lookback": row.lookback,
        "seed": row.fill_seed,
    }


def _check_plain(text: str) -> None:
    """Refuse fields of day orders, as a harness of contract 1.0 does."""
    try:
        field = day_order_field(json.loads(text))
    except (ValueError, RecursionError):
        return
    if field is not None:
        raise refusal("unknown_field", f"fields of an order must be among {', '.join(_PLAIN)}; received `{field}`")


# A stored text must also be a hold when its record is replayed, so a valid decision in the wrong place is not stored.
def _is_hold(text: str) -> bool:
    try:
        # A lone surrogate cannot be stored.
        text.encode()
        native.read_decision(text)
    except OpenOutcryError:
        return True
    except UnicodeEncodeError:
        pass
    return False


def _rounded(value: float) -> float:
    return float(f"{value:.{_N_DIGITS}g}")
