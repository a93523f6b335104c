"""Records of what was traded, in a folder of the server's."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from os import W_OK, access
from pathlib import Path

from openoutcry import openoutcry_py as native
from openoutcry.data.dataset import Dataset
from openoutcry.data.snapshots.snapshot_files import freeze
from openoutcry.errors import refusal
from openoutcry.harness.mcp.decision_backtest import Decided, Unfinished
from openoutcry.harness.mcp.live_record import Lines, Live, first_line
from openoutcry.harness.mcp.mcp_episode import Episode
from openoutcry.records.run_record import RunRecord

MARKETS = "markets"


@dataclass(frozen=True)
class Records:
    """A folder of records, one a session, which `openoutcry replay` verifies.

    It is made where it is missing.
    """

    folder: Path

    def __post_init__(self) -> None:
        reason = "which cannot be written to"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = str(error.strerror)
        if not (self.folder.is_dir() and access(self.folder, W_OK)):
            message = f"`--records` must be a folder that can be written to; received '{self.folder}': {reason}"
            raise refusal("argument_invalid", message)

    def path(self, session: str) -> Path:
        """Return the file of a session's record."""
        return self.folder / f"{session}.jsonl"

    def start(self, session: str, episode: Episode, n_trials: int) -> Live:
        """Begin to write the record of an episode while it goes on."""
        return Live(self.path(session), n_trials, episode.dataset, episode.rules)

    def keep(self, session: str, decided: Decided, n_trials: int) -> str | None:
        """Write the record of an episode that has ended or was left.

        It takes the place of what was written while it went on.

        Args:
            session: Its id, which names the file.
            decided: What was traded.
            n_trials: Other episodes that have shown the same bars.

        Returns:
            Its digest; None for an unfinished one.

        Raises:
            OSError: the folder cannot be written to.
        """
        told: list[str] = []
        lines = Lines(told.append)
        with suppress(Unfinished):
            decided.record(lines)
        agent = decided.rules.agent
        if lines.whole is None:
            core = native.Record.from_lines("".join([first_line(agent, n_trials), *told]).encode())
        else:
            core = native.Record.join(agent, n_trials, [lines.whole])
        RunRecord(core).save(self.path(session))
        return core.digest

    def freeze(self, dataset: Dataset) -> None:
        """Write a market beside the records, for whoever replays one of it."""
        freeze(dataset, self.folder / MARKETS, "an episode over MCP")
