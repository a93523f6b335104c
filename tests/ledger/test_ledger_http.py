"""HTTP service of run summaries, and its client."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from ledger_runs import id_of, ledger_at, ledger_run

import openoutcry as oo
from openoutcry.ledger import Ledger
from openoutcry.ledger.http_client import PATH, compare_client, remote_compare
from openoutcry.ledger.jsonl_view import entries_of, rank_entries

pytestmark = pytest.mark.once

httpx = pytest.importorskip("httpx")
uvicorn = pytest.importorskip("uvicorn")


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    opened_ledger = ledger_at(tmp_path_factory.mktemp("ledger"))
    opened_ledger.add([ledger_run(number, number / 10) for number in range(120)])
    return opened_ledger


@pytest.fixture(scope="module")
def url(ledger: Ledger) -> Iterator[str]:
    from openoutcry.ledger.http_server import app_of

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        # From here on connections queue instead of being refused before the server thread starts.
        listening.listen()
        server = uvicorn.Server(uvicorn.Config(app_of(ledger), log_level="warning", ws="none", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join(10.0)


def get(url: str, query: str) -> httpx.Response:
    return httpx.get(f"{url}{PATH}{query}", trust_env=False, timeout=20.0)


def test_the_body_is_an_array_in_request_order_and_a_header_lists_missing_ids(url: str, ledger: Ledger) -> None:
    """L4."""
    assert PATH == "/api/v1/paper-runs/compare"
    ids = [id_of(7), id_of(999), id_of(3), id_of(7), id_of(998)]
    response = get(url, f"?ids={','.join(ids)}")
    assert (response.status_code, response.headers["x-missing-ids"]) == (200, f"{id_of(999)},{id_of(998)}")
    assert response.json() == [each.to_json() for each in ledger.compare(ids)[0]]
    assert [each["id"] for each in response.json()] == [id_of(7), id_of(3)]
    for query in ("", "?ids="):
        empty = get(url, query)
        assert (empty.status_code, empty.json(), "x-missing-ids" in empty.headers) == (200, [], False)


def test_too_many_ids_or_an_invalid_id_are_a_bad_request(url: str) -> None:
    """L4."""
    for ids in ([id_of(number) for number in range(51)], ["7"], [id_of(1), ""], [f"{id_of(1)} "]):
        response = get(url, f"?ids={','.join(ids)}")
        assert (response.status_code, response.json()["error"]) == (400, "argument_invalid")
    assert get(url, f"?ids={','.join(id_of(number) for number in range(50))}").status_code == 200


def test_the_client_requests_any_number_of_ids_in_blocks_of_fifty(url: str, ledger: Ledger) -> None:
    """L4."""
    ids = [id_of(number) for number in [*range(119, -1, -1), 500, 3]]
    found, missing = compare_client(f"{url}/", ids)
    assert [each.id for each in found] == ids[:120]
    assert missing == [id_of(500)]
    assert found[0] == ledger.compare(ids[:1])[0][0]
    assert compare_client(url, []) == ([], [])
    entries = [entry for number in range(120) for entry in entries_of(ledger_run(number), "t")]
    assert rank_entries(entries, remote_compare(url)) == rank_entries(entries, ledger.compare)


@pytest.mark.parametrize("where", ["ftp://127.0.0.1", "127.0.0.1:80", "http://", "http://127.0.0.1:1"])
def test_an_unreachable_server_is_refused(where: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=r"must start with http|must respond at"):
        compare_client(where, [id_of(1)], timeout=5.0)


def test_an_invalid_response_is_refused(url: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match="must respond with status 200; received 404"):
        compare_client(f"{url}/elsewhere", [id_of(1)])
    with pytest.raises(oo.OpenOutcryError, match="must be a UUID"):
        compare_client(url, ["7"])


def test_many_threads_use_one_ledger(tmp_path: Path) -> None:
    ledger = ledger_at(tmp_path)
    ledger.add([ledger_run(number) for number in range(20)])
    found: list[int] = []

    def query(number: int) -> None:
        ledger.add([ledger_run(100 + number)])
        found.append(len(ledger.compare([id_of(each) for each in range(20)])[0]))

    threads = [threading.Thread(target=query, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [20] * 8
    assert ledger.verify().n_records == 29
