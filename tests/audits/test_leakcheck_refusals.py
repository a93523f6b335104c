"""A target that cannot be checked exits with code 2 and one error line, and never counts as clean."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
import polars as pl
import pytest

import openoutcry as oo
from openoutcry.audits.leakcheck import assert_no_lookahead, check
from openoutcry.audits.leakcheck.perturbation import KINDS
from openoutcry.cli.progress_process import Progress

pytestmark = pytest.mark.once

COMMAND = Path(sys.executable).with_name("openoutcry")

TARGETS = """
import sys
import gymnasium
import numpy as np

_kept = {}

def fitted_once(frame):
    mean = _kept.setdefault("mean", frame["close"].mean())
    return frame.assign(scaled=frame["close"] - mean)

def read_before(frame):
    whole = _kept.setdefault("whole", frame["close"].shift(-1))
    return whole.reindex(frame.index).to_frame("next")

def leaves(frame):
    sys.exit(0)

def says(frame):
    print("working")
    return frame["close"].diff()

def fails(frame):
    raise ValueError("two\\nlines")

class Walk(gymnasium.Env):
    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Box(-1e9, 1e9, (1,))
    means = []

    def __init__(self, frame):
        self.prices = frame["close"].to_numpy()

    def reset(self, seed=None, options=None):
        self.bar = 0
        return self.prices[:1], {}

    def step(self, action):
        move = self.prices[self.bar + 1] - self.prices[self.bar]
        self.bar += 1
        return self.prices[self.bar : self.bar + 1], action * move, self.bar > len(self.prices) - 2, False, {}

class Centred(Walk):
    def __init__(self, frame):
        super().__init__(frame)
        self.means.append(self.prices.mean())
        self.prices = self.prices - self.means[0]
"""


def called(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    (cwd / "mine.py").write_text(TARGETS, encoding="utf-8")
    command = [COMMAND, "leakcheck", *words, "--cuts", "4"]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "fitted_once",
            "received a different `scaled` at row 0 after a fresh import; hint: it keeps state between",
        ),
        ("read_before", "received a different `next` at row 0 after a fresh import"),
        ("Centred", "received a different `observation` at row 0 after a fresh import"),
        ("leaves", "`target` must run on the unchanged data; received SystemExit: 0"),
        ("fails", "`target` must run on the unchanged data; received ValueError: two lines; hint"),
    ],
)
def test_a_target_that_keeps_state_exits_or_raises_is_not_clean(name: str, words: str, tmp_path: Path) -> None:
    done = called(f"mine:{name}", "--bars", "60", cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert words in done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize("name", ["says", "Walk"])
def test_a_stateless_target_is_clean_even_if_it_prints(name: str, tmp_path: Path) -> None:
    done = called(f"mine:{name}", "--bars", "60", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["clean"], report["answers"]) == (True, True)
    assert ("working" in done.stderr) == (name == "says")


def test_a_module_that_ends_the_process_is_not_clean(tmp_path: Path) -> None:
    (tmp_path / "ends.py").write_text("raise SystemExit\n", encoding="utf-8")
    done = called("ends:build", cwd=tmp_path)
    assert done.returncode == 2
    assert "`ends` must be a module that can be imported; received SystemExit" in done.stderr


FILES = {
    "empty": (b"", "No columns to parse from file"),
    "no text": (b"\xff\xfe\x00\x01" * 9, "codec can't decode byte 0xff"),
    "rows of two lengths": (b"date,close\n2020-01-01,1\n2020-01-02,1,2,3\n", "Expected 2 fields in line 3"),
    "not a date": (
        b"date,close\n2020-01-01,1\nyesterday,1\n",
        "`date` must contain ISO 8601 dates; received 'ye",
    ),
    "a missing date": (b"date,close\n2020-01-01,1\n,1\n", "`date` must contain ISO 8601 dates; received none in row 1"),
    "one row": (b"date,close\n2020-01-01,1\n", "`frame` must have at least 8 bars; received 1"),
}


@pytest.mark.parametrize("name", FILES)
def test_an_invalid_file_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    content, words = FILES[name]
    (tmp_path / "prices.csv").write_bytes(content)
    done = called("mine:says", "--data", "prices.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert words in done.stderr


def frame(**changes: Any) -> pd.DataFrame:
    return pd.DataFrame({"date": pd.date_range("2020-01-01", periods=30), "close": np.arange(1.0, 31.0)} | changes)


LATE = [*pd.date_range("2020-01-01", periods=29), pd.NaT]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (frame(date=LATE), "must have a date in every row; received none in 1 row, first in row 29"),
        (
            frame().set_index(pd.Index(LATE, name="date"))[["close"]],
            "must have a date in every row; received none in 1",
        ),
        (pl.DataFrame({"date": [*frame()["date"].dt.date[1:], None], "close": 1.0}), "none in 1 row, first in row 29"),
        (frame().iloc[:1], "must have at least 8 bars; received 1"),
        (frame().iloc[:0], "must have at least 8 bars; received 0"),
        (pd.concat([frame(), frame()[["close"]]], axis=1), "columns of `frame` must be unique; received 'close' twice"),
    ],
    ids=["no date", "no date in the index", "no date in polars", "one row", "no row", "a column twice"],
)
def test_an_invalid_frame_is_refused(given: Any, words: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=words):
        check(lambda each: each, given)


class Odd(gymnasium.Env[Any, Any]):
    """An environment that accepts any action and returns `returned`."""

    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, returned: Any, first: Any = (0.0, {})) -> None:
        self.returned, self.first = returned, first

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return self.first

    def step(self, action: Any) -> Any:
        return self.returned


@pytest.mark.parametrize(
    ("kind", "made", "words"),
    [
        ("pipeline", {"a": 1.0}, r"columns of a result must be 1-D and have the same length; received `a` \(\)"),
        ("pipeline", {"a": [1, 2], "b": [1]}, r"have the same length; received `a` \(2,\), `b` \(1,\)"),
        ("pipeline", {}, "must return at least one column and row; received none"),
        ("pipeline", np.ma.masked_array(np.ones(30), np.ones(30)), "without a mask; received a masked one; hint"),
        ("env", 3.0, "must return a gymnasium.Env, which has a method `reset`; received float"),
        ("env", Odd((0.0, 0.0, True, {})), r"`step` of an environment must return \(observation, .*received 4 values"),
        ("env", Odd(None), r"`step` of an environment must return \(observation, .*received NoneType"),
        ("env", Odd(None, (0.0, None)), "`reset` of an environment must .*, where info is a dict; received NoneType"),
        ("env", Odd((0.0, None, True, False, {})), "a reward must be a number; received NoneType"),
        ("agent", 3.0, r"an agent must be f\(observation\) -> decision, .*; received float"),
    ],
)
def test_a_wrong_return_type_is_refused_with_the_required_type(kind: str, made: Any, words: str) -> None:
    given = None if kind == "agent" else frame()
    with pytest.raises(oo.OpenOutcryError, match=words):
        check(lambda each: made, given, kind=kind)


def test_a_system_exit_on_a_perturbation_is_reported_and_is_not_a_leak() -> None:
    def leaves(each: pd.DataFrame) -> pd.Series[float]:
        if not each["close"].is_monotonic_increasing:
            raise SystemExit(0)
        return each["close"].diff()

    report = check(leaves, frame())
    assert (report.leaks, report.untried) == ((), ("garbage", "nan"))
    assert report.errors["garbage"][1] == "SystemExit: 0"
    assert report.responds_to_data is None


def test_the_report_notes_a_target_that_ignores_its_data() -> None:
    note = "no output changes with the data"
    for silent in (lambda each: each["close"] * 0.0, lambda each: np.full(len(each), np.nan)):
        assert any(note in each for each in check(silent, frame()).notes)
    report = check(lambda each: each["close"].shift(25), frame())
    assert not any(note in each for each in report.notes)
    assert check(lambda each: each, frame(close=np.nan)).responds_to_data is False


def stateful_mean(where: dict[str, Any]) -> Callable[[pd.DataFrame], Any]:
    return lambda each: each["close"] - where.setdefault("mean", each["close"].mean())


def test_a_fresh_target_reveals_state_between_calls() -> None:
    assert check(stateful_mean({}), frame()).is_clean
    with pytest.raises(oo.OpenOutcryError, match="regardless of earlier calls; received a different `close` at row 0"):
        check(stateful_mean({}), frame(), fresh=lambda: stateful_mean({}))
    assert check(lambda each: each, frame(), fresh=lambda: lambda each: each).is_clean


def test_the_largest_floats_and_polars_null_columns_can_be_checked(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert check(lambda each: each.drop(columns="date").diff(), frame(far=1e308, inf=np.inf, none=0.0)).is_clean
    empty = pl.DataFrame({"close": np.arange(30.0), "nothing": [None] * 30})
    assert check(lambda each: each.with_columns(pl.col("close").shift(1)), empty).is_clean
    assert capfd.readouterr().err == ""


def test_a_perturbation_that_never_ran_is_not_clean() -> None:
    def long(each: pd.DataFrame) -> pd.DataFrame:
        if len(each) < 30:
            raise ValueError("too short")
        return pd.DataFrame({"left": np.arange(30.0) / len(each), "close": each["close"]})

    report = check(long, frame())
    assert (report.is_clean, report.leaks, report.untried) == (False, (), ("truncation",))
    words = "`target` must run with truncation at one cut at least; received ValueError: too short; hint"
    assert words in str(report)
    with pytest.raises(oo.OpenOutcryError, match=words):
        assert_no_lookahead(long, frame())
    assert assert_no_lookahead(long, frame(), without=["truncation"]).without == ("truncation",)
    for left_out, words in (
        (["gone"], "must contain only garbage, nan"),
        (list(KINDS), "must leave at least one perturbation"),
    ):
        with pytest.raises(oo.OpenOutcryError, match=words):
            check(long, frame(), without=left_out)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="where the system cannot fork, the command is one process")
@pytest.mark.parametrize(("how", "words"), [("os._exit(0)", "exit code 0"), ("os.kill(os.getpid(), 9)", "signal 9")])
def test_a_target_that_ends_its_process_on_a_perturbation_is_not_clean(how: str, words: str, tmp_path: Path) -> None:
    code = f"import os\ndef build(frame):\n    if len(frame) < 60:\n        {how}\n    return frame.shift(1)\n"
    (tmp_path / "quits.py").write_text(code, encoding="utf-8")
    done = called("quits:build", "--bars", "60", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"`target` must not end the process; received its exit with {words}" in done.stderr


def test_a_long_check_reports_progress() -> None:
    stream, now = io.StringIO(), iter([0.0, 2.0, 6.0, 8.0, 12.0])
    progress = Progress(stream, lambda: next(now))
    for done in (10, 30, 40, 60):
        progress(done, 120)
    assert stream.getvalue().splitlines() == [
        "leakcheck: 30 of 120 runs, about 18 s left",
        "leakcheck: 60 of 120 runs, about 12 s left",
    ]
    calls: list[tuple[int, int]] = []
    report = check(lambda each: each, frame(), progress=lambda *each: calls.append(each))
    assert calls == [(k + 1, 4 * report.n_cuts) for k in range(4 * report.n_cuts)]
