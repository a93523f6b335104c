"""Stateful property test: an arena behaves like a small model under random sequences of operations."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

pytest.importorskip("fastapi")
pytest.importorskip("cryptography")
pytest.importorskip("sqlalchemy")
pytest.importorskip("feedparser")

from arena_in_process import BASE, Floor, floor
from arena_items import market, seen, theaters
from arena_model import DAY, HOUR, Model

from openoutcry.arena import verifier
from openoutcry.arena.log.export_audit import audit
from openoutcry.arena.protocol import ArenaError
from openoutcry.arena.season_export import export, score_faults
from openoutcry.arena.season_scheduler import publish_entry
from openoutcry.arena.snapshots.snapshot_builder import Snapshot, build
from openoutcry.arena.store.entry_writes import ResolveMarket, SuspendAgent
from openoutcry.arena.timestamps import CADENCE, MINUTE, format_timestamp, parse_timestamp

pytestmark = pytest.mark.once

TICKERS = ("KXIRAN-A", "KXUKRAINE-B", "KXTAIWAN-C")
MARKETS = tuple(f"kalshi:{each}" for each in TICKERS)
SLUGS = ("one", "two", "Two")
SHARES = ("0", "0.04", "0.5", "0.87", "1")
CLOSES = st.one_of(st.none(), st.sampled_from((HOUR, 3 * HOUR, 4 * HOUR, 30 * HOUR)))
RESULTS = st.sampled_from(
    [(status, outcome) for status in ("determined", "amended", "finalized") for outcome in ("yes", "no")]
    + [("disputed", None), ("void", None), ("scalar", None)]
)
SHARED = st.tuples(st.sampled_from((*MARKETS, "kalshi:NONE")), st.sampled_from(SHARES))


class Machine(RuleBasedStateMachine):
    """Applies each operation to a server and to the model, and compares them."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.folder = Path(self.stack.enter_context(TemporaryDirectory()))
        self.open = ExitStack()
        self.ground: Floor = self.open.enter_context(floor(self.folder / "arena"))
        self.model = Model(self.ground.clock[0])
        self.receipts: list[dict[str, Any]] = []
        self.bodies: dict[int, bytes] = {}
        self.replies: dict[tuple[str, str], tuple[bytes, bytes]] = {}

    @initialize()
    def begin(self) -> None:
        self.publish(dict.fromkeys(TICKERS, 4 * HOUR))
        self.register("one")

    @rule(slug=st.sampled_from(SLUGS))
    def register(self, slug: str) -> None:
        answer = self.ground.client.post(f"{BASE}/register", json={"slug": slug})
        assert answer.status_code == self.model.register(slug)
        if answer.status_code == 201:
            self.ground.keys[slug.lower()] = answer.json()["api_key"]

    @rule(closes=st.dictionaries(st.sampled_from(TICKERS), CLOSES, min_size=1))
    def publish(self, closes: dict[str, int | None]) -> None:
        """Publish the snapshot of the last multiple of ten minutes, or of the next if it is published."""
        edge = max([self.model.clock - self.model.clock % CADENCE] + [each + CADENCE for each in self.model.snapshots])
        self.turn(max(self.model.clock, edge))
        made = _snapshot(edge, closes)
        self.ground.arena.writer.write(publish_entry(made, self.model.clock))
        reply = {f"kalshi:{name}": None if after is None else edge + after for name, after in closes.items()}
        self.model.publish(edge, reply)
        self.bodies[edge] = made.body

    def turn(self, moment: int) -> None:
        self.model.clock = self.ground.clock[0] = moment

    @rule(by=st.sampled_from((1, MINUTE, 11 * MINUTE, HOUR, DAY)))
    def wait(self, by: int) -> None:
        self.turn(self.model.clock + by)

    @precondition(lambda self: self.model.next_edge() is not None)
    @rule(by=st.sampled_from((0, 1)))
    def wait_for_an_edge(self, by: int) -> None:
        self.turn((self.model.next_edge() or 0) + by)

    @rule(
        slug=st.sampled_from(("one", "two")),
        back=st.sampled_from((0, 0, 0, 1, 2, -1)),
        shares=st.lists(SHARED, min_size=1, max_size=3),
        key=st.sampled_from((None, None, "a", "b")),
    )
    def submit(self, slug: str, back: int, shares: list[tuple[str, str]], key: str | None) -> None:
        if slug not in self.model.suspended:
            return
        known = self.model.snapshots
        as_of = known[max(0, len(known) - 1 - back)] if back >= 0 else self.model.clock + DAY
        reply = [{"market_id": name, "yes_probability": float(share)} for name, share in shares]
        body = json.dumps(self.ground.body(slug, *reply, snapshot_as_of=format_timestamp(as_of))).encode()
        answer = self.ground.post(slug, body, **({} if key is None else {"Idempotency-Key": key}))
        is_formed = as_of in self.model.snapshots and len(dict(shares)) == len(shares)
        if is_formed and key is not None and (slug, key) in self.replies:
            first, content = self.replies[slug, key]
            expected = (200, content) if first == body else (409, answer.content)
            assert (answer.status_code, answer.content) == expected
            return
        wanted = self.model.submit(slug, as_of, shares)
        assert answer.status_code == wanted.status, answer.text
        rejected = {each["market_id"]: each["reason"] for each in answer.json().get("rejected", ())}
        assert rejected == wanted.rejected
        if wanted.status == 200:
            self.accepted(slug, dict(shares), answer)
            if key is not None:
                self.replies[slug, key] = body, answer.content

    def accepted(self, slug: str, shares: dict[str, str], answer: Any) -> None:
        reply = answer.json()
        assert reply["received_at"] == format_timestamp(self.model.clock)
        verifier.check_receipt(reply, verifier.parse_key(str(self.ground.arena.key.verifier)))
        opened = {each["market_id"]: each["yes_probability"] for each in reply["salts"]}
        rejected = {each["market_id"] for each in reply["rejected"]}
        assert opened == {name: share for name, share in shares.items() if name not in rejected}
        assert (reply["record"]["agent_slug"], reply["leaf_index"]) == (slug, reply["tree_size"] - 1)
        assert reply["submission_id"] > max((each["submission_id"] for each in self.receipts), default="")
        self.receipts.append(reply)

    @rule(place=st.integers(0, 2), result=RESULTS, ago=st.sampled_from((None, HOUR, 3 * HOUR)))
    def resolve(self, place: int, result: tuple[str, str | None], ago: int | None) -> None:
        closed = None if ago is None else self.model.clock - ago
        reply = ResolveMarket(MARKETS[place], *result, closed, "a test", self.model.clock)
        if self.model.resolve(MARKETS[place], *result, closed):
            self.ground.arena.writer.write(reply)
        else:
            with pytest.raises(ArenaError, match="to correct a final result"):
                self.ground.arena.writer.write(reply)

    @rule(slug=st.sampled_from(("one", "two")), suspended=st.booleans())
    def suspend(self, slug: str, suspended: bool) -> None:
        if slug in self.model.suspended:
            self.ground.arena.writer.write(SuspendAgent(slug, suspended, "a test", self.model.clock))
            self.model.suspended[slug] = suspended

    @rule()
    def restart(self) -> None:
        keys = self.ground.keys
        self.open.close()
        self.ground = self.open.enter_context(floor(self.folder / "arena"))
        self.ground.clock[0], self.ground.keys = self.model.clock, keys

    @invariant()
    def markets_are_as_the_model_has_them(self) -> None:
        for status in ("open", "closed", "settled"):
            reply = self.ground.client.get(f"{BASE}/markets", params={"status": status}).json()["markets"]
            wanted = self.model.listed(status)
            for each, one in zip(reply, wanted, strict=True):
                cutoff, close = (
                    parse_timestamp("t", each["decision_cutoff"]),
                    parse_timestamp("t", each["settlement_at"]),
                )
                assert {"market_id": each["market_id"], "decision_cutoff": cutoff} == one
                # Two hours, except for a closed market whose close was moved to an earlier time.
                assert cutoff <= close - 2 * HOUR or self.model.clock > cutoff

    @invariant()
    def boards_and_profiles_are_as_the_model_has_them(self) -> None:
        rows = {row["slug"]: row for row in self.ground.client.get(f"{BASE}/leaderboard").json()["rows"]}
        assert set(rows) == set(self.model.suspended)
        for slug, row in rows.items():
            n, brier = self.model.scores(slug)
            assert row["n_scored"] == n
            assert row["brier"] == (None if brier is None else pytest.approx(float(brier), abs=1e-12))
            recent = self.ground.client.get(f"{BASE}/agents/{slug}").json()["recent_decisions"]
            shown = [(one["market_id"], one["yes_probability"]) for each in recent for one in each["decisions"]]
            assert sorted(shown) == sorted(self.model.shown(slug))

    def teardown(self) -> None:
        for as_of, body in self.bodies.items():
            answer = self.ground.client.get(f"{BASE}/intel", params={"as_of": format_timestamp(as_of)})
            assert answer.content == body
        export(self.ground.arena, self.folder / "export", self.model.clock)
        assert audit(self.folder / "export", str(self.ground.arena.key.verifier)) == []
        assert score_faults(self.folder / "export") == [], "the scores of an export can be recomputed"
        lines = (self.folder / "export" / "log.jsonl").read_bytes().splitlines()
        records = [json.loads(line) for line in lines]
        assert [each["record"] for each in self.receipts] == [each for each in records if each["type"] == "submission"]
        for each in self.receipts:
            root = self.ground.arena.writer.log.tree.root(each["tree_size"])
            key = verifier.parse_key(str(self.ground.arena.key.verifier))
            assert verifier.open_checkpoint(each["checkpoint"], key) == (each["tree_size"], b64encode(root).decode())
        self.open.close()
        self.stack.close()


def _snapshot(edge: int, closes: dict[str, int | None]) -> Snapshot:
    """Return a snapshot with markets, some without `close_time`."""
    as_of = _time(edge)
    items = [market(name, as_of=as_of, close_time=_time(edge + (after or HOUR))) for name, after in closes.items()]
    made = build(as_of, seen(*items, *theaters(as_of), at=as_of))
    reply = json.loads(made.body)
    for item in reply["items"]:
        if item["kind"] == "market_state" and closes[item["market_id"].removeprefix("kalshi:")] is None:
            del item["close_time"]
    return replace(made, body=json.dumps(reply).encode())


def _time(moment: int) -> datetime:
    return datetime.fromtimestamp(moment // 10**6, timezone.utc)


def test_an_arena_behaves_like_its_model() -> None:
    is_full = bool(os.environ.get("OPENOUTCRY_FULL"))
    # Shrinking takes minutes, so only the full run shrinks.
    phases = (Phase.generate, Phase.shrink) if is_full else (Phase.generate,)
    n_examples, n_steps = (400, 60) if is_full else (6, 20)
    reply = settings(max_examples=n_examples, stateful_step_count=n_steps, phases=phases, report_multiple_bugs=False)
    run_state_machine_as_test(Machine, settings=reply)
