"""The engine in Node and Chromium: contract vectors, episodes and boards equal to Python, bit for bit."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from boards import boards
from browser import chromium
from builders import count
from episodes import episode
from user_files import TEXTS, compared, reading

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "rust" / "wasm" / "npm" / "dist"
HERE = "tests/everywhere"
N_EPISODES = count(1_000, 1_000)
EXPECTED_CASES = 40
N_DAY_ORDER_EPISODES = count(300, 300)
SEEDS = (7, 2**64 - 1)


@pytest.fixture(scope="module")
def episodes() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    print(f"{N_EPISODES} episodes of the seeds from 0 on")
    return [episode(seed) for seed in range(N_EPISODES)]


@pytest.fixture(scope="module")
def day_order_episodes() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [episode(seed, day_orders=True) for seed in range(N_DAY_ORDER_EPISODES)]


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    """Yield a browser page served from the checkout."""
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=str(ROOT))) as server, chromium() as browser:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            opened = browser.new_page()
            opened.goto(f"http://127.0.0.1:{server.server_address[1]}/{HERE}/parity.html")
            opened.wait_for_function("() => window.oo !== undefined")
            yield opened
        finally:
            server.shutdown()
            thread.join()


def in_node(*words: str | Path) -> Any:
    command = ["node", ROOT / HERE / "node.mjs", PACKAGE / "node.js", *words]
    results = subprocess.run(command, capture_output=True, text=True)
    assert (results.returncode, results.stderr) == (0, "")
    return json.loads(results.stdout)


def holds_all_vectors(results: dict[str, Any]) -> None:
    assert {name: faults for name, faults in results["found"].items() if faults} == {}
    assert len(results["found"]) == 7
    assert results["count"]["cases"] >= EXPECTED_CASES


def test_the_vectors_of_the_contract_hold_in_node() -> None:
    holds_all_vectors(in_node())


def test_the_vectors_of_the_contract_hold_in_a_browser(page: Any) -> None:
    holds_all_vectors(page.evaluate("() => window.faults()"))


def are_the_same_in_node(episodes: list[Any], folder: Path) -> None:
    file = folder / "episodes.json"
    file.write_text(json.dumps([given for given, _ in episodes]), encoding="utf-8")
    results = in_node("episodes", file)
    assert results == [expected for _, expected in episodes]


def are_the_same_in_a_browser(episodes: list[Any], page: Any) -> None:
    for first in range(0, len(episodes), 100):
        part = episodes[first : first + 100]
        results = page.evaluate("given => window.outcomes(given)", [given for given, _ in part])
        assert results == [expected for _, expected in part]


def test_episodes_are_the_same_in_node(episodes: list[Any], tmp_path: Path) -> None:
    are_the_same_in_node(episodes, tmp_path)


def test_episodes_are_the_same_in_a_browser(episodes: list[Any], page: Any) -> None:
    are_the_same_in_a_browser(episodes, page)


def test_episodes_with_day_orders_are_the_same_in_node(day_order_episodes: list[Any], tmp_path: Path) -> None:
    # Records of day orders state contract 1.1, and their hashes are compared.
    assert sum(any("stop_loss" in text for text in given["decisions"]) for given, _ in day_order_episodes) > 200
    are_the_same_in_node(day_order_episodes, tmp_path)


def test_episodes_with_day_orders_are_the_same_in_a_browser(day_order_episodes: list[Any], page: Any) -> None:
    are_the_same_in_a_browser(day_order_episodes, page)


@pytest.mark.parametrize("seed", SEEDS)
def test_markets_of_a_seed_and_a_board_of_the_baselines_are_the_same_in_node(seed: int, tmp_path: Path) -> None:
    given, expected = boards(seed)
    file = tmp_path / "boards.json"
    file.write_text(json.dumps(given), encoding="utf-8")
    assert in_node("boards", file) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_markets_of_a_seed_and_a_board_of_the_baselines_are_the_same_in_a_browser(seed: int, page: Any) -> None:
    given, expected = boards(seed)
    assert page.evaluate("given => window.boards(given)", given) == expected


def test_texts_of_users_are_read_alike_in_a_browser(page: Any) -> None:
    found = page.evaluate("given => window.readings(given)", [{"csv": text} for text in TEXTS.values()])
    assert list(map(compared, found)) == [compared(reading(text)) for text in TEXTS.values()]
