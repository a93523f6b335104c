"""A custom agent: a function from an observation to a decision.

In the folder of this file, `openoutcry run --agent own_agent:decide` runs it too.
"""

from __future__ import annotations

import openoutcry as oo


def decide(observation: dict) -> dict:
    """Hold equal weights of the third of the listed symbols with the highest returns, with rationales."""
    strength = {}
    for view in observation["symbols"]:
        closes = view["close_history"]
        strength[view["symbol"]] = closes[-1] / closes[0] - 1
    best = sorted(strength, key=strength.get, reverse=True)[: max(1, len(strength) // 3)]
    orders = [
        {
            "symbol": name,
            "action": "buy" if name in best else "close",
            "target_weight": 1 / len(best) if name in best else 0,
            "confidence": 0.55,
            "rationale": f"{change:+.1%} over the close history",
        }
        for name, change in strength.items()
    ]
    return {"orders": orders, "reasoning": f"strongest: {', '.join(best)}"}


if __name__ == "__main__":
    run = oo.run_backtest(oo.data.load("ecb-fx"), decide, window="2015-01-01:2020-01-01")
    print(run)
    print({kind: round(float(paid.sum()), 5) for kind, paid in run.costs.items() if paid.any()})
