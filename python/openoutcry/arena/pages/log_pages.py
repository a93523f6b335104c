"""Pages of the log: its days, and each submission with its inclusion proof."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import date, timedelta
from hashlib import sha256
from typing import Any

from sqlalchemy import select
from ulid import ULID

from openoutcry.arena.log.log_proofs import leaf_hash
from openoutcry.arena.log.log_writer import sign_checkpoint
from openoutcry.arena.log.signed_notes import Checkpoint, decode_base64
from openoutcry.arena.pages import query_parameters
from openoutcry.arena.pages.html_rendering import address
from openoutcry.arena.protocol import ArenaError
from openoutcry.arena.server.cosignatures import Cosignatures
from openoutcry.arena.server.market_routes import with_market
from openoutcry.arena.server.registry_routes import Registry
from openoutcry.arena.server.server_settings import Settings
from openoutcry.arena.store.arena_store import Arena
from openoutcry.arena.store.tables import days, records, submissions
from openoutcry.arena.timestamps import DAY, HOUR, day_of, parse_timestamp

DAYS, ROWS = 30, 100
"""Days and submissions per page."""


class LogPages:
    """Computes the template contexts of log pages.

    Args:
        arena: An open arena.
        settings: The clock and the known witnesses.
        registry: Checkpoints and proofs.
        cosignatures: Cosigned checkpoints.
    """

    def __init__(self, arena: Arena, settings: Settings, registry: Registry, cosignatures: Cosignatures) -> None:
        self._arena, self._settings, self._registry, self._cosignatures = arena, settings, registry, cosignatures

    def days(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Return the context of the registry: all days, or the day in the query."""
        date_parameter = query_parameters.day(query)
        known, vkey = self._known_days(), str(self._registry.key)
        if date_parameter is not None and date_parameter not in known:
            detail = f"a day from {known[-1]} to {known[0]} is required; received {date_parameter}"
            raise ArenaError("not_found", detail, "date")
        if date_parameter is None:
            paging = query_parameters.Paging.of(known, query, DAYS, "/registry")
            page = [self._day(each) for each in paging.rows]
            return {"date": None, "days": page, "paging": paging, "vkey": vkey, "witnesses": self._witnesses()}
        place = known.index(date_parameter)
        before = query_parameters.submission(query, "before")
        rows, older = self._submissions(date_parameter, before)
        return {
            "date": date_parameter,
            "days": [self._day(date_parameter)],
            "rows": rows,
            "older": older,
            "is_first_page": before is None,
            "day_before": known[place + 1] if place + 1 < len(known) else None,
            "day_after": known[place - 1] if place else None,
            "vkey": vkey,
        }

    def _witnesses(self) -> list[dict[str, Any]]:
        """Return the known witnesses with the size of their newest cosigned checkpoint."""
        witnesses = []
        for each in self._settings.witnesses:
            witness: dict[str, Any] = {"vkey": str(each), "name": each.name, "id": each.key_id.hex(), "size": None}
            with suppress(ArenaError):
                witness["size"] = Checkpoint.parse(self._cosignatures[witness["id"]]).size
            witnesses.append(witness)
        return witnesses

    def _known_days(self) -> list[str]:
        """Return all days of the log, newest first."""
        last, first = (date.fromisoformat(each) for each in (day_of(self._settings.clock()), self._arena.state.began))
        return [(last - timedelta(days=n)).isoformat() for n in range(max(0, (last - first).days) + 1)]

    def _day(self, day: str) -> dict[str, Any]:
        """Return the checkpoint and chain hash of a day.

        For an open day, the current ones.
        """
        joined = select(days.c.seq, records.c.record).join(records, records.c.seq == days.c.seq)
        with self._arena.reading.connect() as connection:
            row = connection.execute(joined.where(days.c.date == day)).first()
            if row is None:
                note = self._registry.checkpoint
                size = Checkpoint.parse(note).size
                last = connection.execute(select(records.c.record).where(records.c.seq == size - 1)).scalar_one()
                return {"date": day, "seq": None, "size": size, "head": sha256(bytes(last)).hexdigest(), "note": note}
        closing = json.loads(bytes(row.record))
        # Ed25519 is deterministic, so this is the note that was served at that time.
        note = sign_checkpoint(self._arena.key, closing["tree_size"], decode_base64(closing["root"]))
        return {
            "date": day,
            "seq": row.seq,
            "size": closing["tree_size"],
            "head": closing["head_sha256"],
            "note": note,
            "at": parse_timestamp("at", closing["at"]),
        }

    def _submissions(self, day: str, before: str | None) -> tuple[list[dict[str, Any]], str | None]:
        """Return submissions of a day, newest first, and the address of older ones.

        Reads records only. They are public: they contain the number of decisions, but no decision.
        """
        begin = parse_timestamp("date", f"{day}T00:00:00Z")
        received, name = submissions.c.received_at, submissions.c.submission_id
        # Ids start with the time and are indexed. A submission at the end of a day may have an id of the next day.
        first, last = (str(ULID.from_timestamp(each // 1000))[:10] for each in (begin, begin + DAY + HOUR))
        wanted = [received >= begin, received < begin + DAY, name >= first, name < (before or last)]
        joined = select(submissions.c.submission_id, submissions.c.sha256, received, records.c.record).join(
            records, records.c.seq == submissions.c.seq
        )
        with self._arena.reading.connect() as connection:
            rows = list(connection.execute(joined.where(*wanted).order_by(name.desc()).limit(ROWS + 1)))
        page = [self._row(row) for row in rows[:ROWS]]
        older = address("/registry", date=day, before=rows[ROWS - 1].submission_id) if len(rows) > ROWS else None
        return page, older

    def _row(self, row: Any) -> dict[str, Any]:
        record = json.loads(bytes(row.record))
        agent = self._arena.state.agents.get(record["agent_slug"])
        return {
            "submission_id": row.submission_id,
            "sha256": row.sha256,
            "received_at": row.received_at,
            "slug": record["agent_slug"],
            "display_name": None if agent is None else agent.display_name,
            "n": len(record["commitments"]),
            "leaf": record["seq"],
        }

    def submission(self, submission_id: str) -> dict[str, Any]:
        """Return the context of a submission's page: record, proof and revealed decisions."""
        proof, text, opened = self._registry.proof(submission_id)
        record = json.loads(text)
        agent, received_at = self._arena.state.agents[record["agent_slug"]], record["received_at"]
        return {
            "id": submission_id,
            "agent": agent,
            "received_at": parse_timestamp("received_at", received_at),
            "as_of": parse_timestamp("snapshot_as_of", record["snapshot_as_of"]),
            "date": received_at[:10],
            "record": text.decode(),
            "sha256": sha256(text).hexdigest(),
            "leaf_hash": leaf_hash(text).hex(),
            "proof": proof,
            "size": Checkpoint.parse(proof.checkpoint).size,
            "opened": [with_market(self._arena.state, body, self._settings.clock()) for body in opened],
            "n": len(record["commitments"]),
            "vkey": str(self._registry.key),
        }

    def receipt(self, submission_id: str) -> dict[str, Any]:
        """Return a submission in the form of its receipt, with the revealed salts."""
        proof, text, opened = self._registry.proof(submission_id)
        return {"record": json.loads(text), "salts": opened, **proof.members()}
