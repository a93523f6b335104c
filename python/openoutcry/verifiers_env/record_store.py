"""Store of episode records and their markets, in a folder of the worker."""

from __future__ import annotations

import errno
import os
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from openoutcry.data.snapshots.snapshot_files import freeze
from openoutcry.records.run_record import RunRecord
from openoutcry.verifiers_env.episode_outcome import Outcome
from openoutcry.verifiers_env.record_conversations import EpisodeSpec

MARKETS = "markets"
SPECS = "specs"


@dataclass
class RecordStore:
    """A folder of records, which `openoutcry replay` verifies.

    It is created if missing.

    Args:
        folder: Its path.
    """

    folder: Path
    _frozen: set[str] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    def create_folders(self) -> None:
        """Create the folder with its subfolders.

        Raises:
            OSError: it cannot be created or written to.
        """
        for folder in (MARKETS, SPECS):
            (self.folder / folder).mkdir(parents=True, exist_ok=True)
        if not os.access(self.folder, os.W_OK):
            raise PermissionError(errno.EACCES, "records cannot be written to", str(self.folder))

    def save(self, name: str, record: RunRecord, outcome: Outcome, spec: EpisodeSpec | None = None) -> dict[str, Any]:
        """Write the record of an episode and its markets, and return their paths.

        Rollouts of the same task share market snapshots, which are written once.

        Args:
            name: Name of the record.
            record: The record.
            outcome: Outcome of the episode.
            spec: Specification of the episode, stored next to the record.
        """
        self.create_folders()
        path = self.folder / f"{name}.json"
        record.save(path)
        if spec is not None:
            (self.folder / SPECS / f"{name}.json").write_text(spec.to_json(), encoding="utf-8")
        markets = [self._freeze(outcome, place) for place in range(len(outcome.windows))]
        return {"record": str(path), "markets": markets, "replay": _command(path, markets)}

    def _freeze(self, outcome: Outcome, place: int) -> str:
        dataset = outcome.windows[place].run.dataset
        path = self.folder / MARKETS / f"{dataset.fingerprint}.json"
        with self._lock:
            # The folder may be cleared while workers run.
            is_there = path.exists() and path.with_suffix(".npz").exists()
            if dataset.fingerprint not in self._frozen or not is_there:
                freeze(dataset, path.parent, "an episode of the verifiers environment")
                self._frozen.add(dataset.fingerprint)
        return str(path)


def trace_summary(outcome: Outcome, record: RunRecord) -> dict[str, Any]:
    """Return the summary of an episode for its trace, as plain JSON.

    All of it can be recomputed from the record, except the number of answers and whether the model called `finish`: in
    a record, a missing answer is a hold.
    """
    windows = [
        {
            "fingerprint": each.run.dataset.fingerprint,
            "nav": float(each.run.nav[-1]),
            "benchmark_nav": float(each.benchmark.nav[-1]),
            "excess": float(each.excess.sum()) / each.scale,
            "breaches": int(each.breaches.sum()),
            "ending": each.run.ending or None,
        }
        for each in outcome.windows
    ]
    header = record.headers[0]
    return {
        "row": outcome.row.key,
        "digest": record.digest,
        "engine_version": header["engine_version"],
        "contract_version": header["contract_version"],
        "windows": windows,
        "n_answers": outcome.n_answers,
        "n_malformed": outcome.n_malformed,
        "has_finished": outcome.has_finished,
    }


def record_of(outcome: Outcome, agent: str) -> RunRecord:
    """Return the record of an episode, with one run per window."""
    return RunRecord.join(agent, [each.run.record for each in outcome.windows])


def _command(path: Path, markets: list[str]) -> str:
    arguments = [part for market in markets for part in ("--data", market)]
    return shlex.join(["openoutcry", "replay", str(path), *arguments])
