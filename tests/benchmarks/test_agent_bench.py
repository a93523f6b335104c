"""`openoutcry bench --agents`: rows, units and goals."""

from __future__ import annotations

import json

import pytest

from openoutcry.benchmarks import agent_speed as bench
from openoutcry.cli import bench as command
from openoutcry.harness.sandbox import Tier, this_host

pytestmark = pytest.mark.once


def test_the_bench_has_its_rows_in_every_sandbox(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, size in (("N_DECISIONS", 100), ("N_STARTS", 1), ("N_MARKETS", 2), ("N_DAYS", 60), ("JOBS", 2)):
        monkeypatch.setattr(bench, name, size)
    command.bench(
        check=False, batch=False, scenarios=False, score=False, agents=True, reading=False, intraday=False, as_json=True
    )
    rows = {row["what"]: row for row in json.loads(capsys.readouterr().out)}
    sandboxes = ["no sandbox", *(tier.name for tier in Tier if Tier.T2 <= tier <= this_host().tier)]
    for sandbox in sandboxes:
        for kind in ("echo", "Python agent"):
            assert 0.0 < rows[f"round trip of {kind}, {sandbox}, p50"]["value"] < 1e6
            assert rows[f"first decision of {kind}, {sandbox}, p50"]["bound"] == bench.START
        echo = rows[f"round trip of echo, {sandbox}, p50"]
        assert echo["peer_is"] == "`cat` over blocking pipes"
        # Half of the round trips take at least the median, so the rate is at most twice its inverse.
        assert rows[f"decisions per second of echo, {sandbox}"]["value"] <= 2e6 / echo["value"]
    assert rows[f"busy cores, 2 parallel agents on 2 markets, {sandboxes[-1]}"]["value"] <= 100.0
    assert rows["round trip of Python agent, no sandbox, p50"]["goal"] == ""


def test_the_observation_has_the_documented_size() -> None:
    seen = json.loads(bench._observation())
    assert {len(each["close_history"]) for each in seen["symbols"]} == {20}
    assert 2_000 < len(bench._observation()) < 6_000
