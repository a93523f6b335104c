"""`openoutcry bench --agents`: what is measured is what it says."""

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
    for name, size in (("N_ANSWERS", 100), ("N_BEGINS", 1), ("N_MARKETS", 2), ("N_DAYS", 60), ("JOBS", 2)):
        monkeypatch.setattr(bench, name, size)
    command.bench(check=False, batch=False, scenarios=False, score=False, agents=True, as_json=True)
    rows = {row["what"]: row for row in json.loads(capsys.readouterr().out)}
    sandboxes = ["bare", *(tier.name for tier in Tier if Tier.T2 <= tier <= this_host().tier)]
    for sandbox in sandboxes:
        for kind in ("echo", "Python agent"):
            assert 0.0 < rows[f"round trip of {kind}, {sandbox}, p50"]["value"] < 1e6
            assert rows[f"first answer of {kind}, {sandbox}, p50"]["bound"] == bench.BEGINNING
        echo = rows[f"round trip of echo, {sandbox}, p50"]
        assert echo["peer_is"] == "`cat` over blocking pipes"
        # Half of all round trips take at least the median, so that no more fit into a second than twice its inverse.
        assert rows[f"decisions a second of echo, {sandbox}"]["value"] <= 2e6 / echo["value"]
    assert rows[f"busy cores, 2 agents at a time on 2 markets, {sandboxes[-1]}"]["value"] <= 100.0
    assert rows["round trip of Python agent, bare, p50"]["goal"] == ""


def test_the_observation_is_of_the_size_that_the_page_says() -> None:
    seen = json.loads(bench._observation())
    assert {len(each["close_history"]) for each in seen["symbols"]} == {20}
    assert 2_000 < len(bench._observation()) < 6_000
