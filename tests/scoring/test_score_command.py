"""`openoutcry score`: records with a suite, records alone, and CSV files of returns."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import typed

import openoutcry as oo
from openoutcry.cli.returns_csv import SideColumns, read_series
from openoutcry.scoring.scorer import score, submit
from openoutcry.scoring.suite import Suite
from openoutcry.scoring.suite_evaluation import Evaluation, suite_of

pytestmark = pytest.mark.once

SUITE: dict[str, Any] = {
    "suite_version": "1.0",
    "name": "small",
    "edition": "1",
    "markets": [
        {
            "name": "ecb-fx",
            "fingerprint": oo.data.load("ecb-fx").fingerprint,
            "windows": [["2015-01-01", "2016-01-01"], ["2016-01-01", "2017-01-01"]],
        },
        {"name": "hidden", "scenario": "fx", "windows": [[20, 300]]},
    ],
    "seeds": [1, 2],
    "costs": {"slippage_jitter": 0.5},
    "draws": {"replicates": 200},
    "luck_floor": {"agents": 30},
}


def call(*words: str | Path, code: int = 0) -> str:
    done = typed(*words)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr if code == 2 else done.stdout


@cache
def season() -> tuple[Evaluation, dict[str, str]]:
    suite, keys = Suite.from_json(json.dumps(SUITE)).seal()
    return Evaluation(suite, keys), keys


def files_of(folder: Path) -> tuple[Path, Path]:
    evaluation, keys = season()
    sealed, secret = folder / "season.json", folder / "season.keys"
    sealed.write_text(evaluation.suite.to_json(), encoding="utf-8")
    secret.write_text(json.dumps({"suite": evaluation.suite.digest, "keys": keys}), encoding="utf-8")
    return sealed, secret


# Records


def test_a_board_of_records_uses_the_suite_and_reports_its_digest(tmp_path: Path) -> None:
    evaluation, _ = season()
    sealed, secret = files_of(tmp_path)
    paths = []
    for name in ("momentum", "inverse-volatility"):
        paths.append(tmp_path / f"{name}.json.zst")
        evaluation.run(name).save(paths[-1])
    command = ("score", *paths, "--suite", sealed, "--keys", secret)
    printed = json.loads(call(*command, "--json"))
    assert printed["suite"] == {"name": "small", "edition": "1", "digest": evaluation.suite.digest}
    records = [oo.RunRecord.load(path) for path in paths]
    board = score(records, suite=evaluation, luck_floor=evaluation.luck_floor())
    assert printed["board"] == json.loads(board.text)
    assert {(each.n_windows, each.n_seeds) for each in board.scores} == {(3, 2)}
    # One sealed window is insufficient.
    assert {each.gate("sealed").reason for each in board.scores} == {"insufficient"}
    assert printed["board"]["luck_floor"]["n_agents"] == 30
    shown = call(*command)
    for wanted in ("momentum", "insufficient", evaluation.suite.digest, "30 random agents", board.sentence[:30]):
        assert wanted in shown.replace("\n", ""), wanted
    assert "`keys` must have the key of `hidden`" in call("score", *paths, "--suite", sealed, code=2)


def test_a_record_that_does_not_match_the_suite_is_refused() -> None:
    evaluation, _ = season()
    markets = evaluation.markets()
    cheap = oo.run_backtest(
        markets[0], "momentum", (4097, 4352), oo.CostModel(fee_bps=0), seed=1, capture=True, name="cheap"
    )
    with pytest.raises(oo.OpenOutcryError, match=r"fee_bps 0 in run 0 where the replay has 1") as caught:
        score(cheap.record, suite=evaluation)
    assert caught.value.slug == "record_differs"
    far = oo.run_backtest(markets[0], "momentum", (4097, 4352), *evaluation.rules(), 1, lookback=40, capture=True)
    with pytest.raises(
        oo.OpenOutcryError,
        match=r"lookback of the suite, 20, is required; received lookback 40 in run 0; hint: .*`openoutcry suite run`",
    ):
        score(far.record, suite=evaluation)
    first = evaluation.windows[0]
    costs, limits = evaluation.rules()
    few = oo.run_backtest(first.dataset, "momentum", (first.start, first.end), costs, limits, 1, capture=True).record
    board = score([evaluation.run("momentum"), oo.RunRecord.join("part", [few])], suite=evaluation)
    assert "windows_missing" in board["part"].reasons
    assert board["part"].rank is None


def test_a_suite_is_inferred_from_records(tmp_path: Path) -> None:
    records = []
    for name in ("momentum", "equal-weight"):
        runs = [
            oo.run_backtest(oo.data.load("ecb-fx"), name, window, seed=5, capture=True).record
            for window in ((3000, 3300), (3299, 3600))
        ]
        records.append(oo.RunRecord.join(name, runs))
        records[-1].save(tmp_path / f"{name}.jsonl")
    implied = suite_of(records)
    assert (implied.seeds, implied.lookback, implied.costs) == ((5,), 20, oo.CostModel())
    assert [(each.start, each.end) for each in implied.markets[0].windows] == [(3000, 3300), (3299, 3600)]
    assert suite_of(records[:1]).digest == implied.digest
    paths = sorted(tmp_path.iterdir())
    printed = json.loads(call("score", *paths, "--json"))
    assert printed["suite"]["digest"] == implied.digest
    assert len(printed["board"]["scores"]) == 2
    assert all("no_suite" in each["reasons"] for each in printed["board"]["scores"])
    assert "no suite: the agents chose windows, costs and limits" in call("score", *paths).replace("\n", " ")
    other = oo.run_backtest(oo.data.load("ecb-fx"), "momentum", (3000, 3300), oo.CostModel(fee_bps=2), capture=True)
    with pytest.raises(
        oo.OpenOutcryError, match=r"with `costs.fee_bps` 1; received 2; hint: .*`openoutcry run --fee-bps 1`"
    ):
        suite_of([*records, other.record])
    long = oo.Limits(allow_short=False)
    fixed = oo.run_backtest(oo.data.load("ecb-fx"), "momentum", (3000, 3300), limits=long, capture=True)
    with pytest.raises(oo.OpenOutcryError, match=r"`limits.allow_short` false; .* --long-only`"):
        suite_of([fixed.record, *records])
    free = oo.run_backtest(oo.data.load("ecb-fx"), "momentum", (3000, 3300), None, oo.Limits.off(), capture=True)
    assert suite_of([free.record]).limits == oo.Limits.off()


def test_records_of_unequal_lookbacks_are_refused_with_the_command_that_mends_them(tmp_path: Path) -> None:
    """A strategy gets the closes that it needs, so its records and those of a baseline differ without any option."""
    paths, window = [tmp_path / "momentum.json", tmp_path / "trend.json"], ("--window", "2015-01-01:2017-01-01")
    for path, agent in zip(paths, ("momentum", "trend:fast=5,slow=65"), strict=True):
        call("run", "--data", "ecb-fx", "--agent", agent, *window, "--record", path)
    for order in (paths, paths[::-1]):
        refused = " ".join(call("score", *order, code=2).split())
        assert "records must share costs, limits and lookback, with `lookback` " in refused
        hint = refused.partition("hint: ")[2]
        assert hint == "record each with the same, such as `openoutcry run --lookback 65` or `lookback=65` in Python"
    fx = oo.data.load("ecb-fx")
    in_python = oo.run_backtest(fx, "momentum", "2015-01-01:2017-01-01", capture=True, lookback=65)
    assert suite_of([in_python.record, oo.RunRecord.load(paths[1])]).lookback == 65
    call("run", "--data", "ecb-fx", "--agent", "momentum", *window, "--record", paths[0], "--force", "--lookback", "65")
    assert oo.RunRecord.load(paths[0]).digest == in_python.record.digest
    assert len(json.loads(call("score", *paths, "--json"))["board"]["scores"]) == 2


def test_a_lookback_below_that_of_the_strategy_is_refused() -> None:
    refused = call("run", "--agent", "trend:fast=5,slow=65", "--lookback", "64", code=2)
    wanted = "`--lookback` must be at least 65, the closes that trend:fast=5,slow=65,side=long needs; received 64"
    assert wanted in " ".join(refused.split())


def test_untrusted_names_cannot_control_the_terminal(tmp_path: Path) -> None:
    names = ("[/]", "honest[i]", "evil\n\n 1  evil  eligible", "\x1b[2Jgone", "x" * 200)
    paths = []
    for place, name in enumerate(names):
        run = oo.run_backtest(oo.data.load("ecb-fx"), "momentum", (3000, 3100), seed=place, capture=True)
        paths.append(tmp_path / f"{place}.json")
        oo.RunRecord.join(name, [run.record]).save(paths[-1])
    shown = [call("score", path) for path in paths]
    for text, wanted in zip(shown, ("[/]", "honest[i]", "evil\\n\\n 1  evil", "\\x1b[2Jgone", "xxx…"), strict=True):
        assert wanted in text
        assert "\x1b" not in text
        assert max(map(len, text.splitlines())) < 200
        assert "no suite: the agents chose windows, costs and limits" in text


def test_an_error_names_the_file_and_the_agent(tmp_path: Path) -> None:
    run = oo.run_backtest(oo.data.load("ecb-fx"), "momentum", (3000, 3100), capture=True, name="good")
    good, edited, truncated = (tmp_path / f"{name}.json" for name in ("good", "edited", "torn"))
    run.record.save(good)
    step = json.loads(run.record.to_json())["runs"][0]["steps"][9]
    text = run.record.to_json().replace('"agent_id":"good"', '"agent_id":"bad"')
    edited.write_text(text.replace(f'"nav":{step["nav"]},', '"nav":1.5,', 1), encoding="utf-8")
    truncated.write_text(run.record.to_json()[:-40], encoding="utf-8")
    assert "in the record of 'bad'" in call("score", good, edited, code=2)
    assert f"in the file '{truncated}'" in call("score", good, truncated, code=2)


# Null agents


def test_null_agents_are_deterministic_and_use_the_suite_costs() -> None:
    evaluation, _ = season()
    floor, again = evaluation.luck_floor(), evaluation.luck_floor()
    assert [each.agent_id for each in floor] == [f"luck-{k:03}" for k in range(30)]
    names = [run[:3] for run in floor[0].runs]
    assert names == [(at.dataset.fingerprint, at.start, at.end) for at in evaluation.windows]
    mine = submit(evaluation.run("momentum"), evaluation.markets(), *evaluation.rules())
    boards = [score([mine], suite=evaluation, luck_floor=each) for each in (floor, again)]
    assert boards[0].text == boards[1].text
    lucky = boards[0].luck_floor
    assert lucky is not None
    assert (lucky["n_agents"], lucky["n_defined"]) == (30, 30)
    # They differ from each other, and none holds only cash.
    assert lucky["sharpe"]["min"] < lucky["sharpe"]["p50"] < lucky["sharpe"]["max"]
    held = score([mine], suite=evaluation)
    assert held["momentum"].z == boards[0]["momentum"].z, "who shows luck changes nothing of a verdict"


def test_a_suite_without_null_agents_has_boards(tmp_path: Path) -> None:
    source, record = tmp_path / "none.json", tmp_path / "m.json"
    public = {"markets": SUITE["markets"][:1], "luck_floor": {"agents": 0}}
    source.write_text(json.dumps(SUITE | public), encoding="utf-8")
    evaluation = Evaluation(Suite.load(source))
    evaluation.run("momentum").save(record)
    for option in ("--json", "--report"):
        given = [option] if option == "--json" else [option, tmp_path / "b.html"]
        printed = call("score", record, "--suite", source, *given)
        if option == "--json":
            assert json.loads(printed)["board"]["luck_floor"] is None
    empty: tuple[Any, ...] = ([], (), {}, None)
    assert len({score(oo.RunRecord.load(record), suite=evaluation, luck_floor=each).text for each in empty}) == 1


def test_an_agent_may_have_the_name_of_a_null_agent(tmp_path: Path) -> None:
    evaluation, _ = season()
    sealed, secret = files_of(tmp_path)
    paths = [tmp_path / f"{k}.json" for k in range(3)]
    for path, agent, name in zip(
        paths, ("momentum", "inverse-volatility", "random"), ("mine", "luck-000", "luck.2-007"), strict=True
    ):
        evaluation.run(agent, name).save(path)
    board = json.loads(call("score", *paths, "--suite", sealed, "--keys", secret, "--json"))["board"]
    assert {each["agent_id"] for each in board["luck_floor"]["each"]} == {f"luck.3-{k:03}" for k in range(30)}
    assert {each["agent_id"] for each in board["scores"]} == {"mine", "luck-000", "luck.2-007"}
    # Names do not affect the null agents.
    plain = score(oo.RunRecord.load(paths[0]), suite=evaluation, luck_floor=evaluation.luck_floor())
    other = score(oo.RunRecord.load(paths[0]), suite=evaluation, luck_floor=evaluation.luck_floor(["luck-029"]))
    assert plain.luck_floor is not None
    assert other.luck_floor is not None
    assert plain.luck_floor["sharpe"] == other.luck_floor["sharpe"]


# Returns


def write(path: Path, table: dict[str, Any], dates: bool = True) -> Path:
    columns = list(table.values())
    lines = [",".join((["date"] if dates else []) + list(table))]
    for place, row in enumerate(zip(*columns, strict=True)):
        day = [str(np.datetime64("2020-01-01") + place)] if dates else []
        lines.append(",".join([*day, *map(str, row)]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def returns(n_days: int = 600) -> dict[str, Any]:
    draws = np.random.default_rng(5).normal(0.0004, 0.01, (3, n_days))
    return {"market": draws[0].tolist(), "a": draws[1].tolist(), "b": (draws[0] * 0.5 + draws[2]).tolist()}


def test_csv_returns_are_tested_and_never_eligible(tmp_path: Path) -> None:
    path = write(tmp_path / "returns.csv", returns())
    printed = json.loads(call("score", path, "--benchmark", "market", "--windows", "4", "--json"))
    assert printed["suite"] is None
    days = [str(np.datetime64("2020-01-01") + day) for day in range(600)]
    agents = {name: returns()[name] for name in ("a", "b")}
    board = score(agents, windows=[150] * 4, benchmark=returns()["market"], dates=days)
    assert [board["a"].windows[0][edge] for edge in ("first", "last")] == ["2020-01-01", "2020-05-29"]
    assert printed["board"] == json.loads(board.text)
    assert {each.verdict for each in board.scores} <= {"unknown", "not_eligible"}
    assert "no null agents: a CSV file of returns does not name its market" in call(
        "score", path, "--benchmark", "market"
    )


def test_csv_returns_without_dates_need_stated_bars_per_year(tmp_path: Path) -> None:
    path = write(tmp_path / "returns.csv", returns(), dates=False)
    refusal = call("score", path, "--benchmark", "market", code=2)
    assert "`periods_per_year` is required if the dates do not show it; received returns without dates" in refusal
    printed = call("score", path, "--benchmark", "market", "--periods-per-year", "12")
    assert "12 returns per year, as stated" in printed


def test_equity_and_returns_give_the_same_board(tmp_path: Path) -> None:
    table = returns(60)
    equity = {name: np.cumprod([1.0, *(1.0 + np.array(values))]).tolist() for name, values in table.items()}
    read = read_series([write(tmp_path / "equity.csv", equity)], None, SideColumns("market"), 3)
    direct = read_series([write(tmp_path / "returns.csv", table, dates=False)], None, SideColumns("market"), 3)
    assert list(read["agents"]) == list(direct["agents"]) == ["a", "b"]
    for name in ("a", "b"):
        np.testing.assert_allclose(read["agents"][name], direct["agents"][name], rtol=0, atol=1e-15)
    np.testing.assert_array_equal(direct["benchmark"], table["market"])
    assert (read["cash"], read["windows"]) == (None, [20, 20, 20])
    assert (read["dates"][0], len(read["dates"]), direct["dates"]) == ("2020-01-02", 60, ())


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ("", "a header and at least two rows are required; received 0 lines"),
        ("date,a\n2020-01-01,0.1\n2020-01-02\n", "line 3 must have 2 fields; received 1"),
        ("date,a\n2020-01-01,-0.1\n2020-01-02,nan\n", "line 3, column a must be a finite number; received 'nan'"),
        ("date,a,a\n2020-01-01,-0.1,0\n2020-01-02,0,0\n", "must have unique names"),
        ("date\n2020-01-01\n2020-01-02\n", "a column of numbers is required; received date"),
        (
            "a\n0.1\n0.2\n",
            "`--csv` is required for .*: `equity`, `returns` or `percent`; received values from 0.1 to 0.2",
        ),
        ("a\n1\n-2\n", "`--csv` is required for"),
        ("2020-01-01,-0.1\n2020-01-02,0.1\n2020-01-03,0\n", "the first line must name the columns"),
        ("-0.1,0.2\n0.1,0\n0,0.1\n", "must name the columns; received '-0.1,0.2'; hint: begin the file"),
        ("Date,Open,Close,Volume\n2020-01-01,1,1,5\n2020-01-02,1,1,6\n", "received Open, Close, Volume of one bar"),
        ("date,a,high,low\n2020-01-01,1,1,5\n2020-01-02,1,1,6\n", "received high, low of one bar"),
        ("date,equity,cash\n2020-01-01,2,1\n2020-01-02,2,1\n", "received equity, cash of one account; hint: keep"),
        ("market\n-0.1\n0.1\n", "must have at least one column of an agent; received market"),
    ],
)
def test_an_invalid_csv_file_is_refused(tmp_path: Path, content: str, wanted: str) -> None:
    path = tmp_path / "tracks.csv"
    path.write_text(content, encoding="utf-8")
    side = "market" if content.startswith("market") else None
    with pytest.raises(oo.OpenOutcryError, match=wanted):
        read_series([path], None, SideColumns(side), 1)


def test_invalid_options_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "returns.csv", returns(20))
    for words, wanted in (
        ((), "at least one record or CSV file is required"),
        ((path, path), "received a second column `market`"),
        ((path, "--suite", "default"), "`--suite` must be left out for CSV files"),
        ((path, "--benchmark", "x"), "`--benchmark` must be one of market, a, b; received 'x'"),
        ((path, "--cash", "a", "--passive", "a"), "`--passive` must be a column that no other side has; received 'a'"),
        ((path, "--passive", "a", "--passive", "a"), "received 'a', which `--passive` has too"),
        ((path, "--csv", "x"), "`--csv` must be equity, returns or percent"),
        ((path, "--csv", "equity"), "equity must be above 0"),
        ((path, "--windows", "99"), "`--windows` must be at most the 20 returns"),
        ((tmp_path / "x.md",), "a file must be a record"),
        ((tmp_path / "x.json",), "`record` must be a readable file"),
    ):
        assert wanted in call("score", *words, code=2), words


def test_columns_of_returns_are_refused_for_records(tmp_path: Path) -> None:
    market = oo.Dataset.synthetic(2, 60, 1)
    oo.run_backtest(market, "equal-weight", capture=True).record.save(tmp_path / "own.json")
    done = typed("score", tmp_path / "own.json", "--passive", "a")
    assert done.returncode == 2
    assert "`--passive` must be used with files of returns; received records" in done.stderr
