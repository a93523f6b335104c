"""Tables of score pages and research pages as files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from candidate_sessions import MARKET, TUNE, market_file, searched
from command_line import typed
from report_pages import HOSTILE, make_score, make_view

from openoutcry.report.tables.file_tables import columns_of, write_tables
from openoutcry.report.tables.research_tables import research_tables
from openoutcry.report.tables.score_tables import score_tables
from openoutcry.report.views.table_view import Table
from openoutcry.research.session_report import view_of

SESSION = {f"research_{name}" for name in ("shortlist", "excluded", "nav", "trials", "gates", "folds", "maps")}


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def dicts(table: Table) -> list[dict[str, Any]]:
    return [dict(zip([column.name for column in table.columns], row, strict=True)) for row in table.rows]


def test_the_tables_of_a_score_page_hold_what_the_page_shows() -> None:
    view = make_view()
    tables = score_tables(view)
    assert all(name.startswith("scores_") for name in tables)
    ranking = dicts(tables["scores_ranking"])
    assert [(row["agent"], row["rank"]) for row in ranking] == [(row.name, row.rank) for row in view.rows]
    assert ranking[0]["dsr"] == view.rows[0].values["dsr"]
    assert ranking[0]["sharpe_over_cash"] == view.rows[0].sides[1].values["sharpe"]
    assert (ranking[3]["z"], ranking[3]["above_luck"]) == (None, None)
    assert ranking[3]["undefined"].startswith("z: returns do not vary; dsr: ")
    windows = dicts(tables["scores_windows"])
    assert len(windows) == sum(len(row.windows) for row in view.rows)
    assert windows[1]["z_over_cash"] == view.rows[0].windows[1].z["cash"]
    assert windows[0]["undefined"] == "z_over_buy-and-hold: returns do not vary"
    gates = dicts(tables["scores_gates"])
    assert len(gates) == sum(len(row.gates) + len(row.sealed) for row in view.rows)
    assert {row["result"] for row in gates} == {"passed", "failed", "unknown"}
    sides = dicts(tables["scores_sides"])
    assert (sides[0]["min_trl"], sides[0]["undefined"]) == (None, "min_trl: not above")
    tests = {(row["test"], row["benchmark"]): row for row in dicts(tables["scores_field_tests"])}
    assert tests["spa_consistent", "buy-and-hold"]["value"] == 0.4
    assert tests["spa_upper", "cash"]["undefined"] == "too few agents"
    assert tests["overfit", ""]["undefined"] == "too short"
    process = {(row["agent"], row["kind"], row["name"]): row["count"] for row in dicts(tables["scores_process"])}
    assert process["momentum", "decisions", ""] == 2976
    assert process["momentum", "infrastructure fault", "agent_unreachable"] == 1
    assert len(dicts(tables["scores_metrics"])) == len(dicts(tables["scores_diagnostics"])) == 4


def test_tables_of_a_board_without_null_agents_or_with_hostile_names_are_written(tmp_path: Path) -> None:
    tables = score_tables(make_view([make_score(HOSTILE, 1)], floor=None, tests=[]))
    for form in ("csv", "parquet"):
        if form == "parquet":
            pytest.importorskip("pyarrow")
        assert len(write_tables(tables, tmp_path / form, form)) == len(tables)
    assert rows_of(tmp_path / "csv" / "scores_ranking.csv")[0]["agent"] == HOSTILE
    assert rows_of(tmp_path / "csv" / "scores_null_agents.csv") == []
    assert columns_of(tables["scores_ranking"])["n_trials"].dtype == np.int64


def test_score_writes_the_tables_with_the_words_of_report(tmp_path: Path) -> None:
    days = np.random.default_rng(4).normal(3e-4, 0.01, (504, 3)).tolist()
    dates = np.arange("2020-01-01", "2021-05-19", dtype="datetime64[D]")[:504]
    lines = ["date,a,b,SPY", *(f"{date},{','.join(map(repr, row))}" for date, row in zip(dates, days, strict=True))]
    (tmp_path / "returns.csv").write_text("\n".join(lines))
    words = ["score", tmp_path / "returns.csv", "--csv", "returns", "--benchmark", "SPY", "--windows", "2"]
    done = typed(*words, "--tables", tmp_path / "tables", "--report", tmp_path / "board.html")
    assert done.returncode == 0, done.stderr
    found = sorted((tmp_path / "tables").iterdir())
    assert (
        f"tables: {len(found)} files in {tmp_path / 'tables'}".split()
        == done.stdout.split()[-len(["tables:", "1", "files", "in", "x"]) :]
    )
    ranking = rows_of(tmp_path / "tables" / "scores_ranking.csv")
    printed = json.loads(typed(*words, "--json", "--tables", tmp_path / "again").stdout)
    board = printed["board"]
    assert sorted(map(Path, printed["table_files"])) == [tmp_path / "again" / path.name for path in found]
    assert list(printed["tables"]) == [str(tmp_path / "returns.csv")]
    assert json.loads(typed(*words, "--json").stdout)["table_files"] == []
    assert [row["agent"] for row in ranking] == [score["agent_id"] for score in board["scores"]]
    assert [float(row["z"]) for row in ranking] == [score["z"] for score in board["scores"]]
    refused = typed(*words, "--format", "parquet")
    assert (refused.returncode, "`--format` must come with `--tables`" in refused.stderr) == (2, True)


def test_the_tables_of_a_research_page_are_those_of_its_session(tmp_path: Path) -> None:
    result, setup, _ = searched(tmp_path, TUNE)
    view = view_of(result, setup)
    tables = research_tables(view)
    assert set(tables) == SESSION
    assert [row["dsr"] for row in dicts(tables["research_shortlist"])] == [row.dsr for row in view.shortlist]
    assert [row["outcome"] for row in dicts(tables["research_trials"])] == [row.outcome for row in view.rounds]
    assert len(tables["research_gates"].rows) == sum(len(row.gates) for row in view.rounds) > 0
    nav = columns_of(tables["research_nav"])
    assert nav["nav_buy-and-hold"].tolist() == view.lines[0].values.tolist()
    assert len(tables["research_folds"].rows) == len(view.search.folds) == 2
    market = market_file(tmp_path / "market.csv")
    journal = tmp_path / "out" / "logs" / "research_journal.jsonl"
    words = ["research", "report", journal, "--data", market, "--out", tmp_path / "page.html"]
    done = typed(*words, "--tables", tmp_path / "tables")
    assert done.returncode == 0, done.stderr
    assert {path.stem for path in (tmp_path / "tables").iterdir()} == SESSION
    assert rows_of(tmp_path / "tables" / "research_shortlist.csv")[0]["strategy"] == "trend"
    assert len(MARKET.symbols) == 2


def test_research_run_writes_the_tables_of_its_page(tmp_path: Path) -> None:
    market = market_file(tmp_path / "market.csv")
    words = ["research", "run", "--provider", "random", "--data", market, "--no-ledger", "--max-trials", "1"]
    words += ["--folds", "2", "--holdout-bars", "0", "--out", tmp_path / "out"]
    refused = typed(*words, "--format", "parquet")
    assert (refused.returncode, (tmp_path / "out").exists()) == (2, False)
    done = typed(*words, "--tables", tmp_path / "tables", "--json")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert {Path(path).stem for path in printed["tables"]} == SESSION
    again = typed("research", "report", printed["journal"], "--out", tmp_path / "page.html", "--tables", tmp_path / "b")
    assert again.returncode == 0, again.stderr
    for path in printed["tables"]:
        assert Path(path).read_bytes() == (tmp_path / "b" / Path(path).name).read_bytes()
    assert f"tables: {len(SESSION)} files in {tmp_path / 'b'}" in again.stdout
