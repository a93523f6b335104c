"""Forecast questions of a past season: a market at a snapshot, result apart.

Questions come from a verified export. A prompt is computed from the snapshot's bytes only (`forecast_prompt`). The
result decides which questions exist, their split and the score of a forecast.
"""

from __future__ import annotations

import json
import math
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from openoutcry.arena.dataset_splits import SPLITS, Layout, MarketTimes, Sampling
from openoutcry.arena.forecast_prompt import prompt_of
from openoutcry.arena.scoring import read_score_inputs
from openoutcry.arena.scoring.score_inputs import Resolution as LogResolution
from openoutcry.arena.scoring.settlement import EXCLUDED, SETTLED, market_state, settle
from openoutcry.arena.snapshots.market_items import Market, read_markets
from openoutcry.arena.snapshots.snapshot_times import format_time
from openoutcry.arena.timestamps import HOUR, SECOND, format_timestamp, parse_timestamp
from openoutcry.arena.verifier import Export
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.untrusted.bounded_file import check_folder


@dataclass(frozen=True)
class Resolution:
    """Final result of a market, `yes` or `no`, and the time when it was final."""

    outcome: str
    known_at: str


@dataclass(frozen=True)
class Question:
    """A market at a snapshot.

    Attributes:
        key: Stable identifier: the snapshot's time and the market's id.
        split: One of `SPLITS`.
        as_of: Time of the snapshot; `prompt` contains nothing later.
        market_id: The market.
        decision_cutoff: Cutoff of decisions, as the snapshot lists it.
        yes_mid_price: Mid price of YES with at most four decimals; None if the snapshot has no price.
        snapshot_sha256: SHA-256 of the snapshot's bytes, as in the log.
        prompt: The forecast prompt.
        resolution: The result, for scoring only; it is not part of the prompt.
    """

    key: str
    split: str
    as_of: str
    market_id: str
    decision_cutoff: str
    yes_mid_price: float | None
    snapshot_sha256: str
    prompt: str
    resolution: Resolution

    def to_line(self) -> str:
        """Return the question as a line of JSON, with the line feed."""
        return json.dumps(asdict(self), ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class _KnownResult:
    """Final result of a market.

    `first` is its first resolution record, `known_us` the time when the result was final, `last_us` the last time at
    which a decision counted.
    """

    outcome: str
    first_us: int
    first_seq: int
    known_us: int
    last_us: float


class _Published(NamedTuple):
    """A published snapshot: time as integer and text, record index and digest."""

    as_of_us: int
    as_of: str
    seq: int
    sha256: str


class _NotIn:
    """Complement of a container."""

    def __init__(self, excluded: Container[str]) -> None:
        self._excluded = excluded

    def __contains__(self, name: object) -> bool:
        return name not in self._excluded


@contextmanager
def _refuse_malformed(what: str) -> Iterator[None]:
    """Refuse malformed data: a correctly signed log need not be an Arena's log."""
    try:
        yield
    except OpenOutcryError:
        raise
    except (AttributeError, KeyError, OSError, RecursionError, TypeError, ValueError) as error:
        raise refusal(
            "value_invalid", f"{what} of the Arena is required; received {type(error).__name__}: {error}"
        ) from error


@dataclass(frozen=True)
class PastSeason:
    """A verified export of a season.

    Attributes:
        folder: Folder of the export.
        vkey: Public key that verified it.
    """

    folder: Path
    vkey: str
    _snapshots: Sequence[_Published]
    _known: Mapping[str, _KnownResult]
    _void: Container[str]
    _ended_us: int

    @classmethod
    def read(cls, folder: Path, vkey: str | None = None) -> PastSeason:
        """Verify an export and return its season.

        Args:
            folder: Folder that `openoutcry arena export` wrote.
            vkey: Trusted public key of the log. The default is the key in the export, which anyone can create.

        Raises:
            OpenOutcryError: `value_invalid`: the folder is not an export, or its verification fails.
        """
        with _refuse_malformed("an export"):
            check_folder(folder, "an export")
            export = Export(folder)
            export.check(vkey, [])
            if export.faults:
                raise refusal("value_invalid", f"an export without faults is required; received {export.faults[0]}")
            published = [
                _Published(parse_timestamp("as_of", each["as_of"]), each["as_of"], each["seq"], each["sha256"])
                for each in export.others
                if each["type"] == "snapshot"
            ]
            # Time of the last record: for a later time, no record attests that no result was disputed.
            ended_us = max((parse_timestamp("at", each["at"]) for each in export.others if "at" in each), default=0)
            known, void = _known_of(folder, export.others, ended_us)
            return cls(folder, vkey or export.first["vkey"], sorted(published), known, void, ended_us)

    def layout(self, sampling: Sampling | None = None) -> Layout:
        """Return the splits of all markets that the season's snapshots list."""
        settling_us = round((sampling or Sampling()).settling_hours * HOUR)
        times = {
            name: MarketTimes(close, self._known[name].known_us if name in self._known else None)
            for name, close in self._closes.items()
            if name not in self._void
        }
        return Layout(times, len(self._closes) - len(times), self._ended_us, settling_us)

    @cached_property
    def _closes(self) -> dict[str, int]:
        """Scheduled close of each market in its first snapshot."""
        closes: dict[str, int] = {}
        unseen = _NotIn(closes)
        for snapshot in self._snapshots:
            with _refuse_malformed(f"a snapshot of {snapshot.as_of}"):
                markets = read_markets(self._body(snapshot), unseen)
            for market in markets:
                closes.setdefault(market.market_id, _close_us(market))
        return closes

    def questions(self, sampling: Sampling | None = None) -> Iterator[Question]:
        """Yield the questions in time order.

        Each market is in one split, by the time when its result was due. Early results do not count: before a deadline
        only events that happened have results. A question is left out if its snapshot lists a close after the end of
        the split, or if the snapshot is within the embargo after the previous split.
        """
        sampling = sampling or Sampling()
        hours = (sampling.every_hours, sampling.embargo_hours, sampling.settling_hours)
        every, embargo, settling = (round(each * HOUR) for each in hours)
        layout, last_asked = self.layout(sampling), dict[str, int]()
        ends, places = layout.ends, layout.places
        for snapshot in self._snapshots:
            # Most markets are not due, and their prices are not parsed.
            due = {each for each in places if snapshot.as_of_us >= last_asked.get(each, -every) + every}
            with _refuse_malformed(f"a snapshot of {snapshot.as_of}"):
                body = self._body(snapshot)
                markets = read_markets(body, due)
            for market in markets:
                known = self._known[market.market_id]
                is_new = last_asked.get(market.market_id) != snapshot.as_of_us
                if is_new and _is_open(market, known, snapshot):
                    last_asked[market.market_id] = snapshot.as_of_us
                    place = places[market.market_id]
                    is_after = place == 0 or snapshot.as_of_us >= ends[place - 1] + embargo
                    if is_after and _close_us(market) + settling <= ends[place]:
                        yield _question(body, market, known, snapshot, SPLITS[place])

    def _body(self, snapshot: _Published) -> bytes:
        body = (self.folder / "snapshots" / f"{snapshot.as_of.replace(':', '-')}.json").read_bytes()
        # The folder may have changed since the verification.
        if sha256(body).hexdigest() != snapshot.sha256 or json.loads(body)["as_of"] != snapshot.as_of:
            wanted = f"the verified snapshot of {snapshot.as_of} is required"
            raise refusal("value_invalid", f"{wanted}; received a changed file")
        return body


def _close_us(market: Market) -> int:
    """Return the scheduled close of a market in microseconds."""
    return parse_timestamp("settlement_at", format_time(market.settlement_at))


def _known_of(folder: Path, records: list[dict[str, Any]], at_us: int) -> tuple[dict[str, _KnownResult], set[str]]:
    """Return the final results and the void markets of a log."""
    used = [each for each in records if each["type"] in ("scoring", "resolution")]
    facts = read_score_inputs(used, {}, {}, (folder / "base_rates.json").read_bytes(), at_us=at_us)
    grace_us, margin_us = (n * SECOND for n in (facts.parameters.grace_s, facts.parameters.close_margin_s))
    of_market: dict[str, list[LogResolution]] = {}
    for resolution in facts.resolutions:
        of_market.setdefault(resolution.market_id, []).append(resolution)
    results, void = {}, set[str]()
    for market_id, each in settle(facts.resolutions, at_us, facts.parameters.grace_s).items():
        if each.state == SETTLED:
            own = of_market[market_id]
            close_us = math.inf if each.actual_close_us is None else each.actual_close_us - margin_us
            results[market_id] = _KnownResult(
                outcome="yes" if each.yes else "no",
                first_us=each.first_us,
                first_seq=own[0].seq,
                known_us=_known_us(own, at_us, grace_us),
                last_us=close_us,
            )
        elif each.state == EXCLUDED:
            void.add(market_id)
    return results, void


def _known_us(resolutions: Sequence[LogResolution], at_us: int, grace_us: int) -> int:
    """Return the time when a result became final.

    A repeated result counts from its first record.
    """

    def is_same_result(each: LogResolution) -> bool:
        is_final = market_state(each.status, each.outcome, each.at_us, at_us, grace_us) == SETTLED
        return is_final and each.outcome == resolutions[-1].outcome

    repeated = takewhile(is_same_result, reversed(resolutions))
    return min(each.at_us + (grace_us if each.status == "determined" else 0) for each in repeated)


def _is_open(market: Market, known: _KnownResult, snapshot: _Published) -> bool:
    """Return whether a decision on the snapshot counted and no result was known."""
    # Also by log order: a snapshot published after a result may contain it, whatever its time says.
    if snapshot.as_of_us >= known.first_us or snapshot.seq > known.first_seq:
        return False
    cutoff_us = parse_timestamp("decision_cutoff", format_time(market.decision_cutoff))
    return snapshot.as_of_us <= min(cutoff_us, known.last_us)


def _question(body: bytes, market: Market, known: _KnownResult, snapshot: _Published, split: str) -> Question:
    price = market.yes_mid_price
    return Question(
        key=f"{snapshot.as_of} {market.market_id}",
        split=split,
        as_of=snapshot.as_of,
        market_id=market.market_id,
        decision_cutoff=format_time(market.decision_cutoff),
        yes_mid_price=None if price is None else float(price),
        snapshot_sha256=snapshot.sha256,
        prompt=prompt_of(body, market.market_id),
        resolution=Resolution(known.outcome, format_timestamp(known.known_us)),
    )
