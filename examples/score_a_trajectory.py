"""Run, record, verify and score an agent; the verifier trusts nothing but the data and the record.

`score-a-trajectory.rs` is its twin in Rust and prints the same lines.
"""

from __future__ import annotations

import json

import openoutcry as oo
from openoutcry.scoring.scorer import submit

COSTS = oo.CostModel(fee_bps=1.0, slippage_bps=2.0, financing_bps=0.0, borrow_bps=0.0)
# Windows in which the agent is run; each begins on the bar on which the one before it ends.
WINDOWS = ((19, 270), (269, 520), (519, 770), (769, 1000))


def decide(observation: dict) -> str:
    """Hold an equal part of what stands above its last twenty closes' mean."""
    orders = []
    for view in observation["symbols"]:
        closes = view["close_history"]
        is_above = closes[-1] > sum(closes) / len(closes)
        orders.append({"action": "buy", "symbol": view["symbol"], "target_weight": 0.25 if is_above else 0})
    # The very text that the twin writes, so that the records are the same byte for byte.
    return json.dumps({"orders": orders}, separators=(",", ":"))


def record(data: oo.Dataset) -> str:
    """Run the agent: what the world gets to see of it is the text that this returns."""
    runs = [oo.run_backtest(data, decide, window, COSTS, capture=True).record for window in WINDOWS]
    return oo.RunRecord.join("above its mean", runs, in_sample_trials=3).to_json()


def verify(data: oo.Dataset, text: str) -> None:
    """Score the record of a stranger: every number is recomputed from the decisions and the data."""
    trajectory = oo.RunRecord.from_json(text)
    score = oo.score(submit(trajectory, data, COSTS)).scores[0]
    print("record", trajectory.digest)
    print(score.agent_id, score.verdict)
    print(f"z {score.z:.12f}")
    for gate in score.gates:
        print(gate.slug, {True: "passed", False: "failed", None: "unknown"}[gate.passed])


if __name__ == "__main__":
    market = oo.Dataset.synthetic(n_symbols=4, n_days=1000, seed=3)
    told = record(market)
    verify(market, told)
    # One decision made better after the fact: its maker even believes the chain.
    forged = oo.RunRecord.from_json(told.replace(r"target_weight\":0.25", r"target_weight\":0.24", 1))
    first = oo.replay(forged, market, COSTS).first
    print(f"forged: run {first.run}, {first.field}: {first.because}")
