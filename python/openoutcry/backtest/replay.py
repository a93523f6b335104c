"""Replays of records, and records side by side."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.records.keys import fill_key_of
from openoutcry.records.run_record import RunRecord


@dataclass(frozen=True)
class Difference:
    """A place at which a record says something else than its replay.

    Args:
        run: Index of the run; None for the record itself.
        place: `record`, `header`, `step K` or `end`.
        step: Index of the decision, if the place is one.
        bar: Index of the bar in the dataset; None for record and header.
        date: Date of the bar.
        field: What differs.
        recorded: What the record says.
        replayed: What the replay has there.
        ulps: How many doubles apart two numbers are; None of anything else.
        cause: Slug of the likely cause.
        because: The likely cause in words.
    """

    run: int | None
    place: str
    step: int | None
    bar: int | None
    date: str | None
    field: str
    recorded: str
    replayed: str
    ulps: int | None
    cause: str
    because: str

    def __str__(self) -> str:
        where = self.place if self.run is None else f"run {self.run}, {self.place}"
        if self.bar is not None:
            where += f", bar {self.bar}" + (f" ({self.date})" if self.date else "")
        apart = "" if self.ulps is None else f", {self.ulps:,} ulps apart"
        return f"{where}: {self.field} is {self.recorded}, the replay has {self.replayed}{apart}; likely {self.because}"


@dataclass(frozen=True)
class Replay:
    """What became of a record when its decisions were carried out again.

    Args:
        digest: Digest that belongs to the runs; None for an unfinished record.
        n_runs: Runs of the record.
        n_steps: Decisions that were carried out.
        differences: Where the record says something else, the first place first; of each run its header, then the first
            places of its course.
        unfinished: What the record lacks to be finished; None if nothing.
        signed_by: Public key of a signature that is good; None without one.
    """

    digest: str | None
    n_runs: int
    n_steps: int
    differences: tuple[Difference, ...]
    unfinished: str | None
    signed_by: str | None

    @property
    def verified(self) -> bool:
        """Whether the record is finished and every bit of it was met."""
        return self.n_runs > 0 and not self.differences and self.unfinished is None

    @property
    def first(self) -> Difference | None:
        """The first difference; None if there is none."""
        return self.differences[0] if self.differences else None

    def __str__(self) -> str:
        runs = f"{self.n_runs} run{'s' * (self.n_runs != 1)}, {self.n_steps:,} steps"
        if self.first is not None:
            return f"differs: {self.first}"
        if self.unfinished is not None or not self.n_runs:
            lacks = self.unfinished or "that has no run"
            return f"unfinished: the record is one {lacks}; all of it that is there was met ({runs})"
        return f"verified {self.digest} ({runs})"


def replay(
    record: RunRecord,
    dataset: Dataset | Iterable[Dataset],
    costs: CostModel | None = None,
    limits: Limits | None = None,
    *,
    public_key: bytes | str | None = None,
    fill_key: bytes | str | None = None,
) -> Replay:
    """Carry out the decisions of a record again and compare every step, bit for bit.

    Runs are replayed side by side, in threads. Name and commitment of a market must be those of the one at hand, and
    versions of engine and contract ones that there have been: which of these made the record, no replay can tell.

    Args:
        record: The record.
        dataset: The market, or several for a record with runs on several.
        costs: What trading must have cost; None takes the record's word.
        limits: What a decision may have asked for; None takes the record's word.
        public_key: Key by which the record must be signed; a signature that is there is checked without it, too.
        fill_key: The 32 bytes behind the commitment of a sealed fill key, or their hexadecimal digits.

    Raises:
        OpenOutcryError: the record cannot be replayed: no dataset was given, a sealed key is needed, or a signature is
            asked for where there is none.
    """
    if not isinstance(record, RunRecord):
        raise refusal("argument_invalid", f"`record` must be a RunRecord; received {type(record).__name__}")
    markets = _markets(dataset)
    key = None if fill_key is None else fill_key_of(fill_key)

    def replayed(run: int, header: dict[str, str]) -> tuple[int, list[dict[str, Any]]]:
        market = markets.get(header["dataset.fingerprint"]) or next(iter(markets.values()))
        return record._core.replay(run, market._core, costs, limits, key, market._known())

    headers = record.headers
    if len(headers) > 1:
        with ThreadPoolExecutor() as crew:
            runs = list(crew.map(replayed, range(len(headers)), headers))
    else:
        runs = [replayed(0, header) for header in headers]
    n_steps = sum(steps for steps, _ in runs)
    found = [Difference(**each) for _, differences in runs for each in differences]
    found += [Difference(**each) for each in record._edited(public_key)]
    signed_by = record.public_key if all(each.field != "signature" for each in found) else None
    digest = record._core.computed_digest
    return Replay(digest, len(record), n_steps, tuple(found), record.unfinished, signed_by)


def _markets(dataset: Dataset | Iterable[Dataset]) -> dict[str, Dataset]:
    markets = [dataset] if isinstance(dataset, Dataset) else list(dataset)
    if not markets or not all(isinstance(each, Dataset) for each in markets):
        received = "none" if not markets else ", ".join(sorted({type(each).__name__ for each in markets}))
        raise refusal("argument_invalid", f"`dataset` must be a Dataset, or several; received {received}")
    return {each.fingerprint: each for each in markets}


@dataclass(frozen=True)
class Knob:
    """A setting in which two runs differ.

    Args:
        field: Path of the setting, such as `costs.fee_bps`.
        left: Its value in the first record; `absent` where it has none.
        right: Its value in the second record.
    """

    field: str
    left: str
    right: str


@dataclass(frozen=True)
class Parting:
    """The first place at which two runs differ.

    Args:
        place: `step K` or `end`.
        step: Index of the decision, if the place is one.
        bar: Index of the bar in the dataset.
        field: What differs.
        left: Its value in the first record.
        right: Its value in the second record.
        ulps: How many doubles apart two numbers are; None of anything else.
    """

    place: str
    step: int | None
    bar: int
    field: str
    left: str
    right: str
    ulps: int | None


@dataclass(frozen=True)
class Comparison:
    """Two records side by side.

    Args:
        same: Whether they are one record, to the byte.
        record: Fields beside the runs that differ.
        runs: Of each pair of runs the knobs that differ, and where the two part first.
    """

    same: bool
    record: tuple[Knob, ...]
    runs: tuple[tuple[tuple[Knob, ...], Parting | None], ...]


def compare(left: RunRecord, right: RunRecord) -> Comparison:
    """Return what two records differ in: knobs, and the first bar of each run."""
    beside = (
        ("agent_id", left.agent_id, right.agent_id),
        ("in_sample_trials", str(left.in_sample_trials), str(right.in_sample_trials)),
        ("runs", str(len(left)), str(len(right))),
        ("public_key", left.public_key or "absent", right.public_key or "absent"),
    )
    knobs = tuple(Knob(*each) for each in beside if each[1] != each[2])
    runs = []
    for run in range(min(len(left), len(right))):
        found, parting = left._core.compare(run, right._core)
        runs.append((tuple(Knob(*each) for each in found), None if parting is None else Parting(**parting)))
    return Comparison(left == right, knobs, tuple(runs))
