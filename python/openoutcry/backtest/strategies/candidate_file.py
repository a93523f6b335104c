"""A candidate's file of research: what to run, and where it was researched."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.backtest.strategies.library import CANDIDATE_FORMAT
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
        digest: SHA-256 of its canonical JSON, in hexadecimal: the layout of the file does not matter.
    """

    content: Mapping[str, Any]
    digest: str

    @classmethod
    def of(cls, content: Any) -> CandidateFile:
        """Check the content of a file.

        Raises:
            OpenOutcryError: `argument_invalid`: it is no candidate of a known version.
        """
        found = content.get("format") if isinstance(content, Mapping) else None
        if found != CANDIDATE_FORMAT:
            wanted = f"a candidate must be a file that research wrote, with `format` {CANDIDATE_FORMAT}"
            raise refusal("argument_invalid", f"{wanted}; received {shown(found if found else content)}")
        params, source = content.get("params"), content.get("source", "")
        if not (isinstance(content.get("strategy"), str) and isinstance(params, Mapping) and isinstance(source, str)):
            wanted = "a candidate must have `strategy`, a name, and `params`, an object"
            raise refusal("argument_invalid", f"{wanted}; received {shown(content.get('strategy'))}, {shown(params)}")
        for field in ("market", "provenance"):
            if not isinstance(content.get(field), Mapping):
                wanted = f"`{field}` of a candidate must be an object"
                raise refusal("argument_invalid", f"{wanted}; received {shown(content.get(field))}")
        return cls(content, sha256(native.canonicalize(json.dumps(content)).encode()).hexdigest())

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> CandidateFile:
        """Read a file.

        Raises:
            OpenOutcryError: `unknown_agent`: there is no such file. `argument_invalid`: it is no candidate.
        """
        name = os.fspath(path)
        try:
            content = json.loads(read_bytes(path, DOCUMENT_BYTES, "a candidate"), parse_constant=_refuse)
        except OSError as error:
            wanted = "an agent that ends in `.json` must be a candidate's file"
            raise refusal("unknown_agent", f"{wanted}; received {shown(name)}: {error.strerror}") from error
        except OpenOutcryError:
            raise
        except (ValueError, RecursionError) as error:
            raise refusal("argument_invalid", f"a candidate must be JSON; received {shown(name)}: {error}") from error
        return cls.of(content)

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

    def rules(self, kind: str, stated: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Return costs or limits: the stated ones, else those of the research.

        Args:
            kind: `costs` or `limits`.
            stated: Values by name; None is not stated.
            defaults: Default of each name.

        Raises:
            OpenOutcryError: `argument_invalid`: the file states no numbers.
        """
        own = self.content.get(kind, {})
        if not isinstance(own, Mapping) or not all(
            each is None or isinstance(each, (int, float)) for each in own.values()
        ):
            raise refusal("argument_invalid", f"`{kind}` of a candidate must be numbers; received {shown(own)}")
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

    def reads_holdout(self, dataset: Dataset, dates: Sequence[str]) -> bool:
        """Return whether a run over dates reads the holdout of the candidate.

        Days of the holdout count on every market that has a symbol of the researched one: the same prices under another
        name or for another period.
        """
        held = self.holdout()
        is_same = self.is_own_market(dataset) or not set(dataset.symbols).isdisjoint(
            self.content["market"].get("symbols") or ()
        )
        return held is not None and is_same and dates[0] <= held[1] + _DAY and held[0] <= dates[-1] + _DAY

    def is_own_market(self, dataset: Dataset) -> bool:
        """Return whether a market is the researched one, with or without its holdout."""
        market = self.content["market"]
        return dataset.fingerprint in (market.get("fingerprint"), market.get("whole_fingerprint"))

    def notices(self, dataset: Dataset, dates: Sequence[str]) -> list[str]:
        """Return what a person should know about a run over dates of a market."""
        market, notices = self.content["market"], []
        if not self.is_own_market(dataset):
            origin = f"{market.get('name')}, {market.get('first')} .. {market.get('last')}"
            notices.append(f"the candidate was researched on {origin}; this is another market or period")
        if self.reads_holdout(dataset, dates):
            first, last = self.holdout() or ("", "")
            days = f"{first} .. {last}" if last != _DAY else f"the days after {market.get('last')}"
            notices.append(f"this run reads the holdout of the candidate, {days}: its result is no test on unseen days")
        return notices


def _refuse(constant: str) -> Any:
    raise ValueError(f"numbers must be finite; received {constant}")
