"""The folder of the records of sessions."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from os import W_OK, access
from pathlib import Path

from openoutcry import openoutcry_py as native
from openoutcry.data.dataset import Dataset
from openoutcry.data.snapshots.snapshot_files import freeze
from openoutcry.errors import refusal
from openoutcry.harness.mcp.decision_backtest import DecisionBacktest, EpisodeAbandoned
from openoutcry.harness.mcp.live_record import LineForwarder, LiveRecord, first_line
from openoutcry.harness.mcp.mcp_episode import Episode
from openoutcry.records.run_record import RunRecord

MARKETS = "markets"


@dataclass(frozen=True)
class RecordFolder:
    """A folder with one record per session, created if missing."""

    folder: Path

    def __post_init__(self) -> None:
        reason = "it is not writable"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = str(error.strerror)
        if not (self.folder.is_dir() and access(self.folder, W_OK)):
            message = f"`--records` must be a writable folder; received '{self.folder}': {reason}"
            raise refusal("argument_invalid", message)

    def path(self, session: str) -> Path:
        """Return the path of a session's record."""
        return self.folder / f"{session}.jsonl"

    def start(self, session: str, episode: Episode, n_trials: int) -> LiveRecord:
        """Start writing the record of a running episode."""
        return LiveRecord(self.path(session), n_trials, episode.dataset, episode.rules)

    def save(self, session: str, backtest: DecisionBacktest, n_trials: int) -> str | None:
        """Write the final record of an episode, in place of the running one.

        Args:
            session: Session id, which names the file.
            backtest: The decisions of the episode.
            n_trials: Number of other episodes that showed the same bars.

        Returns:
            Digest of the record; None for an unfinished one.

        Raises:
            OSError: the folder is not writable.
        """
        run_lines: list[str] = []
        lines = LineForwarder(run_lines.append)
        with suppress(EpisodeAbandoned):
            backtest.record(lines)
        agent = backtest.rules.agent
        if lines.finished is None:
            core = native.Record.from_lines("".join([first_line(agent, n_trials), *run_lines]).encode())
        else:
            core = native.Record.join(agent, n_trials, [lines.finished])
        RunRecord(core).save(self.path(session))
        return core.digest

    def freeze(self, dataset: Dataset) -> None:
        """Write a market next to the records, to replay them."""
        freeze(dataset, self.folder / MARKETS, "an episode over MCP")
