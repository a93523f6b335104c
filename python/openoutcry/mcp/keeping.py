"""Records of what was traded, in a folder of the server's."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from openoutcry.data.frozen import freeze
from openoutcry.errors import refusal
from openoutcry.mcp.episode import Episode, Unfinished
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.record import RecordWriter

MARKETS = "markets"
# All at once: what is written has happened already.
_FLUSH_EVERY = 100_000


@dataclass(frozen=True)
class Kept:
    """A record that was written.

    Attributes:
        file: Its name in the folder.
        digest: Its digest.
        market: Name in the folder of the snapshot that `openoutcry replay --data` needs; None where the market has a
            name that it knows.
    """

    file: str
    digest: str
    market: str | None


@dataclass(frozen=True)
class Records:
    """A folder of records, one a session, which `openoutcry replay` verifies.

    A market that nobody could draw again, since it is synthetic or in disguise, is frozen beside them when its session
    is over. Until then it is nowhere but in this process.
    """

    folder: Path

    def __post_init__(self) -> None:
        if not (self.folder.is_dir() and os.access(self.folder, os.W_OK)):
            message = f"`--records` must be a folder that can be written to; received '{self.folder}'"
            raise refusal("argument_invalid", message)

    def keep(self, session: str, episode: Episode, n_trials: int, *, is_named: bool) -> Kept | None:
        """Write the record of a session; that of one that was left is unfinished.

        Args:
            session: Its id, which names the file.
            episode: What was traded.
            n_trials: Episodes before it that saw the same bars.
            is_named: Whether `openoutcry replay --data` finds the market by its name.

        Returns:
            What was kept; None for an unfinished record, whose lines are kept all the same.

        Raises:
            RuntimeError: the folder cannot be written to.
        """
        try:
            return self._kept(session, episode, n_trials, is_named)
        except (OSError, OpenOutcryError) as error:
            # Its message names the folder, which is none of the client's business.
            raise RuntimeError("the record of an episode could not be written") from error

    def _kept(self, session: str, episode: Episode, n_trials: int, is_named: bool) -> Kept | None:
        market = None if is_named else freeze(episode.dataset, self.folder / MARKETS, "an episode over MCP").name
        file = f"{session}.jsonl"
        writer = RecordWriter(self.folder / file, episode.rules.agent, n_trials, flush_every=_FLUSH_EVERY)
        try:
            with writer:
                episode.run(writer)
                record = writer.close()
        except Unfinished:
            return None
        return Kept(file, str(record and record.digest), None if market is None else f"{MARKETS}/{market}")
