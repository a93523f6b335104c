"""How a log begins, and the rules by which is scored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from openoutcry.arena.store.cached_state import State
from openoutcry.arena.store.entry_writes import Told
from openoutcry.arena.store.tables import meta
from openoutcry.arena.store.write_batch import Batch
from openoutcry.arena.timestamps import day_of


@dataclass(frozen=True)
class SettingRules(Told):
    """How is scored from here on: a version, its parameters, past rates."""

    version: str
    parameters: Mapping[str, str | int]
    base_rates: bytes
    at: int

    def plan(self, batch: Batch) -> int:
        """Return the place of the record."""
        digest = sha256(self.base_rates).hexdigest()
        told: dict[str, Any] = {"scoring_version": self.version, "parameters": dict(self.parameters)}
        told |= {"base_rates": json.loads(self.base_rates), "base_rates_sha256": digest}
        batch.add(meta, "base_rates", self.base_rates.decode())
        return batch.record({"type": "scoring"} | told, batch.moment(self.at)).seq


@dataclass(frozen=True)
class Beginning(Told):
    """The first records of a log: whose it is, what signs it, and how is scored."""

    origin: str
    vkey: str
    rules: SettingRules
    at: int

    def plan(self, batch: Batch) -> int:
        """Return the place of the last record."""
        salts = "a commitment, of 32 random bytes"
        told = {"origin": self.origin, "vkey": self.vkey, "salt_of": salts}
        began = day_of(self.at)

        def known(state: State) -> None:
            state.began = began

        batch.after(known)
        batch.record({"type": "log"} | told, self.at)
        return self.rules.plan(batch)
