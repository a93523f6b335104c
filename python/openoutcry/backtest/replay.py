"""Replay of a record: recompute every step and compare it bit for bit."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import nan
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.data import columns
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.records.keys import fill_key_of
from openoutcry.records.run_record import RunRecord
from openoutcry.untrusted.counted_nouns import counted

# Numbers of bars per year that people state.
_PERIODS = (252.0, 365.0, 365.25, 260.0, 250.0, 52.0, 12.0, 4.0, 1.0, 8760.0, 6240.0, 1764.0, 98_280.0, 525_600.0)


@dataclass(frozen=True)
class Difference:
    """A value of a record that differs from its replay.

    Args:
        run: Index of the run; None for the record itself.
        place: `record`, `header`, `step K` or `end`.
        step: Index of the decision; None if the place is not a step.
        bar: Index of the bar in the dataset; None for record and header.
        date: Date of the bar.
        field: Name of the field that differs.
        recorded: Value in the record.
        replayed: Value in the replay.
        ulps: Distance of two numbers in units in the last place; None for other values.
        cause: Slug of the likely cause.
        because: Text of the likely cause.
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
        apart = "" if self.ulps is None else f", {counted(self.ulps, 'ulp')} apart"
        found = f"{where}: {self.field} is {self.recorded}, the replay has {self.replayed}{apart}"
        return native.readable_text(f"{found}; likely {self.because}")


@dataclass(frozen=True)
class Replay:
    """The result of replaying a record.

    Args:
        digest: Digest computed from the runs; None for an unfinished record.
        n_runs: Number of runs in the record.
        n_steps: Number of decisions replayed.
        differences: Values that differ, in order: per run its header, then its first differing steps.
        unfinished: What is missing from an unfinished record; None for a finished one.
        signed_by: Public key of a valid signature; None without one, and if any value differs.
    """

    digest: str | None
    n_runs: int
    n_steps: int
    differences: tuple[Difference, ...]
    unfinished: str | None
    signed_by: str | None

    @property
    def verified(self) -> bool:
        """Whether the record is finished and equals its replay bit for bit."""
        return self.n_runs > 0 and not self.differences and self.unfinished is None

    @property
    def first(self) -> Difference | None:
        """The first difference, or None."""
        return self.differences[0] if self.differences else None

    def __str__(self) -> str:
        runs = f"{counted(self.n_runs, 'run')}, {counted(self.n_steps, 'step')}"
        if self.first is not None:
            return f"differs: {self.first}"
        if self.unfinished is not None or not self.n_runs:
            lacks = self.unfinished or "that has no run"
            return f"unfinished: the record is one {lacks}; every recorded step was reproduced ({runs})"
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
    """Recompute the runs of a record and compare every step bit for bit.

    Runs are replayed in parallel threads. The recorded market name and commitment must be those of `dataset`. The
    recorded versions of engine and contract must be known ones; a replay cannot determine which of them wrote the
    record.

    Args:
        record: The record.
        dataset: The market, or several if the runs of the record are on several markets.
        costs: Costs that the record must state; None accepts the recorded ones.
        limits: Limits that the record must state; None accepts the recorded ones.
        public_key: Key that must have signed the record. A signature in the record is checked in any case.
        fill_key: The revealed fill key, 32 bytes or their hexadecimal digits, if the record holds its commitment.

    Raises:
        OpenOutcryError: the record cannot be replayed: no dataset was given, a sealed fill key is required, or
            `public_key` is given and the record has no signature.
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
        with ThreadPoolExecutor() as executor:
            runs = list(executor.map(replayed, range(len(headers)), headers))
    else:
        runs = [replayed(0, header) for header in headers]
    n_steps = sum(steps for steps, _ in runs)
    differences = [
        _with_periods(Difference(**fields), headers[run], markets)
        for run, (_, of_run) in enumerate(runs)
        for fields in of_run
    ]
    differences += [Difference(**fields) for fields in record._edited(public_key)]
    signed_by = None if differences else record.public_key
    digest = record._core.computed_digest
    return Replay(digest, len(record), n_steps, tuple(differences), record.unfinished, signed_by)


def _with_periods(difference: Difference, header: dict[str, str], markets: dict[str, Dataset]) -> Difference:
    """Return a difference, with the bars per year that restore the market."""
    if difference.field != "dataset.fingerprint" or header["dataset.fingerprint"] in markets:
        return difference
    for market in markets.values():
        values = columns.values_of(market._core)
        inferred = native.inferred_periods_per_year(values["dates"])
        for number in dict.fromkeys([*_PERIODS, *([] if inferred is None else [inferred]), nan]):
            other = columns.native_dataset(values | {"periods_per_year": number})
            if other.fingerprint == header["dataset.fingerprint"]:
                stated = f"`periods_per_year={number:g}` restores the recorded market"
                return replace(difference, because=f"another number of bars per year: {stated}")
    return difference


def _markets(dataset: Dataset | Iterable[Dataset]) -> dict[str, Dataset]:
    markets = [dataset] if isinstance(dataset, Dataset) else list(dataset)
    if not markets or not all(isinstance(each, Dataset) for each in markets):
        received = "none" if not markets else ", ".join(sorted({type(each).__name__ for each in markets}))
        raise refusal("argument_invalid", f"`dataset` must be a Dataset, or several; received {received}")
    return {each.fingerprint: each for each in markets}
