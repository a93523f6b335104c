"""Questions of a past season: a market at a snapshot, its result apart.

They come from an export that is verified first. What is asked is made of the snapshot's bytes alone (`prompting`);
what became of the market decides which rows there are, in which split, and what an answer scores.
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
from openoutcry.arena.scoring import facts_of
from openoutcry.arena.scoring.score_inputs import Resolution as LogResolution
from openoutcry.arena.scoring.settlement import EXCLUDED, SETTLED, settle, standing
from openoutcry.arena.snapshots.market_items import Market, markets_of
from openoutcry.arena.snapshots.snapshot_times import show_time
from openoutcry.arena.timestamps import HOUR, SECOND, format_timestamp, parse_timestamp
from openoutcry.arena.verifier import Export
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError


@dataclass(frozen=True)
class Resolution:
    """What became of a market: `yes` or `no`, and when that was known for good."""

    outcome: str
    known_at: str


@dataclass(frozen=True)
class Question:
    """A market at a snapshot.

    Attributes:
        key: Names it for good: the snapshot's moment and the market's id.
        split: One of `SPLITS`.
        as_of: Moment of the snapshot: nothing in `prompt` is later.
        market_id: The market.
        decision_cutoff: Until when the Arena took decisions, as the snapshot has it.
        yes_mid_price: The market's price, of at most four decimals; None where the snapshot has none.
        snapshot_sha256: Digest of the snapshot's bytes, which the log has.
        prompt: What is asked.
        resolution: What became of it, for the score alone: no part of the prompt.
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
        """Return the question as a line of JSON, its end with it."""
        return json.dumps(asdict(self), ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class _KnownResult:
    """What became of a market.

    `first` is its first record, `known` when its result stood, `last` the last moment of a decision that counted.
    """

    outcome: str
    first_us: int
    first_seq: int
    known_us: int
    last_us: float


class _Published(NamedTuple):
    """A snapshot: its moment twice, its place in the log, its digest."""

    as_of_us: int
    as_of: str
    seq: int
    sha256: str


class _NotIn:
    """The names that are not known yet."""

    def __init__(self, seen: Container[str]) -> None:
        self._seen = seen

    def __contains__(self, name: object) -> bool:
        return name not in self._seen


@contextmanager
def _refuse_malformed(what: str) -> Iterator[None]:
    """Refuse what cannot be read: a log may be signed and not the Arena's."""
    try:
        yield
    except OpenOutcryError:
        raise
    except (AttributeError, KeyError, OSError, RecursionError, TypeError, ValueError) as error:
        told = f"{what} of the Arena is required; received {type(error).__name__}: {error}"
        raise refusal("value_invalid", told) from error


@dataclass(frozen=True)
class PastSeason:
    """A verified export.

    Attributes:
        folder: Where it is.
        vkey: The key that it was verified with.
    """

    folder: Path
    vkey: str
    _snapshots: Sequence[_Published]
    _known: Mapping[str, _KnownResult]
    _void: Container[str]
    _ended_us: int

    @classmethod
    def read(cls, folder: Path, vkey: str | None = None) -> PastSeason:
        """Return the season of an export, which is verified first.

        Args:
            folder: What `openoutcry arena export` wrote.
            vkey: The log's key as you know it; by default the export's own, which any operator could have made.

        Raises:
            OpenOutcryError: `value_invalid`: it is no export, or something in it is not what was signed.
        """
        with _refuse_malformed("an export"):
            export = Export(folder)
            export.check(vkey, [])
            if export.faults:
                raise refusal("value_invalid", f"an export that holds is required; received {export.faults[0]}")
            published = [
                _Published(parse_timestamp("as_of", each["as_of"]), each["as_of"], each["seq"], each["sha256"])
                for each in export.others
                if each["type"] == "snapshot"
            ]
            # The log's own last moment: of a later one nobody has signed that there was no dispute.
            ended_us = max((parse_timestamp("at", each["at"]) for each in export.others if "at" in each), default=0)
            known, void = _known_of(folder, export.others, ended_us)
            return cls(folder, vkey or export.first["vkey"], sorted(published), known, void, ended_us)

    def layout(self, sampling: Sampling | None = None) -> Layout:
        """Return the season's splits, with every market that it shows."""
        settling_us = round((sampling or Sampling()).settling_hours * HOUR)
        fates = {
            name: MarketTimes(close, self._known[name].known_us if name in self._known else None)
            for name, close in self._closes.items()
            if name not in self._void
        }
        return Layout(fates, len(self._closes) - len(fates), self._ended_us, settling_us)

    @cached_property
    def _closes(self) -> dict[str, int]:
        """When each market closes, as it was first shown."""
        found: dict[str, int] = {}
        unseen = _NotIn(found)
        for snapshot in self._snapshots:
            with _refuse_malformed(f"a snapshot of {snapshot.as_of}"):
                markets = markets_of(self._body(snapshot), unseen)
            for market in markets:
                found.setdefault(market.market_id, _close_us(market))
        return found

    def questions(self, sampling: Sampling | None = None) -> Iterator[Question]:
        """Yield the questions in the order of time.

        A market is in one split, by when its result was due, and not by when it came early: of deadlines that are not
        reached there are results only of what happened. A question whose close is shown later than its split's end is
        left out, and so is one that was asked before the embargo after the split before.
        """
        sampling = sampling or Sampling()
        hours = (sampling.every_hours, sampling.embargo_hours, sampling.settling_hours)
        every, embargo, settling = (round(each * HOUR) for each in hours)
        layout, asked = self.layout(sampling), dict[str, int]()
        ends, places = layout.ends, layout.places
        for snapshot in self._snapshots:
            # Most were asked about before, and of those not even the prices are read.
            due = {each for each in places if snapshot.as_of_us >= asked.get(each, -every) + every}
            with _refuse_malformed(f"a snapshot of {snapshot.as_of}"):
                body = self._body(snapshot)
                markets = markets_of(body, due)
            for market in markets:
                known = self._known[market.market_id]
                is_new = asked.get(market.market_id) != snapshot.as_of_us
                if is_new and _is_open(market, known, snapshot):
                    asked[market.market_id] = snapshot.as_of_us
                    place = places[market.market_id]
                    is_after = place == 0 or snapshot.as_of_us >= ends[place - 1] + embargo
                    if is_after and _close_us(market) + settling <= ends[place]:
                        yield _question(body, market, known, snapshot, SPLITS[place])

    def _body(self, snapshot: _Published) -> bytes:
        body = (self.folder / "snapshots" / f"{snapshot.as_of.replace(':', '-')}.json").read_bytes()
        # What is shown is what was verified, also where the folder was written to since.
        if sha256(body).hexdigest() != snapshot.sha256 or json.loads(body)["as_of"] != snapshot.as_of:
            wanted = f"the snapshot of {snapshot.as_of} must be what was verified, and of that moment"
            raise refusal("value_invalid", f"{wanted}; received another")
        return body


def _close_us(market: Market) -> int:
    """Return the close that a market is shown with."""
    return parse_timestamp("settlement_at", show_time(market.settlement_at))


def _known_of(folder: Path, records: list[dict[str, Any]], at_us: int) -> tuple[dict[str, _KnownResult], set[str]]:
    """Return the markets with a result for good, by a log, and those that are void."""
    told = [each for each in records if each["type"] in ("scoring", "resolution")]
    facts = facts_of(told, {}, {}, (folder / "base_rates.json").read_bytes(), at_us=at_us)
    grace_us, margin_us = (n * SECOND for n in (facts.parameters.grace_s, facts.parameters.close_margin_s))
    of_market: dict[str, list[LogResolution]] = {}
    for said in facts.resolutions:
        of_market.setdefault(said.market_id, []).append(said)
    found, void = {}, set[str]()
    for market_id, each in settle(facts.resolutions, at_us, facts.parameters.grace_s).items():
        if each.state == SETTLED:
            own = of_market[market_id]
            close_us = math.inf if each.actual_close_us is None else each.actual_close_us - margin_us
            found[market_id] = _KnownResult(
                outcome="yes" if each.yes else "no",
                first_us=each.first_us,
                first_seq=own[0].seq,
                known_us=_known_us(own, at_us, grace_us),
                last_us=close_us,
            )
        elif each.state == EXCLUDED:
            void.add(market_id)
    return found, void


def _known_us(told: Sequence[LogResolution], at_us: int, grace_us: int) -> int:
    """Return since when a result stands; said again, since it was said first."""

    def is_so(said: LogResolution) -> bool:
        stands = standing(said.status, said.outcome, said.at_us, at_us, grace_us) == SETTLED
        return stands and said.outcome == told[-1].outcome

    since = takewhile(is_so, reversed(told))
    return min(said.at_us + (grace_us if said.status == "determined" else 0) for said in since)


def _is_open(market: Market, known: _KnownResult, snapshot: _Published) -> bool:
    """Return whether a decision counted and nothing was known yet."""
    # By the log, too: a snapshot that was published after a result may show it, whatever moment it says it is of.
    if snapshot.as_of_us >= known.first_us or snapshot.seq > known.first_seq:
        return False
    cutoff_us = parse_timestamp("decision_cutoff", show_time(market.decision_cutoff))
    return snapshot.as_of_us <= min(cutoff_us, known.last_us)


def _question(body: bytes, market: Market, known: _KnownResult, snapshot: _Published, split: str) -> Question:
    price = market.yes_mid_price
    return Question(
        key=f"{snapshot.as_of} {market.market_id}",
        split=split,
        as_of=snapshot.as_of,
        market_id=market.market_id,
        decision_cutoff=show_time(market.decision_cutoff),
        yes_mid_price=None if price is None else float(price),
        snapshot_sha256=snapshot.sha256,
        prompt=prompt_of(body, market.market_id),
        resolution=Resolution(known.outcome, format_timestamp(known.known_us)),
    )
