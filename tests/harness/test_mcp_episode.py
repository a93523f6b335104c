"""Episodes of the MCP server, without the protocol."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcp_sessions import (
    HOLD,
    WINDOW,
    backtest,
    bought,
    manager_of,
    market_with,
    new_session,
    played,
    refused,
    stepped,
    without_session,
)
from recorded_run import DATA

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.backtest.replay import replay
from openoutcry.harness.mcp import Bounds, RecordFolder
from openoutcry.records.run_record import RunRecord

pytestmark = pytest.mark.once

CONTRACT = Path(__file__).resolve().parents[2] / "contract"


def test_an_episode_is_the_backtest_of_its_decisions_to_the_bit(tmp_path: Path) -> None:
    manager = manager_of(records=RecordFolder(tmp_path))
    first = new_session(manager)
    steps = played(manager, first)
    run = backtest(DATA)
    assert [step["info"]["nav"] for step in steps] == run.nav[1:].tolist()
    assert [step["reward"] for step in steps] == run.returns.tolist()
    assert [step["n_left"] for step in steps] == list(range(first["n_decisions"] - 1, -1, -1))
    score = manager.score({"session": first["session"]})
    assert score["metrics"] == run.metrics
    assert score["undefined"] == run.undefined
    assert score["events"] == run.event_counts
    assert score["paid"] == {kind: float(values.sum()) for kind, values in run.costs.items()}
    assert score["n_made"] == len(steps) == run.returns.size
    for name, agent in (("buy-and-hold", "buy-and-hold"), ("cash", "hold-cash")):
        beside = backtest(DATA, agent=agent)
        assert score["benchmarks"][name] == {"metrics": beside.metrics, "undefined": beside.undefined}
    record = RunRecord.load(tmp_path / score["record"]["file"])
    assert score["record"] == {
        "file": f"{first['session']}.jsonl",
        "digest": record.digest,
        "market": None,
        "fault": None,
    }
    # The record also contains the harness description.
    assert record.run_digests == run.record.run_digests
    assert replay(record, DATA).verified


def test_the_record_states_the_market_and_the_transport(tmp_path: Path) -> None:
    market = oo.Dataset.synthetic(3, 60, 5)
    manager = manager_of(market, records=RecordFolder(tmp_path))
    steps = played(manager, new_session(manager))
    kept = manager.score({"session": steps[-1]["session"]})["record"]
    record = RunRecord.load(tmp_path / kept["file"])
    assert str(replay(record, market)).startswith("verified")
    held = json.loads(record.to_json())["runs"][0]
    assert held["harness"] == {"allow_net": True, "tier": "T0", "transport": "stdio"}
    shown = [held["steps"][place + 1]["observation"] for place in range(len(steps) - 1)] + [held["end"]["observation"]]
    said = [native.canonicalize(json.dumps(step["observation"])) for step in steps]
    assert shown == [hashlib.sha256(text.encode()).hexdigest() for text in said]


NEGATIVE = json.loads((CONTRACT / "conformance/negative.json").read_text("utf-8"))


def parsed(case: dict[str, Any]) -> Any:
    """Return a decision as parsed JSON, or None if a client could not send it."""
    pairs: list[int] = []
    try:
        value = json.loads(case["decision"], object_pairs_hook=lambda given: pairs.append(len(given)) or dict(given))
    except ValueError:
        return None
    return value if case["slug"] in ("missing_field", "unknown_field", "wrong_type", "unknown_action") else None


@pytest.mark.parametrize("case", [case for case in NEGATIVE if parsed(case) is not None], ids=lambda case: case["name"])
def test_a_malformed_decision_is_refused_with_its_slug_and_the_state_is_unchanged(case: dict[str, Any]) -> None:
    manager = manager_of()
    first = new_session(manager)
    error = refused(lambda: manager.step({"session": first["session"], "decision": parsed(case)}))
    assert error.slug == case["slug"]
    assert "the state is unchanged; hint: " in str(error)
    assert manager.observe({"session": first["session"]})["observation"] == first["observation"]
    assert without_session(played(manager, first)) == without_session(played(manager, new_session(manager)))


def test_the_malformed_decisions_cover_every_slug() -> None:
    assert len([case for case in NEGATIVE if parsed(case) is not None]) > 10


@pytest.mark.parametrize(
    ("decision", "slug"),
    [
        ('{"orders": []}', "wrong_type"),
        ({"orders": [{"symbol": "S000", "action": "buy", "target_weight": float("nan")}]}, "weight_not_finite"),
        ({"orders": [{"symbol": "S000", "action": "buy", "target_weight": 10**400}]}, "bad_json"),
        ({"orders": [], "reasoning": "why" * 2**19}, "answer_too_long"),
        ({"orders": [], "reasoning": "\ud800"}, "bad_json"),
    ],
)
def test_values_that_are_not_json_objects_are_refused(decision: Any, slug: str) -> None:
    manager = manager_of()
    first = new_session(manager)
    assert refused(lambda: manager.step({"session": first["session"], "decision": decision})).slug == slug


def test_an_order_for_an_unlisted_symbol_is_refused_as_unknown() -> None:
    said = []
    for symbol in ("LATE", "NONE"):
        manager = manager_of(market_with("listing", bar=30))
        came = stepped(manager, new_session(manager), lambda seen, name=symbol: bought(name))  # type: ignore[misc]
        assert came["info"]["events"][0]["reason"] == "unknown_symbol"
        said.append(json.dumps(without_session([came])).replace(symbol, "?"))
    assert said[0] == said[1]


def test_after_the_end_steps_are_refused_and_the_score_is_constant() -> None:
    manager = manager_of()
    steps = played(manager, new_session(manager))
    session = {"session": steps[-1]["session"]}
    before = manager.score(session)
    error = refused(lambda: manager.step({**session, "decision": HOLD}))
    assert error.slug == "episode_over"
    assert manager.score(session) == before
    assert manager.observe(session)["done"]


def test_an_account_that_is_ruined_ends_its_episode(tmp_path: Path) -> None:
    close = np.array([[10.0], [10.0], [10.0], [50.0], [50.0], [50.0]])
    market = oo.Dataset.from_arrays([f"2020-01-0{day}" for day in range(1, 7)], ["A"], close, name="up")
    manager = manager_of(market, records=RecordFolder(tmp_path))
    first = manager.reset({"window": "+0:+6"})
    short = {"orders": [{"symbol": "A", "action": "sell", "target_weight": -1.0}]}
    steps = played(manager, first, lambda seen: short)
    assert [(step["done"], step["terminated"]) for step in steps] == [(False, False), (False, False), (True, True)]
    score = manager.score({"session": first["session"]})
    run = oo.run_backtest(market, lambda seen: short, (0, 6))
    assert score["ending"] == run.ending == "ruined on 2020-01-04"
    assert score["metrics"] == run.metrics
    assert replay(RunRecord.load(tmp_path / score["record"]["file"]), market).verified


def test_a_score_needs_at_least_one_decision() -> None:
    manager = manager_of()
    error = refused(lambda: manager.score({"session": new_session(manager)["session"]}))
    assert error.slug == "argument_invalid"


def test_a_running_score_covers_the_bars_so_far() -> None:
    manager = manager_of()
    answer = new_session(manager)
    for _ in range(7):
        answer = stepped(manager, answer)
    score = manager.score({"session": answer["session"]})
    assert score["metrics"] == backtest(DATA, (WINDOW[0], WINDOW[0] + 8)).metrics
    assert (score["record"], score["data"], score["n_made"]) == (None, None, 7)


def test_the_total_size_of_decisions_is_limited() -> None:
    manager = manager_of(bounds=Bounds(run_bytes=1000))
    first = new_session(manager)
    session = {"session": first["session"]}
    said = {"orders": [], "reasoning": "x" * 400}
    for _ in range(2):
        answer = manager.step(session | {"decision": said})
    assert refused(lambda: manager.step(session | {"decision": said})).slug == "answer_too_long"
    assert manager.observe(session)["observation"] == answer["observation"]
    assert manager.step(session | {"decision": HOLD})["n_left"] == answer["n_left"] - 1
