"""Records as they are entered on a board: read, held to keys, and one an agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from openoutcry.errors import refusal, tell
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.records.run_record import SUFFIXES, RunRecord


@dataclass(frozen=True)
class Entries:
    """What files of records enter on a board.

    Attributes:
        records: One record an agent, in the order in which they came.
        notes: What became of files that hold runs of one agent, in words.
    """

    records: tuple[RunRecord, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _File:
    path: Path
    record: RunRecord


def read_entries(paths: Sequence[Path], public_keys: Sequence[str] = ()) -> Entries:
    """Return the records of files, those of one agent joined.

    Args:
        paths: The files.
        public_keys: Keys by one of which every file must be signed; none asks for no signature.

    Raises:
        OpenOutcryError: a file holds no record, lacks a good signature, or another key signed runs of the same agent.
    """
    agents: dict[str, list[_File]] = {}
    for path in paths:
        record = _read(path, public_keys)
        agents.setdefault(record.agent_id, []).append(_File(path, record))
    records, notes = [], []
    for files in agents.values():
        record, told = _entry(files)
        records.append(record)
        notes += told
    return Entries(tuple(records), tuple(notes))


def _read(path: Path, public_keys: Sequence[str]) -> RunRecord:
    if not path.name.endswith(SUFFIXES):
        wanted = f"a file must be a record, {', '.join(SUFFIXES)}, or a .csv"
        raise refusal("argument_invalid", f"{wanted}; received '{path}'")
    try:
        record = RunRecord.load(path)
        if public_keys:
            _check_signature(record, public_keys)
    except OpenOutcryError as error:
        tell(error, f"in the file '{path}'")
        raise
    return record


def _check_signature(record: RunRecord, public_keys: Sequence[str]) -> None:
    if record.is_signed_by(public_keys):
        return
    wanted = f"records signed by a key of `--public-key` are required; received one of {record.agent_id!r}"
    if record.public_key is None:
        raise refusal("record_unsigned", f"{wanted} without a signature")
    is_known = record.public_key in public_keys
    signer = "changed after it was signed" if is_known else f"signed by {record.public_key}"
    raise refusal("record_differs", f"{wanted} {signer}")


def _entry(files: list[_File]) -> tuple[RunRecord, list[str]]:
    """Return the one record of an agent, and what is to be said of it."""
    joined: list[_File] = []
    for file in files:
        if all(file.record != other.record for other in joined):
            joined.append(file)
    first = joined[0].record
    n_again = len(files) - len(joined)
    notes = [f"{n_again} of {len(files)} files of {first.agent_id!r} came twice, and count once"] if n_again else []
    if len(joined) == 1:
        return first, notes
    for file in joined:
        _check_whole(file)
    signers = {file.record.public_key for file in joined}
    if len(signers) > 1:
        names = " and ".join(f"'{file.path}'" for file in joined)
        wanted = f"files of one agent must be signed by one key, or none of them; received {names}"
        raise refusal("argument_invalid", f"{wanted} of {first.agent_id!r}, signed by {len(signers)}")
    pieces, n_repeats = _pieces(joined)
    trials = max(file.record.in_sample_trials for file in joined)
    note = f"{len(joined)} files of {first.agent_id!r} are one entry of {len(pieces)} runs"
    note += f", all signed by {first.public_key}" if first.public_key is not None else ""
    note += f"; {n_repeats} that came twice count once" if n_repeats else ""
    note += f"; {trials} trials are the most that one of them declares" if trials else ""
    return RunRecord.join(first.agent_id, pieces, trials), [*notes, note]


def _check_whole(file: _File) -> None:
    """Refuse what a replay of the joined runs could no longer find."""
    record = file.record
    problem = record.unfinished
    if problem is not None:
        error = refusal("record_unfinished", f"a finished record is required; received one {problem}")
    elif not record.is_whole():
        wanted = "a record is required that is as its maker finished it"
        error = refusal("record_differs", f"{wanted}; received one of {record.agent_id!r} that was changed afterwards")
    else:
        return
    tell(error, f"in the file '{file.path}'")
    raise error


def _pieces(files: list[_File]) -> tuple[list[RunRecord], int]:
    """Return all runs in the order of time, each once, and how many came again."""
    runs: dict[str | None, RunRecord] = {}
    n_given = 0
    for file in files:
        for run in file.record.runs():
            runs.setdefault(run.run_digests[0], run)
            n_given += 1
    ordered = sorted(runs.values(), key=_place)
    return ordered, n_given - len(runs)


def _place(run: RunRecord) -> tuple[str, int, str]:
    (header,) = run.headers
    return header["dataset.fingerprint"], int(header["window.start"]), header.get("fill.seed", "")
