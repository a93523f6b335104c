"""The pages in a real browser: accessibility, narrow screens, no JavaScript, keyboard, proof verification."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography")
pytest.importorskip("fastapi")
pytest.importorskip("jinja2")
pytest.importorskip("playwright")
pytest.importorskip("sqlalchemy")
pytest.importorskip("uvicorn")

import uvicorn
from arena_in_process import BASE, Floor, floor
from browser import chromium
from builders import count

from openoutcry.arena.app import create_app
from openoutcry.arena.timestamps import DAY

pytestmark = pytest.mark.once

AXE = Path(__file__).parents[1] / "vendor" / "axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PHONE, DESK = 320, 1280
PATHS = ("/", "/agents/one", "/markets", "/markets/kalshi:KXIRANSTRIKE-DEMO1", "/snapshots", "/registry", "/docs")
PATHS += ("/snapshots/2026-05-08T12:00:00Z", "/registry?date=2026-05-08", "/first-agent")


@contextmanager
def served(ground: Floor) -> Iterator[str]:
    """Serve a floor on a free port, in a thread."""
    server = uvicorn.Server(
        uvicorn.Config(create_app(ground.arena, ground.settings), port=0, log_level="error", ws="none")
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        deadline = time.monotonic() + 30.0
        while not server.started and time.monotonic() < deadline:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[str]]]:
    """Serve a season with all markets settled but one; return its address and submission ids."""
    with floor(tmp_path_factory.mktemp("site")) as ground:
        ground.publish()
        made = []
        for place, slug in enumerate(("one", "two", "three")):
            ground.register(slug, display_name=("W" * 80, "\u0633\u0648\u0642", None)[place])
            reply = [{"market_id": each, "yes_probability": 0.2 + 0.3 * place} for each in ground.markets()]
            made.append(ground.submit(slug, *(each | {"reasoning": "W" * 500} for each in reply)).json())
        ground.clock[0] += 6 * DAY
        for market in ground.markets("closed"):
            ground.resolve(market, "no")
        with served(ground) as url:
            yield url, [each["submission_id"] for each in made]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def visit(browser: Any, site: tuple[str, list[str]]) -> Iterator[Callable[..., Any]]:
    """Open a page by its path; console messages and requests to other hosts fail the test."""
    contexts, faults = [], []

    def opened(path: str, width: int = DESK, **options: Any) -> Any:
        contexts.append(browser.new_context(viewport={"width": width, "height": 800}, **options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda each: faults.append(each.url) if not each.url.startswith(site[0]) else None)
        page.goto(site[0] + path)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []


@pytest.mark.parametrize(("width", "scheme"), [(PHONE, "dark"), (DESK, "light")])
def test_axe_finds_no_violation_and_no_page_scrolls_sideways(
    visit: Callable[..., Any], site: tuple[str, list[str]], width: int, scheme: str
) -> None:
    page = visit("/", width, color_scheme=scheme, bypass_csp=True)
    found, wide = {}, {}
    paths = (*PATHS, f"/submissions/{site[1][0]}")
    # The short run tests each page in one of the two configurations.
    for path in paths[(width == DESK) * count(0, 1) :: count(1, 2)]:
        page.goto(site[0] + path)
        page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
        page.evaluate(AXE.read_text(encoding="utf-8"))
        reply = page.evaluate("(tags) => axe.run({ runOnly: tags, resultTypes: ['violations'] })", TAGS)
        assert len(reply["passes"]) > 10
        found |= {(path, each["id"]): [node["html"][:160] for node in each["nodes"]] for each in reply["violations"]}
        if page.evaluate("document.documentElement.scrollWidth") > width:
            wide[path] = page.evaluate("document.documentElement.scrollWidth")
    assert (found, wide) == ({}, {})


def test_the_pages_work_without_javascript(visit: Callable[..., Any], site: tuple[str, list[str]]) -> None:
    page = visit("/", PHONE, java_script_enabled=False)
    for path in PATHS:
        page.goto(site[0] + path)
        assert page.locator("h1").inner_text()
        assert page.locator("main").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE
    page.get_by_role("link", name="Leaderboard", exact=True).click()
    page.get_by_label("Region").select_option("iran")
    page.get_by_role("button", name="Show").click()
    assert page.locator("h1").inner_text() == "Leaderboard of Iran"
    page.get_by_role("button", name="Brier").click()
    assert page.locator("[aria-sort=ascending]").inner_text().startswith("Brier")
    assert page.locator("h1").inner_text() == "Leaderboard of Iran", "sorting keeps the region"


def test_the_keyboard_reaches_every_control(visit: Callable[..., Any]) -> None:
    page = visit("/")
    page.keyboard.press("Tab")
    skip = page.locator(":focus")
    assert (skip.inner_text(), skip.bounding_box()["y"] >= 0) == ("Skip to the content", True)
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) == "solid"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "theater"
    assert page.evaluate(outline) == "solid"


# Index of the first check that finds each forgery.
PLACES = {"record": 0, "leaf_index": 0, "proof": 1, "checkpoint": 2, "salts": 3}
FORGERIES: dict[str, Callable[[Any], Any]] = {
    "record": lambda value: value.replace('"one"', '"own"'),
    "proof": lambda value: [*value[:-1], "00" * 32],
    "checkpoint": lambda value: value[:-6] + ("A" if value[-6] != "A" else "B") + value[-5:],
    "salts": lambda value: [value[0] | {"yes_probability": "0.21"}, *value[1:]],
    "leaf_index": lambda value: value + 1,
}


def forging(member: str) -> Callable[[Any], None]:
    """Return a route handler that changes one member of the server's response."""

    def answer(route: Any) -> None:
        reply = route.fetch().json()
        changed = reply | {member: FORGERIES[member](reply[member])}
        assert changed != reply
        route.fulfill(body=json.dumps(changed), content_type="application/json")

    return answer


def test_a_browser_verifies_a_proof_and_finds_forgeries(visit: Callable[..., Any], site: tuple[str, list[str]]) -> None:
    #
    """Record, inclusion, signature and commitments, with the reader's own key."""
    page = visit(f"/submissions/{site[1][0]}")

    def checked() -> tuple[str, str, list[str]]:
        page.get_by_role("button", name="Check in this browser").click()
        page.wait_for_selector(".outcome:is([data-is=yes], [data-is=no], [data-is=unknown])")
        lines = page.locator(".checks li").evaluate_all("all => all.map((each) => each.dataset.is)")
        outcome = page.locator(".outcome")
        return outcome.get_attribute("data-is"), outcome.inner_text(), lines

    assert checked() == ("yes", "Valid", ["yes"] * 4)
    for member in FORGERIES:
        page.route("**/registry/proof/*", forging(member))
        reply = checked()
        assert (reply[0], reply[1].startswith("Invalid: ")) == ("no", True), member
        assert reply[2].index("no") == PLACES[member], member
        page.unroute("**/registry/proof/*")
    page.get_by_label("Key of the log").fill("openoutcry.arena/local+00000000+AQ==")
    assert checked()[0] == "no"
    page.goto(f"{site[0]}/registry?date=2026-05-08")
    page.get_by_role("button", name=f"Check {site[1][2]}").click()
    assert page.locator("tr", has_text="three").locator(".outcome[data-is=yes]").inner_text() == "Valid"


def test_the_page_shows_the_rows_of_the_leaderboard(visit: Callable[..., Any], site: tuple[str, list[str]]) -> None:
    #
    """The same agents in the same order."""
    page = visit("/")
    rows = page.request.get(f"{site[0]}{BASE}/leaderboard").json()["rows"]
    shown = page.locator("tbody tr th a").evaluate_all("all => all.map((each) => each.getAttribute('href'))")
    assert shown == [f"/agents/{row['slug']}" for row in rows]
    assert page.locator("tbody tr").first.locator(".rank").inner_text().startswith("1")
