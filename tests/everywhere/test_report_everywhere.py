"""Reports that verify themselves, in a real Chromium: from `file://`, offline, honest and tampered with."""

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
    with_digest_again,
    with_one_letter,
    with_told,
    with_words,
)
from tampering import FORGED, TAMPERED, other
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.cli import app

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "tests" / "vendor" / "axe.min.js"
NARROW = 320


class Visit:
    """A page that was opened offline, and what came of it."""

    def __init__(self, browser: Any, path: Path, width: int = 1180, scheme: str = "light") -> None:
        self.faults: list[str] = []
        self.requests: list[str] = []
        context = browser.new_context(offline=True, viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page = context.new_page()
        self.page.on("console", lambda said: self.faults.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.url = path.as_uri()
        self.page.goto(self.url)

    def verify(self) -> str:
        """Press the button by keyboard, wait, and return all that the panel says."""
        self.page.locator(".proof button").focus()
        self.page.keyboard.press("Enter")
        return self.told()

    def choose(self, *files: Path) -> str:
        self.page.locator(".proof input").set_input_files([str(file) for file in files])
        return self.told()

    def told(self) -> str:
        self.page.wait_for_selector(".proof:not([data-state=busy]) button:enabled", timeout=120_000)
        # A page may do what it was written to do, and ask nobody for anything.
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
    """A page that was not changed, and the digest of its record."""
    path = tmp_path_factory.mktemp("small") / "run.html"
    record, _ = small_page(path)
    return path.read_text(encoding="utf-8"), str(record.digest)


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Callable[[str], Visit]:
    def visit(page: str) -> Visit:
        (tmp_path / "page.html").write_text(page, encoding="utf-8")
        return Visit(browser, tmp_path / "page.html")

    return visit


def test_the_whole_of_a_bundled_market_is_verified_in_a_page_below_3_mb(browser: Any, tmp_path: Path) -> None:
    record, page = tmp_path / "run.json", tmp_path / "report.html"
    run = ["run", "--data", "ecb-fx", "--agent", "momentum", "--record", str(record)]
    assert CliRunner().invoke(app, run).exit_code == 0
    written = CliRunner().invoke(
        app, ["report", str(record), "--data", "ecb-fx", "--out", str(page), "--self-verifying", "--json"]
    )
    assert written.exit_code == 0, written.output
    told = json.loads(written.output)
    assert told["has_data"] is True
    assert told["bytes"] == page.stat().st_size < 3_000_000
    docs = (ROOT / "docs" / "self-verifying.md").read_text(encoding="utf-8")
    shown = re.search(r"verified ([0-9a-f]{64}).*\nreport: report\.html, ([\d,]+) bytes, verifies itself", docs)
    assert shown is not None
    assert shown[1] == told["digest"]
    assert int(shown[2].replace(",", "")) == pytest.approx(told["bytes"], rel=0.01)
    visit = Visit(browser, page)
    assert visit.state == "not verified"
    panel = visit.verify()
    assert visit.state == "verified"
    assert told["digest"] in panel
    assert "1 run, 7,106 steps" in panel
    assert (
        "1 became 0.743935, a return of \u221225.61%; Sharpe ratio \u22120.30, worst fall \u221232.99%, costs a year "
        in panel
    )


def test_a_page_can_be_verified_again(small: tuple[str, str], opened: Callable[[str], Visit]) -> None:
    page, digest = small
    visit = opened(page)
    for _ in range(2):
        assert digest in visit.verify()
        assert visit.state == "verified"


@pytest.mark.parametrize("what", TAMPERED)
def test_a_page_that_was_tampered_with_fails_in_words(
    small: tuple[str, str], opened: Callable[[str], Visit], what: str
) -> None:
    change, state, words = TAMPERED[what]
    page = change(small[0])
    assert page != small[0]
    visit = opened(page)
    told = visit.verify()
    assert visit.state == state, told
    for word in words:
        assert word in told


@pytest.mark.parametrize("seed", range(count(60, 3)))
@pytest.mark.parametrize("part", ["engine", "record", "market-0"])
def test_any_letter_of_a_part_is_told(
    small: tuple[str, str], opened: Callable[[str], Visit], part: str, seed: int
) -> None:
    visit = opened(with_one_letter(small[0], part, Random(seed)))
    told = visit.verify()
    assert visit.state in ("differs", "not verified"), told
    assert "The verification failed" not in told


def test_over_plain_http_the_engine_tells_its_own_digest(small: tuple[str, str], browser: Any, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(with_told(small[0], other("engine")), encoding="utf-8")
    context = browser.new_context()
    context.add_init_script("Object.defineProperty(crypto, 'subtle', { value: undefined })")
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    page.locator(".proof button").click()
    page.wait_for_selector(".proof:not([data-state=busy]) button:enabled")
    assert "The engine in this page is not the one" in page.locator(".proof").inner_text()


def test_a_page_whose_script_was_changed_runs_none_of_it(small: tuple[str, str], browser: Any, tmp_path: Path) -> None:
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
    told = visit.verify()
    assert visit.state == "not verified"
    assert "The market prices is missing" in told
    told = visit.choose(tmp_path / "other.csv")
    assert visit.state == "not verified"
    assert "other.csv is another market than prices" in told
    assert market().fingerprint in told
    told = visit.choose(tmp_path / "nothing.csv")
    assert visit.state == "not verified"
    assert "nothing.csv cannot be read as a market" in told
    (tmp_path / "cut.gz").write_bytes(b"\x1f\x8b\x08 cut")
    assert "cut.gz cannot be unpacked: it was changed or cut." in visit.choose(tmp_path / "cut.gz")
    (tmp_path / "latin.csv").write_bytes(b"date,A\xe9,B\n")
    assert "neither the bytes of a market nor a text in UTF-8" in visit.choose(tmp_path / "latin.csv")
    # A bad file is told, and the next is tried.
    told = visit.choose(tmp_path / "cut.gz", tmp_path / "other.csv", tmp_path / "mine.csv")
    assert "cut.gz cannot be unpacked" in told
    assert visit.state == "verified"
    assert str(record.digest) in told


@pytest.mark.parametrize("name", ["a.market", "a.market.gz"])
def test_a_page_takes_what_data_export_writes(browser: Any, tmp_path: Path, name: str) -> None:
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


def test_a_run_of_a_record_with_several_is_verified_with_all_of_it(browser: Any, tmp_path: Path) -> None:
    record = joined_page(tmp_path / "page.html")
    visit = Visit(browser, tmp_path / "page.html")
    told = visit.verify()
    assert visit.state == "verified", told
    assert str(record.digest) in told
    assert "2 runs, 100 steps" in told
    assert f"Signed by\n{record.public_key}" in told


@pytest.mark.parametrize("case", CASES)
def test_a_run_of_any_kind_is_verified(browser: Any, tmp_path: Path, case: str) -> None:
    record = odd_page(case, tmp_path / "page.html")
    visit = Visit(browser, tmp_path / "page.html")
    told = visit.verify()
    assert visit.state == "verified", told
    assert str(record.digest) in told


def test_a_sealed_market_is_made_again_from_its_key(browser: Any, tmp_path: Path) -> None:
    record = sealed_page(tmp_path / "page.html", b"\5" * 32, b"\5" * 32)
    visit = Visit(browser, tmp_path / "page.html")
    told = visit.verify()
    assert visit.state == "verified", told
    assert str(record.digest) in told
    assert (tmp_path / "page.html").stat().st_size < 1_500_000


def test_the_wrong_fill_key_is_found(browser: Any, tmp_path: Path) -> None:
    sealed_page(tmp_path / "page.html", b"\5" * 32, b"\6" * 32)
    visit = Visit(browser, tmp_path / "page.html")
    told = visit.verify()
    assert visit.state != "verified"
    assert "fill" in told


def test_another_key_of_the_scenario_is_found(browser: Any, tmp_path: Path) -> None:
    def change(told: dict[str, Any]) -> None:
        told["markets"][0]["key"] = "08" * 32

    sealed_page(tmp_path / "page.html", b"\5" * 32, b"\5" * 32)
    (tmp_path / "page.html").write_text(with_told((tmp_path / "page.html").read_text(encoding="utf-8"), change))
    visit = Visit(browser, tmp_path / "page.html")
    told = visit.verify()
    assert visit.state == "differs"
    assert "The revealed key is not the one that was committed to." in told


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1180, NARROW])
def test_the_panel_is_accessible_and_never_scrolls_sideways(
    browser: Any, tmp_path: Path, width: int, scheme: str
) -> None:
    small_page(tmp_path / "page.html", has_data=False)
    (tmp_path / "mine.csv").write_text(prices())
    visit = Visit(browser, tmp_path / "page.html", width, scheme)
    for told in (visit.verify, lambda: visit.choose(tmp_path / "mine.csv")):
        told()
        assert visit.page.evaluate("() => document.documentElement.scrollWidth") == width
        visit.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = visit.page.evaluate("() => axe.run('.proof')")
        assert [fault["id"] for fault in found["violations"]] == []
    assert visit.state == "verified"


@pytest.mark.parametrize("place", ["<main>", '<p class="proof-state" role="status">', "<body>"])
@pytest.mark.parametrize("mode", ["open", "closed"])
def test_what_a_browser_would_show_in_place_of_the_page_is_gone_before_it_is_read(
    small: tuple[str, str], opened: Callable[[str], Visit], place: str, mode: str
) -> None:
    shadow = f'<template shadowrootmode="{mode}" shadowrootclonable>verified +999.9%<slot></slot></template>'
    visit = opened(with_words(small[0], place, place + shadow))
    assert visit.state == "not verified"
    visit.verify()
    assert visit.state == "verified"
    # What a script cannot see, the browser's own tools do.
    tree = visit.page.context.new_cdp_session(visit.page).send("DOM.getDocument", {"depth": -1, "pierce": True})
    assert "999.9%" not in json.dumps(tree)
    assert "buy-and-hold" in json.dumps(tree)


MEMBERS = ["nodeType", "childNodes", "attributes", "localName", "data", "content", "firstChild", "querySelectorAll"]


@pytest.mark.parametrize("member", MEMBERS)
def test_a_form_does_not_hide_from_the_digest_what_it_holds(
    small: tuple[str, str], opened: Callable[[str], Visit], member: str
) -> None:
    # A form gives its fields by their names, in place of its own members.
    form = f'<main><form><input type="hidden" name="{member}"><p>Return +999.9%</p></form>'
    visit = opened(with_words(small[0], "<main>", form))
    told = visit.verify()
    assert visit.state == "differs", told
    assert "This page was changed after it was made" in told


@pytest.mark.parametrize("member", ["body", "documentElement", "doctype", "querySelectorAll", "createElement"])
def test_nothing_in_a_page_passes_for_a_member_of_the_document(
    small: tuple[str, str], browser: Any, tmp_path: Path, member: str
) -> None:
    form = f'<main><form name="{member}"><p>Return +999.9%</p></form>'
    (tmp_path / "page.html").write_text(with_words(small[0], "<main>", form), encoding="utf-8")
    visit = Visit(browser, tmp_path / "page.html")
    if visit.page.locator(".proof button").is_enabled():
        visit.verify()
        assert visit.state == "differs"
    else:
        # What the script needs is gone, and it does not run.
        assert visit.state == "not verified"
        assert visit.faults


def test_the_record_of_a_box_is_the_whole_record(small: tuple[str, str], opened: Callable[[str], Visit]) -> None:
    visit = opened(small[0])
    assert "momentum, 0 trials declared" in visit.verify()
    with visit.page.expect_download() as download:
        visit.page.click("text=record.json")
    record = oo.RunRecord.from_json(Path(download.value.path()).read_text(encoding="utf-8"))
    assert (record.digest, oo.replay(record, market()).verified) == (small[1], True)


@pytest.mark.parametrize("what", FORGED)
def test_whoever_forges_words_and_their_hash_does_not_change_what_the_box_says(
    small: tuple[str, str], opened: Callable[[str], Visit], what: str
) -> None:
    change, state, words = FORGED[what]
    page, _ = small
    honest = opened(page).verify()
    forged = change(page)
    assert forged != page
    visit = opened(with_digest_again(forged))
    panel = visit.verify()
    assert visit.state == state, panel
    assert words in panel
    line = next(line for line in honest.splitlines() if line.startswith("1 became"))
    assert (line in panel) == (state == "verified")
    assert "999.9" not in panel or state == "differs"
