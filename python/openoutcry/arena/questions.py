"""Questions of a past season: a market at a snapshot, its result apart.

They come from an export that is verified first. What is asked is made of the snapshot's bytes alone (`prompting`);
what became of the market decides which rows there are, in which split, and what an answer scores.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from openoutcry.arena.prompting import prompt_of
from openoutcry.arena.scoring import facts_of
from openoutcry.arena.scoring.settlement import SETTLED, settle
from openoutcry.arena.snapshots.markets import Market, markets_of
from openoutcry.arena.snapshots.times import show_time
from openoutcry.arena.times import HOUR, SECOND, moment_of, text_of
from openoutcry.arena.verifier import Export
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError

MOST_HOURS = 1_000_000
SPLITS = ("train", "validation", "test")
SHARES = (0.6, 0.8)
"""Of the markets with a result, by when they were over: where `train` ends, and where `validation` does."""


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
class Sampling:
    """Which snapshots of a market are asked about.

    Args:
        every_hours: Hours between two questions on a market; of its snapshots the first is one.
        embargo_hours: Hours after the end of a split before the next split's first question.
        settling_hours: Hours after the close that a market is shown with, until its result is due.
    """

    every_hours: float = 24.0
    embargo_hours: float = 24.0
    settling_hours: float = 24.0

    def __post_init__(self) -> None:
        """Refuse hours that are none."""
        for name in ("every_hours", "embargo_hours", "settling_hours"):
            least = "above 0" if name == "every_hours" else "at least 0"
            value = getattr(self, name)
            if not 0 <= value <= MOST_HOURS or (value == 0 and name == "every_hours"):
                wanted = f"`{name}` must be {least} and at most {MOST_HOURS:,}"
                raise refusal("argument_invalid", f"{wanted}; received {value}")


@dataclass(frozen=True)
class _Known:
    """What became of a market.

    `first` is its first record, `known` its last result, `last` the last moment of a decision that counted.
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


@contextmanager
def _of_the_arena(what: str) -> Iterator[None]:
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
    _known: Mapping[str, _Known]
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
        with _of_the_arena("an export"):
            export = Export(folder)
            export.check(vkey, [])
            if export.faults:
                raise refusal("value_invalid", f"an export that holds is required; received {export.faults[0]}")
            published = [
                _Published(moment_of("as_of", each["as_of"]), each["as_of"], each["seq"], each["sha256"])
                for each in export.others
                if each["type"] == "snapshot"
            ]
            # The log's own last moment: of a later one nobody has signed that there was no dispute.
            ended_us = max((moment_of("at", each["at"]) for each in export.others if "at" in each), default=0)
            known = _known_of(folder, export.others, ended_us)
            return cls(folder, vkey or export.first["vkey"], sorted(published), known, ended_us)

    def ends(self, sampling: Sampling) -> tuple[int, int, int]:
        """Return when each split ends: `train`, `validation`, and `test` with the log."""
        return self._ends(list(self._overs(round(sampling.settling_hours * HOUR)).values()))

    def _ends(self, overs: Sequence[int]) -> tuple[int, int, int]:
        known = sorted(over for over in overs if over <= self._ended_us)
        first, second = (known[math.ceil(share * len(known)) - 1] if known else self._ended_us for share in SHARES)
        return first, second, self._ended_us

    def _overs(self, settling_us: int) -> dict[str, int]:
        """Return when each market's result was due, by the close first shown, and known."""
        found: dict[str, int] = {}
        for snapshot in self._snapshots:
            missing = self._known.keys() - found.keys()
            if not missing:
                break
            with _of_the_arena(f"a snapshot of {snapshot.as_of}"):
                markets = markets_of(self._body(snapshot), missing)
            for market in markets:
                name = market.market_id
                found[name] = max(_close_us(market) + settling_us, self._known[name].known_us)
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
        overs, asked = self._overs(settling), dict[str, int]()
        ends = self._ends(list(overs.values()))
        # What was not due yet when the log ended has no place.
        places = {name: sum(over > end for end in ends) for name, over in overs.items() if over <= ends[-1]}
        for snapshot in self._snapshots:
            # Most were asked about before, and of those not even the prices are read.
            due = {each for each in places if snapshot.as_of_us >= asked.get(each, -every) + every}
            with _of_the_arena(f"a snapshot of {snapshot.as_of}"):
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
    return moment_of("settlement_at", show_time(market.settlement_at))


def _known_of(folder: Path, records: list[dict[str, Any]], at_us: int) -> dict[str, _Known]:
    """Return the markets with a result for good at a moment, by a log's records."""
    told = [each for each in records if each["type"] in ("scoring", "resolution")]
    facts = facts_of(told, {}, {}, (folder / "base_rates.json").read_bytes(), at_us=at_us)
    grace_us, margin_us = (n * SECOND for n in (facts.parameters.grace_s, facts.parameters.close_margin_s))
    # Of the log's own order: the last of a market stands, and the first was the first that anybody knew.
    last = {each.market_id: each for each in facts.resolutions}
    first = {each.market_id: each for each in reversed(facts.resolutions)}
    found = {}
    for market_id, each in settle(facts.resolutions, at_us, facts.parameters.grace_s).items():
        if each.state == SETTLED:
            record = last[market_id]
            known_us = record.at_us + (grace_us if record.status == "determined" else 0)
            close_us = math.inf if each.actual_close_us is None else each.actual_close_us - margin_us
            found[market_id] = _Known(
                outcome="yes" if each.yes else "no",
                first_us=each.first_us,
                first_seq=first[market_id].seq,
                known_us=known_us,
                last_us=close_us,
            )
    return found


def _is_open(market: Market, known: _Known, snapshot: _Published) -> bool:
    """Return whether a decision counted and nothing was known yet."""
    # By the log, too: a snapshot that was published after a result may show it, whatever moment it says it is of.
    if snapshot.as_of_us >= known.first_us or snapshot.seq > known.first_seq:
        return False
    cutoff_us = moment_of("decision_cutoff", show_time(market.decision_cutoff))
    return snapshot.as_of_us <= min(cutoff_us, known.last_us)


def _question(body: bytes, market: Market, known: _Known, snapshot: _Published, split: str) -> Question:
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
        resolution=Resolution(known.outcome, text_of(known.known_us)),
    )
