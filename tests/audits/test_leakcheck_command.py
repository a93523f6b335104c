"""The command `openoutcry leakcheck` and the pytest plugin, run as a user runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import leak_targets as targets
import numpy as np
import pytest

from openoutcry.audits.leakcheck import check, market_frames
from openoutcry.audits.leakcheck.leak_chart import render_leaks

pytestmark = pytest.mark.once

COMMAND = Path(sys.executable).with_name("openoutcry")
HERE = Path(__file__).parents[1] / "support"
SHORT = ("--bars", "120", "--cuts", "8")

NUMBER, TEXT, COUNT = {"type": "number"}, {"type": "string"}, {"type": "integer", "minimum": 0}


def record_schema(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def map_schema(each: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": each}


LEAK = record_schema(
    column=TEXT,
    horizon={"type": "integer", "minimum": 1},
    whole_sample={"type": "boolean"},
    first_row=COUNT,
    first_bar=COUNT,
    first_date={"type": ["string", "null"]},
    perturbations={"type": "array", "items": {"enum": ["garbage", "nan", "permutation", "truncation"]}, "minItems": 1},
    worth=map_schema(record_schema(sharpe=NUMBER, one_bar_later=NUMBER, bought=NUMBER)),
    unpriced={"type": ["string", "null"]},
)
SCHEMA = record_schema(
    target=TEXT,
    kind={"enum": ["pipeline", "env", "agent"]},
    clean={"type": "boolean"},
    n_rows=COUNT,
    n_bars=COUNT,
    columns={"type": "array", "items": TEXT},
    n_cuts=COUNT,
    n_runs=COUNT,
    leaks={"type": "array", "items": LEAK},
    errors=map_schema(record_schema(count=COUNT, message=TEXT)),
    unchecked={"type": "array", "items": COUNT},
    answers={"type": ["boolean", "null"]},
    clock={"oneOf": [{"type": "null"}, record_schema(start={"type": "integer"}, told_by=TEXT)]},
    episode={
        "oneOf": [
            {"type": "null"},
            record_schema(
                n_steps=COUNT,
                last_bar={"type": "integer"},
                ended_by={"type": "array", "items": {"enum": ["terminated", "truncated"]}},
            ),
        ]
    },
    not_compared={"type": "array", "items": TEXT},
    unsure={"type": "array", "items": TEXT},
    untried={"type": "array", "items": {"enum": ["garbage", "nan", "permutation", "truncation"]}},
    without={"type": "array", "items": {"enum": ["garbage", "nan", "permutation", "truncation"]}},
)


def call(*words: str, cwd: Path = HERE) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, "leakcheck", *words], capture_output=True, text=True, cwd=cwd, check=False)


@pytest.mark.parametrize(
    ("name", "kind", "columns"),
    [
        ("momentum", "agent", []),
        ("Market", "env", []),
        ("shifted", "pipeline", ["next"]),
        ("OffByOne", "env", ["observation[4]"]),
        ("future_news", "agent", ["weight[S000]", "weight[S001]", "weight[S002]"]),
    ],
)
def test_the_exit_code_and_json_report_the_leaks(name: str, kind: str, columns: list[str]) -> None:
    done = call(f"leak_targets:{name}", "--json", *SHORT)
    assert done.returncode == bool(columns), done.stderr
    report = json.loads(done.stdout)
    jsonschema.validate(report, SCHEMA)
    assert (report["kind"], report["clean"]) == (kind, not columns)
    assert [leak["column"] for leak in report["leaks"]] == columns


def test_the_table_names_column_horizon_and_row() -> None:
    done = call("leak_targets:back_filled", *SHORT)
    assert done.returncode == 1
    assert "leak_targets:back_filled (pipeline, 120 bars, 10 cuts" in done.stdout
    assert re.search(r"average +19 +0 \(2000-01-03\) +garbage, nan, permutation", done.stdout)
    refused = call("leak_targets:refuses_nan", *SHORT)
    assert refused.returncode == 2
    assert "runs with nan had no output to compare, which is not a leak" in refused.stdout
    assert "error: argument_invalid: `target` must run with nan at one cut at least; received ValueError: no NaN" in (
        refused.stderr
    )
    clean = call("leak_targets:refuses_nan", "--without", "nan", *SHORT)
    assert clean.returncode == 0
    assert "no look-ahead" in clean.stdout
    assert "skipped: nan" in clean.stdout


def test_an_early_end_and_outputs_that_are_not_compared_are_reported() -> None:
    ending = "the episode ended at bar 15 of 119 (terminated)"
    done = call("leak_targets:Ruined", *SHORT)
    assert done.returncode == 0, done.stderr
    assert f"{ending}; nothing later was compared" in done.stdout
    report = json.loads(call("leak_targets:Ruined", "--json", *SHORT).stdout)
    jsonschema.validate(report, SCHEMA)
    assert report["episode"] == {"n_steps": 10, "last_bar": 15, "ended_by": ["terminated"]}
    report = json.loads(call("leak_targets:History", "--json", *SHORT).stdout)
    jsonschema.validate(report, SCHEMA)
    assert report["episode"] == {"n_steps": 114, "last_bar": 119, "ended_by": ["truncated"]}
    assert report["not_compared"] == ["info.env (History)"]
    assert {"info.past", "info.past (size)"} <= set(report["columns"])


def test_a_transform_that_spreads_nan_is_unsure_with_exit_code_0() -> None:
    done = call("leak_targets:fft_of_nan", *SHORT)
    assert done.returncode == 0, done.stderr
    assert "no look-ahead, 1 unsure" in done.stdout
    assert "not counted: average: only later NaN change it, and make all of it NaN or one value" in done.stdout
    report = json.loads(call("leak_targets:fft_of_nan", "--json", *SHORT).stdout)
    jsonschema.validate(report, SCHEMA)
    assert (report["clean"], report["unsure"]) == (True, ["average"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["leak_targets:breaks"], "`target` must run on the unchanged data; received KeyError: 'volume_usd'"),
        (["leak_targets:random_noise"], "`target` must return the same values for the same data"),
        (["leak_targets:nothing"], "`leak_targets` must have a callable `nothing`"),
        (["no_such_module:build"], "no module 'no_such_module'"),
        (["leak_targets"], "or a candidate's file; received 'leak_targets'"),
        (["leak_targets:shifted", "--kind", "model"], "`kind` must be one of pipeline, env, agent; received 'model'"),
        (["leak_targets:shifted", "--frame", "excel"], "`frame` must be one of pandas, polars, numpy"),
        (["leak_targets:shifted", "--data", "nothing.csv"], "a dataset must be a readable CSV or Parquet file"),
        (["leak_targets:shifted", "--data", "ecb-fx", "--bars", "90"], "must be left out with `--data`"),
        (["leak_targets:shifted", "--picture", "leaks.png"], "`--picture` must be a path that ends in `.svg`"),
    ],
)
def test_an_invalid_check_exits_with_code_2(words: list[str], message: str) -> None:
    done = call(*words)
    assert done.returncode == 2, done.stdout
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("error: ")
    assert message in last


def test_a_module_that_fails_to_import_exits_with_code_2_and_its_traceback(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("1 / 0\n", encoding="utf-8")
    done = call("mine:build", cwd=tmp_path)
    assert done.returncode == 2
    assert "ZeroDivisionError" in done.stderr


def test_data_accepts_files_and_bundled_markets(tmp_path: Path) -> None:
    frame = market_frames.synthetic("pipeline", "pandas", 90)
    frame.to_csv(tmp_path / "prices.csv")
    frame.to_parquet(tmp_path / "prices.parquet")
    for source in (str(tmp_path / "prices.csv"), str(tmp_path / "prices.parquet"), "us-treasury:UST2Y"):
        done = call("leak_targets:shifted", "--data", source, "--cuts", "1", "--json")
        assert done.returncode == 1, done.stderr
        report = json.loads(done.stdout)
        assert [(leak["column"], leak["horizon"], leak["first_row"]) for leak in report["leaks"]] == [("next", 1, 0)]
        assert source.startswith("us-") or (report["n_bars"], report["leaks"][0]["first_date"]) == (90, "2000-01-03")
    polars = call("leak_targets:polars_next", "--data", str(tmp_path / "prices.csv"), "--frame", "polars", "--json")
    assert [leak["column"] for leak in json.loads(polars.stdout)["leaks"]] == ["next"]


def test_a_picture_has_a_chart_for_each_leak(tmp_path: Path) -> None:
    path = tmp_path / "leaks.svg"
    assert call("leak_targets:scaler", "--picture", str(path), *SHORT).returncode == 1
    root = ET.fromstring(path.read_text(encoding="utf-8"))
    titles = [each.text for each in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == [f"{name} looks 119 bars ahead" for name in ("open", "high", "low", "close", "volume")]


@pytest.mark.parametrize("library", ["pandas", "numpy"])
def test_a_picture_shows_values_before_the_cut_that_a_perturbation_changes(library: str) -> None:
    target = targets.centred if library == "pandas" else lambda table: np_centred(table["close"])
    frame = market_frames.synthetic("pipeline", library, 120)
    svg = render_leaks(check(target, frame, kind="pipeline"))
    ET.fromstring(svg)
    assert "looks 5 bars ahead" in svg
    assert svg.count('class="oo-line') == 2
    assert "changes 5 back" in svg


def np_centred(close: Any) -> Any:
    smooth = np.convolve(close, np.full(11, 1 / 11), mode="same")
    smooth[:5] = smooth[-5:] = np.nan
    return smooth


def test_the_plugin_provides_the_assertion_as_a_fixture(tmp_path: Path) -> None:
    tests = (
        "import pytest\n\n"
        "def test_clean(assert_no_lookahead):\n    assert_no_lookahead(lambda frame: frame.shift(1))\n\n"
        "def test_leak(assert_no_lookahead):\n    assert_no_lookahead(lambda frame: frame.shift(-1))\n"
    )
    (tmp_path / "test_mine.py").write_text(tests, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "openoutcry.testing.pytest_plugin",
        "-p",
        "no:cacheprovider",
        str(tmp_path),
    ]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    # Without autoload, because an installed package would register the plugin twice.
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "`close` looks 1 bar ahead, first at row 0 (2000-01-03)" in done.stdout


def test_pytest_autoloads_the_plugin_of_the_installed_package(tmp_path: Path) -> None:
    given = "def test_mine(assert_no_lookahead):\n    assert_no_lookahead(lambda frame: frame.shift(1))\n"
    (tmp_path / "test_mine.py").write_text(given, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--trace-config", str(tmp_path)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_DISABLE_PLUGIN_AUTOLOAD"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    assert re.search(r"PLUGIN registered: <module 'openoutcry.testing.pytest_plugin'", done.stdout)


def test_the_plugin_imports_only_pytest(tmp_path: Path) -> None:
    code = "import sys, pytest; import openoutcry.testing.pytest_plugin;"
    code += "print('pandas' in sys.modules, 'numpy' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert printed.stdout.split()[0] == "False"
