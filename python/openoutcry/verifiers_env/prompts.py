"""What a model is told: the task, the reward as it is paid, and how to answer."""

from __future__ import annotations

from typing import Any

from openoutcry.openoutcry_py import Limits
from openoutcry.verifiers_env.episode_outcome import LEAST_VOLATILITY
from openoutcry.verifiers_env.mandates import MANDATES
from openoutcry.verifiers_env.rewards import BROKEN, FLOOR, Terms
from openoutcry.verifiers_env.rollout_state import HOLD, MOST_READS, Desk, text_of
from openoutcry.verifiers_env.task_rows import Row

EXAMPLE = '{"orders":[{"symbol":"NAME","action":"buy","target_weight":0.25}]}'

_ORDER = {
    "type": "object",
    "properties": {
        "symbol": {"type": "string", "description": "A symbol of the market."},
        "action": {
            "type": "string",
            "enum": ["buy", "sell", "hold", "close"],
            "description": "`buy` and `sell` trade to the target weight, `close` to 0, `hold` keeps what is held.",
        },
        "target_weight": {
            "type": "number",
            "description": "Signed fraction of the account's value to hold; negative is short.",
        },
        "confidence": {"type": "number", "description": "Probability that the position gains, from 0 to 1."},
    },
    "required": ["symbol", "action", "target_weight"],
}
_BROKEN = (
    f"Where it is broken, u(x) is at most -{BROKEN:g} less the share of closes at which it is, and probability and pass"
    " are 0."
)
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {"type": "object", "properties": properties, "required": required},
        },
    }
    for name, description, properties, required in (
        ("observe", "Return bars left, NAV, cash, weights held and last closes.", {}, []),
        (
            "history",
            "Return closes, oldest first.",
            {
                "symbol": {"type": "string", "description": "One symbol; all of them if left out."},
                "n_bars": {"type": "integer", "description": "How many closes; all that are shown if left out."},
            },
            [],
        ),
        (
            "trade",
            "Decide for this bar and move on to the next one. A symbol without an order is held.",
            {
                "orders": {"type": "array", "items": _ORDER, "description": "At most one order per symbol."},
                "reasoning": {"type": "string", "description": "Why, for the record; it is not rewarded."},
            },
            ["orders"],
        ),
        ("finish", "End the episode: what is held now is held to its end.", {}, []),
    )
]


def prompt(row: Row, style: str, terms: Terms, desk: Desk | None = None) -> str:
    """Return the first message of an episode.

    Args:
        row: What the episode is about.
        style: One of `rows.STYLES`.
        terms: What it is paid by.
        desk: The episode, before its first decision; None to open one.
    """
    desk = desk or Desk(row)
    start = text_of(desk.state() | {"history": desk.history()})
    parts = _account(row, desk), _costs(row, desk), _paid(row, terms), _how(style), f"Now, at the first close:\n{start}"
    return "\n\n".join(parts)


def _account(row: Row, desk: Desk) -> str:
    limits = Limits()
    fill = "at the next open" if desk.windows[0].dataset.has_opens else "at that close"
    windows, unbegun = "There are ", ""
    if row.n_windows > 1:
        windows = (
            f"There are {row.n_windows} windows, each on a market and with an account of its own. In each there are "
        )
        unbegun = " A window that was never begun is held in cash."
    return (
        f"You trade a market with an account that is worth 1. {windows}{row.horizon} decisions, one at each close; its "
        f"orders fill {fill}. A target weight is a signed fraction of the account's value: 0.25 holds a quarter of it, "
        f"-0.25 is short a quarter. A weight above {limits.max_weight:g} in size is cut to it, and what is added is "
        f"scaled down where all add up to more than {limits.max_gross:g} in size. What has no order is held.{unbegun}"
    )


def _costs(row: Row, desk: Desk) -> str:
    costs = row.costs
    traded = f"{costs['fee_bps']:g} bps fee and {costs['slippage_bps']:g} bps slippage of what is traded"
    if costs["slippage_jitter"]:
        traded += f", the latter up to {costs['slippage_jitter']:.0%} more or less by chance"
    if costs["impact_bps"]:
        of_what = "the account" if desk.windows[0].dataset.volume is None else "a bar's volume"
        traded += f"; {costs['impact_bps']:g} bps times the root of the share of {of_what} that an order takes"
    return (
        f"Costs: {traded}; a year, {costs['borrow_bps']:g} bps of what is short and {costs['financing_bps']:g} bps of "
        f"borrowed cash; idle cash earns {costs['cash_bps']:g} bps."
    )


def _paid(row: Row, terms: Terms) -> str:
    mandate = MANDATES[row.mandate]
    told = terms.words()
    if len(told) > 1:
        told = ["the sum of:", *(f"- {each}" for each in told)]
    lines = ["The reward is " + "\n".join(told or ["always 0"]) + "."]
    if any("u(x)" in each for each in told):
        mean = ", and the mean of it over the windows is paid" if row.n_windows > 1 else ""
        lines.append(
            f"u(x) = -{FLOOR:g} tanh((exp(-x) - 1) / {FLOOR:g}): 0 at x = 0, below 1, above -{FLOOR:g}, so that a loss "
            f"costs more than an equal gain brings{mean}."
        )
    is_held = mandate.benchmark == "buy-and-hold"
    equal = "an equal part of each symbol, bought at the start and held"
    lines.append(
        f"The benchmark is {equal if is_held else 'cash'}. The market's volatility is the root of the sum of squared "
        f"log returns of {'the benchmark' if is_held else equal}, {LEAST_VOLATILITY:g} a bar at least."
    )
    if mandate.words:
        lines.append(f"Mandate: {mandate.words}. {_BROKEN}")
    return "\n".join(lines)


def _how(style: str) -> str:
    malformed = "An answer that is no decision holds everything for the bar."
    if style == "text":
        return (
            f"Answer every message with a decision, a JSON object such as {EXAMPLE}; {HOLD} holds everything. Text "
            f"may stand before it: the last JSON object counts. `action` is buy, sell, hold or close. {malformed}"
        )
    return (
        f"Call `trade` once per bar; it ends the bar. `observe` and `history` show the market, at most {MOST_READS} "
        f"times per bar. `finish` holds what is held to the end. A message without a call of these is no decision. "
        f"{malformed}"
    )


def unsaid(style: str) -> str:
    """Return what is said of a message without what it should have had."""
    if style == "text":
        return f"a message must end with a decision, a JSON object such as {EXAMPLE}; received none"
    return "a message must call one of `observe`, `history`, `trade` and `finish`; received none"
