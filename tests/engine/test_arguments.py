"""Arguments of the Python API are used as given, or refused with a slug of the contract."""

from __future__ import annotations

import copy
import datetime
import decimal
import fractions
import json
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import openoutcry as oo
from openoutcry.errors import chain_note
from openoutcry.gym import OpenOutcryEnv

pytestmark = pytest.mark.once

ERRORS = json.loads((Path(__file__).resolve().parents[2] / "contract" / "errors.json").read_text(encoding="utf-8"))
SLUGS = {each["slug"] for each in ERRORS["errors"]}
MARKET = oo.Dataset.synthetic(2, 60, 1)
WEIGHTS = np.zeros((60, 2))
LONE = "\ud800"


def arrays(**changes: Any) -> oo.Dataset:
    given = {"dates": ["2024-01-02", "2024-01-03"], "symbols": ["A"], "close": [[1.0], [2.0]]}
    return oo.Dataset.from_arrays(**(given | changes))


def masked(shape: tuple[int, ...]) -> Any:
    return np.ma.masked_array(np.ones(shape), mask=np.zeros(shape, dtype=bool))


def run(agent: Any = WEIGHTS, **changes: Any) -> oo.Run:
    return oo.run_backtest(MARKET, agent, **changes)


REFUSALS: dict[str, tuple[Callable[[], Any], str]] = {
    "masked weights": (lambda: run(masked((60, 2))), "shape_mismatch: `weights`"),
    "masked closes": (lambda: arrays(close=masked((2, 1))), "shape_mismatch: `close`"),
    "a masked mask": (lambda: arrays(tradable=masked((2, 1)) > 0), "shape_mismatch: `tradable`"),
    "masked rates": (lambda: arrays(risk_free=masked((2,))), "shape_mismatch: `risk_free`"),
    "a masked action": (lambda: OpenOutcryEnv().step(masked((4,))), "shape_mismatch: `action`"),
    "rows of unequal length": (lambda: arrays(close=[[1.0], [1.0, 2.0]]), "shape_mismatch: `close`"),
    "rates that are spans": (lambda: arrays(risk_free=np.zeros(2, "m8[s]")), "shape_mismatch: `risk_free`"),
    "closes that are spans": (lambda: arrays(close=np.ones((2, 1), "m8[s]")), "shape_mismatch: `close`"),
    "no symbol": (lambda: arrays(symbols=[None]), r"symbol_invalid: `symbols\[0\]`"),
    "a text for symbols": (lambda: arrays(symbols="A"), "symbol_invalid: `symbols`"),
    "half a character": (lambda: arrays(symbols=[LONE]), r"symbol_invalid: `symbols\[0\]`"),
    "half a character of a date": (lambda: arrays(dates=["2024-01-02", LONE]), "date_invalid: `date` at row 1"),
    "a text of bars a year": (lambda: arrays(periods_per_year="252"), "value_invalid: `periods_per_year`"),
    "true bars a year": (lambda: arrays(periods_per_year=True), "value_invalid: `periods_per_year`"),
    "a number too few": (lambda: arrays(fundamentals=[("A", "2024-01-02", 1.0)]), r"value_invalid: `fund"),
    "a text for a number": (
        lambda: arrays(fundamentals=[("A", "2024-01-02", "eps", "1")]),
        r"value_invalid: `fundamentals\[0\]`",
    ),
    "news of half a character": (lambda: arrays(news=[("A", "2024-01-02", LONE)]), r"value_invalid: `news\[0\]`"),
    "no dataset": (lambda: oo.run_backtest(WEIGHTS, WEIGHTS), "argument_invalid: `dataset`"),
    "empty costs": (lambda: run(costs={}), "cost_invalid: `costs`"),
    "costs as a dict": (lambda: run(costs={"fee_bps": 1.0}), "cost_invalid: `costs`"),
    "limits as a dict": (lambda: run(limits={}), "limit_invalid: `limits`"),
    "costs of the environment": (lambda: OpenOutcryEnv(costs={}), "cost_invalid: `costs`"),
    "limits of the environment": (lambda: OpenOutcryEnv(limits={}), "limit_invalid: `limits`"),
    "a text for a fee": (lambda: oo.CostModel(fee_bps="1"), "cost_invalid: `fee_bps`"),
    "a true fee": (lambda: oo.CostModel(fee_bps=True), "cost_invalid: `fee_bps`"),
    "a true limit": (lambda: oo.Limits(max_weight=np.True_), "limit_invalid: `max_weight`"),
    "a text for a truth": (lambda: oo.Limits(allow_short="no"), "limit_invalid: `allow_short`"),
    "a dataset of four": (lambda: OpenOutcryEnv(4, dataset=MARKET), "argument_invalid: `dataset` must be None with"),
    "a dataset and days": (lambda: OpenOutcryEnv(dataset=MARKET, n_days=60), "argument_invalid: `dataset`"),
    "a frame for a dataset": (lambda: OpenOutcryEnv(dataset=pd.DataFrame()), "argument_invalid: `dataset`"),
    "a mode of no picture": (lambda: OpenOutcryEnv(render_mode="human"), "argument_invalid: `render_mode`"),
    "both limits": (lambda: OpenOutcryEnv(limits=oo.Limits(), allow_short=False), "limit_invalid: `limits`"),
    "a lookback of 0": (lambda: OpenOutcryEnv(lookback=0), "window_invalid: `lookback`"),
    "a true lookback": (lambda: run(lookback=True), "window_invalid: `lookback`"),
    "a huge lookback": (lambda: run(lookback=2**80), "window_invalid: `lookback`"),
    "a true start": (lambda: oo.TradingEnv(window_start=True), "window_invalid: `window_start`"),
    "a start before all": (lambda: oo.TradingEnv(window_start=-1), "window_invalid: `window_start`"),
    "an end beyond all": (lambda: oo.TradingEnv(window_end=2**70), "window_invalid: `window_end`"),
    "true symbols": (lambda: oo.TradingEnv(n_symbols=True), "argument_invalid: `n_symbols`"),
    "half a day": (lambda: oo.Dataset.synthetic(2, 60.5), "argument_invalid: `n_days`"),
    "a seed below 0": (lambda: run(seed=-1), "argument_invalid: `seed`"),
    "a huge seed": (lambda: oo.TradingEnv(seed=2**64), "argument_invalid: `seed`"),
    "a true seed": (lambda: oo.agents.random(True), "argument_invalid: `seed`"),
    "a seed of the environment": (lambda: OpenOutcryEnv(seed=-1), "argument_invalid: `seed`"),
    "a bar beyond all": (lambda: run(window=(0, 2**80)), "window_invalid"),
    "a window of a kind": (lambda: run(window=[0, 50]), "window_invalid: `window`"),
    "true bars": (lambda: MARKET.head(True), "window_invalid: `n_bars`"),
    "a column of weights": (lambda: run(pd.Series([0.5] * 60, index=[0.1] * 60)), "shape_mismatch: an agent or"),
    "dates of no frame": (
        lambda: run(pd.DataFrame(WEIGHTS, [(0, 1)] * 60, ["S000", "S001"])),
        "shape_mismatch: the index of `weights`",
    ),
    "half a character of JSON": (lambda: oo.TradingEnv().step('{\n "' + LONE), "bad_json: .* at line 2 column 3"),
    "half a character of an agent": (lambda: run(lambda _: f'{{"reasoning": "{LONE}", "orders": []}}'), "bad_json"),
    "half a character in a dict": (lambda: run(lambda _: {"reasoning": LONE, "orders": []}), "bad_json"),
    "a decision in bytes": (lambda: oo.TradingEnv().step(b"{}"), "wrong_type: expected a text; received bytes"),
    "half a character of a file": (lambda: oo.TradingEnv.from_csv(f"date,A\n{LONE},1\n"), "field_unparsable: .*line 2"),
    "bytes for a file": (lambda: oo.TradingEnv.from_csv(b"date,A\n"), "argument_invalid: `csv_text`"),
    "a text after a quote": (lambda: oo.Dataset.from_csv('date,A\n2024-01-02,"1"2\n'), "field_unparsable: .* line 2"),
    "an open quote": (lambda: oo.Dataset.from_csv('date,A\n2024-01-02,"1\n'), "field_unparsable: .* 2 must be closed"),
    "a hint of one symbol": (
        lambda: oo.Dataset.from_csv("date,close\n2024-01-02,1\n2024-01-03,1\n"),
        'missing_column: a `symbol` is required; received .* hint: symbol="NAME", `--symbol NAME`',
    ),
    "a list instead of a frame": (lambda: oo.Dataset.from_frame([[1.0]]), "argument_invalid: `frame`"),
    "an agent of no module": (lambda: oo.agents.load(":function"), "unknown_agent"),
    "a number for a name": (lambda: arrays(name=5), "argument_invalid: `name` must be a text; received 5"),
    "a text for notices": (lambda: arrays(notices="abc"), "argument_invalid: `notices` must be a list of texts"),
    "a number for a notice": (lambda: arrays(notices=["a", 5]), r"argument_invalid: `notices\[1\]`"),
    "no days": (lambda: oo.TradingEnv(n_days=-1), "argument_invalid: `n_days` must be an integer of at least 2"),
    "no symbols": (lambda: oo.TradingEnv(n_symbols=-1), "argument_invalid: `n_symbols` must be .* of at least 1"),
    "a field of two lines": (lambda: run(lambda _: {"a\nb": 1}), r"unknown_field: .*received `a\\nb`"),
    "a column of two lines": (
        lambda: oo.Dataset.from_frame(pl.DataFrame({"a\nb": ["2024-01-02"]})),
        r"missing_column: .*received a\\nb; hint: ",
    ),
    "an object for a weight": (
        lambda: run(lambda _: {"orders": [{"symbol": "S000", "action": "buy", "target_weight": {}}]}),
        "wrong_type: expected a number in `target_weight`; received an object at line 1",
    ),
    "dates outside": (
        lambda: run(window=("2049-01-01", None)),
        "window_invalid: window must satisfy .*; received 60:60, from 2049-01-01: in 2000",
    ),
    "an unknown market": (lambda: oo.data.describe("crypto"), "unknown_dataset"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_an_invalid_argument_is_refused_with_a_slug_of_the_contract(name: str) -> None:
    refuse, message = REFUSALS[name]
    with pytest.raises(oo.OpenOutcryError, match=rf"(?s)^{message}") as refused:
        refuse()
    assert refused.value.slug in SLUGS
    assert "; received " in str(refused.value)


SHUFFLED = ["2024-01-04", "2024-01-02", "2024-01-03"]
FRAMES: dict[str, tuple[dict[str, Any], str]] = {
    "a price of a long frame": (
        {"date": SHUFFLED, "symbol": ["B", "A", "A"], "close": [1.0, 1.0, -1.0]},
        "price_invalid: `close` at row 2 (2024-01-03)",
    ),
    "a price of a wide frame": (
        {"date": SHUFFLED, "A": [-1.0, 1.0, 1.0]},
        "price_invalid: `close` at row 0 (2024-01-04)",
    ),
    "a date": ({"date": ["2024-01-04", "2024-01-02", "2023-02-30"], "A": [1.0] * 3}, "date_invalid: `date` at row 2"),
    "a date twice": ({"date": ["2024-01-04", "2024-01-02", "2024-01-04"], "A": [1.0] * 3}, "at rows 0 and 2"),
    "a row twice": (
        {"date": ["2024-01-04", "2024-01-02", "2024-01-04"], "symbol": ["A"] * 3, "close": [1.0] * 3},
        "at rows 0 and 2",
    ),
    "spans for closes": ({"date": SHUFFLED, "A": [datetime.timedelta(1)] * 3}, "field_unparsable: `A` at row 0"),
    "times for closes": (
        {"date": SHUFFLED, "A": [datetime.datetime(2024, 1, 1)] * 3},
        "field_unparsable: `A` at row 0",
    ),
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("name", FRAMES)
def test_an_invalid_cell_is_refused_with_its_row_in_the_frame(name: str, make: Callable[[Any], Any]) -> None:
    columns, message = FRAMES[name]
    with pytest.raises(oo.OpenOutcryError) as refused:
        oo.Dataset.from_frame(make(columns))
    assert message in str(refused.value)


def test_an_invalid_date_is_refused_with_its_row_in_the_frame() -> None:
    days = pd.to_datetime(pd.Series(["2024-01-04", None, "2024-01-02"]))
    for columns in ({"A": [1.0] * 3}, {"symbol": ["A"] * 3, "close": [1.0] * 3}):
        with pytest.raises(oo.OpenOutcryError, match=r"date_invalid: `date` at row 1 must be .*NaT"):
            oo.Dataset.from_frame(pd.DataFrame({"date": days, **columns}))


ORDER = {"symbol": "S000", "action": "buy", "target_weight": 0.5}
HALVES = [np.float64(0.5), np.float32(0.5), np.array(0.5), decimal.Decimal("0.5"), fractions.Fraction(1, 2)]


@pytest.mark.parametrize("half", HALVES, ids=repr)
def test_a_number_of_any_library_is_converted_with_float(half: Any) -> None:
    expected = run(lambda _: {"orders": [ORDER]}).nav
    orders = [MappingProxyType(ORDER | {"target_weight": half, "confidence": np.int64(1)})]
    assert run(lambda _: MappingProxyType({"orders": orders})).nav.tobytes() == expected.tobytes()
    third = run(lambda _: {"orders": [ORDER | {"target_weight": np.float32(0.3)}]}).decisions[0, 0]
    assert third == float(np.float32(0.3)) != 0.3


@pytest.mark.parametrize(
    "weight",
    [np.True_, np.array([0.5]), np.timedelta64(1, "s"), datetime.date(2024, 1, 2), 1j, {1}, {(1, 2): 3}],
    ids=repr,
)
def test_a_weight_that_is_not_a_number_is_a_wrong_type(weight: Any) -> None:
    with pytest.raises(oo.OpenOutcryError, match="wrong_type") as refused:
        run(lambda _: {"orders": [ORDER | {"target_weight": weight}]})
    assert refused.value.slug == "wrong_type"
    endless: dict[str, Any] = {}
    endless["orders"] = [endless]
    with pytest.raises(oo.OpenOutcryError, match="wrong_type"):
        run(lambda _: endless)


def failing(bar: int, error: BaseException) -> Callable[[Any], Any]:
    def agent(observation: dict[str, Any]) -> Any:
        if observation["date"] == MARKET.dates[bar]:
            raise error
        return {"orders": []}

    return agent


def test_an_error_of_an_agent_states_bar_and_date() -> None:
    for error in (ZeroDivisionError("mine"), oo.OpenOutcryError("of another run"), KeyError("close")):
        with pytest.raises(type(error)) as caught:
            run(failing(34, error))
        assert caught.value is error
        shown = "".join(traceback.format_exception(caught.value))
        assert f"in the decision at the close of bar 34 ({MARKET.dates[34]})" in shown
        assert "in agent" in shown
    with pytest.raises(oo.OpenOutcryError, match="bad_json") as caught:
        run(lambda _: "buy")
    assert f"bar 19 ({MARKET.dates[19]})" in "".join(traceback.format_exception(caught.value))


def test_without_exception_notes_the_note_is_the_first_cause() -> None:
    def fail() -> None:
        try:
            int("x")
        except ValueError as error:
            raise KeyError("mine") from error

    for raise_it in (fail, lambda: 1 / 0):
        with pytest.raises((KeyError, ZeroDivisionError)) as caught:
            raise_it()
        chain_note(caught.value, "in the decision at the close of bar 3")
        shown = "".join(traceback.format_exception(caught.value))
        assert shown.index("bar 3") < shown.index(type(caught.value).__name__)
        assert caught.value.__notes__ == ["in the decision at the close of bar 3"]


EDGES = [
    datetime.date(2000, 1, 10),
    datetime.datetime(2000, 1, 10),
    pd.Timestamp("2000-01-10"),
    np.datetime64("2000-01-10"),
    np.datetime64("2000-01-10", "ns"),
    "2000-01-10T00:00:00",
    np.int64(5),
]


@pytest.mark.parametrize("edge", EDGES, ids=repr)
def test_an_edge_of_a_window_may_be_a_date_of_any_library(edge: Any) -> None:
    assert run(window=(edge, None)).window == oo.Window(5, 60)
    assert run(window=(0, edge)).window == oo.Window(0, 5)


@pytest.mark.parametrize(
    "edge",
    [
        datetime.datetime(2000, 1, 10, 16),
        datetime.datetime(2000, 1, 10, tzinfo=datetime.timezone.utc),
        pd.Timestamp("2000-01-10", tz="UTC"),
        np.datetime64("2000-01-10T00:00:00.001"),
        np.datetime64("NaT"),
        pd.NaT,
        "2000-01-10 or so",
        "2000-01-10T25:00:00",
        True,
        5.0,
    ],
    ids=repr,
)
def test_an_edge_finer_than_the_bars_is_refused(edge: Any) -> None:
    for window in ((edge, None), (None, edge)):
        with pytest.raises(oo.OpenOutcryError, match="window_invalid: an edge of a window must be"):
            run(window=window)


def test_edges_have_the_resolution_of_the_bars() -> None:
    times = [f"2024-01-{day:02d}T{hour}:00:00Z" for day in (2, 3) for hour in ("09", "12", "16")]
    dataset = oo.Dataset.from_arrays(times, ["A"], np.ones((6, 1)))
    for window, bars in {"2024-01-02T12:00:00Z:2024-01-03T16:00:00Z": (1, 5), "2024-01-03:": (3, 6)}.items():
        assert oo.Window.parse(window).resolve(dataset, 20) == bars
    with pytest.raises(oo.OpenOutcryError, match="like the bars"):
        oo.Window.parse("2024-01-02T12:00:00:").resolve(dataset, 20)


def test_a_window_of_years_or_bars_is_refused_with_both_spellings() -> None:
    for text in ("2010:2012", ":2012", " 1999 : "):
        with pytest.raises(
            oo.OpenOutcryError, match=r"years or bars; hint: write .*-01-01.* for years, .*\+.* for bars"
        ) as refused:
            oo.Window.parse(text)
        assert refused.value.slug == "window_invalid"
    assert oo.Window.parse("+2010:+2012") == oo.Window(2010, 2012)
    assert oo.Window.parse("0:2000") == oo.Window(0, 2000)
    assert oo.Window.parse("2010-01-01:2500") == oo.Window("2010-01-01", 2500)


@pytest.mark.parametrize("max_weight", [0.1, 0.3, 1 / 3, 1.0, 1e-50, np.inf])
def test_no_sampled_action_exceeds_max_weight(max_weight: float) -> None:
    env = OpenOutcryEnv(
        n_symbols=3, limits=oo.Limits(max_weight=max_weight, max_gross=np.inf), costs=oo.CostModel.zero()
    )
    for action in (env.action_space.high, env.action_space.low):
        env.reset()
        env.step(action)
        assert [event["slug"] for event in env.events if event["slug"] == "limited"] == []


COPIED = [MARKET, oo.CostModel(fee_bps=3.0), oo.Limits(max_gross=2.0), oo.Window(3, "2000-02-01")]


@pytest.mark.parametrize("thing", COPIED, ids=lambda thing: type(thing).__name__)
def test_values_can_be_pickled_and_copied(thing: Any) -> None:
    for back in (pickle.loads(pickle.dumps(thing)), copy.copy(thing), copy.deepcopy(thing)):
        assert back == thing
        assert repr(back) == repr(thing)


def test_a_copied_baseline_starts_a_new_session() -> None:
    agent = oo.agents.random(7)
    observation = json.loads(oo.TradingEnv().reset())
    first = agent(observation)
    for back in (pickle.loads(pickle.dumps(agent)), copy.deepcopy(agent)):
        assert back(observation) == first
        assert run(back).nav.tobytes() == run(oo.agents.random(7)).nav.tobytes()


def test_a_run_can_be_copied_but_not_pickled() -> None:
    done = run("momentum")
    for back in (copy.copy(done), copy.deepcopy(done)):
        assert (back.nav.tobytes(), back.metrics, back.name) == (done.nav.tobytes(), done.metrics, done.name)
    with pytest.raises(TypeError, match=r"a Run cannot be pickled; hint: .*metrics"):
        pickle.dumps(done)


def test_a_type_checker_reports_an_unknown_name(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    code = "import openoutcry as oo\n\noo.run_backtest\noo.data.load\noo.run_bakctest\n"
    (tmp_path / "user.py").write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), "--follow-imports", "silent"]
    done = subprocess.run([*command, "user.py"], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert 'has no attribute "run_bakctest"' in done.stdout
    assert "Found 1 error" in done.stdout
