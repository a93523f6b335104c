"""Scores of an export, recomputed by the standalone file and by the package."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")

from arena_exports import export as export_of
from arena_exports import write
from arena_in_process import BASE, Floor, floor
from arena_seasons import season

from openoutcry.arena import rescoring, scoring, verifier
from openoutcry.arena.scoring import Parameters
from openoutcry.arena.season_export import export, score_faults
from openoutcry.arena.timestamps import DAY, HOUR

pytestmark = pytest.mark.once


def leaves(value: Any, path: str = "scores") -> Iterator[tuple[str, Any, Any]]:
    """Yield the path of each number, its container, and its key."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for name, each in pairs:
        here = f"{path}.{name}" if isinstance(value, dict) else f"{path}[{name}]"
        if isinstance(each, (dict, list)):
            yield from leaves(each, here)
        elif isinstance(each, (int, float)):
            yield here, value, name


def test_every_changed_number_is_named(tmp_path: Path) -> None:
    """The package finds all; the standalone file finds those without resampling, regression or logarithm."""
    inputs = season(7, n_agents=5, n_markets=16, window=None, parameters=Parameters(min_markets=2))
    scores = json.loads(json.dumps(scoring.score(inputs).to_json()))
    folder = write(tmp_path, export_of(inputs), scores)
    assert score_faults(folder) == rescoring.faults(folder) == []
    again = rescoring.Board(rescoring.Season(folder, inputs.at_us, None), None).to_json()
    board = json.loads(json.dumps(scores))
    paths = []
    for path, container, name in list(leaves(scores)):
        container[name] = not container[name] if isinstance(container[name], bool) else container[name] + 1
        paths.append(path)
    by_package, alone = (
        [each.split(" must be ")[0] for each in rescoring.differences("scores", made, scores)]
        for made in (board, again)
    )
    assert sorted(by_package) == sorted(paths)
    parts = {path: path.replace("[", ".").split(".") for path in paths}
    assert sorted(alone) == sorted(path for path in paths if rescoring.NOT_RECOMPUTED.isdisjoint(parts[path]))
    assert 100 < len(alone) < len(paths)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda scores: scores.pop("rows"), "scores.rows must be"),
        (lambda scores: scores["rows"].pop(), "scores.rows must be"),
        (lambda scores: scores["rows"].reverse(), "scores.rows[0].n_scored must be"),
        (lambda scores: scores["rows"][0].update(bonus=1), "scores.rows[0].bonus must be absent"),
        (lambda scores: scores["rows"][0].pop("p_best"), None),
        (lambda scores: scores["rows"][0].update(rank=1.0), "scores.rows[0].rank must be 1; received 1.0"),
        (lambda scores: scores.update(at_us=scores["at_us"] - DAY), "scores after record"),
        (lambda scores: scores.update(at_us="now"), "a complete export is required; received another"),
        (lambda scores: scores.clear(), "a complete export is required; received one without 'at_us'"),
    ],
)
def test_malformed_scores_are_a_fault(change: Any, expected: str | None, tmp_path: Path) -> None:
    inputs = season(7, window=None, parameters=Parameters(min_markets=2))
    scores = json.loads(json.dumps(scoring.score(inputs).to_json()))
    change(scores)
    folder = write(tmp_path, export_of(inputs), scores)
    found = rescoring.faults(folder)
    assert score_faults(folder), "the package also finds it"
    assert (found == []) if expected is None else (expected in found[0]), found


@pytest.mark.parametrize(
    ("file", "kind", "change"),
    [
        ("log.jsonl", "scoring", lambda record: record.pop("base_rates_sha256")),
        ("log.jsonl", "resolution", lambda record: record.pop("seq")),
        ("log.jsonl", "submission", lambda record: record.update(seq=10**30)),
        ("reveals.jsonl", None, lambda reveal: reveal.update(submission_id=[])),
        ("reveals.jsonl", None, lambda reveal: reveal.pop("submission_id")),
    ],
)
def test_a_record_with_missing_fields_is_a_fault_without_traceback(
    file: str, kind: str | None, change: Any, tmp_path: Path
) -> None:
    inputs = season(7, window=None, parameters=Parameters(min_markets=2))
    scores = json.loads(json.dumps(scoring.score(inputs).to_json()))
    folder = write(tmp_path, export_of(inputs), scores)
    lines = [json.loads(line) for line in (folder / file).read_bytes().splitlines()]
    change(next(each for each in lines if each.get("type") == kind))
    (folder / file).write_text("".join(json.dumps(each) + "\n" for each in lines))
    (line,) = score_faults(folder)
    assert line.startswith("a complete export is required; received "), line


@pytest.fixture
def served_season(tmp_path: Path) -> Iterator[Floor]:
    """Serve a season with two agents, settled markets and open markets."""
    with floor(tmp_path / "arena") as found:
        found.publish()
        ids = found.markets()
        for slug, share in (("ada", 0.1), ("bob", 0.8)):
            found.register(slug)
            decisions = [{"market_id": each, "yes_probability": share, "confidence": 0.9} for each in ids]
            assert found.submit(slug, *decisions).status_code == 200
        found.clock[0] += 40 * HOUR
        for market_id, outcome in zip(found.markets("closed"), ("no", "yes", "no", "yes"), strict=False):
            found.resolve(market_id, outcome)
        yield found


def command(*words: object) -> tuple[int, str]:
    line = [sys.executable, "-I", "-S", *map(str, words)]
    ran = subprocess.run(line, capture_output=True, text=True, encoding="utf-8")
    return ran.returncode, ran.stdout + ran.stderr


def test_two_standalone_files_recompute_the_servers_leaderboard(served_season: Floor, tmp_path: Path) -> None:
    #
    """An auditor with an export and the two files, without the package, computes the server's leaderboard."""
    folder, alone = tmp_path / "season", tmp_path / "alone"
    export(served_season.arena, folder, served_season.clock[0])
    alone.mkdir()
    verify = shutil.copy(verifier.__file__, alone)
    assert command(verify, "export", folder, "--recompute-scores")[1].count("rescoring.py") == 1, (
        "it names the missing file"
    )
    again = shutil.copy(rescoring.__file__, alone)
    assert command(verify, "export", folder, "--recompute-scores") == (0, "ok\n")
    assert command(again, folder) == (0, "ok\n")
    assert score_faults(folder) == []
    scores = json.loads((folder / "scores.json").read_bytes())
    made = rescoring.Board(rescoring.Season(folder, scores["at_us"], None), None).to_json()["rows"]
    served = served_season.client.get(f"{BASE}/leaderboard").json()["rows"]
    assert [row["slug"] for row in served] == ["bob", "ada"]
    for row, served_row in zip(made, served, strict=True):
        assert {name: served_row[name] for name in row if name != "per_theater"} == {
            name: each for name, each in row.items() if name != "per_theater"
        }
        assert row["n_scored"] == 4
    scores["rows"][0]["brier"] += 1e-15
    (folder / "scores.json").write_text(json.dumps(scores), encoding="utf-8")
    code, text = command(verify, "export", folder, "--recompute-scores", "--all")
    assert (code, text.count("\n"), text.split(" must be ")[0]) == (1, 1, "scores.json: scores.rows[0].brier")
    assert command(verify, "export", folder) == (0, "ok\n"), "the scores are not signed"


def test_a_withheld_decision_is_found(served_season: Floor, tmp_path: Path) -> None:
    #
    """After the cutoff no decision may stay secret, or the operator could select decisions."""
    folder = tmp_path / "season"
    export(served_season.arena, folder, served_season.clock[0])
    lines = [json.loads(line) for line in (folder / "reveals.jsonl").read_bytes().splitlines()]
    assert [len(line["opened"]) for line in lines] == [5, 5]
    # Three markets are open, so at most three decisions may be secret.
    lines[0]["opened"].pop()
    content = "".join(f"{json.dumps(line, sort_keys=True, separators=(',', ':'))}\n" for line in lines)
    (folder / "reveals.jsonl").write_text(content, encoding="utf-8")
    export_faults = verifier.Export(folder)
    export_faults.check(None, [])
    assert export_faults.faults == []
    assert "at most one secret decision per open market, 3 in all" in rescoring.faults(folder)[0]


def test_a_season_without_results_has_valid_scores(tmp_path: Path) -> None:
    with floor(tmp_path / "arena") as served_season:
        for round_ in range(2):
            folder = tmp_path / f"season-{round_}"
            export(served_season.arena, folder, served_season.clock[0])
            assert score_faults(folder) == rescoring.faults(folder) == []
            served_season.publish()
            served_season.register(f"ada-{round_}")
