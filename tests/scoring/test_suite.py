"""Suites: file format, digest, sealing, evaluation and commands."""

from __future__ import annotations

import hashlib
import json
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import typed
from jsonschema import Draft202012Validator, ValidationError
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.cli.commands import app
from openoutcry.records.run_record import RunRecord
from openoutcry.scenarios.scenario import Scenario, ScenarioSpec
from openoutcry.scoring.board_notices import edition_notices
from openoutcry.scoring.suite import Suite
from openoutcry.scoring.suite_evaluation import Evaluation
from openoutcry.scoring.verdict import BENCHMARKS

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(sys.executable).with_name("openoutcry")
SCHEMA = Draft202012Validator(json.loads((ROOT / "contract/suite.schema.json").read_text(encoding="utf-8")))
DEFAULT = json.loads((ROOT / "python/openoutcry/scoring/suites/default.json").read_text(encoding="utf-8"))
SMALL: dict[str, Any] = {
    "suite_version": "1.0",
    "name": "small",
    "edition": "1",
    "markets": [
        {
            "name": "ecb-fx",
            "fingerprint": DEFAULT["markets"][0]["fingerprint"],
            "windows": [["2020-01-01", "2020-04-01"]],
        },
        {
            "name": "hidden",
            "scenario": json.loads(ScenarioSpec("calm", n_symbols=3, n_days=90).to_json()),
            "windows": [[10, 50], [49, None]],
        },
    ],
    "seeds": [4, 1],
    "lookback": 10,
    "costs": {"slippage_jitter": 1.0},
    "luck_floor": {"agents": 7, "seed": 3},
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """Return the small suite with another value at a path; `...` removes the field."""
    suite = json.loads(json.dumps(SMALL))
    *parents, last = path.split(".")
    at: Any = suite
    for name in parents:
        at = at[int(name)] if isinstance(at, list) else at[name]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return suite


def small() -> tuple[Suite, dict[str, str]]:
    return Suite.from_json(json.dumps(SMALL)).seal()


def call(*words: str | Path, code: int = 0) -> str:
    done = typed(*words)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr if code == 2 else done.stdout


# The file


@pytest.mark.parametrize(
    ("name", "edition", "scorer_edition", "digest"),
    [
        ("default", "2026.3", 3, "a64cbed3f4c82d4898d5f14065d843f67a475982705c479455d8281c215beaaa"),
        ("default-2026.2", "2026.2", 2, "372386eaa9aa5761044bb17ccbdcf899b23292f6e4187d41a7946519b7188233"),
        ("default-2026.1", "2026.1", 1, "0db50571644f0c483d84d152cac4a43ea4067c71072bef9640d459e257d4d7e2"),
    ],
)
def test_the_bundled_suites_have_the_digests_of_their_editions(
    name: str, edition: str, scorer_edition: int, digest: str
) -> None:
    suite = Suite.load(name)
    # A new digest is a new protocol and requires a new edition.
    assert (suite.edition, suite.scorer_edition, suite.digest) == (edition, scorer_edition, digest)
    SCHEMA.validate(DEFAULT)
    SCHEMA.validate(json.loads(suite.to_json()))


def test_the_benchmarks_of_a_suite_determine_the_edition_of_its_boards() -> None:
    first = Suite.from_json(json.dumps({name: value for name, value in DEFAULT.items() if name != "benchmarks"}))
    assert (first.scorer_edition, first.benchmarks) == (1, ("buy-and-hold", "cash"))
    assert Suite.load().benchmarks == BENCHMARKS
    for suite in (first, Suite.load("default-2026.2"), Suite.load()):
        evaluation = Evaluation(*suite.seal())
        assert evaluation.config()["edition"] == suite.scorer_edition


def test_the_digest_covers_every_field_and_ignores_formatting() -> None:
    suite = Suite.from_json(json.dumps(SMALL))
    assert Suite.from_json(json.dumps(SMALL, indent=3, sort_keys=True)).digest == suite.digest
    text = suite.to_json()
    assert suite.digest == hashlib.sha256(b"openoutcry/suite/1\n" + text.encode()).hexdigest()
    assert Suite.from_json(text) == suite
    changes = {
        "name": "other", "edition": "2", "seeds": [4], "lookback": 11, "costs.slippage_jitter": 0.5,
        "limits": {"max_gross": 0.5}, "gates": {"min_dsr": 0.9}, "draws": {"seed": 1}, "luck_floor.agents": 8,
        "luck_floor.seed": 4, "markets.0.windows": [["2020-01-02", "2020-04-01"]], "markets.1.scenario": "calm",
        "markets.1.name": "x", "markets.1.windows": [[10, 51]], "markets.0.fingerprint": "0" * 64,
    }  # fmt: skip
    digests = {Suite.from_json(json.dumps(changed(*change))).digest for change in changes.items()}
    assert len(digests | {suite.digest}) == len(changes) + 1


@pytest.mark.parametrize(
    ("path", "value", "wanted"),
    [
        ("suite_version", "2.0", "`suite_version` must be '1.0'; received '2.0'"),
        ("name", ..., "a suite must have `name`"),
        ("extra", 1, "fields of a suite must be among suite_version, name"),
        ("name", " ", "`name` must be a non-empty text; received ' '"),
        ("edition", "by its records", "`edition` must be another text than the one reserved for suites"),
        ("markets", [], "`markets` must be a list of at least one market; received []"),
        ("markets.0.windows", [["2020-01-01"]], "`windows[0]` of `markets[0]` must be a pair [START, END]"),
        ("markets.0.windows", 7, "`windows` of `markets[0]` must be a list"),
        ("markets.0.fingerprint", "ea15", "must be 64 hexadecimal digits, lower case; received 'ea15'"),
        ("markets.0.scenario", "hard", "`markets[0]` must be an object with either `fingerprint`"),
        ("markets.0.commitment", "0" * 64, "`markets[0]` must be an object with either `fingerprint`"),
        ("markets.1.scenario", "soft", "must be one of calm, hard"),
        ("markets.1.scenario", {"family": "factor"}, "received missing field `version`"),
        ("markets.1.name", "ecb-fx", "`name` of `markets` must be unique"),
        ("seeds", [], "`seeds` must be a list of at least one integer"),
        ("seeds", [1, 1], "`seeds` must be a list of at least one integer, without duplicates"),
        ("seeds", [-1], "`seeds` must be an integer from 0"),
        ("seeds", [True], "`seeds` must be an integer from 0"),
        ("lookback", 0, "`lookback` must be an integer from 1"),
        ("costs.fee_bps", -1, "`fee_bps` must be"),
        ("costs.fee", 1, "fields of `costs` must be among fee_bps"),
        ("limits", {"max_gross": "1"}, "max_gross"),
        ("benchmarks", ["cash"], "`benchmarks` must be ['buy-and-hold', 'cash'] or ['buy-and-hold', 'cash', 'equal-"),
        ("gates", [], "`gates` must be an object"),
        ("luck_floor.agents", -1, "`luck_floor.agents` must be an integer from 0"),
        ("luck_floor.n", 1, "fields of `luck_floor` must be among agents, seed; received 'n'"),
    ],
)
def test_an_invalid_suite_is_refused_by_reader_and_schema(path: str, value: Any, wanted: str) -> None:
    suite = changed(path, value)
    with pytest.raises(oo.OpenOutcryError) as caught:
        Suite.from_json(json.dumps(suite))
    assert wanted in str(caught.value)
    assert caught.value.slug == "argument_invalid"
    # The schema cannot express unique names, valid specs or the reserved edition.
    if path not in ("markets.1.name", "markets.1.scenario", "edition"):
        with pytest.raises(ValidationError):
            SCHEMA.validate(suite)


def test_invalid_json_and_duplicate_fields_are_refused(tmp_path: Path) -> None:
    for text in ("", "[]", "nan", '{"name": "a", "name": "b"}'):
        with pytest.raises(oo.OpenOutcryError, match="a suite must be"):
            Suite.from_json(text)
    with pytest.raises(oo.OpenOutcryError, match=r"one of `default`, `default-2026.2`, .*; received '.*none.json'"):
        Suite.load(tmp_path / "none.json")


def test_gates_and_draws_match_scorer_and_schema() -> None:
    defs = {group: SCHEMA.schema["$defs"][group.title()] for group in ("gates", "draws")}
    for group, known in defs.items():
        assert known["additionalProperties"] is False
        with pytest.raises(
            oo.OpenOutcryError, match=f"`{group}` of a suite .* received `typo` of 1: .*unknown"
        ) as refused:
            Suite.from_json(json.dumps(SMALL | {group: {"typo": 1}}))
        message = str(refused.value).partition("expected one of ")[2]
        assert set(re.findall(r"`(\w+)`", message)) == set(known["properties"])
        for name, field in known["properties"].items():
            for value in edges_of(field):
                suite = SMALL | {group: {name: value}}
                assert takes(suite) == SCHEMA.is_valid(suite), (name, value)


def edges_of(field: dict[str, Any]) -> list[Any]:
    """Return values inside and outside the range of a schema field, and of other types."""
    bounds = [field[each] for each in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum") if each in field]
    numbers = [bound + step for bound in bounds for step in (-1, -0.5, 0, 0.5, 1, 2)]
    return [*numbers, *field.get("enum", ()), "some", True, None, [], {}, 0.25]


def takes(fields: dict[str, Any]) -> bool:
    try:
        Suite.from_json(json.dumps(fields))
    except oo.OpenOutcryError:
        return False
    return True


@pytest.mark.parametrize("gates", [{"rolling_bars": 0}, {"overfit_blocks": 7}, {"min_dsr": 1.5}, {"level": "0.05"}])
def test_a_gate_out_of_range_is_refused_when_the_suite_is_read(gates: dict[str, Any]) -> None:
    ((name, value),) = gates.items()
    with pytest.raises(oo.OpenOutcryError, match=f"received `{name}` of {value!r}: ") as refused:
        Suite.from_json(json.dumps(SMALL | {"gates": gates}))
    assert refused.value.slug == "argument_invalid"


# Sealing


def test_a_sealed_suite_contains_commitments_but_no_keys() -> None:
    suite, keys = small()
    market = suite.markets[1]
    assert market.scenario is not None
    assert market.commitment is not None
    (key,) = keys.values()
    assert keys == {market.commitment: key}
    assert Scenario.revealed(market.scenario, key).commitment == market.commitment
    assert key not in suite.to_json()
    assert suite.is_sealed
    assert suite.seal() == (suite, {})
    assert small()[0] != suite
    SCHEMA.validate(json.loads(suite.to_json()))


def test_an_evaluation_requires_the_exact_markets_and_keys(tmp_path: Path) -> None:
    suite, keys = small()
    (commitment,) = keys
    with pytest.raises(oo.OpenOutcryError, match="`hidden` must be sealed; received it without a commitment"):
        Evaluation(Suite.from_json(json.dumps(SMALL)))
    with pytest.raises(oo.OpenOutcryError, match=f"the key of `hidden`, under its commitment {commitment}; received 0"):
        Evaluation(suite)
    with pytest.raises(oo.OpenOutcryError, match=f"must match its commitment {commitment}; received the key"):
        Evaluation(suite, {commitment: "0" * 64})
    other = Suite.from_json(json.dumps(changed("markets.0.fingerprint", "0" * 64))).seal()
    with pytest.raises(oo.OpenOutcryError, match="`ecb-fx` of the suite must have fingerprint 0000"):
        Evaluation(*other)
    mine = changed("markets.0.name", "mine")
    sealed, keys = Suite.from_json(json.dumps(mine)).seal()
    with pytest.raises(oo.OpenOutcryError, match="`datasets` must contain `mine`"):
        Evaluation(sealed, keys)
    assert Evaluation(sealed, keys, [oo.data.load("ecb-fx")]).n_runs == 6


def test_windows_that_share_a_return_are_refused() -> None:
    for windows in ([[10, 50], [48, 80]], [[50, 80], [10, 50]]):
        suite, keys = Suite.from_json(json.dumps(changed("markets.1.windows", windows))).seal()
        with pytest.raises(oo.OpenOutcryError, match="must be in chronological order and share no return"):
            Evaluation(suite, keys)


def test_a_market_under_two_names_is_refused() -> None:
    suite, keys = small()
    fields = json.loads(suite.to_json())
    fields["markets"].append({**fields["markets"][1], "name": "hidden again", "windows": [[10, 50]]})
    with pytest.raises(oo.OpenOutcryError, match="received `hidden again`, the same as `hidden`"):
        Evaluation(Suite.from_json(json.dumps(fields)), keys)


# Agents


def test_an_agent_runs_in_every_window_under_every_seed() -> None:
    suite, keys = small()
    evaluation = Evaluation(suite, keys)
    counted: list[int] = []
    record = evaluation.run("equal-weight", in_sample_trials=3, on_run=lambda: counted.append(1))
    assert (record.agent_id, record.in_sample_trials, len(record), len(counted)) == ("equal-weight", 3, 6, 6)
    listed = [
        (each["dataset.fingerprint"], int(each["window.start"]), int(each["window.end"]), each["fill.seed"])
        for each in record.headers
    ]
    places = [(at.dataset.fingerprint, at.start, at.end) for at in evaluation.windows]
    assert listed == [(*place, str(seed)) for place in places for seed in (4, 1)]
    assert [place[1:] for place in places][1:] == [(10, 50), (49, 90)]
    assert {each["lookback"] for each in record.headers} == {"10"}
    assert oo.replay(record, evaluation.markets(), *evaluation.rules()).verified
    assert sorted(evaluation.config()["windows"], key=str) == sorted(
        (
            {"dataset": data, "start": start, "end": end, "sealed": at.sealed}
            for at, (data, start, end) in zip(evaluation.windows, places, strict=True)
        ),
        key=str,
    )
    assert evaluation.config()["seeds"] == ["4", "1"]


# The command


def test_a_suite_without_benchmarks_is_a_warning_and_its_digest_is_that_of_the_first_edition(tmp_path: Path) -> None:
    source, sealed, keys = tmp_path / "mine.json", tmp_path / "season.json", tmp_path / "season.keys"
    source.write_text(
        json.dumps({name: each for name, each in SMALL.items() if name != "benchmarks"}), encoding="utf-8"
    )
    done = typed("suite", "seal", source, sealed, "--keys", keys)
    assert (
        "warning: the suite has scorer edition 1, in which equal-weight, passive-mix, past-mix do not decide"
        in done.stderr
    )
    wanted = done.stderr.partition("hint: `")[2].partition("`")[0]
    whole = json.loads(source.read_text(encoding="utf-8")) | json.loads(f"{{{wanted}}}")
    assert edition_notices(Suite.from_json(json.dumps(whole)).scorer_edition) == []
    run = typed("suite", "run", sealed, "--keys", keys, "--agent", "momentum", "--record", tmp_path / "run.json")
    assert "notice: the suite has scorer edition 1" in run.stderr
    page = tmp_path / "board.html"
    scored = typed("score", tmp_path / "run.json", "--suite", sealed, "--keys", keys, "--json", "--report", page)
    said = "the board has scorer edition 1"
    caveats = json.loads(scored.stdout)["caveats"]
    assert any(caveat.startswith(said) and f"`{wanted}` in a new suite" in caveat for caveat in caveats)
    assert said in page.read_text(encoding="utf-8")
    evaluation = Evaluation(Suite.load(sealed), json.loads(keys.read_text(encoding="utf-8"))["keys"])
    board = oo.score(RunRecord.load(tmp_path / "run.json"), suite=evaluation)
    assert list(board.caveats) == caveats


def test_a_season_on_the_command_line(tmp_path: Path) -> None:
    source, sealed, keys = tmp_path / "small.json", tmp_path / "season.json", tmp_path / "season.keys"
    source.write_text(json.dumps(SMALL), encoding="utf-8")
    shown = call("suite", "show", source)
    assert "not sealed yet" in shown
    assert "capital 1,000,000" in shown
    assert "allow_short on" in " ".join(shown.split())
    assert "\\n" not in shown, "a window a row"
    printed = call("suite", "seal", source, sealed, "--keys", keys)
    suite = Suite.load(sealed)
    assert printed == f"sealed small 1, 1 key, digest {suite.digest}\n"
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    assert call("suite", "show", sealed, "--json") == suite.to_json() + "\n"
    assert "a new file is required" in call("suite", "seal", source, sealed, "--keys", tmp_path / "k", code=2)
    run = ("suite", "run", sealed, "--agent", "momentum", "--trials", "2")
    assert "`keys` must have the key of `hidden`" in call(*run, "--record", tmp_path / "none.json", code=2)
    whole, lines = tmp_path / "whole.json.zst", tmp_path / "lines.jsonl"
    call(*run, "--keys", keys, "--record", whole)
    printed = json.loads(call(*run, "--keys", keys, "--record", lines, "--json"))
    record = oo.RunRecord.load(lines)
    assert oo.RunRecord.load(whole) == record
    assert printed == {
        "agent": "momentum",
        "record": str(lines),
        "digest": record.digest,
        "n_runs": len(record),
        "faults": {},
    }
    there = CliRunner().invoke(app, [*map(str, run), "--keys", str(keys), "--record", str(whole)])
    assert "`--force` overwrites it" in str(there.exception)
    # Keys from standard input, in no file and on no command line.
    piped = [COMMAND, *run, "--keys", "-", "--record", tmp_path / "piped.json"]
    subprocess.run(piped, input=keys.read_text(encoding="utf-8"), text=True, check=True, capture_output=True)
    assert oo.RunRecord.load(tmp_path / "piped.json") == oo.RunRecord.load(lines)
    other = tmp_path / "other.keys"
    other.write_text(json.dumps({"suite": "0" * 64, "keys": {}}), encoding="utf-8")
    assert "must be the keys of the suite" in call(*run, "--keys", other, "--record", tmp_path / "x.json", code=2)
    other.write_text("{}", encoding="utf-8")
    assert "a file written by `openoutcry suite seal`" in call(
        *run, "--keys", other, "--record", tmp_path / "x.json", code=2
    )


def test_representations_of_a_suite_hide_its_keys(tmp_path: Path) -> None:
    suite, keys = small()
    evaluation = Evaluation(suite, keys)
    shown = [repr(evaluation), repr(suite), repr(evaluation.windows), json.dumps(evaluation.config()), str(vars(suite))]
    (key,) = keys.values()
    assert not any(key in text for text in shown)
    assert np.isfinite(evaluation.markets()[1].close).any()


def test_a_configuration_cannot_state_another_edition_than_the_suite() -> None:
    class Protocol:
        def config(self) -> dict[str, object]:
            return {"edition": 2}

        def markets(self) -> list[oo.Dataset]:
            return []

        def rules(self) -> tuple[None, None]:
            return None, None

        def lookback(self) -> None:
            return None

    with pytest.raises(oo.OpenOutcryError, match="`edition` must be that of the suite, 2; received 1"):
        oo.score({"a": [0.0, 0.1]}, suite=Protocol(), periods_per_year=252, config={"edition": 1})
