"""Entries of a board: records from files, with signatures checked and runs joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from openoutcry.errors import add_note, refusal
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.records.run_record import SUFFIXES, RunRecord
from openoutcry.untrusted.counted_nouns import counted


@dataclass(frozen=True)
class Entries:
    """Records of a board.

    Attributes:
        records: One record per agent, in the order of the files.
        notes: Notes on joined and duplicate files, one sentence each.
    """

    records: tuple[RunRecord, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _File:
    path: Path
    record: RunRecord


def read_entries(paths: Sequence[Path], public_keys: Sequence[str] = ()) -> Entries:
    """Read records from files and join those of one agent.

    Args:
        paths: The files.
        public_keys: Accepted signing keys; empty accepts unsigned records.

    Raises:
        OpenOutcryError: a file is no record, lacks a valid signature, or runs of one agent have different signers.
    """
    agents: dict[str, list[_File]] = {}
    for path in paths:
        record = _read(path, public_keys)
        agents.setdefault(record.agent_id, []).append(_File(path, record))
    records, notes = [], []
    for files in agents.values():
        record, entry_notes = _entry(files)
        records.append(record)
        notes += entry_notes
    return Entries(tuple(records), tuple(notes))


def _read(path: Path, public_keys: Sequence[str]) -> RunRecord:
    if not path.name.endswith(SUFFIXES):
        wanted = f"a file must be a record ({', '.join(SUFFIXES)}) or a CSV file"
        raise refusal("argument_invalid", f"{wanted}; received '{path}'")
    try:
        record = RunRecord.load(path)
        if public_keys:
            check_signature(record, public_keys)
    except OpenOutcryError as error:
        if f"'{path}'" not in str(error):
            add_note(error, f"in the file '{path}'")
        raise
    return record


def check_signature(record: RunRecord, public_keys: Sequence[str]) -> None:
    """Refuse a record that none of the keys of `--public-key` signed as it is.

    Raises:
        OpenOutcryError: `record_unsigned` or `record_differs`.
    """
    if record.is_signed_by(public_keys):
        return
    wanted = f"records signed by a key of `--public-key` are required; received one of {record.agent_id!r}"
    if record.public_key is None:
        raise refusal("record_unsigned", f"{wanted} without a signature")
    is_known = record.public_key in public_keys
    signer = "changed after it was signed" if is_known else f"signed by {record.public_key}"
    raise refusal("record_differs", f"{wanted} {signer}")


def _entry(files: list[_File]) -> tuple[RunRecord, list[str]]:
    """Return the joined record of an agent, and its notes."""
    joined: list[_File] = []
    for file in files:
        if all(file.record != other.record for other in joined):
            joined.append(file)
    first = joined[0].record
    n_duplicates = len(files) - len(joined)
    notes = (
        [f"{n_duplicates} of {len(files)} files of {first.agent_id!r} are duplicates and count once"]
        if n_duplicates
        else []
    )
    if len(joined) == 1:
        return first, notes
    for file in joined:
        _check_intact(file)
    signers = {file.record.public_key for file in joined}
    if len(signers) > 1:
        names = " and ".join(f"'{file.path}'" for file in joined)
        wanted = f"files of one agent must all be signed by one key, or all be unsigned; received {names}"
        raise refusal("argument_invalid", f"{wanted} of {first.agent_id!r}, signed by {len(signers)}")
    pieces, n_repeats = _pieces(joined)
    trials = max(file.record.in_sample_trials for file in joined)
    note = (
        f"{counted(len(joined), 'file')} of {first.agent_id!r} are joined to one entry of {counted(len(pieces), 'run')}"
    )
    note += f", all signed by {first.public_key}" if first.public_key is not None else ""
    note += f"; {counted(n_repeats, 'duplicate run counts', 'duplicate runs count')} once" if n_repeats else ""
    note += f"; the entry declares {counted(trials, 'trial')}, the highest number in its files" if trials else ""
    return RunRecord.join(first.agent_id, pieces, trials), [*notes, note]


def _check_intact(file: _File) -> None:
    """Refuse unfinished and changed records.

    A replay of the joined runs would not detect them.
    """
    record = file.record
    problem = record.unfinished
    if problem is not None:
        error = refusal("record_unfinished", f"a finished record is required; received one {problem}")
    elif not record.is_whole():
        wanted = "an intact record is required"
        error = refusal(
            "record_differs", f"{wanted}; received one of {record.agent_id!r} that was changed after it was finished"
        )
    else:
        return
    add_note(error, f"in the file '{file.path}'")
    raise error


def _pieces(files: list[_File]) -> tuple[list[RunRecord], int]:
    """Return the distinct runs in chronological order, and the number of duplicates."""
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
