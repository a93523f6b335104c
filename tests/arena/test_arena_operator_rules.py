"""Scoring rules that an operator sets, and pairwise comparison of agents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import typed

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")

from arena_in_process import BASE, Floor, floor

from openoutcry import OpenOutcryError
from openoutcry.arena.demo_season import BASE_RATES
from openoutcry.arena.log.export_audit import audit
from openoutcry.arena.scoring import Parameters, compare, select
from openoutcry.arena.scoring.operator_rules import canonical_rate_table, with_fees
from openoutcry.arena.season_export import export, facts_of_export, score_faults
from openoutcry.arena.store.entry_writes import CloseDay
from openoutcry.arena.timestamps import DAY, HOUR, day_of, now

pytestmark = pytest.mark.once

MARKET = "kalshi:KXIRANSTRIKE-DEMO1"
ROW = {"theater": "iran", "rate": "0.3", "n": 40, "source": "a book, p. 7", "period": "1990-2020"}


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Floor]:
    """Open a season in which two agents decided on all markets, with mixed results."""
    with floor(tmp_path / "arena") as found:
        found.publish()
        names = found.markets()
        for slug, share in (("ada", 0.9), ("bob", 0.6)):
            found.register(slug)
            reply = [{"market_id": each, "yes_probability": share, "confidence": 0.9} for each in names]
            assert found.submit(slug, *reply).status_code == 200
        found.clock[0] += 200 * HOUR
        for place, name in enumerate(names):
            found.resolve(name, "yes" if place % 4 else "no")
        yield found


def said(tmp_path: Path, *words: object) -> list[str]:
    done = typed("arena", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def tick(ground: Floor) -> None:
    """Make the server reload what another process wrote, as it does every second."""
    ground.arena.writer.write(CloseDay(day_of(ground.clock[0] - DAY), ground.clock[0]))


def profile(ground: Floor, slug: str) -> dict[str, Any]:
    reply: dict[str, Any] = ground.client.get(f"{BASE}/agents/{slug}").json()
    return reply


def test_base_rates_are_recorded_in_the_log_and_recompute_all_scores(ground: Floor, tmp_path: Path) -> None:
    #
    """Steps 2 and 3: rates have source, n and period, and an export can be recomputed."""
    assert said(tmp_path, "rules")[-1] == "base rates: none"
    before = {each["theater"]: each for each in profile(ground, "ada")["per_theater"]}
    assert {each["reference_source"] for each in before.values()} == {"platform_global"}
    rows = [ROW, ROW | {"theater": "korea", "rate": "0.5", "n": 10}]
    (tmp_path / "rates.json").write_text(json.dumps(rows))
    reply = said(tmp_path, "rules", "--base-rates", "rates.json")
    assert "these rules apply to all decisions" in reply[0]
    assert reply[-2:] == ["  iran: 0.3 of 40, a book, p. 7, 1990-2020", "  korea: 0.5 of 10, a book, p. 7, 1990-2020"]
    tick(ground)
    after = {each["theater"]: each for each in profile(ground, "ada")["per_theater"]}
    assert (after["iran"]["reference_source"], after["iran"]["base_rate"]) == ("historical_theater", 0.3)
    assert after["iran"]["reference_citation"] == "a book, p. 7, 1990-2020"
    assert "a book, p. 7" in ground.client.get("/agents/ada").text
    assert any(line.startswith("ada: skill ") for line in reply)
    # 0.3 of 40 and 0.5 of 10, weighted by count.
    assert (after["ukraine"]["reference_source"], after["ukraine"]["base_rate"]) == ("historical_blend", 0.34)
    again = said(tmp_path, "rules", "--base-rates", "rates.json")
    assert again == reply[-len(again) :], "unchanged rules write no record"
    export(ground.arena, tmp_path / "season", now())
    assert audit(tmp_path / "season") == score_faults(tmp_path / "season") == []


def test_the_fee_model_is_chosen_and_named(ground: Floor, tmp_path: Path) -> None:
    #
    """`none` is selectable, and so are rate and rounding."""
    roi = [profile(ground, "ada")["roi"]]
    taker = ("--fee-model", "kalshi_taker", "--fee-rate", "0.2", "--fee-step", "0.0001")
    for words in (("--fee-model", "none"), taker):
        said(tmp_path, "rules", *words)
        tick(ground)
        assert ground.client.get(f"{BASE}/leaderboard").json()["fee_model"] == words[1]
        roi.append(profile(ground, "ada")["roi"])
    assert roi[2] < roi[0] < roi[1]
    export(ground.arena, tmp_path / "season", now())
    assert audit(tmp_path / "season") == score_faults(tmp_path / "season") == []


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("--fee-model", "flat"), "`fee_model` must be one of"),
        (("--fee-rate", "7"), "`fee_rate` from 0 to 1 and `fee_step` above 0 to 1, decimals"),
        (("--fee-step", "a cent"), "`fee_rate` from 0 to 1 and `fee_step` above 0 to 1, decimals"),
        (("--fee-step", "0"), "received '0.07' and '0'"),
        (("--fee-step", "nan"), "received '0.07' and 'nan'"),
        (("--base-rates", "missing.json"), "readable and writable files are required"),
    ],
)
def test_invalid_rules_are_refused_in_one_line(
    words: tuple[str, ...], wanted: str, ground: Floor, tmp_path: Path
) -> None:
    n_records = ground.arena.writer.log.end.seq
    done = typed("arena", "rules", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert wanted in done.stderr
    assert ground.client.get(f"{BASE}/leaderboard").status_code == 200
    assert ground.arena.writer.log.end.seq == n_records


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (b"\xff", "JSON"),
        (b"{}", "a list of rows; received dict"),
        (b"[" * 100_000, "JSON"),
        (b"[7]", "row 0 with the fields theater, rate, n, source, period and no other; received int"),
        (json.dumps([{"theater": "iran"}]), "and no other; received theater"),
        (json.dumps([ROW | {"rate": 0.3}]), "a string as `rate`; received 0.3"),
        (json.dumps([ROW | {"rate": "1.1"}]), "a decimal from 0 to 1 as `rate`"),
        (json.dumps([ROW | {"rate": "NaN"}]), "a decimal from 0 to 1 as `rate`"),
        (json.dumps([ROW | {"n": True}]), "an integer as `n`; received True"),
        (json.dumps([ROW | {"n": -1}]), "`n` from 0 to 1,000,000,000; received -1"),
        (json.dumps([ROW | {"source": " "}]), "with a `source` and `period`"),
        (json.dumps([ROW | {"source": "a\u202eb"}]), "with a `source` and `period`"),
        (json.dumps([ROW | {"theater": "mars"}]), "with one of the theaters iran, "),
        (json.dumps([ROW, ROW]), "one row per theater; received several for iran"),
        (json.dumps([ROW]).replace("40", "9" * 5_000), "valid JSON without duplicate keys"),
        (json.dumps([ROW]).replace('"n": 40', '"n": 40, "n": 41'), "duplicate key 'n'"),
        *(
            (json.dumps([ROW | {"rate": each}]), "a decimal from 0 to 1 as `rate`")
            for each in (".5", "+0.07", " 0.07", "00.07", "1.", "1e0", "-0", "0_1", "\uff10.\uff17", "0.1234567", "")
        ),
    ],
)
def test_an_invalid_table_of_base_rates_is_refused(content: str | bytes, wanted: str) -> None:
    with pytest.raises(OpenOutcryError, match="a base-rate table needs") as refused:
        canonical_rate_table(content if isinstance(content, bytes) else content.encode())
    assert wanted in str(refused.value)


def test_a_table_has_the_same_bytes_in_any_order() -> None:
    rows = [ROW, ROW | {"theater": "korea"}]
    assert canonical_rate_table(json.dumps(rows).encode()) == canonical_rate_table(
        json.dumps(rows[::-1], indent=2).encode()
    )
    assert canonical_rate_table(b"[]") == b"[]"
    assert with_fees(Parameters(), {"fee_model": None}) == Parameters()
    assert json.loads(canonical_rate_table(json.dumps([ROW | {"rate": "0.300", "n": 0}]).encode()))[0]["rate"] == "0.3"
    assert with_fees(Parameters(), {"fee_rate": "0.100", "fee_step": "1.0"}) == replace(
        Parameters(), fee_rate="0.1", fee_step="1"
    )
    assert with_fees(Parameters(), {"fee_rate": "0.1"}) == replace(Parameters(), fee_rate="0.1")


def test_the_base_rates_of_the_demo_are_labelled_synthetic() -> None:
    #
    """A synthetic rate must not be mistaken for a real one."""
    assert {each["theater"] for each in json.loads(canonical_rate_table(json.dumps(BASE_RATES).encode()))} == {
        "iran", "israel", "ukraine", "taiwan", "korea", "yemen",
    }  # fmt: skip
    assert all("synthetic" in str(each["source"]) for each in BASE_RATES)


def test_two_agents_of_an_export_are_compared(ground: Floor, tmp_path: Path) -> None:
    #
    """The comparison uses common markets and is undecided with too few."""
    export(ground.arena, tmp_path / "season", ground.clock[0])
    facts = facts_of_export(tmp_path / "season")
    assert said(tmp_path, "compare", "season", "ada", "bob") == [
        "common markets: 8",
        "undecided: at least 10 common markets are required",
    ]
    few = replace(facts, parameters=replace(facts.parameters, min_markets=8))
    found = compare(select(few), "ada", "bob")
    # Six markets are YES and two NO: 0.9 loses 0.01 and 0.81, 0.6 loses 0.16 and 0.36.
    assert found.difference == pytest.approx((6 * (0.01 - 0.16) + 2 * (0.81 - 0.36)) / 8)
    for words in (("ada", "eve"), ("ada", "Ada")):
        done = typed("arena", "compare", "season", *words, cwd=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    path = tmp_path / "season" / "scores.json"
    scores = json.loads(path.read_text())
    for lie in ({**scores, "at_us": 0}, {}, {**scores, "at_us": "x"}, {**scores, "at_us": facts.at_us - 250 * HOUR}):
        path.write_text(json.dumps(lie))
        done = typed("arena", "compare", "season", "ada", "bob", cwd=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    path.write_text(json.dumps(scores))
    (tmp_path / "season" / "checkpoint").write_text("none")
    done = typed("arena", "compare", "season", "ada", "bob", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "an export without faults is required" in done.stderr
