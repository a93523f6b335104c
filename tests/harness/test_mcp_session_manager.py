"""Sessions of the MCP server: arguments of `reset`, limits, and stored data."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from mcp_sessions import HOLD, manager_of, new_session, played, refused
from recorded_run import DATA

from openoutcry.backtest.replay import replay
from openoutcry.cli.market_options import open_dataset
from openoutcry.harness.mcp import Bounds, Market, RecordFolder, SessionManager, bundled_markets, markets_of
from openoutcry.records.run_record import RunRecord

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("given", "slug"),
    [
        ({"dataset": "crypto"}, "unknown_dataset"),
        ({"dataset": "/etc/passwd"}, "unknown_dataset"),
        ({"dataset": ["market"]}, "unknown_dataset"),
        ({"scenario": "easy"}, "unknown_dataset"),
        ({"scenario": "hard", "dataset": "market"}, "argument_invalid"),
        ({"window": "2010:2012"}, "window_invalid"),
        ({"window": "+70:+90"}, "window_invalid"),
        ({"window": [19, 40]}, "argument_invalid"),
        ({"window": None}, "argument_invalid"),
        ({"seed": -1}, "argument_invalid"),
        ({"seed": 2**53}, "argument_invalid"),
        ({"seed": 1.5}, "argument_invalid"),
        ({"scenario": "hard", "seed": "7"}, "argument_invalid"),
        ({"lookback": 0}, "argument_invalid"),
        ({"lookback": 5001}, "argument_invalid"),
        ({"costs": {"fee": 1}}, "argument_invalid"),
        ({"costs": [1]}, "argument_invalid"),
        ({"costs": {"fee_bps": "1"}}, "cost_invalid"),
        ({"costs": {"fee_bps": -1}}, "cost_invalid"),
        ({"costs": {"fee_bps": None}}, "argument_invalid"),
        ({"limits": {"allow_short": None}}, "argument_invalid"),
        ({"limits": {"max_weight": -1}}, "limit_invalid"),
        ({"agent": ""}, "argument_invalid"),
        ({"agent": "a" * 201}, "argument_invalid"),
        ({"agent": "half a pair: \ud800"}, "argument_invalid"),
        ({"replaces": "x"}, "unknown_session"),
        ({"fill_key": "00"}, "argument_invalid"),
    ],
)
def test_invalid_arguments_of_reset_are_refused_without_a_session(given: dict[str, Any], slug: str) -> None:
    manager = manager_of(bounds=Bounds(sessions=1))
    assert refused(lambda: manager.reset(given)).slug == slug
    assert new_session(manager)["session"]


@pytest.mark.parametrize(
    ("tool", "given", "slug"),
    [
        ("step", {}, "argument_invalid"),
        ("step", {"decision": HOLD}, "argument_invalid"),
        ("observe", {"session": "0" * 32}, "unknown_session"),
        ("observe", {"session": None}, "unknown_session"),
        ("score", {"session": {}}, "unknown_session"),
        ("score", {"session": "x", "more": 1}, "argument_invalid"),
    ],
)
def test_a_call_without_a_session_is_refused(tool: str, given: dict[str, Any], slug: str) -> None:
    manager = manager_of()
    new_session(manager)
    assert refused(lambda: getattr(manager, tool)(given)).slug == slug


def test_the_number_of_sessions_is_limited_and_finished_ones_are_replaced() -> None:
    manager = manager_of(bounds=Bounds(sessions=2))
    first, second = new_session(manager), new_session(manager)
    assert refused(lambda: new_session(manager)).slug == "too_many_sessions"
    third = new_session(manager, replaces=first["session"])
    assert refused(lambda: manager.observe({"session": first["session"]})).slug == "unknown_session"
    played(manager, second)
    fourth = new_session(manager)
    assert refused(lambda: manager.score({"session": second["session"]})).slug == "unknown_session"
    assert not manager.observe({"session": third["session"]})["done"]
    assert not manager.observe({"session": fourth["session"]})["done"]


def test_an_idle_session_is_closed() -> None:
    now = [0.0]
    manager = manager_of(bounds=Bounds(sessions=2, idle_seconds=60.0), clock=lambda: now[0])
    first, second = new_session(manager), new_session(manager)
    now[0] = 50.0
    manager.observe({"session": first["session"]})
    now[0] = 100.0
    assert not manager.observe({"session": first["session"]})["done"]
    assert refused(lambda: manager.observe({"session": second["session"]})).slug == "unknown_session"


@pytest.mark.parametrize(
    "given",
    [{"sessions": 0}, {"sessions": True}, {"idle_seconds": float("inf")}, {"run_bytes": 0}, {"answer_bytes": -1}],
)
def test_limits_must_be_numbers_above_0(given: dict[str, Any]) -> None:
    assert refused(lambda: Bounds(**given)).slug == "argument_invalid"


def test_synthetic_markets_without_a_seed_differ_and_their_records_replay_on_snapshots(tmp_path: Path) -> None:
    manager = manager_of(records=RecordFolder(tmp_path))
    given = {"scenario": "hard", "window": "+30:+40"}
    first, second = manager.reset(given), manager.reset(given)
    assert first["observation"]["symbols"] != second["observation"]["symbols"]
    played(manager, first)
    score = manager.score({"session": first["session"]})
    market = open_dataset(str(tmp_path / score["record"]["market"]))
    record = RunRecord.load(tmp_path / score["record"]["file"])
    assert replay(record, market).verified
    assert score["data"]["fingerprint"] == market.fingerprint == record.headers[0]["dataset.fingerprint"]


def test_a_synthetic_market_with_a_seed_is_reproducible() -> None:
    manager = manager_of()
    given = {"scenario": "crisis", "seed": 11, "window": "+30:+40"}
    assert manager.reset(given)["observation"] == manager.reset(given)["observation"]
    assert manager.reset(given)["observation"] != manager.reset(given | {"seed": 12})["observation"]


def test_a_masked_market_has_no_name_and_a_new_mask_in_each_session(tmp_path: Path) -> None:
    manager = SessionManager(bundled_markets("full"), records=RecordFolder(tmp_path))
    given = {"window": "+100:+110"}
    first, second = manager.reset(given), manager.reset(given)
    assert first["market"] == "market-1"
    assert refused(lambda: manager.reset({"dataset": "ecb-fx"})).slug == "unknown_dataset"
    assert first["observation"]["date"] >= "2100"
    assert first["observation"]["symbols"] != second["observation"]["symbols"]
    steps = played(manager, first)
    message = json.dumps([first, *steps, manager.score({"session": first["session"]})])
    assert "ecb-fx" not in message
    assert "USD" not in message
    kept = manager.score({"session": first["session"]})["record"]
    manager.close()
    assert replay(RunRecord.load(tmp_path / kept["file"]), open_dataset(str(tmp_path / kept["market"]))).verified


def test_market_names_must_be_distinct() -> None:
    assert refused(lambda: markets_of([DATA, DATA])).slug == "argument_invalid"
    assert refused(lambda: markets_of([])).slug == "argument_invalid"
    assert refused(lambda: markets_of([DATA], "little")).slug == "argument_invalid"
    assert [market.name for market in markets_of([DATA, DATA], "full")] == ["market-1", "market-2"]


@pytest.mark.parametrize("mask", ["calendar", "full"])
def test_masked_dates_hide_the_date_range(mask: str) -> None:
    assert DATA.dates[0] not in Market("market", DATA, mask).description
    assert DATA.dates[0] in Market("market", DATA, "names").description


@pytest.mark.parametrize("mask", [None, "levels", "calendar", "full"])
def test_a_window_of_masked_dates_must_consist_of_indices(mask: str | None) -> None:
    manager = SessionManager(markets_of([DATA], mask))
    assert manager.reset({"window": "+40:+50"})["n_decisions"] == 9
    window = f"{DATA.dates[40]}:{DATA.dates[50]}"
    if mask in (None, "levels"):
        assert manager.reset({"window": window})["n_decisions"] == 9
        return
    for asked in (window, f"{DATA.dates[40]}:", "2224-10-08:+50"):
        error = refused(lambda asked=asked: manager.reset({"window": asked}))  # type: ignore[misc]
        assert error.slug == "window_invalid"
        # Neither the dates of the market nor those of another mask.
        assert re.findall(r"\d{4}-\d\d", str(error)) == re.findall(r"\d{4}-\d\d", asked)
    assert "-" not in str(refused(lambda: manager.reset({"window": "+70:+99"}))).partition(": ")[2]
