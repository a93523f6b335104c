"""A candidate's file of research: what to run, and where it was researched."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from openoutcry.backtest.strategies.candidate_fields import DIGEST, checked_digest
from openoutcry.backtest.strategies.parameter_space import shown
from openoutcry.data.dataset import Dataset
from openoutcry.errors import OpenOutcryError, refusal
from openoutcry.untrusted.bounded_file import DOCUMENT_BYTES, read_bytes

SUFFIX = ".json"
_DIGEST_SHOWN = 16
# A date without a time covers the whole day; this suffix sorts after every time of the day.
_DAY = "~"


def is_candidate_path(name: str) -> bool:
    """Return whether the name of an agent is the path of a candidate's file."""
    return name.lower().endswith(SUFFIX) and not name.lower().startswith(("cmd:", "http:", "https:"))


@dataclass(frozen=True)
class CandidateFile:
    """The content of a candidate's file.

    Attributes:
        content: The content.
        digest: SHA-256 of the canonical JSON of its fields, in hexadecimal: the layout of the file does not matter.
    """

    content: Mapping[str, Any]
    digest: str

    @classmethod
    def of(cls, content: Any) -> CandidateFile:
        """Check the content of a file.

        Raises:
            OpenOutcryError: `argument_invalid`: it is no candidate of a known version, a field is invalid, or the
                content has changed since research wrote it.
        """
        return cls(content, checked_digest(content))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> CandidateFile:
        """Read a file.

        Raises:
            OpenOutcryError: `unknown_agent`: there is no such file. `argument_invalid`: as `of`.
        """
        name = os.fspath(path)
        try:
            text = read_bytes(path, DOCUMENT_BYTES, "a candidate")
            return cls.of(value_of_json(text))
        except OSError as error:
            wanted = "an agent that ends in `.json` must be a candidate's file"
            raise refusal("unknown_agent", f"{wanted}; received {shown(name)}: {error.strerror}") from error
        except OpenOutcryError:
            raise
        except (ValueError, RecursionError) as error:
            raise refusal("argument_invalid", f"a candidate must be JSON; received {shown(name)}: {error}") from error

    @property
    def source(self) -> str | None:
        """The source of a candidate that is code; None for a library strategy."""
        source: str | None = self.content.get("source")
        return source

    @property
    def label(self) -> str:
        """The digest as it appears in the names of agents."""
        return f"candidate {self.digest[:_DIGEST_SHOWN]}"

    @property
    def provenance(self) -> dict[str, Any]:
        """Digest, session and trial of the candidate, for the ledger."""
        origin = self.content["provenance"]
        return {"digest": self.digest} | {name: origin.get(name) for name in ("session_id", "trial")}

    @property
    def session(self) -> str:
        """ID of its session; empty if the file names none."""
        return str(self.content["provenance"].get("session_id", ""))

    def rules(self, kind: str, stated: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Return costs or limits: the stated ones, else those of the research.

        Args:
            kind: `costs` or `limits`.
            stated: Values by name; None is not stated.
            defaults: Default of each name.
        """
        own = self.content.get(kind, {})
        values = {name: own.get(name, default) for name, default in defaults.items()}
        return values | {name: value for name, value in stated.items() if value is not None}

    def holdout(self) -> tuple[str, str] | None:
        """Return the first and last date of the holdout; None for a session without one.

        A file of an earlier version does not state it: all days after the research window then count.
        """
        market, stated = self.content["market"], self.content.get("holdout", ())
        if stated is None:
            return None
        if isinstance(stated, Sequence) and len(stated) == 2:
            return str(stated[0]), str(stated[1])
        return f"{market.get('last', '')}{_DAY}{_DAY}", _DAY

    @property
    def is_digested(self) -> bool:
        """Whether the file states its digest, so that a change of it is detected."""
        return DIGEST in self.content

    @property
    def holdout_text(self) -> str:
        """The days of the holdout, for a message."""
        first, last = self.holdout() or ("", "")
        return f"{first} .. {last}" if last != _DAY else f"the days after {self.content['market'].get('last')}"

    @property
    def reading_text(self) -> str:
        """What a run that reads the holdout means."""
        return f"this run reads the holdout of the candidate, {self.holdout_text}: its result is no test on unseen days"

    def has_held_out(self, dates: Sequence[str]) -> bool:
        """Return whether the period of dates contains days of the stated holdout."""
        held = self.holdout()
        return held is not None and dates[0] <= held[1] + _DAY and held[0] <= dates[-1] + _DAY

    def reads_holdout(self, dataset: Dataset, dates: Sequence[str]) -> bool:
        """Return whether a run over dates reads the stated holdout of the candidate.

        Days of the holdout count on every market that has a symbol of the researched one: the same prices under another
        name or for another period. A ledger also recognizes the prices under other symbols.
        """
        symbols = self.content["market"]["symbols"]
        is_same = self.is_own_market(dataset) or not set(dataset.symbols).isdisjoint(symbols)
        return is_same and self.has_held_out(dates)

    def is_own_market(self, dataset: Dataset) -> bool:
        """Return whether a market is the researched one, with or without its holdout."""
        market = self.content["market"]
        return dataset.fingerprint in (market.get("fingerprint"), market.get("whole_fingerprint"))

    def market_notices(self, dataset: Dataset) -> list[str]:
        """Return what a person should know about a run on a market."""
        market = self.content["market"]
        if self.is_own_market(dataset):
            return []
        days = f"{market['first']} .. {market['last']}" if "first" in market else f"up to {market['last']}"
        origin = f"{market.get('name') or 'a market'}, {days}"
        return [f"the candidate was researched on {origin}; this is another market or period"]

    def stated_notice(self, dataset: Dataset, dates: Sequence[str]) -> str | None:
        """Return that a run over dates reads the stated holdout; None if it does not."""
        return self.reading_text if self.reads_holdout(dataset, dates) else None


def value_of_json(text: bytes) -> Any:
    """Return the value of JSON with finite numbers and distinct fields.

    Raises:
        OpenOutcryError: `argument_invalid`: a field is given twice.
        ValueError: it is not JSON, or a number is not finite.
        RecursionError: it is nested too deeply.
    """
    return json.loads(text, parse_constant=_refuse, object_pairs_hook=_with_distinct_names)


def _with_distinct_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        wanted = "every field must be given once"
        raise refusal("argument_invalid", f"{wanted}; received {shown(twice)} twice; hint: keep one of the two")
    return fields


def _refuse(constant: str) -> Any:
    raise ValueError(f"numbers must be finite; received {constant}")
