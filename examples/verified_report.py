"""Run an agent, save its record, write its report and verify the record.

The report opens in any browser and shows each decision with its rationale and its fills, bar by bar.
"""

from __future__ import annotations

import openoutcry as oo


def decide(observation: dict) -> dict:
    """Hold the symbols above their mean, with a confidence and a rationale."""
    orders = []
    for view in observation["symbols"]:
        closes = view["close_history"]
        above = closes[-1] / (sum(closes) / len(closes)) - 1
        orders.append(
            {
                "symbol": view["symbol"],
                "action": "buy" if above > 0 else "close",
                "target_weight": 0.1 if above > 0 else 0,
                "confidence": min(0.5 + 2 * abs(above), 0.9),
                "rationale": f"{above:+.1%} from its mean over {len(closes)} bars",
            }
        )
    return {"orders": orders}


if __name__ == "__main__":
    market = oo.data.load("ecb-fx")
    run = oo.run_backtest(market, decide, "2015-01-01:2018-01-01", name="above its mean", capture=True)
    run.record.save("run.json.zst")
    # Three other lookbacks were tested before: four trials.
    print(run.report("run.html", record="run.json.zst", n_trials=4))
    print(oo.replay(oo.RunRecord.load("run.json.zst"), market))
