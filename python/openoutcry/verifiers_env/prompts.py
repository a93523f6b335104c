"""Prompts of the trading tasks: task, reward and answer format."""

from __future__ import annotations

import json
from typing import Any

from openoutcry.agents.day_orders import DAY_ORDER_FIELDS
from openoutcry.openoutcry_py import DECISION_SCHEMA, Limits
from openoutcry.verifiers_env.episode_outcome import LEAST_VOLATILITY
from openoutcry.verifiers_env.mandates import MANDATES
from openoutcry.verifiers_env.rewards import BROKEN, FLOOR, RewardTerms
from openoutcry.verifiers_env.rollout_state import HOLD, MAX_READS, RolloutState, text_of
from openoutcry.verifiers_env.task_rows import Row

EXAMPLE = '{"orders":[{"symbol":"NAME","action":"buy","target_weight":0.25}]}'

_ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "symbol": {"type": "string", "description": "A symbol of the market."},
        "action": {
            "type": "string",
            "enum": ["buy", "sell", "hold", "close"],
            "description": "`buy` and `sell` trade to the target weight, `close` to 0, `hold` keeps the position.",
        },
        "target_weight": {
            "type": "number",
            "description": "Signed fraction of the account's value; negative is short.",
        },
        "confidence": {"type": "number", "description": "Probability that the position gains, from 0 to 1."},
    },
    "required": ["symbol", "action", "target_weight"],
}
_DAY_ORDERS = (
    "An order may also have `limit_price`, `stop_price` or `at` (`open` or `close`), which state at which price and"
    " when it fills in the next bar; otherwise it is dropped. `stop_loss` and `take_profit` exit from the whole"
    " position at these prices, within that bar only."
)
_BROKEN = (
    f"If it is breached, u(x) is at most -{BROKEN:g} minus the share of closes with a breach, and probability and pass"
    " are 0."
)


def _tools_with(order: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the tools, with the schema of an order."""
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": description,
                "parameters": {"type": "object", "properties": properties, "required": required},
            },
        }
        for name, description, properties, required in (
            ("observe", "Return bars left, NAV, cash, weights and last closes.", {}, []),
            (
                "history",
                "Return closes, oldest first.",
                {
                    "symbol": {"type": "string", "description": "One symbol; all symbols by default."},
                    "n_bars": {"type": "integer", "description": "Number of closes; all available ones by default."},
                },
                [],
            ),
            (
                "trade",
                "Decide for this bar and advance to the next one. A symbol without an order keeps its position.",
                {
                    "orders": {"type": "array", "items": order, "description": "At most one order per symbol."},
                    "reasoning": {
                        "type": "string",
                        "description": "Your reasoning, for the record; it is not rewarded.",
                    },
                },
                ["orders"],
            ),
            ("finish", "End the episode: current positions are held to its end.", {}, []),
        )
    ]


def _day_order() -> dict[str, Any]:
    """Return the schema of an order with the optional fields of the contract."""
    known = json.loads(DECISION_SCHEMA)["$defs"]["Order"]["properties"]
    kept = ("type", "enum", "description")
    fields = {name: {key: known[name][key] for key in kept if key in known[name]} for name in DAY_ORDER_FIELDS}
    for field in fields.values():
        field["description"] = field["description"].removeprefix("Contract 1.1. ")
    return {**_ORDER, "properties": {**_ORDER["properties"], **fields}}


TOOLS = _tools_with(_ORDER)
DAY_ORDER_TOOLS = _tools_with(_day_order())


def prompt(row: Row, style: str, terms: RewardTerms, rollout: RolloutState | None = None) -> str:
    """Return the first message of an episode.

    Args:
        row: Its task row.
        style: One of `task_rows.STYLES`.
        terms: Reward terms.
        rollout: State of the rollout before its first decision; None to create one.
    """
    rollout = rollout or RolloutState(row)
    start = text_of(rollout.state() | {"history": rollout.history()})
    parts = (
        _account(row, rollout),
        _costs(row, rollout),
        _reward(row, terms),
        _answer_format(style) + (f" {_DAY_ORDERS}" if rollout.offers_day_orders else ""),
        f"Now, at the first close:\n{start}",
    )
    return "\n\n".join(parts)


def _account(row: Row, rollout: RolloutState) -> str:
    limits = Limits()
    fill = "at the next open" if rollout.windows[0].dataset.has_opens else "at that close"
    windows, unbegun = "There are ", ""
    if row.n_windows > 1:
        windows = f"There are {row.n_windows} windows, each with its own market and account. In each there are "
        unbegun = " A window that you do not reach holds cash."
    return (
        f"You trade a market with an account worth 1. {windows}{row.horizon} decisions, one at each close; orders "
        f"fill {fill}. A target weight is a signed fraction of the account's value: 0.25 is a long position of a "
        f"quarter of it, -0.25 a short position of a quarter. Weights are limited to {limits.max_weight:g} in absolute "
        f"value, and increases are scaled down if the absolute weights add up to more than {limits.max_gross:g}. A "
        f"symbol without an order keeps its position.{unbegun}"
    )


def _costs(row: Row, rollout: RolloutState) -> str:
    costs = row.costs
    traded = f"{costs['fee_bps']:g} bps fee and {costs['slippage_bps']:g} bps slippage on the traded value"
    if costs["slippage_jitter"]:
        traded += f", the slippage randomly up to {costs['slippage_jitter']:.0%} more or less"
    if costs["impact_bps"]:
        of_what = "the account" if rollout.windows[0].dataset.volume is None else "a bar's volume"
        traded += f"; {costs['impact_bps']:g} bps times the square root of the order's share of {of_what}"
    return (
        f"Costs: {traded}; per year, {costs['borrow_bps']:g} bps on short positions and "
        f"{costs['financing_bps']:g} bps on borrowed cash; cash earns {costs['cash_bps']:g} bps."
    )


def _reward(row: Row, terms: RewardTerms) -> str:
    mandate = MANDATES[row.mandate]
    descriptions = terms.descriptions()
    if len(descriptions) > 1:
        descriptions = ["the sum of:", *(f"- {each}" for each in descriptions)]
    lines = ["The reward is " + "\n".join(descriptions or ["always 0"]) + "."]
    if any("u(x)" in each for each in descriptions):
        mean = ". It is averaged over the windows" if row.n_windows > 1 else ""
        lines.append(
            f"u(x) = -{FLOOR:g} tanh((exp(-x) - 1) / {FLOOR:g}): 0 at x = 0, below 1, above -{FLOOR:g}, so that a loss "
            f"costs more than an equal gain brings{mean}."
        )
    is_held = mandate.benchmark == "buy-and-hold"
    equal = "an equal weight in each symbol, bought at the start and held"
    lines.append(
        f"The benchmark is {equal if is_held else 'cash'}. The market's volatility is the square root of the sum of "
        f"squared log returns of {'the benchmark' if is_held else equal}, at least {LEAST_VOLATILITY:g} per bar."
    )
    if mandate.description:
        lines.append(f"Mandate: {mandate.description}. {_BROKEN}")
    return "\n".join(lines)


def _answer_format(style: str) -> str:
    malformed = "An answer without a valid decision holds all positions for the bar."
    if style == "text":
        return (
            f"Answer every message with a decision, a JSON object such as {EXAMPLE}; {HOLD} holds all positions. "
            f"Text may precede it: the last JSON object counts. `action` is buy, sell, hold or close. {malformed}"
        )
    return (
        f"Call `trade` once per bar; it ends the bar. `observe` and `history` show the market, at most {MAX_READS} "
        f"times per bar. `finish` holds all positions to the end. A message without one of these calls is not a "
        f"decision. {malformed}"
    )


def missing_decision(style: str) -> str:
    """Return the error message for a message without a decision."""
    if style == "text":
        return f"a message must end with a decision, a JSON object such as {EXAMPLE}; received none"
    return "a message must call one of `observe`, `history`, `trade` and `finish`; received none"
