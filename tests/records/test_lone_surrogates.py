"""A lone surrogate, which UTF-8 cannot encode, is refused by every reader and every argument of text."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import typed
from recorded_run import DATA

import openoutcry as oo
from openoutcry import openoutcry_py as native
from openoutcry.data.market_source import open_market
from openoutcry.data.snapshots import snapshot_files
from openoutcry.records.chained_log import ChainedLog
from openoutcry.records.record_writer import RecordWriter
from openoutcry.scenarios.scenario import ScenarioSpec
from openoutcry.scoring import scorer
from openoutcry.scoring.suite import Suite

pytestmark = pytest.mark.once

NAME = "x\ud800"
DATES = [f"2024-01-{day:02}" for day in range(1, 21)]
RETURNS = [0.01, -0.01] * 10


def market(**changes: Any) -> oo.Dataset:
    """Return a market with other names."""
    given: dict[str, Any] = {"dates": DATES, "symbols": ["A"], "close": [[1.0 + day % 3] for day in range(20)]}
    return oo.Dataset.from_arrays(**given | {"periods_per_year": 252} | changes)


JSON: dict[str, Callable[[str], Any]] = {
    "a decision": native.read_decision,
    "canonical JSON": native.canonicalize,
    "a step": lambda text: native.TradingEnv(3).step(text),
    "an observation": lambda text: native.Baseline("momentum").session().decide(text),
    "an agent": lambda text: oo.run_backtest(DATA, lambda seen: text, "+20:+40"),
    "a recorded agent": lambda text: oo.run_backtest(DATA, lambda seen: text, "+20:+40", capture=True),
}


@pytest.mark.parametrize("read", JSON.values(), ids=JSON)
@pytest.mark.parametrize("escape", ["\ud800", "\\ud800", "\\udc00\\ud800", "a\udfff"], ids=ascii)
def test_json_with_a_lone_surrogate_is_bad_json(read: Any, escape: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=r"^bad_json: ") as found:
        read(f'{{"orders":[],"reasoning":"{escape}"}}')
    assert found.value.slug == "bad_json"


@pytest.mark.parametrize("escape", ["\ud800", "\\ud800"], ids=ascii)
@pytest.mark.parametrize(
    "read", [Suite.from_json, ScenarioSpec.from_json, oo.RunRecord.from_json, native.check_score_config]
)
def test_a_document_with_a_lone_surrogate_is_refused(read: Any, escape: str) -> None:
    with pytest.raises(oo.OpenOutcryError):
        read(f'{{"{escape}":1}}')


def test_an_arena_record_with_a_lone_surrogate_is_bad_json() -> None:
    with pytest.raises(oo.OpenOutcryError, match=r"^bad_json: "):
        native.log_record_fault('{"\ud800":1}')


ARGUMENTS: dict[str, Callable[[Path], Any]] = {
    "a date": lambda folder: market(dates=[NAME, *DATES[1:]]),
    "a symbol": lambda folder: market(symbols=[NAME]),
    "a market": lambda folder: market(name=NAME),
    "a notice": lambda folder: market(notices=[NAME]),
    "a headline": lambda folder: market(news=[("A", DATES[0], NAME)]),
    "a fundamental": lambda folder: market(fundamentals=[("A", DATES[0], NAME, 1.0)]),
    "a source": lambda folder: snapshot_files.freeze(market(), folder, NAME),
    "the text of a file": lambda folder: oo.Dataset.from_csv(f"date,symbol,close\n2024-01-02,{NAME},1\n"),
    "the path of a file": lambda folder: oo.Dataset.from_csv(folder / NAME),
    "the path of a market": lambda folder: open_market(folder / NAME),
    "the path of a record": lambda folder: oo.RunRecord.load(f"{NAME}.json"),
    "the path of a suite": lambda folder: Suite.load(NAME),
    "an agent": lambda folder: oo.run_backtest(DATA, NAME, "+20:+40"),
    "a run": lambda folder: oo.run_backtest(DATA, "momentum", "+20:+40", name=NAME),
    "a recorded run": lambda folder: oo.run_backtest(DATA, "momentum", "+20:+40", name=NAME, capture=True),
    "a joined record": lambda folder: oo.RunRecord.join(NAME, []),
    "a written record": lambda folder: RecordWriter(folder / "r.jsonl", NAME),
    "a logged event": lambda folder: ChainedLog(folder / "l.jsonl", session="s").extend([("event", {"a": NAME})]),
    "submitted returns": lambda folder: scorer.submit_returns(NAME, RETURNS, periods_per_year=252),
    "scored returns": lambda folder: oo.score({NAME: RETURNS}, periods_per_year=252),
    "a column": lambda folder: DATA._core.column(NAME),
    "a noise": lambda folder: native.fill_noise(1, 1, NAME),
    "a baseline": lambda folder: native.Baseline(NAME),
    "a scenario": lambda folder: native.Scenario.seeded(ScenarioSpec("calm").to_json(), NAME, 1),
}


@pytest.mark.parametrize("give", ARGUMENTS.values(), ids=ARGUMENTS)
def test_a_text_with_a_lone_surrogate_is_refused(give: Any, tmp_path: Path) -> None:
    with pytest.raises(oo.OpenOutcryError) as found:
        give(tmp_path)
    # The message can be encoded, and so be logged and sent.
    assert str(found.value).encode()


def test_a_file_with_an_escaped_lone_surrogate_is_refused(tmp_path: Path) -> None:
    rows = [{"date": f"2024-01-0{day}", "symbol": NAME, "close": 1.0} for day in (1, 2, 3)]
    (tmp_path / "p.json").write_text(json.dumps(rows), encoding="ascii")
    with pytest.raises(oo.OpenOutcryError):
        oo.Dataset.from_csv(tmp_path / "p.json")
    done = typed("data", "check", "p.json", cwd=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)


def test_a_manifest_with_an_escaped_lone_surrogate_is_refused(tmp_path: Path) -> None:
    path = snapshot_files.freeze(market(name="plain"), tmp_path, "here")
    path.write_text(path.read_text("utf-8").replace('"plain"', '"\\ud800"'), encoding="utf-8")
    with pytest.raises(oo.OpenOutcryError):
        snapshot_files.load(path)
