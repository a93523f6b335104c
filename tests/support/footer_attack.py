"""Changed footers of Parquet files, each read in a child process, which an abort would end.

A child gets a folder and a range of numbers. The changed file of a number is a function of it.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyarrow import parquet

import openoutcry as oo

DAYS = ["2024-01-02", "2024-01-03", "2024-01-04"]
LONG = pa.table({"date": DAYS, "symbol": ["A"] * 3, "close": [1.0, 2.0, 3.0]})
NESTED = LONG.append_column("nested", pa.array([[{"a": [1]}], [{"a": None}], None]))
WIDE = pa.table({"date": DAYS, **{f"S{place}": [1.0, 2.0, 3.0] for place in range(12)}})


class Attack(NamedTuple):
    """Result of many changed files.

    Attributes:
        n_files: Number of files.
        aborted: Numbers of the files that ended their process.
        escaped: Other exceptions than refusals, by number.
        outcomes: Number of files by slug; `read` for a market.
    """

    n_files: int
    aborted: list[int]
    escaped: dict[str, str]
    outcomes: dict[str, int]


def write_bases(folder: Path) -> list[Path]:
    """Write the files that are changed."""
    parquet.write_table(LONG, folder / "0.parquet")
    parquet.write_table(LONG, folder / "1.parquet", row_group_size=1, data_page_version="2.0", write_page_index=True)
    parquet.write_table(NESTED, folder / "2.parquet")
    parquet.write_table(WIDE, folder / "3.parquet", use_dictionary=False)
    return sorted(folder.glob("?.parquet"))


def changed(contents: list[bytes], number: int) -> bytes:
    """Return a file with one bit or byte of its footer changed; rarely with more."""
    draw = random.Random(number)
    content = bytearray(contents[number % len(contents)])
    first = len(content) - int.from_bytes(content[-8:-4], "little") - 8
    for _ in range(draw.choice((1, 1, 1, 3))):
        place = draw.randrange(first, len(content) - 8)
        content[place] = content[place] ^ 1 << draw.randrange(8) if draw.random() < 0.7 else draw.randrange(256)
    return bytes(content)


def attack(folder: Path, n_files: int, first: int = 0) -> Attack:
    """Read changed files in child processes: a new one after each abort."""
    write_bases(folder)
    aborted, escaped, outcomes, at = list[int](), dict[str, str](), dict[str, int](), first
    while at < first + n_files:
        words = [sys.executable, __file__, str(folder), str(at), str(first + n_files)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        for number, outcome, message in lines:
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
            if message:
                escaped[str(number)] = message
        at += len(lines)
        if at < first + n_files:
            assert done.returncode < 0, done.stderr[-2000:]
            aborted.append(at)
            at += 1
    return Attack(n_files, aborted, escaped, outcomes)


def main(folder: Path, first: int, end: int) -> None:
    """Read the changed files of a range, and print what became of each."""
    contents = [path.read_bytes() for path in sorted(folder.glob("?.parquet"))]
    path = folder / f"changed{first}.parquet"
    for number in range(first, end):
        path.write_bytes(changed(contents, number))
        outcome, message = "read", ""
        try:
            oo.Dataset.from_parquet(path)
        except oo.OpenOutcryError as error:
            outcome = error.slug
        except Exception as error:  # noqa: BLE001 any other error is the finding
            outcome, message = "escaped", f"{type(error).__name__}: {error}"
        print(json.dumps([number, outcome, message]), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
