"""Self-verifying reports in Chromium: from `file://`, offline, unmodified and modified."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from browser import chromium
from builders import count
from report_proofs import (
    CASES,
    joined_page,
    market,
    odd_page,
    prices,
    sealed_page,
    small_page,
    with_claims,
    with_one_letter,
    with_recomputed_digest,
    with_words,
)
from tampering import FORGED, TAMPERED, other
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.cli.commands import app

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "tests" / "vendor" / "axe.min.js"
NARROW = 320


class Visit:
    """A page opened offline, with its console errors and requests."""

    def __init__(self, browser: Any, path: Path, width: int = 1180, scheme: str = "light") -> None:
        self.faults: list[str] = []
        self.requests: list[str] = []
        context = browser.new_context(offline=True, viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page = context.new_page()
        self.page.on("console", lambda message: self.faults.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.url = path.as_uri()
        self.page.goto(self.url)

    def verify(self) -> str:
        """Press the button by keyboard, wait, and return the text of the panel."""
        self.page.locator(".proof button").focus()
        self.page.keyboard.press("Enter")
        return self.panel_text()

    def choose(self, *files: Path) -> str:
        self.page.locator(".proof input").set_input_files([str(file) for file in files])
        return self.panel_text()

    def panel_text(self) -> str:
        self.page.wait_for_selector(".proof:not([data-state=busy]) button:enabled", timeout=120_000)
        # The page logs no error and sends no request.
        assert self.faults == []
        assert self.requests == [self.url]
        return str(self.page.locator(".proof").inner_text())

    @property
    def state(self) -> str:
        return str(self.page.locator(".proof-state b").inner_text())


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """An unmodified page, and the digest of its record."""
    path = tmp_path_factory.mktemp("small") / "run.html"
    record, _ = small_page(path)
    return path.read_text(encoding="utf-8"), str(record.digest)


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Callable[[str], Visit]:
    def visit(page: str) -> Visit:
        (tmp_path / "page.html").write_text(page, encoding="utf-8")
        return Visit(browser, tmp_path / "page.html")

    return visit


def test_a_complete_bundled_market_is_verified_in_a_page_below_3_mb(browser: Any, tmp_path: Path) -> None:
    record, page = tmp_path / "run.json", tmp_path / "report.html"
    run = ["run", "--data", "ecb-fx", "--agent", "momentum", "--record", str(record)]
    assert CliRunner().invoke(app, run).exit_code == 0
    written = CliRunner().invoke(
        app, ["report", str(record), "--data", "ecb-fx", "--out", str(page), "--self-verifying", "--json"]
    )
    assert written.exit_code == 0, written.output
    summary = json.loads(written.output)
    assert summary["has_data"] is True
    assert summary["bytes"] == page.stat().st_size < 3_000_000
    docs = (ROOT / "docs" / "self-verifying.md").read_text(encoding="utf-8")
    shown = re.search(r"verified ([0-9a-f]{64}).*\nreport: report\.html, ([\d,]+) bytes, self-verifying", docs)
    assert shown is not None
    assert shown[1] == summary["digest"]
    assert int(shown[2].replace(",", "")) == pytest.approx(summary["bytes"], rel=0.01)
    visit = Visit(browser, page)
    assert visit.state == "not verified"
    panel = visit.verify()
    assert visit.state == "verified"
    assert summary["digest"] in panel
    assert "1 run, 7,106 steps" in panel
    assert "final NAV 0.743935, return \u221225.61%; Sharpe ratio \u22120.30, max drawdown \u221232.99%" in panel
    assert "annual cost " in panel


def test_a_page_can_be_verified_again(small: tuple[str, str], opened: Callable[[str], Visit]) -> None:
    page, digest = small
    visit = opened(page)
    for _ in range(2):
        assert digest in visit.verify()
        assert visit.state == "verified"


@pytest.mark.parametrize("what", TAMPERED)
def test_a_modified_page_fails_with_a_reason(small: tuple[str, str], opened: Callable[[str], Visit], what: str) -> None:
    change, state, words = TAMPERED[what]
    page = change(small[0])
    assert page != small[0]
    visit = opened(page)
    panel = visit.verify()
    assert visit.state == state, panel
    for word in words:
        assert word in panel


@pytest.mark.parametrize("seed", range(count(60, 3)))
@pytest.mark.parametrize("part", ["engine", "record", "market-0"])
def test_a_change_of_any_letter_is_detected(
    small: tuple[str, str], opened: Callable[[str], Visit], part: str, seed: int
) -> None:
    visit = opened(with_one_letter(small[0], part, Random(seed)))
    panel = visit.verify()
    assert visit.state in ("differs", "not verified"), panel
    assert "The verification failed" not in panel


def test_without_subtle_crypto_the_engine_hashes_itself(small: tuple[str, str], browser: Any, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(with_claims(small[0], other("engine")), encoding="utf-8")
    context = browser.new_context()
    context.add_init_script("Object.defineProperty(crypto, 'subtle', { value: undefined })")
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    page.locator(".proof button").click()
    page.wait_for_selector(".proof:not([data-state=busy]) button:enabled")
    assert "The engine in this page is not the one" in page.locator(".proof").inner_text()


def test_a_modified_script_does_not_run(small: tuple[str, str], browser: Any, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(with_words(small[0], "let loaded = null", "let loaded = 1"), encoding="utf-8")
    visit = Visit(browser, tmp_path / "page.html")
    assert visit.page.locator(".proof button").is_disabled()
    assert visit.state == "not verified"
    assert "The script of this page has not run." in visit.page.locator(".proof").inner_text()


def test_a_page_without_its_market_asks_for_it(browser: Any, tmp_path: Path) -> None:
    record, written = small_page(tmp_path / "page.html", has_data=False)
    assert not written.has_data
    (tmp_path / "mine.csv").write_text(prices())
    (tmp_path / "other.csv").write_text(prices(2))
    (tmp_path / "nothing.csv").write_text("<html>")
    visit = Visit(browser, tmp_path / "page.html")
    panel = visit.verify()
    assert visit.state == "not verified"
    assert "The market prices is missing" in panel
    panel = visit.choose(tmp_path / "other.csv")
    assert visit.state == "not verified"
    assert "other.csv is not the market prices" in panel
    assert market().fingerprint in panel
    panel = visit.choose(tmp_path / "nothing.csv")
    assert visit.state == "not verified"
    assert "nothing.csv cannot be read as a market" in panel
    (tmp_path / "cut.gz").write_bytes(b"\x1f\x8b\x08 cut")
    assert "cut.gz cannot be unpacked: it was changed or truncated." in visit.choose(tmp_path / "cut.gz")
    (tmp_path / "latin.csv").write_bytes(b"date,A\xe9,B\n")
    assert "neither an exported market nor UTF-8 text" in visit.choose(tmp_path / "latin.csv")
    # An invalid file is reported, and the next file is tried.
    panel = visit.choose(tmp_path / "cut.gz", tmp_path / "other.csv", tmp_path / "mine.csv")
    assert "cut.gz cannot be unpacked" in panel
    assert visit.state == "verified"
    assert str(record.digest) in panel


@pytest.mark.parametrize("name", ["a.market", "a.market.gz"])
def test_a_page_accepts_an_exported_market(browser: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / "prices.csv").write_text(prices())
    record, _ = small_page(tmp_path / "page.html", has_data=False)
    export = [
        "data",
        "export",
        str(tmp_path / "prices.csv"),
        "--out",
        str(tmp_path / name),
        "--periods-per-year",
        "365",
    ]
    assert CliRunner().invoke(app, export).exit_code == 0
    visit = Visit(browser, tmp_path / "page.html")
    assert str(record.digest) in visit.choose(tmp_path / name)
    assert visit.state == "verified"


def test_a_record_of_several_runs_is_verified_completely(browser: Any, tmp_path: Path) -> None:
    record = joined_page(tmp_path / "page.html")
    visit = Visit(browser, tmp_path / "page.html")
    panel = visit.verify()
    assert visit.state == "verified", panel
    assert str(record.digest) in panel
    assert "2 runs, 100 steps" in panel
    assert f"Signed by\n{record.public_key}" in panel


@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_run_is_verified(browser: Any, tmp_path: Path, case: str) -> None:
    record = odd_page(case, tmp_path / "page.html")
    visit = Visit(browser, tmp_path / "page.html")
    panel = visit.verify()
    assert visit.state == "verified", panel
    assert str(record.digest) in panel


def test_a_sealed_market_is_generated_from_its_key(browser: Any, tmp_path: Path) -> None:
    record = sealed_page(tmp_path / "page.html", b"\5" * 32, b"\5" * 32)
    visit = Visit(browser, tmp_path / "page.html")
    panel = visit.verify()
    assert visit.state == "verified", panel
    assert str(record.digest) in panel
    assert (tmp_path / "page.html").stat().st_size < 1_500_000


def test_a_wrong_fill_key_is_detected(browser: Any, tmp_path: Path) -> None:
    sealed_page(tmp_path / "page.html", b"\5" * 32, b"\6" * 32)
    visit = Visit(browser, tmp_path / "page.html")
    panel = visit.verify()
    assert visit.state != "verified"
    assert "fill" in panel


def test_a_wrong_scenario_key_is_detected(browser: Any, tmp_path: Path) -> None:
    def change(claims: dict[str, Any]) -> None:
        claims["markets"][0]["key"] = "08" * 32

    sealed_page(tmp_path / "page.html", b"\5" * 32, b"\5" * 32)
    (tmp_path / "page.html").write_text(with_claims((tmp_path / "page.html").read_text(encoding="utf-8"), change))
    visit = Visit(browser, tmp_path / "page.html")
    panel = visit.verify()
    assert visit.state == "differs"
    assert "The revealed key does not match the commitment." in panel


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1180, NARROW])
def test_the_panel_is_accessible_and_never_scrolls_sideways(
    browser: Any, tmp_path: Path, width: int, scheme: str
) -> None:
    small_page(tmp_path / "page.html", has_data=False)
    (tmp_path / "mine.csv").write_text(prices())
    visit = Visit(browser, tmp_path / "page.html", width, scheme)
    for act in (visit.verify, lambda: visit.choose(tmp_path / "mine.csv")):
        act()
        assert visit.page.evaluate("() => document.documentElement.scrollWidth") == width
        visit.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = visit.page.evaluate("() => axe.run('.proof')")
        assert [fault["id"] for fault in found["violations"]] == []
    assert visit.state == "verified"


@pytest.mark.parametrize("place", ["<main>", '<p class="proof-state" role="status">', "<body>"])
@pytest.mark.parametrize("mode", ["open", "closed"])
def test_shadow_roots_are_removed_before_the_page_is_read(
    small: tuple[str, str], opened: Callable[[str], Visit], place: str, mode: str
) -> None:
    shadow = f'<template shadowrootmode="{mode}" shadowrootclonable>verified +999.9%<slot></slot></template>'
    visit = opened(with_words(small[0], place, place + shadow))
    assert visit.state == "not verified"
    visit.verify()
    assert visit.state == "verified"
    # The browser's debugger also sees closed shadow roots.
    tree = visit.page.context.new_cdp_session(visit.page).send("DOM.getDocument", {"depth": -1, "pierce": True})
    assert "999.9%" not in json.dumps(tree)
    assert "buy-and-hold" in json.dumps(tree)


MEMBERS = ["nodeType", "childNodes", "attributes", "localName", "data", "content", "firstChild", "querySelectorAll"]


@pytest.mark.parametrize("member", MEMBERS)
def test_a_form_cannot_hide_its_content_from_the_digest(
    small: tuple[str, str], opened: Callable[[str], Visit], member: str
) -> None:
    # Named fields of a form shadow its built-in properties.
    form = f'<main><form><input type="hidden" name="{member}"><p>Return +999.9%</p></form>'
    visit = opened(with_words(small[0], "<main>", form))
    panel = visit.verify()
    assert visit.state == "differs", panel
    assert "This page was changed after it was written" in panel


@pytest.mark.parametrize("member", ["body", "documentElement", "doctype", "querySelectorAll", "createElement"])
def test_a_named_form_cannot_replace_a_property_of_the_document(
    small: tuple[str, str], browser: Any, tmp_path: Path, member: str
) -> None:
    form = f'<main><form name="{member}"><p>Return +999.9%</p></form>'
    (tmp_path / "page.html").write_text(with_words(small[0], "<main>", form), encoding="utf-8")
    visit = Visit(browser, tmp_path / "page.html")
    if visit.page.locator(".proof button").is_enabled():
        visit.verify()
        assert visit.state == "differs"
    else:
        # The script misses a property and does not run.
        assert visit.state == "not verified"
        assert visit.faults


def test_the_downloaded_record_is_complete(small: tuple[str, str], opened: Callable[[str], Visit]) -> None:
    visit = opened(small[0])
    assert "momentum, 0 trials declared" in visit.verify()
    with visit.page.expect_download() as download:
        visit.page.click("text=record.json")
    record = oo.RunRecord.from_json(Path(download.value.path()).read_text(encoding="utf-8"))
    assert (record.digest, oo.replay(record, market()).verified) == (small[1], True)


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_page_with_a_recomputed_digest_does_not_change_the_verified_numbers(
    small: tuple[str, str], opened: Callable[[str], Visit], what: str
) -> None:
    change, state, words = FORGED[what]
    page, _ = small
    honest = opened(page).verify()
    forged = change(page)
    assert forged != page
    visit = opened(with_recomputed_digest(forged))
    panel = visit.verify()
    assert visit.state == state, panel
    assert words in panel
    line = next(line for line in honest.splitlines() if line.startswith("final NAV"))
    assert (line in panel) == (state == "verified")
    assert "999.9" not in panel or state == "differs"
