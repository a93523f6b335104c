"""Views of the inspector: observation, decision, fills and events, bar by bar.

Texts come from an untrusted agent and are shown as text, never as markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from openoutcry.report.views.view_checks import Floats, require_values
from openoutcry.untrusted.counted_nouns import counted

__all__ = ["Event", "Fill", "Order", "Step", "Trace"]


class Order(NamedTuple):
    """One order of a decision.

    Attributes:
        symbol: As the agent wrote it.
        action: As the agent wrote it, such as `buy`.
        weight: Target weight, signed fraction of NAV; `None` if missing.
        confidence: Stated probability; `None` if missing.
        rationale: The agent's reason for the order.
        is_at_close: Whether the order fills at the close of the next bar.
    """

    symbol: str
    action: str
    weight: float | None
    confidence: float | None = None
    rationale: str = ""
    is_at_close: bool = False


class Fill(NamedTuple):
    """One trade: signed shares, and the price paid or received for each."""

    symbol: str
    shares: float
    price: float


class Event(NamedTuple):
    """An event other than a fill, with its symbol and reason; either may be empty."""

    slug: str
    symbol: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Step:
    """One decision, with its fills and events at the next bar.

    Attributes:
        orders: Orders of the decision; empty is a hold.
        reasoning: The agent's reasoning for the decision.
        fault: Slug of a fault, such as `agent_late`; empty for none.
        fills: Fills at the next bar.
        events: Other events at the next bar.
    """

    orders: Sequence[Order] = ()
    reasoning: str = ""
    fault: str = ""
    fills: Sequence[Fill] = ()
    events: Sequence[Event] = ()


@dataclass(frozen=True)
class Trace:
    """A run bar by bar, over the dates, NAV and symbols of its `RunView`.

    Attributes:
        cash: Shape `(n_bars,)`, float64, as shown at each close, in units of the starting NAV.
        shares: Shape `(n_bars, n_symbols)`, float64, signed, held at each close.
        closes: Shape `(n_bars, n_symbols)`, float64, last close; NaN for a symbol that is not listed.
        steps: The decision at each close but the last; fewer if the account ended early.
    """

    cash: Floats
    shares: Floats
    closes: Floats
    steps: Sequence[Step]

    def check(self, n_bars: int, symbols: Sequence[str]) -> None:
        """Refuse arrays of the wrong shape, unknown symbols, and more decisions than bars."""
        n_symbols, known = len(symbols), set(symbols)
        require_values("trace.cash", self.cash, (n_bars,))
        require_values("trace.shares", self.shares, (n_bars, n_symbols))
        require_values("trace.closes", self.closes, (n_bars, n_symbols), gaps=True)
        if len(self.steps) > n_bars - 1:
            raise ValueError(
                f"`trace.steps` must hold at most {counted(n_bars - 1, 'decision')}; received {len(self.steps)}"
            )
        unknown = (fill.symbol for step in self.steps for fill in step.fills if fill.symbol not in known)
        if (symbol := next(unknown, None)) is not None:
            raise ValueError(f"a fill must have a symbol of the run; received {symbol!r}")
