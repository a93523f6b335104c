"""First records of a log, and its scoring rules."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from openoutcry.arena.store.cached_state import State
from openoutcry.arena.store.entry_writes import StateChange
from openoutcry.arena.store.tables import meta
from openoutcry.arena.store.write_batch import Batch
from openoutcry.arena.timestamps import day_of


@dataclass(frozen=True)
class SetScoringRules(StateChange):
    """Set the scoring rules: version, parameters and base rates."""

    version: str
    parameters: Mapping[str, str | int]
    base_rates: bytes
    at: int

    def plan(self, batch: Batch) -> int:
        """Return the index of the record in the log."""
        digest = sha256(self.base_rates).hexdigest()
        members: dict[str, Any] = {"scoring_version": self.version, "parameters": dict(self.parameters)}
        members |= {"base_rates": json.loads(self.base_rates), "base_rates_sha256": digest}
        batch.add(meta, "base_rates", self.base_rates.decode())
        return batch.record({"type": "scoring"} | members, batch.log_time(self.at)).seq


@dataclass(frozen=True)
class StartLog(StateChange):
    """Write the first records of a log: origin, public key and scoring rules."""

    origin: str
    vkey: str
    rules: SetScoringRules
    at: int

    def plan(self, batch: Batch) -> int:
        """Return the index of the last record."""
        salts = "a commitment, of 32 random bytes"
        members = {"origin": self.origin, "vkey": self.vkey, "salt_of": salts}
        began = day_of(self.at)

        def update_state(state: State) -> None:
            state.began = began

        batch.after(update_state)
        batch.record({"type": "log"} | members, self.at)
        return self.rules.plan(batch)
