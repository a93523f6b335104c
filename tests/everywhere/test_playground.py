"""The playground in Chromium, opened from disk, offline."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from browser import chromium
from user_files import TEXTS

import openoutcry as oo
from openoutcry.scenarios.scenario import Scenario

ROOT = Path(__file__).resolve().parents[2]
CSV = "date,AAA,BBB\n" + "".join(f"20{k // 12:02}-{k % 12 + 1:02}-01,{100 + k},{200 - k % 7}\n" for k in range(96))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "playground.html"
    done = subprocess.run([sys.executable, "examples/browser/build.py", path], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert path.stat().st_size < 3_000_000
    return path


@pytest.fixture(scope="module")
def page(built: Path) -> Iterator[Any]:
    """Yield the page, which must log nothing and send no request."""
    logged, requested = list[str](), list[str]()
    with chromium() as browser:
        context = browser.new_context(offline=True)
        opened = context.new_page()
        opened.on("console", lambda message: logged.append(message.text))
        opened.on("pageerror", lambda error: logged.append(str(error)))
        opened.on("request", lambda request: requested.append(request.url))
        opened.goto(built.as_uri())
        opened.wait_for_selector("#results[data-run]")
        yield opened
    assert logged == []
    assert {url.partition(":")[0] for url in requested} == {"file", "blob"}


def record_of(page: Any) -> oo.RunRecord:
    with page.expect_download() as download:
        page.click("#record")
    return oo.RunRecord.from_json(Path(download.value.path()).read_text(encoding="utf-8"))


def run(page: Any, rule: str) -> None:
    page.fill("#rule", rule)
    page.click("#run")


@contextmanager
def scored_run(page: Any) -> Iterator[None]:
    """Wait until a run started in the block is scored."""
    before = page.get_attribute("#results", "data-run")
    yield
    page.wait_for_function("run => document.getElementById('results').dataset.run !== run", arg=before)


def above_its_mean(observation: dict[str, Any]) -> dict[str, Any]:
    """The initial rule of the page, in Python: sums and divisions in the same order."""
    views = observation["symbols"]
    wanted = {}
    for view in views:
        total = 0.0
        for close in view["close_history"]:
            total += close
        if view["close_history"][-1] > total / len(view["close_history"]):
            wanted[view["symbol"]] = 1 / len(views)
    orders = [{"symbol": name, "action": "buy", "target_weight": weight} for name, weight in wanted.items()]
    held = [each["symbol"] for each in observation["portfolio"] if each["symbol"] not in wanted]
    return {"orders": [*orders, *({"symbol": name, "action": "close", "target_weight": 0.0} for name in held)]}


def test_a_run_of_the_page_replays_in_python_with_the_same_nav(page: Any) -> None:
    record, market = record_of(page), oo.data.load("ecb-fx")
    replayed = oo.replay(record, market)
    assert replayed.verified, replayed
    assert page.inner_text("#digest") == record.digest
    assert page.inner_text("#fingerprint") == market.fingerprint
    mine = oo.run_backtest(market, above_its_mean, costs=oo.CostModel(fee_bps=1.0, slippage_bps=2.0))
    assert page.inner_text("#own") == f"{mine.nav[-1]:.3f}"
    held = oo.run_backtest(market, "buy-and-hold", costs=oo.CostModel(fee_bps=1.0, slippage_bps=2.0))
    assert page.inner_text("#other") == f"{held.nav[-1]:.3f}"
    assert page.inner_text("#headline") == "Not eligible"
    assert page.inner_text("#command") == "openoutcry replay record.json --data ecb-fx"


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("function decide() {\n  return missing;\n}", "line 2: missing is not defined"),
        ("const decide = 7;", "a function named `decide` is required"),
        ("", "a function named `decide` is required"),
        ("const decide = () => { wasm_bindgen = null; return 5; };", "it returned number"),
        ("function decide() {}", "decide must return weights by symbol, such as {USD: 0.5}; it returned undefined"),
        ("const decide = async () => ({USD: 0.5});", "it returned a promise, which is not awaited"),
        ("const decide = () => [0.5];", "such as {USD: 0.5}; it returned array"),
        ("const decide = () => new Map([['USD', 0.5]]);", "it returned map"),
        ("const decide = () => ({DOLLAR: 0.5});", "DOLLAR is not a symbol of this market; it has USD, "),
        (
            "const decide = () => ({orders: [{symbol: 'X', action: 'buy', target_weight: 1}]});",
            "X is not a symbol of this",
        ),
        ("const decide = () => { throw {code: 7}; };", 'the rule threw {"code":7}'),
        (
            "const decide = () => self.postMessage({kind: 'scored'});",
            "a rule must return a decision; postMessage is not available",
        ),
        ("const decide = () => ({USD: 0 / 0});", "a weight must be a finite number; decide returned NaN for USD"),
        ("const decide = () => ({orders: [{}]});", "missing_field: `symbol` is required"),
        ("function decide( {", "Unexpected token"),
        ("const decide = () => { const e = new Error(); e.message = () => 1; throw e; };", "() => 1"),
        (
            "const decide = () => { throw {get stack() { throw 1; }, toJSON() { throw 3; }}; };",
            "the rule threw an object without a message",
        ),
        ("const decide = () => self.close();", "a rule must return a decision; close is not available"),
        ("self.onmessage = null; const decide = () => 5;", "it returned number"),
    ],
)
def test_a_failing_rule_has_a_reason(page: Any, rule: str, reason: str) -> None:
    run(page, rule)
    page.wait_for_selector("#failure:not([hidden])")
    assert reason in page.inner_text("#failure")
    assert page.get_attribute("#results", "class") == "stale"
    with scored_run(page):
        run(page, "const decide = () => ({});")
    assert page.is_hidden("#failure")
    assert page.get_attribute("#results", "class") == ""
    assert page.inner_text("#own") == "1.000"


@pytest.mark.parametrize("field", ["fee", "slippage"])
def test_an_empty_cost_field_is_refused(page: Any, field: str) -> None:
    was = page.input_value(f"#{field}")
    page.fill(f"#{field}", "")
    page.click("#run")
    page.wait_for_selector("#failure:not([hidden])")
    assert page.inner_text("#failure") == "fee and slippage must be numbers of basis points, at least 0"
    page.fill(f"#{field}", was)
    with scored_run(page):
        run(page, "const decide = () => ({});")


def test_an_endless_rule_can_be_stopped(page: Any) -> None:
    run(page, "const decide = () => { for (;;); };")
    page.wait_for_selector("#stop:not([hidden])")
    page.click("#stop")
    page.wait_for_selector("#stop", state="hidden")
    with scored_run(page):
        run(page, "const decide = () => ({});")
    assert page.inner_text("#own") == "1.000"


def test_a_pending_rule_runs_once_the_engine_has_restarted(page: Any) -> None:
    run(page, "const decide = () => { for (;;); };")
    page.wait_for_selector("#stop:not([hidden])")
    # The seed field is hidden for a bundled market but still validated.
    page.evaluate("document.getElementById('seed').value = 'x'")
    page.click("#run")
    assert "the seed must be an integer" in page.inner_text("#failure")
    assert page.is_visible("#stop")
    page.evaluate("document.getElementById('seed').value = '7'")
    with scored_run(page):
        page.evaluate(
            "stop => { stop.click(); document.getElementById('rule').value = 'const decide = () => ({});';"
            " document.getElementById('run').click(); }",
            page.query_selector("#stop"),
        )
    assert page.inner_text("#own") == "1.000"
    assert page.is_hidden("#failure")


def test_a_rule_that_crashed_the_page_does_not_start_automatically(page: Any, built: Path) -> None:
    run(page, "const decide = () => { for (;;); };")
    page.wait_for_selector("#stop:not([hidden])")
    page.goto(built.as_uri())
    page.wait_for_function("() => document.getElementById('versions').textContent !== ''")
    assert "the stored rule did not end" in page.inner_text("#status")
    assert page.is_hidden("#stop")
    assert "for (;;);" in page.input_value("#rule")
    run(page, "const decide = () => ({});")
    page.wait_for_selector("#results[data-run]")
    page.goto(built.as_uri())
    page.wait_for_selector("#results[data-run]")


def test_limited_weights_are_reported(page: Any) -> None:
    with scored_run(page):
        run(page, "const decide = () => ({USD: 2});")
    assert page.inner_text("#ended") == "7,106 decisions had a gross exposure above 1 and were limited to 1."
    with scored_run(page):
        run(page, "const decide = ({ symbols }) => ({[symbols[0].symbol]: 1});")
    assert page.inner_text("#ended") == ""


def test_a_user_file_is_accepted_as_a_market(page: Any, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(CSV, encoding="utf-8")
    page.select_option("#market", "file")
    with scored_run(page):
        page.set_input_files("#file", str(file))
    # The page does not say that months may be dated by their start.
    market = oo.Dataset.from_csv(file, label="end")
    assert oo.replay(record_of(page), market).verified
    assert page.inner_text("#fingerprint") == market.fingerprint
    assert page.inner_text("#notices") == "\n".join(market.notices)
    wrong = tmp_path / "wrong.csv"
    wrong.write_text(CSV.replace("101,", "1O1,"), encoding="utf-8")
    page.set_input_files("#file", str(wrong))
    page.wait_for_selector("#failure:not([hidden])")
    assert "field_unparsable" in page.inner_text("#failure")
    adjusted = tmp_path / "adjusted.csv"
    adjusted.write_text(TEXTS["a split in adjusted prices"], encoding="utf-8")
    page.set_input_files("#file", str(adjusted))
    page.wait_for_function("() => document.getElementById('failure').textContent.includes('a split must show')")
    latin = tmp_path / "latin.csv"
    latin.write_bytes("date,\u00c4\n2024-01-02,1\n2024-01-03,1\n".encode("latin-1"))
    page.set_input_files("#file", str(latin))
    page.wait_for_function("() => document.getElementById('failure').textContent === 'latin.csv is not UTF-8 text'")


def test_a_synthetic_market_of_the_page_equals_the_market_of_its_seed(page: Any) -> None:
    with scored_run(page):
        page.select_option("#market", "calm")
    assert page.inner_text("#fingerprint") == Scenario("calm", seed=7).dataset().fingerprint


HIDDEN = "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.getElementById('rule'))"


@pytest.mark.parametrize("width", [320, 700, 1180, 1280])
def test_the_page_fits_every_width(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    for market in ("calm", "file", "ecb-fx"):
        page.select_option("#market", market)
        assert page.evaluate("() => document.documentElement.scrollWidth") == width
    for rule in page.evaluate("Object.values(RULES)"):
        page.fill("#rule", rule)
        assert page.evaluate(HIDDEN) == 0


def test_the_initial_rule_is_fully_visible_on_a_wide_screen(page: Any) -> None:
    page.set_viewport_size({"width": 1180, "height": 800})
    page.evaluate("document.getElementById('rule').style.whiteSpace = 'pre'")
    for rule in page.evaluate("Object.values(RULES)"):
        page.fill("#rule", rule)
        assert page.evaluate(HIDDEN) == 0
    page.evaluate("document.getElementById('rule').style.whiteSpace = ''")
