"""Summaries of runs over HTTP, and the client that asks for any number of them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from ledger_runs import id_of, ledger_at, made

import openoutcry as oo
from openoutcry.ledger import Ledger
from openoutcry.ledger.http_client import PATH, compare_client, comparing
from openoutcry.ledger.jsonl_view import entries_of, learn

pytestmark = pytest.mark.once

httpx = pytest.importorskip("httpx")
uvicorn = pytest.importorskip("uvicorn")


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    made_ = ledger_at(tmp_path_factory.mktemp("ledger"))
    made_.add([made(number, number / 10) for number in range(120)])
    return made_


@pytest.fixture(scope="module")
def url(ledger: Ledger) -> Iterator[str]:
    from openoutcry.ledger.http_server import app_of

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        # From here on who connects waits, and is not refused until the thread has begun.
        listening.listen()
        server = uvicorn.Server(uvicorn.Config(app_of(ledger), log_level="warning", ws="none", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join(10.0)


def get(url: str, query: str) -> httpx.Response:
    return httpx.get(f"{url}{PATH}{query}", trust_env=False, timeout=20.0)


def test_the_body_is_an_array_in_the_order_asked_for_and_a_header_names_the_missing(url: str, ledger: Ledger) -> None:
    """L4."""
    assert PATH == "/api/v1/paper-runs/compare"
    asked = [id_of(7), id_of(999), id_of(3), id_of(7), id_of(998)]
    answer = get(url, f"?ids={','.join(asked)}")
    assert (answer.status_code, answer.headers["x-missing-ids"]) == (200, f"{id_of(999)},{id_of(998)}")
    assert answer.json() == [each.to_json() for each in ledger.compare(asked)[0]]
    assert [each["id"] for each in answer.json()] == [id_of(7), id_of(3)]
    for query in ("", "?ids="):
        empty = get(url, query)
        assert (empty.status_code, empty.json(), "x-missing-ids" in empty.headers) == (200, [], False)


def test_too_many_ids_and_one_that_is_none_are_a_bad_request(url: str) -> None:
    """L4."""
    for ids in ([id_of(number) for number in range(51)], ["7"], [id_of(1), ""], [f"{id_of(1)} "]):
        answer = get(url, f"?ids={','.join(ids)}")
        assert (answer.status_code, answer.json()["error"]) == (400, "argument_invalid")
    assert get(url, f"?ids={','.join(id_of(number) for number in range(50))}").status_code == 200


def test_the_client_asks_for_any_number_fifty_at_a_time(url: str, ledger: Ledger) -> None:
    """L4."""
    asked = [id_of(number) for number in [*range(119, -1, -1), 500, 3]]
    found, missing = compare_client(f"{url}/", asked)
    assert [each.id for each in found] == asked[:120]
    assert missing == [id_of(500)]
    assert found[0] == ledger.compare(asked[:1])[0][0]
    assert compare_client(url, []) == ([], [])
    entries = [entry for number in range(120) for entry in entries_of(made(number), "t")]
    assert learn(entries, comparing(url)) == learn(entries, ledger.compare)


@pytest.mark.parametrize("where", ["ftp://127.0.0.1", "127.0.0.1:80", "http://", "http://127.0.0.1:1"])
def test_a_server_that_is_none_is_refused(where: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=r"must begin with http|must answer at"):
        compare_client(where, [id_of(1)], timeout=5.0)


def test_an_answer_that_is_not_as_specified_is_refused(url: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match="must answer with 200; received 404"):
        compare_client(f"{url}/elsewhere", [id_of(1)])
    with pytest.raises(oo.OpenOutcryError, match="must be a UUID"):
        compare_client(url, ["7"])


def test_many_threads_ask_one_ledger(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path)
    ledger.add([made(number) for number in range(20)])
    found: list[int] = []

    def ask(number: int) -> None:
        ledger.add([made(100 + number)])
        found.append(len(ledger.compare([id_of(each) for each in range(20)])[0]))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [20] * 8
    assert ledger.verify().n_records == 29
