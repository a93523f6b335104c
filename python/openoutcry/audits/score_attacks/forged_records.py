"""Attacks with false statements in a record: its author, seeds or origin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from openoutcry.audits.score_attacks import naive_scorers
from openoutcry.audits.score_attacks.attack_markets import daily_returns, forged, random_weights, skilled_weights, stage
from openoutcry.audits.score_attacks.attack_result import LEVEL, Outcome, Plan, refusals
from openoutcry.records.keys import public_key
from openoutcry.records.run_record import RunRecord

_RUNNER, _THIEF = bytes([1] * 32), bytes([2] * 32)


def _stolen(random: np.random.Generator) -> Outcome:
    """Submit the record of another agent under a new name, before its author does."""
    at = stage(random)
    weights = skilled_weights(random, at)
    honest = at.record("honest", weights).sign(_RUNNER)
    stolen = RunRecord.join("attacker", honest.runs()).sign(_THIEF)
    other = at.record("other", random_weights(random, at)[0])
    p = naive_scorers.p_value(daily_returns(at, weights))
    boards = [at.judge(*each) for each in ((stolen, honest, other), (other, honest, stolen))]
    known = at.judge(stolen, honest, other, trusted_keys=[public_key(_RUNNER)])
    is_taken = any(board["attacker"].rank is not None for board in (*boards, known))
    is_lost = not known["honest"].is_eligible or boards[0].text != boards[1].text
    return Outcome.of(known["attacker"], p < LEVEL, p, won=is_taken or is_lost)


def _repeated(random: np.random.Generator) -> Outcome:
    """Run once without slippage noise, and record the run under three keys."""
    at = stage(random)
    weights = random_weights(random, at)[0]
    one = at.judge(at.record("attacker", weights))["attacker"]
    several = replace(at, seeds=(0, 1, 2))
    record = several.record("attacker", weights)
    found = several.judge(record)["attacker"]
    n_named = len({header["fill.seed"] for header in record.headers})
    is_more = (found.n_seeds, found.z, found.pass_k) != (one.n_seeds, one.z, one.pass_k)
    return Outcome(is_more, found.verdict, found.reasons, n_named > one.n_seeds, float(n_named))


def _false_header(random: np.random.Generator) -> Outcome:
    """State another engine version, or that the market was sealed."""
    at = stage(random, length=63)
    weights = skilled_weights(random, at)
    record = at.record("attacker", weights)

    def lie(path: tuple[str, ...], value: Any) -> Callable[[dict[str, Any]], None]:
        def edit(run: dict[str, Any]) -> None:
            place = run["header"]
            for name in path[:-1]:
                place = place[name]
            place[path[-1]] = value

        return edit

    lies = [
        lie(("engine_version",), "0.0.1"),
        lie(("engine_version",), "99.0.0"),
        lie(("contract_version",), "7.3"),
        lie(("dataset", "name"), "sealed"),
        lie(("dataset", "commitment"), "ab" * 32),
    ]
    calls: list[Callable[[], Any]] = [
        lambda edit=edit: at.judge(forged(record, edit))  # type: ignore[misc]
        for edit in lies
    ]
    p = naive_scorers.p_value(daily_returns(at, weights))
    return refusals(calls, ["record_differs"], p < LEVEL, p)


PLANS = (
    Plan("stolen-record", "submits the record of another agent first, signed with its own key",
         "p of a t-test of the first submission", _stolen),
    Plan("repeated-seeds", "runs once without noise, and records it under three keys", "number of seeds",
         _repeated),
    Plan("false-header", "states an engine, a market and a commitment other than those of the run",
         "p of a t-test of a record with a valid chain", _false_header),
)  # fmt: skip
"""Attacks with false statements in a record."""
