"""Run, record, verify and score an agent; the verifier needs only the data and the record.

`score-a-trajectory.rs` is the same program in Rust and prints the same lines.
"""

from __future__ import annotations

import json

import openoutcry as oo
from openoutcry.scoring.scorer import submit

COSTS = oo.CostModel(fee_bps=1.0, slippage_bps=2.0, financing_bps=0.0, borrow_bps=0.0)
# Windows of the runs; each starts on the last bar of the previous one.
WINDOWS = ((19, 270), (269, 520), (519, 770), (769, 1000))


def decide(observation: dict) -> str:
    """Hold a quarter of NAV in each symbol above the mean of its last twenty closes."""
    orders = []
    for view in observation["symbols"]:
        closes = view["close_history"]
        is_above = closes[-1] > sum(closes) / len(closes)
        orders.append({"action": "buy", "symbol": view["symbol"], "target_weight": 0.25 if is_above else 0})
    # The same text as in Rust, so that the records are equal byte for byte.
    return json.dumps({"orders": orders}, separators=(",", ":"))


def record(data: oo.Dataset) -> str:
    """Run the agent and return its record as text, which is all that the verifier receives."""
    runs = [oo.run_backtest(data, decide, window, COSTS, capture=True).record for window in WINDOWS]
    return oo.RunRecord.join("above its mean", runs, in_sample_trials=3).to_json()


def verify(data: oo.Dataset, text: str) -> None:
    """Score an untrusted record: recompute every number from the decisions and the data."""
    trajectory = oo.RunRecord.from_json(text)
    score = oo.score(submit(trajectory, data, COSTS)).scores[0]
    print("record", trajectory.digest)
    print(score.agent_id, score.verdict)
    print(f"z {score.z:.12f}")
    for gate in score.gates:
        print(gate.slug, {True: "passed", False: "failed", None: "unknown"}[gate.passed])


if __name__ == "__main__":
    market = oo.Dataset.synthetic(n_symbols=4, n_days=1000, seed=3)
    text = record(market)
    verify(market, text)
    # One decision is changed afterwards; the chain has not been recomputed.
    forged = oo.RunRecord.from_json(text.replace(r"target_weight\":0.25", r"target_weight\":0.24", 1))
    first = oo.replay(forged, market, COSTS).first
    print(f"forged: run {first.run}, {first.field}: {first.because}")
