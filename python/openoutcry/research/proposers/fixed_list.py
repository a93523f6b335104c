"""Proposer that returns a fixed list of proposals."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from openoutcry.errors import refusal
from openoutcry.research.proposal_requests import ProposalReply, ProposalRequest, TokenMeter
from openoutcry.research.strict_json import InvalidJson, read_strict_json
from openoutcry.untrusted.bounded_file import read_text

_MAX_BYTES = 16 * 2**20


class FixedProposer:
    """Propose the entries of a list, in order.

    Round k returns entry k, so a resumed session needs no other state.

    Args:
        entries: Proposals as plain values. A `ProposalReply` is returned unchanged and its tokens are counted again,
            which replays recorded replies.
        name: Name in journals.

    Raises:
        OpenOutcryError: `argument_invalid`: an entry is neither an object nor a reply.
    """

    def __init__(self, entries: Iterable[Mapping[str, Any] | ProposalReply], name: str = "fixed") -> None:
        self.name = name
        self._entries: tuple[Any, ...] = tuple(entries)
        for place, entry in enumerate(self._entries):
            if not isinstance(entry, (Mapping, ProposalReply)):
                wanted = f"`proposals[{place}]` must be an object"
                raise refusal("argument_invalid", f"{wanted}; received {type(entry).__name__}")

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> FixedProposer:
        """Read proposals from a JSON file.

        It holds a list of proposals, or an object with the list in `proposals`.

        Raises:
            OpenOutcryError: `argument_invalid`: the file is missing or invalid.
        """
        return cls(_entries_of(Path(path)))

    def __len__(self) -> int:
        return len(self._entries)

    def reserve(self, request: ProposalRequest) -> int:
        """Return 0, or the tokens that a recorded reply had reserved."""
        entry = self._entry(request.round)
        return entry.attempts[0].reserved if isinstance(entry, ProposalReply) and entry.attempts else 0

    def propose(self, request: ProposalRequest, meter: TokenMeter) -> ProposalReply:
        """Return the entry of the round."""
        entry = self._entry(request.round)
        if entry is None:
            return ProposalReply(is_exhausted=True, detail=f"all {len(self)} proposals have been made")
        if isinstance(entry, ProposalReply):
            for attempt in entry.attempts:
                meter.spend(attempt.usage)
            return entry
        return ProposalReply(proposal=dict(entry))

    def _entry(self, place: int) -> Any:
        return self._entries[place] if place < len(self._entries) else None


def _entries_of(path: Path) -> list[Any]:
    wanted = "proposals must be a file with a JSON list, or an object with the list in `proposals`"
    try:
        found = read_strict_json(read_text(path, _MAX_BYTES, "a file of proposals"))
    except OSError as error:
        raise refusal("argument_invalid", f"{wanted}; received '{path}': {error.strerror}") from error
    except (InvalidJson, UnicodeDecodeError) as error:
        raise refusal("argument_invalid", f"{wanted}; received '{path}': {error}") from error
    if isinstance(found, dict) and set(found) != {"proposals"}:
        raise refusal("argument_invalid", f"{wanted}; received an object of {sorted(found)[:5]} in '{path}'")
    entries = found["proposals"] if isinstance(found, dict) else found
    if not isinstance(entries, list):
        raise refusal("argument_invalid", f"{wanted}; received {type(entries).__name__} in '{path}'")
    return entries
