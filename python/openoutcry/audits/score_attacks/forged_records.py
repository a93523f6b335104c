"""Attacks by what a record says of itself: whose it is, and where it was made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from openoutcry.audits.score_attacks import naive_scorers
from openoutcry.audits.score_attacks.attack_markets import earned, forged, noise, skilled, stage
from openoutcry.audits.score_attacks.attack_result import LEVEL, Plan, Try, refusals
from openoutcry.records.keys import public_key
from openoutcry.records.run_record import RunRecord

_RUNNER, _THIEF = bytes([1] * 32), bytes([2] * 32)


def _stolen(random: np.random.Generator) -> Try:
    """Hand in the record of another, under a name of one's own, before the other does."""
    at = stage(random)
    weights = skilled(random, at)
    honest = at.record("honest", weights).sign(_RUNNER)
    stolen = RunRecord.join("attacker", honest.runs()).sign(_THIEF)
    other = at.record("other", noise(random, at)[0])
    p = naive_scorers.p_value(earned(at, weights))
    boards = [at.judge(*each) for each in ((stolen, honest, other), (other, honest, stolen))]
    known = at.judge(stolen, honest, other, trusted_keys=[public_key(_RUNNER)])
    is_taken = any(board["attacker"].rank is not None for board in (*boards, known))
    is_lost = not known["honest"].is_eligible or boards[0].text != boards[1].text
    return Try.of(known["attacker"], p < LEVEL, p, won=is_taken or is_lost)


def _repeated(random: np.random.Generator) -> Try:
    """Run once where slippage has no noise, and write the run down under three keys."""
    at = stage(random)
    weights = noise(random, at)[0]
    one = at.judge(at.record("attacker", weights))["attacker"]
    several = replace(at, seeds=(0, 1, 2))
    record = several.record("attacker", weights)
    found = several.judge(record)["attacker"]
    told = len({header["fill.seed"] for header in record.headers})
    is_more = (found.n_seeds, found.z, found.pass_k) != (one.n_seeds, one.z, one.pass_k)
    return Try(is_more, found.verdict, found.reasons, told > one.n_seeds, float(told))


def _false_header(random: np.random.Generator) -> Try:
    """Say that another engine made a run, or that its market was sealed."""
    at = stage(random, length=63)
    weights = skilled(random, at)
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
    asks: list[Callable[[], Any]] = [
        lambda edit=edit: at.judge(forged(record, edit))  # type: ignore[misc]
        for edit in lies
    ]
    p = naive_scorers.p_value(earned(at, weights))
    return refusals(asks, ["record_differs"], p < LEVEL, p)


PLANS = (
    Plan("stolen-record", "hands in the record of another, first and signed with a key of its own",
         "p of a t-test of whoever came first", _stolen),
    Plan("repeated-seeds", "runs once without noise, and writes it down under three keys", "seeds that are named",
         _repeated),
    Plan("false-header", "names an engine, a market and a commitment that are not those of the run",
         "p of a t-test of a record whose chain is whole", _false_header),
)  # fmt: skip
"""Attacks by what a record says of itself."""
