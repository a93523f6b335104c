"""A complete agent with brackets: each purchase has a stop loss and a take profit for the next bar.

    openoutcry run --agent "cmd:python reference-agent-bracket.py"

The harness states the contract version that it accepts in `OPENOUTCRY_CONTRACT`. Below 1.1 it would refuse the prices,
so the agent leaves them out. Needs only the standard library.
"""

from __future__ import annotations

import json
import os
import sys

STOP_LOSS, TAKE_PROFIT = 0.98, 1.04
LEAST_PRICE, MOST_PRICE = 1e-15, 1e15


def accepts_brackets(version: str) -> bool:
    """Return whether a contract version has prices of exits: 1.1 or a later 1.x."""
    major, _, minor = version.partition(".")
    return major == "1" and minor.isdecimal() and int(minor) >= 1


def exits(close: float) -> dict:
    """Return exits 2 % below and 4 % above a close; none where a price is outside the range of the contract."""
    stop, profit = STOP_LOSS * close, TAKE_PROFIT * close
    return {"stop_loss": stop, "take_profit": profit} if stop >= LEAST_PRICE and profit <= MOST_PRICE else {}


def decide(observation: dict, *, with_exits: bool) -> dict:
    """Buy every symbol, each with the largest of 1/2, 1/4, 1/8, ... that fits."""
    views, weight = observation["symbols"], 0.5
    while weight * len(views) > 1:
        weight /= 2
    orders = []
    for view in views:
        order = {"action": "buy", "symbol": view["symbol"], "target_weight": weight}
        close = float(view["close_history"][-1])
        orders.append({**order, **exits(close)} if with_exits else order)
    return {"orders": orders}


def main() -> None:
    """Decide line by line until the input ends; hold on an invalid observation."""
    with_exits = accepts_brackets(os.environ.get("OPENOUTCRY_CONTRACT", ""))
    for line in sys.stdin.buffer:
        try:
            decision = decide(json.loads(line, parse_int=float), with_exits=with_exits)
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
            print(f"reference-agent: invalid observation, holds all positions: {error!r}", file=sys.stderr)
            decision = {"orders": []}
        sys.stdout.buffer.write(json.dumps(decision, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
