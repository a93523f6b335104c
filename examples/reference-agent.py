"""A whole agent in Python, of the standard library alone: an observation a line in, a decision a line out.

    openoutcry run --agent "cmd:python reference-agent.py"

Fork it: `decide` is yours, the rest is the protocol. `reference-agent.ts`, `.rs`, `.sh` and `-http.py` decide the same.
"""

from __future__ import annotations

import json
import sys


def is_above(closes: list) -> bool:
    """Return whether the last close is above the mean of those shown."""
    # Summed from left to right, as in every language; `sum` is not.
    total = 0.0
    for close in closes:
        total += close
    return closes[-1] > total / len(closes)


def decide(observation: dict) -> dict:
    """Hold what is above its mean, in parts of 1/2, 1/4, 1/8 ..., as large as fit; close the rest."""
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
    """Answer line by line until the input ends, with a hold to what is no observation."""
    for line in sys.stdin.buffer:
        try:
            decision = decide(json.loads(line, parse_int=float))
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
            print(f"reference-agent: holds all, for this is no observation: {error!r}", file=sys.stderr)
            decision = {"orders": []}
        sys.stdout.buffer.write(json.dumps(decision, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
