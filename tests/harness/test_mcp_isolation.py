"""Isolation of MCP sessions: no response or file depends on later bars or, without a trial count, on other sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcp_sessions import (
    HOLD,
    KINDS,
    WINDOW,
    Decide,
    manager_of,
    market_with,
    new_session,
    played,
    stepped,
    without_session,
)
from recorded_run import DATA, trend

import openoutcry as oo
from openoutcry.backtest.replay import replay
from openoutcry.cli.market_options import open_dataset
from openoutcry.harness.mcp import Bounds, Market, RecordFolder, SessionManager, markets_of
from openoutcry.harness.mcp.market_exposure import bars_in_both
from openoutcry.records.run_record import RunRecord

pytestmark = pytest.mark.once

BARS = (19, 23, 30)
# The digest covers observations, decisions and accounts.
STEP = {"cash", "decision", "nav", "observation"}


def told_until(manager: SessionManager, bar: int) -> list[dict[str, Any]]:
    """Return all responses of a session up to the close of a bar."""
    answers = [new_session(manager)]
    session = {"session": answers[0]["session"]}
    for _ in range(bar - WINDOW[0]):
        answers.append(stepped(manager, answers[-1]))
        answers += [manager.score(session), manager.observe(session)]
    return without_session(answers)


@pytest.mark.parametrize("bar", BARS)
@pytest.mark.parametrize("kind", [*KINDS, "all"])
def test_no_response_depends_on_a_later_bar(kind: str, bar: int) -> None:
    kinds = KINDS if kind == "all" else (kind,)
    assert told_until(manager_of(market_with()), bar) == told_until(manager_of(market_with(*kinds, bar=bar)), bar)


@pytest.mark.parametrize("kind", KINDS)
def test_events_of_a_market_appear_at_their_bar(kind: str) -> None:
    scores = []
    for dataset in (market_with(), market_with(kind, bar=19)):
        manager = manager_of(dataset)
        answers = [new_session(manager)]
        answers += played(manager, answers[0])
        scores.append(without_session([*answers, manager.score({"session": answers[0]["session"]})]))
    # Notices and length belong to the complete data.
    assert (scores[0][:-1] != scores[1][:-1]) == (kind not in ("risk_free", "notices", "length"))
    assert scores[0] != scores[1]


def test_sessions_are_independent() -> None:
    manager, apart = manager_of(), [manager_of(), manager_of()]
    agents: list[Decide] = [trend, lambda seen: HOLD]
    alone = [played(each, new_session(each), decide) for each, decide in zip(apart, agents, strict=True)]
    sessions = [[new_session(manager)], [new_session(manager)]]
    assert sessions[0][0]["session"] != sessions[1][0]["session"]
    while not sessions[0][-1].get("done"):
        for steps, decide in zip(sessions, agents, strict=True):
            steps.append(stepped(manager, steps[-1], decide))
    for together, each in zip(sessions, alone, strict=True):
        assert without_session(together[1:]) == without_session(each)


def steps_of(path: Path) -> list[dict[str, Any]]:
    """Return the steps of a running record without the hash links, which depend on the complete market."""
    steps = [json.loads(line) for line in path.read_text("utf-8").split("\n")[2:-1]]
    return [{name: value for name, value in step.items() if name != "link"} for step in steps]


@pytest.mark.parametrize("bar", BARS[1:])
def test_a_session_that_is_ahead_does_not_affect_another(bar: int, tmp_path: Path) -> None:
    message, written = [], []
    for place, (dataset, is_alone) in enumerate([(market_with(), True), (market_with(*KINDS, bar=bar), False)]):
        folder = tmp_path / str(place)
        manager = manager_of(dataset, records=RecordFolder(folder))
        if not is_alone:
            ahead = new_session(manager)
            played(manager, ahead)
            manager.score({"session": ahead["session"]})
        known = set(folder.iterdir())
        message.append(told_until(manager, bar))
        written.append([steps_of(path) for path in set(folder.iterdir()) - known])
        manager.close()
    assert message[0] == message[1]
    assert written[0] == written[1]


def trials_of(folder: Path, answer: dict[str, Any]) -> int:
    return RunRecord.load(folder / f"{answer['session']}.jsonl").in_sample_trials


def test_looking_ahead_in_another_session_counts_as_a_trial(tmp_path: Path) -> None:
    manager = SessionManager(markets_of([DATA], "full"), records=RecordFolder(tmp_path))
    knows, looks = (manager.reset({"window": "+19:+40"}) for _ in range(2))
    shown = [manager.step({"session": looks["session"], "decision": HOLD})["observation"] for _ in range(3)]
    steps = played(manager, knows, lambda seen: HOLD)
    # A mask keeps returns, so the session that is ahead reveals the bars of the other one.
    returns = [
        sorted(view["close_history"][-1] / view["close_history"][-2] for view in each["symbols"]) for each in shown
    ]
    later = [
        sorted(v["close_history"][-1] / v["close_history"][-2] for v in step["observation"]["symbols"])
        for step in steps
    ]
    np.testing.assert_allclose(returns, later[:3], rtol=1e-12)
    assert trials_of(tmp_path, knows) == 1
    manager.close()
    assert trials_of(tmp_path, looks) == 1


def test_a_record_counts_the_episodes_that_showed_its_bars_before_it_ended(tmp_path: Path) -> None:
    manager = manager_of(records=RecordFolder(tmp_path))
    windows = ["+19:+30", "+40:+50", "+25:+45", "+60:+70"]
    given = [{"window": window, "lookback": 5} for window in windows] + [{"scenario": "hard", "window": "+19:+30"}]
    answers = [manager.reset(each) for each in given]
    for answer in answers:
        played(manager, answer, lambda seen: HOLD)
    after = manager.reset(given[0])
    played(manager, after, lambda seen: HOLD)
    assert [trials_of(tmp_path, each) for each in (*answers, after)] == [1, 1, 2, 0, 0, 2]


def test_the_trial_count_is_final_when_a_session_ends(tmp_path: Path) -> None:
    now = [0.0]
    manager = manager_of(records=RecordFolder(tmp_path), bounds=Bounds(idle_seconds=60.0), clock=lambda: now[0])
    replaced, idle, open_ = (stepped(manager, new_session(manager)) for _ in range(3))
    new_session(manager, replaces=replaced["session"])
    now[0] = 50.0
    stepped(manager, open_)
    now[0] = 100.0
    new_session(manager)
    new_session(manager)
    manager.close()
    assert [trials_of(tmp_path, each) for each in (replaced, idle, open_)] == [2, 3, 5]


def test_synthetic_markets_are_compared_by_seed(tmp_path: Path) -> None:
    manager = manager_of(records=RecordFolder(tmp_path))
    given = [{"scenario": "hard", "seed": seed, "window": "+19:+22"} for seed in (5, 5, 6)]
    answers = [manager.reset(each) for each in given]
    for answer in answers:
        played(manager, answer, lambda seen: HOLD)
    assert [trials_of(tmp_path, each) for each in answers] == [1, 1, 0]


def market(name: str, rows: slice = slice(None), unit: float = 1.0, symbols: tuple[int, ...] = (0, 1, 2)) -> Market:
    close = DATA.close[rows][:, symbols] * unit
    names = [f"{name}{symbol}" for symbol in symbols]
    return Market(name, oo.Dataset.from_arrays(DATA.dates[rows], names, close, name=name))


@pytest.mark.parametrize(
    ("other", "window", "n_trials"),
    [
        (market("COPY"), "+45:+50", 1),
        (market("CENTS", unit=100.0), "+45:+50", 1),
        (market("PART", symbols=(1,)), "+45:+50", 1),
        (market("LATER", rows=slice(30, None)), "+16:+18", 1),
        (market("LATER", rows=slice(30, None)), "+40:+45", 0),
        (market("WEEKLY", rows=slice(0, None, 5)), "+9:+11", 1),
        (market("WEEKLY", rows=slice(0, None, 5)), "+13:+15", 0),
        (Market("ELSE", oo.Dataset.synthetic(3, 80, 9)), "+45:+50", 0),
        (Market("FALLS", oo.Dataset.from_arrays(DATA.dates, ["A"], DATA.close[::-1, :1])), "+45:+50", 0),
    ],
    ids=lambda given: given.name if isinstance(given, Market) else str(given),
)
def test_trials_are_counted_by_data_and_not_by_name(other: Market, window: str, n_trials: int, tmp_path: Path) -> None:
    markets = (Market("market", DATA), other)
    manager = SessionManager(markets, records=RecordFolder(tmp_path))
    answers = [
        manager.reset({"dataset": "market", "window": "+40:+50", "lookback": 2}),
        manager.reset({"dataset": other.name, "window": window, "lookback": 2}),
    ]
    for answer in answers:
        played(manager, answer, lambda seen: HOLD)
    assert [trials_of(tmp_path, each) for each in answers] == [n_trials, n_trials]


def series(returns: list[float]) -> oo.Dataset:
    close = 50.0 * np.cumprod([1.0, *(1.0 + each for each in returns)])
    return oo.Dataset.from_arrays(DATA.dates[: len(close)], ["A"], close[:, np.newaxis])


@pytest.mark.parametrize(
    ("other", "n_bars"),
    [
        ([0.0, 0.1, 0.0, 0.0, -0.1, 0.0, 0.0], 8),
        ([0.0, 0.1, 0.0, 0.0, -0.1, 0.0, 0.2], 8),
        ([0.0, 0.1, 0.0, 0.0, 0.2, 0.0, 0.0], 0),
        ([0.1, 0.0, 0.0, -0.1, 0.0, 0.0, 0.0], 0),
        ([0.0] * 7, 0),
    ],
)
def test_series_are_equal_if_most_of_their_nonzero_returns_agree(other: list[float], n_bars: int) -> None:
    bars, others = bars_in_both(series([0.0, 0.1, 0.0, 0.0, -0.1, 0.0, 0.0]), series(other))
    assert bars.tolist() == others.tolist() == list(range(n_bars))


def test_bundled_markets_with_the_same_rates_overlap(tmp_path: Path) -> None:
    manager = SessionManager(
        markets_of([oo.data.load("ecb-fx"), oo.data.load("ecb-fx", "all")], "full"), records=RecordFolder(tmp_path)
    )
    answers = [manager.reset({"dataset": f"market-{number}", "window": "+100:+103"}) for number in (1, 2)]
    for answer in answers:
        played(manager, answer, lambda seen: HOLD)
    assert [trials_of(tmp_path, each) for each in answers] == [1, 1]


def test_no_price_of_a_masked_market_is_on_disk_while_it_is_traded(tmp_path: Path) -> None:
    now = [0.0]
    bounds = Bounds(sessions=3, idle_seconds=60.0)
    manager = SessionManager(markets_of([DATA], "full"), bounds, RecordFolder(tmp_path), lambda: now[0])
    given = {"window": "+19:+25"}
    replaced, idle = (stepped(manager, manager.reset(given)) for _ in range(2))
    now[0] = 50.0
    over = manager.reset(given | {"replaces": replaced["session"]})
    played(manager, over, lambda seen: HOLD)
    score = manager.score({"session": over["session"]})
    now[0] = 100.0
    left = stepped(manager, manager.reset({"window": "+40:+60"}))
    names = {f"{each['session']}.jsonl" for each in (replaced, idle, over, left)}
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")} == names
    assert {field for name in names for step in steps_of(tmp_path / name)[:1] for field in step} == STEP
    manager.close()
    assert len(list(tmp_path.glob("markets/*.json"))) == len(names)
    for answer in (replaced, idle, over, left):
        record = RunRecord.load(tmp_path / f"{answer['session']}.jsonl")
        frozen = open_dataset(str(tmp_path / f"markets/{record.headers[0]['dataset.fingerprint']}.json"))
        assert replay(record, frozen).differences == ()
    assert (tmp_path / score["record"]["market"]).exists()
