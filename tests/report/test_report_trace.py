"""Traces of runs: equality with the observations, and their encoding in a page."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any

import numpy as np
import pytest
from builders import Draw, count, draw, row_decision
from hypothesis import given
from hypothesis import strategies as st
from report_pages import PROVENANCE, Page, make_run

import openoutcry as oo
from openoutcry.report.pages import packed_trace
from openoutcry.report.pages.inspector import LISTED, listed_bars
from openoutcry.report.render import render_run
from openoutcry.report.run_trace import trace_of
from openoutcry.report.views.run_view import RunView
from openoutcry.report.views.trace_view import Event, Fill, Order, Step, Trace

pytestmark = pytest.mark.once

N = 60


class RecordingAgent:
    """Returns rows of weights as decisions, and stores observations and decisions."""

    def __init__(self, drawn: Draw) -> None:
        self.rows, self.symbols = drawn.weights, drawn.dataset.symbols
        self.seen: list[dict[str, Any]] = []
        self.texts: list[str] = []

    def __call__(self, observation: dict[str, Any]) -> str:
        """Return the next row."""
        self.seen.append(observation)
        listed = {view["symbol"] for view in observation["symbols"]}
        row = self.rows[len(self.texts) % len(self.rows)]
        self.texts.append(row_decision(self.symbols, row, [symbol in listed for symbol in self.symbols]))
        return self.texts[-1]


@pytest.mark.parametrize("seed", range(count(200, 25)))
def test_a_trace_equals_the_observations_of_the_agent(seed: int) -> None:
    drawn = draw(seed)
    agent = RecordingAgent(drawn)
    run = oo.run_backtest(drawn.dataset, agent, drawn.window, drawn.costs, drawn.limits)
    trace = trace_of(run, agent.texts)
    symbols = drawn.dataset.symbols
    scale = max(1.0, float(np.abs(run.nav).max()), float(np.abs(run.weights * run.nav[:, None]).max()))
    for t, seen in enumerate(agent.seen):
        listed = {view["symbol"]: view["close_history"][-1] for view in seen["symbols"]}
        assert {s for s, close in zip(symbols, trace.closes[t], strict=True) if np.isfinite(close)} == set(listed)
        held = {each["symbol"]: each["shares"] for each in seen["portfolio"]}
        for i, symbol in enumerate(symbols):
            if symbol in listed:
                assert trace.closes[t, i] == pytest.approx(listed[symbol], rel=1e-12)
            assert trace.shares[t, i] == pytest.approx(held.get(symbol, 0.0), rel=1e-9, abs=1e-12)
        assert trace.cash[t] == pytest.approx(seen["cash"], abs=1e-9 * scale)
    assert [len(step.orders) for step in trace.steps] == [len(json.loads(text)["orders"]) for text in agent.texts]
    assert sum(len(step.fills) for step in trace.steps) == len(run.trades["bar"])
    assert sum(len(step.events) for step in trace.steps) == len(run.events)


def flat_run(texts: list[str]) -> Trace:
    dataset = oo.Dataset.synthetic(2, 30, 0)
    run = oo.run_backtest(dataset, np.full((30, 2), np.nan), (0, 10))
    return trace_of(run, texts, {1: "timeout"})


def test_a_trace_has_the_orders_reasoning_and_faults_of_decisions() -> None:
    order = {"symbol": "S", "action": "buy", "target_weight": 0.5, "confidence": 0.7, "rationale": "up"}
    text = json.dumps({"orders": [order], "reasoning": "All of it."})
    said, late, broken, odd = flat_run([text, '{"orders": []}', "I would buy.", '{"orders": 3}']).steps
    assert said == Step([Order("S", "buy", 0.5, 0.7, "up")], "All of it.", "", (), ())
    assert (late.fault, late.reasoning) == ("timeout", "")
    assert (broken.fault, broken.reasoning, broken.orders) == ("malformed", "I would buy.", [])
    assert (odd.fault, odd.reasoning) == ("malformed", '{"orders": 3}')


@pytest.mark.parametrize("weight", ["true", '"half"', "null", "1e999", "NaN", "1" + "0" * 400])
def test_an_invalid_weight_is_none(weight: str) -> None:
    text = f'{{"orders": [{{"symbol": "S", "action": "buy", "target_weight": {weight}}}]}}'
    assert flat_run([text]).steps[0].orders[0].weight is None


def test_more_decisions_than_bars_are_refused() -> None:
    with pytest.raises(oo.OpenOutcryError, match=r"at most 9 decisions are required; received 10"):
        flat_run(["{}"] * 10)


# Encoding in a page


def made_trace(rng: np.random.Generator, n_symbols: int = 3, n_bars: int = N) -> Trace:
    closes = 10.0 ** rng.uniform(-3.0, 4.0, n_symbols) * np.exp(np.cumsum(rng.normal(0, 0.01, (n_bars, n_symbols)), 0))
    closes[: n_bars // 3, 0] = np.nan
    shares = np.where(rng.random((n_bars, n_symbols)) < 0.5, 0.0, rng.normal(0.0, 0.4, (n_bars, n_symbols)) / closes)
    shares[np.isnan(shares)] = 0.0
    steps = []
    for t in range(n_bars - 1):
        i = int(rng.integers(1, n_symbols))
        orders = [Order(f"S{i}", "buy", float(rng.normal()), float(rng.random()), f"because {t}")]
        fills = [Fill(f"S{i}", float(shares[t + 1, i] - shares[t, i]), float(closes[t, i] * 1.001))]
        # Liquidated at the close: no position at any close.
        fills += [Fill("S1", 1.2345678, float(closes[t, 1]))] if t == 30 else []
        events = [Event("limited", f"S{i}", "max_weight")] if rng.random() < 0.2 else []
        steps.append(Step(orders, "", "timeout" if t == 7 else "", fills, events))
    return Trace(rng.normal(0.5, 0.2, n_bars), shares, closes, steps)


def made_view(trace: Trace) -> RunView:
    n_bars, n_symbols = trace.closes.shape
    symbols = [f"S{i}" for i in range(n_symbols)]
    return make_run("a", n_bars, 1, symbols=symbols, weights=np.zeros((n_bars, n_symbols)), trace=trace)


def unpacked(text: str) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(text), -15))


def column(packed_column: dict[str, Any]) -> np.ndarray[Any, Any]:
    steps = np.array([np.nan if step is None else float(step) for step in packed_column["v"]])
    return np.where(np.isnan(steps), np.nan, np.nancumsum(steps)) / 10.0 ** packed_column["d"]


@pytest.mark.parametrize("seed", range(count(200, 20)))
def test_the_encoded_trace_is_exact_to_the_digits_shown(seed: int) -> None:
    trace = made_trace(np.random.default_rng(seed))
    body = unpacked(packed_trace.pack(made_view(trace)).text)
    pairs = [(body["cash"], trace.cash), *zip(body["closes"], trace.closes.T, strict=True)]
    for each, exact in [*pairs, *zip(body["shares"], trace.shares.T, strict=True)]:
        np.testing.assert_allclose(column(each), exact, atol=0.5001 * 10.0 ** -each["d"], rtol=0.0)
        assert each["d"] == 12 or max(np.nanmax(np.abs(exact)), 1.3) * 10.0 ** each["d"] >= 4e4
    fills = [(t, fill) for t, step in enumerate(trace.steps) for fill in step.fills]
    for place, (t, fill) in enumerate(fills):
        i = body["fills"]["symbol"][place]
        close, held = body["closes"][i], body["shares"][i]
        price = body["fills"]["price"][place] / 10.0 ** close["d"] + np.nan_to_num(column(close)[t])
        shares = body["fills"]["shares"][place] / 10.0 ** held["d"] + column(held)[t + 1] - column(held)[t]
        assert (price, shares) == pytest.approx(
            (fill.price, fill.shares), abs=0.5001 * 10.0 ** -min(close["d"], held["d"])
        )
    texts = body["texts"]
    assert [texts[k] for k in body["orders"]["why"]] == [f"because {t}" for t in range(N - 1)]
    assert {int(t): texts[k] for t, k in body["faults"].items()} == {7: "timeout"}


@given(st.text())
def test_agent_text_is_preserved_except_control_characters(text: str) -> None:
    base = made_trace(np.random.default_rng(1), 2)
    trace = Trace(base.cash, base.shares, base.closes, [Step([Order(text, text, 0.1, None, text)], text, text)])
    view = made_view(trace)
    body = unpacked(packed_trace.pack(view).text)
    arrived = body["texts"][body["orders"]["why"][0]]
    assert len(arrived) == len(text)
    differing = {a for a, b in zip(text, arrived, strict=True) if a != b}
    assert all(
        ord(c) < 32 or 127 <= ord(c) < 160 or 0x2028 <= ord(c) < 0x206A or 0xD800 <= ord(c) < 0xE000 for c in differing
    )
    page = render_run(view, None, [], PROVENANCE)
    page.encode()
    names = [tag for tag, _ in Page(page).tags]
    assert (names.count("script"), names.count("img")) == (1, 0)


def test_overrides_lone_surrogates_and_javascript_line_ends_are_replaced() -> None:
    base = made_trace(np.random.default_rng(1), 2)
    text = "a\u202eb\ud800c\u2028d\u2066e\x00"
    trace = Trace(base.cash, base.shares, base.closes, [Step([Order("S0", "buy", 0.1, None, text)])])
    view = made_view(trace)
    body = unpacked(packed_trace.pack(view).text)
    assert body["texts"][body["orders"]["why"][0]] == "a\ufffdb\ufffdc\nd\ufffde\ufffd"
    page = render_run(view, None, [], PROVENANCE)
    assert "a\ufffdb\ufffdc d\ufffde\ufffd" in page


def test_long_texts_are_truncated_to_one_length_with_a_notice() -> None:
    base = made_trace(np.random.default_rng(2), 2)
    steps = [Step([Order("S0", "hold", 0.0, None, f"{t}: " + "x" * 9000)], f"short {t}") for t in range(N - 1)]
    view = made_view(Trace(base.cash, base.shares, base.closes, steps))
    done = packed_trace.pack(view)
    assert done.longest is not None
    texts = unpacked(done.text)["texts"]
    assert packed_trace.TEXT_CHARACTERS - N - 20 < sum(map(len, texts)) <= packed_trace.TEXT_CHARACTERS
    assert max(map(len, texts)) == done.longest
    assert "short 3" in texts
    page = render_run(view, None, [], PROVENANCE)
    assert (
        f"Texts longer than {done.longest:,} characters are truncated here; the record has the complete texts." in page
    )


def test_the_page_of_a_large_run_has_its_last_bars_with_a_notice() -> None:
    trace = made_trace(np.random.default_rng(3), 40, 2000)
    done = packed_trace.pack(made_view(trace))
    body = unpacked(done.text)
    assert (done.first, len(body["dates"]), len(body["orders"]["n"])) == (500, 1500, 1499)
    np.testing.assert_allclose(column(body["closes"][5]), trace.closes[500:, 5], rtol=1e-4)
    page = render_run(made_view(trace), None, [], PROVENANCE)
    assert f"This page contains the bars from {made_view(trace).dates[500]} on; the record contains all bars." in page
    assert len(page.encode()) < 1_000_000


def test_the_plain_list_prefers_bars_with_faults_and_events() -> None:
    quiet, busy = Step(), Step([Order("S0", "buy", 0.1)])
    event, fault = Step(events=[Event("ruined")]), Step(fault="timeout")
    base = made_trace(np.random.default_rng(4), 2)
    steps = [quiet, busy, *[busy] * 40, event, quiet, fault]
    bars = listed_bars(Trace(base.cash, base.shares, base.closes, steps))
    assert bars == [*range(1, LISTED - 1), 42, 44]


def test_a_fill_of_an_unknown_symbol_is_refused() -> None:
    base = made_trace(np.random.default_rng(5), 2)
    trace = Trace(base.cash, base.shares, base.closes, [Step(fills=[Fill("OTHER", 1.0, 1.0)])])
    with pytest.raises(ValueError, match=re.escape("a fill must have a symbol of the run; received 'OTHER'")):
        made_view(trace)


def test_more_steps_than_bars_are_refused() -> None:
    base = made_trace(np.random.default_rng(6), 2)
    with pytest.raises(ValueError, match=re.escape("`trace.steps` must hold at most 59 decisions; received 60")):
        made_view(Trace(base.cash, base.shares, base.closes, [Step()] * N))
