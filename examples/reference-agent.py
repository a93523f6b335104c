"""A complete agent with only the standard library: one observation per line in, one decision per line out.

    openoutcry run --agent "cmd:python reference-agent.py"

Replace `decide`; the rest is the protocol. `reference-agent.ts`, `.rs`, `.sh` and `-http.py` make the same decisions.
"""

from __future__ import annotations

import json
import sys


def is_above(closes: list) -> bool:
    """Return whether the last close is above the mean of the close history."""
    # Left to right, as in the other languages; `sum` compensates for rounding.
    total = 0.0
    for close in closes:
        total += close
    return closes[-1] > total / len(closes)


def decide(observation: dict) -> dict:
    """Hold the symbols above their mean, each with the largest of 1/2, 1/4, 1/8, ... that fits; close the others."""
    held = {position["symbol"] for position in observation["portfolio"]}
    views = [(view["symbol"], is_above(view["close_history"])) for view in observation["symbols"]]
    n_above, weight = sum(above for _, above in views), 0.5
    while weight * n_above > 1:
        weight /= 2
    orders = []
    for symbol, above in views:
        if above:
            orders.append({"action": "buy", "symbol": symbol, "target_weight": weight})
        elif symbol in held:
            orders.append({"action": "close", "symbol": symbol, "target_weight": 0})
    return {"orders": orders}


def main() -> None:
    """Decide line by line until the input ends; hold on an invalid observation."""
    for line in sys.stdin.buffer:
        try:
            decision = decide(json.loads(line, parse_int=float))
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
            print(f"reference-agent: invalid observation, holds all positions: {error!r}", file=sys.stderr)
            decision = {"orders": []}
        sys.stdout.buffer.write(json.dumps(decision, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
