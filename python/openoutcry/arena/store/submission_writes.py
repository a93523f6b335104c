"""Commit submissions: accept or reject decisions, append records."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import select

from openoutcry.arena.log.log_records import Record
from openoutcry.arena.log.log_writer import Batch as LogBatch
from openoutcry.arena.log.log_writer import LogWriter
from openoutcry.arena.protocol import KEY_REQUIRED, STATUS, ArenaError
from openoutcry.arena.store.cached_state import Agent, Market
from openoutcry.arena.store.tables import decisions, replies, submissions
from openoutcry.arena.store.write_batch import Batch
from openoutcry.arena.submission_schema import Decided, Submission
from openoutcry.arena.timestamps import format_timestamp

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_CODES = {
    "decision_cutoff_passed": "decision_cutoff_passed",
    "duplicate_market": "duplicate_market",
    "stale_snapshot": "stale_snapshot",
    "unknown_market": "invalid_payload",
}
"""Error code of a submission without an accepted decision, by rejection reason."""


class PlannedSubmission(NamedTuple):
    """A submission whose record is in the batch, before the commit."""

    written: Record
    submission_id: str
    received_at: int
    opened: str
    n_accepted: int
    rejected: list[dict[str, str]]


class SubmissionReply(NamedTuple):
    """JSON body of a response.

    `is_replayed` if an earlier request had the same idempotency key.
    """

    body: bytes
    is_replayed: bool = False


@dataclass(frozen=True)
class SubmitDecisions:
    """Commit a submission of an agent.

    Attributes:
        agent: The authenticated agent.
        submission: The parsed submission.
        received_at: Time of receipt; it is published and compared with cutoffs.
        public: Public address of the arena, for links.
        idempotency_key: A repeated key returns the stored response.
    """

    agent: Agent
    submission: Submission
    received_at: int
    public: str = ""
    idempotency_key: str | None = None
    has_own_transaction = False

    def plan(self, batch: Batch) -> PlannedSubmission | SubmissionReply | SubmitDecisions:
        """Add the accepted decisions to the batch, or refuse the submission."""
        if (reply := self._replay(batch)) is not None:
            return reply
        if self.idempotency_key is not None:
            first: SubmitDecisions | None = batch.pending.get((self.agent.id, self.idempotency_key))
            if first is not None:
                self._check_same(first.submission.body_sha256)
                return first
        agent = batch.state.agents[self.agent.slug]
        if agent.key_sha256 != self.agent.key_sha256:
            # Another process has rotated the key since the request was authenticated.
            raise ArenaError("bad_auth", f"{KEY_REQUIRED}; received a key that was replaced")
        if agent.suspended:
            raise ArenaError("suspended", "an agent that is not suspended is required; received a suspended one")
        # Times in the log never decrease.
        received_at = batch.log_time(self.received_at)
        accepted, rejected = self._split(batch, received_at)
        if not accepted:
            raise _rejection(rejected)
        planned = self._add_record(batch, received_at, accepted, rejected)
        if self.idempotency_key is not None:
            batch.pending[self.agent.id, self.idempotency_key] = self
        return planned

    def result(
        self,
        planned: PlannedSubmission | SubmissionReply | SubmitDecisions,
        log: LogWriter,
        sealed: LogBatch,
        batch: Batch,
    ) -> SubmissionReply:
        """Return the receipt."""
        if isinstance(planned, SubmitDecisions):
            return SubmissionReply(batch.replies[planned], True)
        if isinstance(planned, SubmissionReply):
            return planned
        written, as_of = planned.written, self.submission.snapshot_as_of
        received = format_timestamp(planned.received_at)
        date = received[:10]
        members = {
            "submission_id": planned.submission_id,
            "received_at": received,
            "snapshot_as_of": format_timestamp(as_of),
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
        head = _JSON.encode(members)
        # Both are JSON objects; their members are joined into one.
        body = f"{head[:-1]},{log.receipt(sealed, written, planned.opened)[1:]}".encode()
        if self.idempotency_key is not None:
            batch.add(replies, self.agent.id, self.idempotency_key, self.submission.body_sha256, 200, body)
            batch.replies[self] = body
        return SubmissionReply(body)

    def _replay(self, batch: Batch) -> SubmissionReply | None:
        if self.idempotency_key is None:
            return None
        query = select(replies).where(replies.c.agent == self.agent.id, replies.c.key == self.idempotency_key)
        row = batch.connection.execute(query).first()
        if row is None:
            return None
        self._check_same(bytes(row.body_sha256))
        return SubmissionReply(bytes(row.answer), True)

    def _check_same(self, body_sha256: bytes) -> None:
        if body_sha256 != self.submission.body_sha256:
            detail = "a new `Idempotency-Key` is required for each body; received the key of another body"
            raise ArenaError("idempotency_conflict", detail)

    def _split(self, batch: Batch, received_at: int) -> tuple[list[tuple[Decided, Market]], list[dict[str, str]]]:
        """Return the accepted decisions, and the rejected ones with their reasons."""
        accepted, rejected = [], []
        taken, as_of = batch.accepted.of(batch.connection, self.agent.id), self.submission.snapshot_as_of
        earlier: frozenset[str] | None = None
        for decided in self.submission.decisions:
            market = batch.state.markets.get(decided.market_id)
            if market is None:
                reason = "unknown_market"
            elif not market.accepts_decision_at(received_at):
                reason = "decision_cutoff_passed"
            elif as_of <= taken.get(market.id, -1):
                if as_of < taken[market.id] and earlier is None:
                    earlier = self._decided_before(batch)
                is_newest = as_of == taken[market.id]
                reason = "duplicate_market" if is_newest or decided.market_id in (earlier or ()) else "stale_snapshot"
            else:
                accepted.append((decided, market))
                continue
            rejected.append({"market_id": decided.market_id, "reason": reason})
        return accepted, rejected

    def _decided_before(self, batch: Batch) -> frozenset[str]:
        """Return the markets that the agent already decided on this snapshot."""
        batch.flush()
        of_both = (submissions.c.agent == self.agent.id) & (submissions.c.as_of == self.submission.snapshot_as_of)
        texts = batch.connection.execute(select(submissions.c.opened).where(of_both)).scalars()
        return frozenset(body["market_id"] for text in texts for body in json.loads(text))

    def _add_record(
        self,
        batch: Batch,
        received_at: int,
        accepted: list[tuple[Decided, Market]],
        rejected: list[dict[str, str]],
    ) -> PlannedSubmission:
        as_of = self.submission.snapshot_as_of
        submission_id, received = batch.new_id(received_at), format_timestamp(received_at)
        members = (submission_id, self.agent.slug, received, format_timestamp(as_of), batch.state.snapshots[as_of])
        written, opened = batch.submission(members, [decided for decided, _ in accepted], received_at)
        agent, seq = self.agent.id, written.seq
        batch.add(submissions, seq, submission_id, agent, received_at, as_of, written.sha256, opened)
        taken = batch.accepted.of(batch.connection, agent)
        for decided, market in accepted:
            batch.add(decisions, agent, market.id, as_of, seq, received_at, decided.yes_probability, decided.confidence)
        batch.accepted.add(taken, [market.id for _, market in accepted], as_of)
        return PlannedSubmission(written, submission_id, received_at, opened, len(accepted), rejected)


def _rejection(rejected: list[dict[str, str]]) -> ArenaError:
    """Return the error of a submission without an accepted decision."""
    codes = [_CODES[each["reason"]] for each in rejected]
    statuses = {STATUS[code] for code in codes}
    detail = f"at least one accepted decision is required; received {len(rejected)}, all rejected"
    # The status that all share, or the status of the first decision.
    code = codes[0] if len(statuses) > 1 or len(set(codes)) == 1 else sorted(codes)[0]
    return ArenaError(code, detail, "decisions", more={"rejected": rejected})
