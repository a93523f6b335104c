"""A submission is written: what of it is accepted and committed to (R-21 to R-29)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import select

from openoutcry.arena.log.log_records import Record
from openoutcry.arena.log.log_writer import Batch as LogBatch
from openoutcry.arena.log.log_writer import LogWriter
from openoutcry.arena.protocol import STATUS, ArenaError
from openoutcry.arena.store.cached_state import Agent, Market
from openoutcry.arena.store.tables import decisions, replies, submissions
from openoutcry.arena.store.write_batch import Batch
from openoutcry.arena.submission_schema import Decided, Submission
from openoutcry.arena.timestamps import text_of

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_CODES = {
    "decision_cutoff_passed": "decision_cutoff_passed",
    "duplicate_market": "duplicate_market",
    "stale_snapshot": "stale_snapshot",
    "unknown_market": "invalid_payload",
}
"""Error of a submission of which nothing is accepted, by the reason of each market."""


class Planned(NamedTuple):
    """A submission in the log, before its transaction is committed."""

    written: Record
    submission_id: str
    received_at: int
    opened: str
    n_accepted: int
    rejected: list[dict[str, str]]


class Answered(NamedTuple):
    """What whoever submits is told, as bytes of JSON; whether that was told before."""

    body: bytes
    is_replayed: bool = False


@dataclass(frozen=True)
class Submitting:
    """A submission of an agent.

    Attributes:
        agent: Whose key it came with.
        submission: What came.
        received_at: When it came: what is published, and held to cutoffs.
        public: Where the arena is found, for links.
        idempotency_key: Whoever sends it again is told the same.
    """

    agent: Agent
    submission: Submission
    received_at: int
    public: str = ""
    idempotency_key: str | None = None
    is_alone = False

    def plan(self, batch: Batch) -> Planned | Answered | Submitting:
        """Add what is accepted, or refuse all."""
        if (told := self._told_before(batch)) is not None:
            return told
        if self.idempotency_key is not None:
            first: Submitting | None = batch.pending.get((self.agent.id, self.idempotency_key))
            if first is not None:
                self._check_same(first.submission.body_sha256)
                return first
        agent = batch.state.agents[self.agent.slug]
        if agent.key_sha256 != self.agent.key_sha256:
            # Another process has given it another key meanwhile, of which this one had not heard.
            raise ArenaError("bad_auth", "`Authorization: Bearer <api_key>` with a key that is valid is required")
        if agent.suspended:
            raise ArenaError("suspended", "an agent that may submit is required; received one that is suspended")
        # As the log has it, a submission is received after all that stands before it.
        received_at = batch.moment(self.received_at)
        accepted, rejected = self._parted(batch, received_at)
        if not accepted:
            raise _refused(rejected)
        planned = self._written(batch, received_at, accepted, rejected)
        if self.idempotency_key is not None:
            batch.pending[self.agent.id, self.idempotency_key] = self
        return planned

    def answer(
        self, planned: Planned | Answered | Submitting, log: LogWriter, sealed: LogBatch, batch: Batch
    ) -> Answered:
        """Return the receipt."""
        if isinstance(planned, Submitting):
            return Answered(batch.answered[planned], True)
        if isinstance(planned, Answered):
            return planned
        written, as_of = planned.written, self.submission.snapshot_as_of
        received = text_of(planned.received_at)
        date = received[:10]
        told = {
            "submission_id": planned.submission_id,
            "received_at": received,
            "snapshot_as_of": text_of(as_of),
            "n_markets_submitted": len(self.submission.decisions),
            "n_markets_accepted": planned.n_accepted,
            "rejected": planned.rejected,
            "anchor": {
                "registry_date": date,
                "submission_sha256": written.sha256,
                "anchor_url": f"{self.public}/registry?date={date}#row-{date}",
            },
            "proof_url": f"{self.public}/registry/proof/{planned.submission_id}",
        }
        head = _JSON.encode(told)
        # Both are objects: the members of one go on in the other.
        body = f"{head[:-1]},{log.receipt(sealed, written, planned.opened)[1:]}".encode()
        if self.idempotency_key is not None:
            batch.add(replies, self.agent.id, self.idempotency_key, self.submission.body_sha256, 200, body)
            batch.answered[self] = body
        return Answered(body)

    def _told_before(self, batch: Batch) -> Answered | None:
        if self.idempotency_key is None:
            return None
        asked = select(replies).where(replies.c.agent == self.agent.id, replies.c.key == self.idempotency_key)
        row = batch.connection.execute(asked).first()
        if row is None:
            return None
        self._check_same(bytes(row.body_sha256))
        return Answered(bytes(row.answer), True)

    def _check_same(self, body_sha256: bytes) -> None:
        if body_sha256 != self.submission.body_sha256:
            told = "an `Idempotency-Key` of its own is required for each body; received one of another body"
            raise ArenaError("idempotency_conflict", told)

    def _parted(self, batch: Batch, received_at: int) -> tuple[list[tuple[Decided, Market]], list[dict[str, str]]]:
        """Return decisions that are accepted, and the others with the reason."""
        accepted, rejected = [], []
        taken, as_of = batch.accepted.of(batch.connection, self.agent.id), self.submission.snapshot_as_of
        before: frozenset[str] | None = None
        for decided in self.submission.decisions:
            market = batch.state.markets.get(decided.market_id)
            if market is None:
                reason = "unknown_market"
            elif not market.takes(received_at):
                reason = "decision_cutoff_passed"
            elif as_of <= taken.get(market.id, -1):
                if as_of < taken[market.id] and before is None:
                    before = self._decided_before(batch)
                is_newest = as_of == taken[market.id]
                reason = "duplicate_market" if is_newest or decided.market_id in (before or ()) else "stale_snapshot"
            else:
                accepted.append((decided, market))
                continue
            rejected.append({"market_id": decided.market_id, "reason": reason})
        return accepted, rejected

    def _decided_before(self, batch: Batch) -> frozenset[str]:
        """Return the markets that the agent decided on this snapshot, before a newer one."""
        batch.flush()
        of_both = (submissions.c.agent == self.agent.id) & (submissions.c.as_of == self.submission.snapshot_as_of)
        told = batch.connection.execute(select(submissions.c.opened).where(of_both)).scalars()
        return frozenset(body["market_id"] for text in told for body in json.loads(text))

    def _written(
        self,
        batch: Batch,
        received_at: int,
        accepted: list[tuple[Decided, Market]],
        rejected: list[dict[str, str]],
    ) -> Planned:
        as_of = self.submission.snapshot_as_of
        submission_id, received = batch.new_id(received_at), text_of(received_at)
        members = (submission_id, self.agent.slug, received, text_of(as_of), batch.state.snapshots[as_of])
        written, opened = batch.submission(members, [decided for decided, _ in accepted], received_at)
        agent, seq = self.agent.id, written.seq
        batch.add(submissions, seq, submission_id, agent, received_at, as_of, written.sha256, opened)
        taken = batch.accepted.of(batch.connection, agent)
        for decided, market in accepted:
            batch.add(decisions, agent, market.id, as_of, seq, received_at, decided.yes_probability, decided.confidence)
        batch.accepted.add(taken, [market.id for _, market in accepted], as_of)
        return Planned(written, submission_id, received_at, opened, len(accepted), rejected)


def _refused(rejected: list[dict[str, str]]) -> ArenaError:
    """Return the error of a submission of which nothing is accepted (R-27)."""
    codes = [_CODES[each["reason"]] for each in rejected]
    statuses = {STATUS[code] for code in codes}
    told = f"at least one market that takes a decision is required; received {len(rejected)}, of which none does"
    # One status for all, or that of the first.
    code = codes[0] if len(statuses) > 1 or len(set(codes)) == 1 else sorted(codes)[0]
    return ArenaError(code, told, "decisions", more={"rejected": rejected})
