"""Mutated inputs for readers of untrusted bytes: a function of the seed and the index, as in `rust/env/tests/fuzz`."""

from __future__ import annotations

import io
import os
import random
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from time import monotonic, process_time
from typing import NamedTuple

CORPUS = Path(__file__).resolve().parents[1] / "fuzz" / "corpus"
SECONDS = float(os.environ.get("OPENOUTCRY_FUZZ_SECONDS", 0))
SEED = int(os.environ.get("OPENOUTCRY_FUZZ_SEED", "20260101"))
LONGEST = 1 << 16
# Processor time, since other processes may use the machine.
MOST_SECONDS = 2.0
BYTES = b'\x00\x01\x7f\x80\xff",;\n\r{}[]-e\\'
NUMBERS = (b"-0", b"-1", b"1e400", b"5e-324", b"NaN", b"inf", b"9007199254740993", b"18446744073709551616", b"00")
WORDS = (b"null", b"true", b'""', b"{}", b"[]", b"[" * 40, b",,", b";", b"\t", b'"', b"\r\n", b"\n\n", b"[" * 5000)
DATES = (b"2020-02-30", b"0000-00-00", b"9999-12-31T23:59:60Z", b"31/12/99", b"1e9", b"\xed\xa0\xbe")


class Entry(NamedTuple):
    """A stored input; the reader may depend on the suffix of its name."""

    name: str
    content: bytes


def stored(*folders: Path, most: int = 4000, suffixes: tuple[str, ...] = ()) -> list[Entry]:
    """Return the small files of some folders, by name."""
    paths = sorted(path for folder in folders for path in folder.iterdir())
    chosen = [path for path in paths if path.stat().st_size <= most and (not suffixes or path.name.endswith(suffixes))]
    return [Entry(path.name, path.read_bytes()) for path in chosen]


def change(content: bytes, other: bytes, draw: random.Random) -> bytes:
    """Return the bytes with one change."""
    place, size = draw.randrange(len(content) + 1), draw.choice((0, 1, 2, 4, 8, 32))
    before, after = content[:place], content[place + size :]
    kind = draw.randrange(10)
    if kind == 0:
        return before
    if kind <= 2:
        return before + bytes(draw.choices(BYTES, k=max(size, 1))) + after
    if kind == 3:
        first = draw.randrange(len(other) + 1)
        return before + other[first : first + draw.choice((8, 64, 4096))] + content[place:]
    if kind == 4:
        return before + content[place : place + size] * draw.randrange(40) + after
    if kind <= 7:
        new = draw.choice(NUMBERS + DATES)
        return before + re.sub(rb"[-\d.]+", lambda _: new, content[place:], count=1)
    new = draw.choice(WORDS + DATES)
    return before + re.sub(rb"[^,;:\n\t]+", lambda _: new, content[place:], count=1)


def repacked(content: bytes, other: bytes, draw: random.Random) -> bytes:
    """Return a ZIP archive with one member changed and valid checksums."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(made, "w") as changed:
        chosen = draw.choice(archive.namelist())
        for name in archive.namelist():
            part = archive.read(name)
            changed.writestr(zipfile.ZipInfo(name), change(part, other, draw) if name == chosen else part)
    return made.getvalue()


def input_of(entries: Sequence[Entry], index: int) -> Entry:
    """Return input `index`: a stored one as it is, then mutations."""
    if index < len(entries):
        return entries[index]
    draw = random.Random(f"{SEED} {index}")
    name, content = draw.choice(entries)
    other = draw.choice(entries).content
    # An input that has failed may be a damaged archive.
    if content.startswith(b"PK\x03\x04") and not name.startswith("found") and draw.random() < 0.7:
        return Entry(name, repacked(content, other, draw))
    for _ in range(4):
        content = change(content, other, draw)
        if draw.random() < 0.5:
            break
    return Entry(name, content[:LONGEST])


def inputs(entries: Sequence[Entry], n_inputs: int) -> Iterator[tuple[int, Entry]]:
    """Yield the stored inputs and `n_inputs` mutations, or mutations for `OPENOUTCRY_FUZZ_SECONDS`."""
    end = monotonic() + SECONDS
    for index in count():
        if index >= len(entries) and (monotonic() > end if SECONDS else index >= len(entries) + n_inputs):
            return
        yield index, input_of(entries, index)


def seconds_of(read: Callable[[], object]) -> float:
    """Return the processor time of a call, the least of three if it is too long."""
    least = float("inf")
    for _ in range(3):
        began = process_time()
        read()
        least = min(least, process_time() - began)
        if least <= MOST_SECONDS:
            break
    return least
