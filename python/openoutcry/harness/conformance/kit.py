"""The kit: observations for agents, and sample decisions for decision readers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from openoutcry import data
from openoutcry import openoutcry_py as native
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.harness.conformance import large_observations, random_market

DUTIES = ("answer_a_decision", "name_listed_symbols_only", "ignore_unknown_fields")
"""Duties in the field `agent_must` of a fixture; defined in `contract/README.md`, section 6."""

EPISODE = ("2020-01-02", "2020-03-31")
"""First date and end date (exclusive) of the first episode, on `ecb-fx`."""

_OPENING = "2024-01-04"
_KNOWN = {
    "": {"date", "cash", "symbols", "market_features", "portfolio"},
    "symbols": {"symbol", "close_history", "features", "fundamentals", "news"},
    "portfolio": {"symbol", "shares", "avg_price"},
}


@dataclass(frozen=True)
class Case:
    """An observation and the duties of an agent that receives it."""

    name: str
    describes: str
    observation: Mapping[str, Any]
    duties: tuple[str, ...]

    @cached_property
    def text(self) -> str:
        """The observation as the engine writes it, canonical JSON."""
        return native.canonicalize(json.dumps(self.observation))

    @cached_property
    def known_text(self) -> str:
        """The observation without fields unknown to this version of the contract."""
        known = {name: self.observation[name] for name in sorted(_KNOWN[""]) if name in self.observation}
        for part in ("symbols", "portfolio"):
            known[part] = [{name: row[name] for name in row if name in _KNOWN[part]} for row in known[part]]
        return native.canonicalize(json.dumps(known))


@dataclass(frozen=True)
class Samples:
    """Sample decisions for readers; the attributes are those of `Kit`."""

    accepted: tuple[tuple[str, str, Mapping[str, Any]], ...]
    refused: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Kit:
    """Cases for agents and sample decisions for readers.

    Attributes:
        cases: Observations, small ones first.
        accepted: Name, text and parsed value of decisions that must be accepted.
        refused: Name, text and error slug of decisions that must be refused.
        digest: SHA-256 of the kit.
        n_drawn: Number of bars of the second episode.
    """

    cases: tuple[Case, ...]
    accepted: tuple[tuple[str, str, Mapping[str, Any]], ...]
    refused: tuple[tuple[str, str, str], ...]
    digest: str
    n_drawn: int = random_market.N_BARS

    @property
    def samples(self) -> Samples:
        """The sample decisions."""
        return Samples(self.accepted, self.refused)

    @property
    def opening(self) -> str:
        """The first observation of every session, dated before all cases."""
        return _opening({case.name: case for case in self.cases}["empty_start"])


def _opening(start: Case) -> str:
    return native.canonicalize(json.dumps({**start.observation, "date": _OPENING}))


@cache
def kit() -> Kit:
    """Return the kit built into this package."""
    return read(native.conformance_files())


@cache
def episode() -> Dataset:
    """Return the market of the first episode."""
    return data.load("ecb-fx", ["USD", "JPY", "GBP", "CHF"])


def read(files: Mapping[str, str]) -> Kit:
    """Return the kit in files of the format of `contract/conformance`.

    Raises:
        OpenOutcryError: `argument_invalid`: a fixture has a duty that this version does not know.
    """
    content = {name: json.loads(text) for name, text in sorted(files.items())}
    fixtures = [each for name, each in content.items() if name not in {"negative.json", "positive.json"}]
    cases = [Case(each["name"], each["describes"], each["observation"], tuple(each["agent_must"])) for each in fixtures]
    cases += _generated()
    for case in cases:
        if not set(DUTIES[:2]) <= set(case.duties) <= set(DUTIES):
            wanted = f"`agent_must` of {case.name} must be {' and '.join(DUTIES[:2])}, and at most {DUTIES[2]}"
            raise refusal("argument_invalid", f"{wanted}; received {', '.join(case.duties) or 'nothing'}")
    given = [(f"{each['name']}[{i}]", one) for each in fixtures for i, one in enumerate(each["decisions"])]
    samples = samples_of(content, given)
    return Kit(tuple(cases), samples.accepted, samples.refused, _digest(files, cases))


def samples_of(content: Mapping[str, Any], more: Iterable[tuple[str, Mapping[str, Any]]] = ()) -> Samples:
    """Return the samples of parsed files, after `more` names and accepted decisions."""
    accepted = [*more, *((each["name"], each) for each in content["positive.json"])]
    return Samples(
        tuple((name, each["decision"], each["parsed"]) for name, each in accepted),
        tuple((each["name"], each["decision"], each["slug"]) for each in content["negative.json"]),
    )


@cache
def _generated() -> list[Case]:
    return [Case(*each, DUTIES[:2]) for each in large_observations.observations()]


def _digest(files: Mapping[str, str], cases: list[Case]) -> str:
    texts = dict(files) | {f"{case.name} generated": case.text for case in cases if f"{case.name}.json" not in files}
    content_digests = {
        "files": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()},
        "opening": _OPENING,
        "episode": [episode().fingerprint, *EPISODE],
        "drawn": random_market.market(0).fingerprint,
    }
    return hashlib.sha256(native.canonicalize(json.dumps(content_digests)).encode()).hexdigest()
