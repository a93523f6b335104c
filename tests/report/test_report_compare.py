"""`openoutcry report compare`: records, ledger runs and candidates as runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import typed
from research_markets import trending

import openoutcry as oo
from openoutcry.ledger import Ledger, run_of
from openoutcry.ledger.run_tracks import track_of
from openoutcry.research.acceptance_gates import Thresholds
from openoutcry.research.candidate_tracks import read_candidate, track_of_candidate
from openoutcry.research.ledger_trials import run_id_of
from openoutcry.research.proposers import RandomProposer
from openoutcry.research.session_config import Budgets, ResearchConfig
from openoutcry.research.session_files import write_session_files
from openoutcry.research.session_manager import Workspace, recorded_setup, research
from openoutcry.research.session_records import session_of
from openoutcry.research.trial import Result
from openoutcry.scenarios.scenario import Scenario
from openoutcry.scoring.return_tracks import Track

WINDOW = ("2019-01-02", "2021-01-04")
MARKET = trending(0, 1200, 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("compare")
    data = oo.data.load("ecb-fx")
    for name in ("momentum", "equal-weight"):
        run = oo.run_backtest(data, name, WINDOW, capture=True)
        run.record.save(made / f"{name}.json")
    with Ledger(made / "ledger") as ledger:
        ledger.add([run_of(run, "equal-weight")])
    (made / "run_id").write_text(ledger.list()[0].summary.id)
    return made


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    made = tmp_path_factory.mktemp("session")
    gates = Thresholds(*(None,) * 5, min_trades=0, min_dsr=None, min_dsr_alpha=None)
    workspace = Workspace(made / "out", Ledger(made / "ledger"), source="market.csv", provider="random")
    config = ResearchConfig(budgets=Budgets(4, 40, 8), gates=gates, seed=4)
    result = research(lambda: MARKET, RandomProposer(), config, workspace)
    write_session_files(result, recorded_setup(lambda: MARKET, session_of(workspace.journal)), workspace.folder)
    assert result.shortlist
    return made, result


def compare(folder: Path, *words: str | Path) -> Any:
    return typed("report", "compare", *words, "--ledger-dir", folder / "ledger", cwd=folder)


def test_records_of_a_bundled_market_are_compared_without_naming_it(folder: Path) -> None:
    done = compare(folder, "momentum.json", "mine=equal-weight.json", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [run["name"] for run in found["runs"]] == ["momentum", "mine"]
    run = oo.run_backtest(oo.data.load("ecb-fx"), "momentum", WINDOW)
    assert found["runs"][0]["metrics"]["sharpe"] == run.metrics["sharpe"]
    assert found["bootstrap"] == {"seed": 0, "n_draws": 2000, "level": 0.95}
    assert "momentum / mine" in (folder / "compare.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_tables_are_files_that_pandas_reads(folder: Path, form: str) -> None:
    frames = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    done = compare(folder, "momentum.json", "equal-weight.json", "--tables", "tables", "--format", form, "--json")
    assert done.returncode == 0, done.stderr
    found, read = json.loads(done.stdout), frames.read_csv if form == "csv" else frames.read_parquet
    assert [Path(path).stem for path in found["tables"]] == [
        *("compared_metrics", "compared_differences", "compared_correlation", "compared_returns")
    ]
    metrics, differences, _, returns = (read(folder / path) for path in found["tables"])
    # Old versions of pandas round the last digit of a CSV.
    assert metrics["sharpe"].tolist() == pytest.approx([run["metrics"]["sharpe"] for run in found["runs"]], rel=1e-15)
    p_value = found["pairs"][0]["sharpe"]["interval"]["p_value"]
    assert differences["p_value"][0] == pytest.approx(p_value, rel=1e-15)
    assert len(returns) == found["common"]["n_returns"]


def test_a_ledger_run_equals_the_record_of_the_same_run(folder: Path) -> None:
    prefix = (folder / "run_id").read_text()[:8]
    done = compare(folder, prefix, "equal-weight.json", "--out", "same.html")
    assert done.returncode == 0, done.stderr
    assert "these two runs have the same ones" in done.stdout
    assert done.stdout.rstrip().endswith("report: same.html")


def test_a_candidate_has_the_returns_and_dates_of_its_validation(session: tuple[Path, Result]) -> None:
    made, result = session
    (path, *_) = sorted((made / "out" / "candidates").iterdir())
    candidate = read_candidate(path)
    assert candidate is not None
    listed = result.shortlist[0]
    track = track_of_candidate(candidate, MARKET, None)
    assert track.dates == list(listed.oos.dates)
    assert track.returns.tobytes() == listed.oos.returns.tobytes()
    moved = path.parent.parent.parent / "alone.json"
    moved.write_bytes(path.read_bytes())
    from_ledger = track_of_candidate(replace(candidate, path=moved), MARKET, Ledger(made / "ledger"))
    assert from_ledger.returns.tobytes() == track.returns.tobytes()
    with pytest.raises(oo.OpenOutcryError, match=r"returns of .*received neither; hint"):
        track_of_candidate(replace(candidate, path=moved), MARKET, None)


def test_a_trial_of_the_ledger_has_the_dates_of_its_tests(session: tuple[Path, Result]) -> None:
    made, result = session
    listed = result.shortlist[0]
    with Ledger(made / "ledger") as ledger:
        run = ledger.show(run_id_of(result.session_id, listed.key))
    assert track_of(run, MARKET, "x", "").dates == list(listed.oos.dates)
    with pytest.raises(oo.OpenOutcryError, match="without its test dates; hint: name the candidate's file"):
        track_of(replace(run, notes={}), MARKET, "x", "")


def test_a_candidate_and_a_record_are_compared_on_the_command_line(session: tuple[Path, Result]) -> None:
    made, result = session
    rows = [",".join(["date", *MARKET.symbols])]
    rows += [",".join([date, *map(repr, row)]) for date, row in zip(MARKET.dates, MARKET.close.tolist(), strict=True)]
    (made / "market.csv").write_text("\n".join(rows), encoding="utf-8")
    market = oo.Dataset.from_csv(made / "market.csv")
    assert market.fingerprint == MARKET.fingerprint
    oo.run_backtest(market, "equal-weight", capture=True).record.save(made / "one.json")
    (path, *_) = sorted((made / "out" / "candidates").iterdir())
    done = compare(made, path, "one.json", "--data", "market.csv")
    assert done.returncode == 0, done.stderr
    assert f"{len(result.shortlist[0].oos.dates):,} returns" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["momentum.json"], "from 2 to 8 runs are required; received 1; hint: `openoutcry report compare one.json"),
        (["nope.json", "momentum.json"], "a file that exists; received 'nope.json'; hint: check the name of the file"),
        (["momentun.json", "momentum.json"], "a file that exists; received 'momentun.json'; hint: `momentum.json`"),
        (["a=b=momentun.json#0", "momentum.json"], "received 'b=momentun.json#0'; hint: `momentum.json`"),
        (
            ["momentum.jsn", "momentum.json"],
            "or the ID of a ledger run; received 'momentum.jsn'; hint: `momentum.json`",
        ),
        (
            ["nope", "momentum.json"],
            "or the ID of a ledger run; received 'nope'; hint: check the name of the file; `openoutcry",
        ),
        (["deadbeef", "momentum.json"], "a prefix of one run ID is required; received 'deadbeef', of no runs"),
        (["momentum.json#4", "momentum.json"], "a run of 'momentum.json' from #0 to #0 is required; received #4; hint"),
        (["momentum.json", "equal-weight.json", "--tz", "UTC"], "`--tz` must come with a file of prices"),
        (["momentum.json", "equal-weight.json", "--out", "no/where.html"], "`--out` must be a writable file"),
    ],
)
def test_a_refusal_says_what_to_type_next(folder: Path, words: list[str], message: str) -> None:
    done = compare(folder, *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_name_of_a_run_may_have_its_parameters(folder: Path) -> None:
    done = compare(folder, "trend:fast=20,slow=100=momentum.json", "b=equal-weight.json#0", "--json")
    assert done.returncode == 0, done.stderr
    assert [each["name"] for each in json.loads(done.stdout)["runs"]] == ["trend:fast=20,slow=100", "b"]


def test_an_unknown_market_is_named_in_the_refusal(folder: Path) -> None:
    oo.run_backtest(oo.Dataset.synthetic(3, 300, seed=1), "momentum", capture=True).record.save(folder / "other.json")
    done = compare(folder, "other.json", "momentum.json", "--data", "us-treasury")
    assert done.returncode == 2
    assert "received us-treasury" in done.stderr
    assert "hint: `--data FILE`, repeatable" in done.stderr


def test_a_changed_record_is_not_compared(folder: Path) -> None:
    record = json.loads((folder / "momentum.json").read_text(encoding="utf-8"))
    text = json.dumps(record).replace("0.1", "0.2", 40)
    (folder / "changed.json").write_text(text, encoding="utf-8")
    assert compare(folder, "changed.json", "momentum.json").returncode in (1, 2)


def test_a_document_that_claims_to_be_a_candidate_and_lacks_a_field_is_refused(folder: Path) -> None:
    (folder / "broken.json").write_text('{"format": "openoutcry/candidate/v1", "strategy": "x"}', encoding="utf-8")
    done = compare(folder, "broken.json", "momentum.json")
    assert done.returncode == 2
    assert "a candidate's file must be complete; received 'broken.json': KeyError('market')" in done.stderr


def test_a_digest_that_is_a_path_is_not_read(session: tuple[Path, Result]) -> None:
    made, _ = session
    (path, *_) = sorted((made / "out" / "candidates").iterdir())
    candidate = read_candidate(path)
    assert candidate is not None
    with pytest.raises(oo.OpenOutcryError, match="received neither"):
        track_of_candidate(replace(candidate, returns_sha256="../" * 21 + "x"), MARKET, None)


def test_the_help_of_report_names_compare_and_its_help_teaches(folder: Path) -> None:
    shown = typed("report", "--help", cwd=folder).stdout
    assert "openoutcry report compare one.json two.json" in " ".join(shown.split())
    own = " ".join(typed("report", "compare", "--help", cwd=folder).stdout.split())
    assert "Usage: openoutcry report compare" in own
    assert "Only common dates are compared." in own


def test_tracks_of_risk_free_markets_add_the_rate_back() -> None:
    data = oo.data.load("us-treasury").head(400)
    run = oo.run_backtest(data, "momentum")
    track = Track.of(run)
    assert track.risk_free is not None
    assert np.array_equal(track.returns - track.risk_free, run._core.excess)


def test_a_benchmark_is_one_more_run_on_the_bars_of_the_first(folder: Path) -> None:
    """From its first date to its last, at the total return of the symbol or file."""
    fx = oo.data.load("ecb-fx")
    done = compare(folder, "momentum.json", "equal-weight.json", "--benchmark", "USD", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [each["name"] for each in found["runs"]] == ["momentum", "equal-weight", "USD"]
    assert len(found["pairs"]) == 3
    first, *_, last = oo.run_backtest(fx, "momentum", WINDOW).dates
    close = fx.select(["USD"]).close[:, 0]
    gained = float(close[fx.dates.index(last)] / close[fx.dates.index(first)]) - 1.0
    assert found["runs"][2]["metrics"]["return"] == pytest.approx(gained, rel=1e-12)
    assert "The costs differ: momentum: " in " ".join(found["notices"])
    rows = [f"{date},{value}" for date, value in zip(fx.dates, close.tolist(), strict=True)]
    (folder / "usd.csv").write_text("\n".join(["date,close", *rows]))
    alone = compare(folder, "momentum.json", "--benchmark", "usd.csv", "--json")
    assert alone.returncode == 0, alone.stderr
    of_file = json.loads(alone.stdout)["runs"][1]
    assert of_file["metrics"]["return"] == pytest.approx(gained, rel=1e-12)
    assert "'usd.csv'" in of_file["conditions"]["market"]


def test_only_records_that_a_key_signed_are_compared_under_it(folder: Path) -> None:
    key = bytes(range(32))
    oo.RunRecord.load(folder / "momentum.json").sign(key).save(folder / "signed.json")
    signed = oo.RunRecord.load(folder / "equal-weight.json").sign(key)
    signed.save(folder / "also.json")
    public = str(signed.public_key)
    assert compare(folder, "signed.json", "also.json", "--public-key", public).returncode == 0
    for other in ("momentum.json", (folder / "run_id").read_text()[:8]):
        done = compare(folder, "signed.json", other, "--public-key", public)
        assert done.returncode == 2
        assert "`--public-key`" in done.stderr
        assert other.removesuffix(".json") in done.stderr


def test_runs_on_a_sealed_scenario_are_compared_by_its_revealed_key(folder: Path) -> None:
    scenario = Scenario.revealed("calm", "07" * 32)
    for name in ("momentum", "equal-weight"):
        run = oo.run_backtest(scenario.dataset(), name, (19, 60), fill_key=b"\5" * 32, capture=True)
        run.record.save(folder / f"sealed-{name}.json")
    words = ["sealed-momentum.json", "sealed-equal-weight.json", "--fill-key", "05" * 32]
    hidden = compare(folder, *words)
    assert hidden.returncode == 2
    assert "`--scenario`" in hidden.stderr
    assert "must be given together" in compare(folder, *words, "--scenario", "calm").stderr
    done = compare(folder, *words, "--scenario", "calm", "--scenario-key", "07" * 32)
    assert done.returncode == 0, done.stderr
