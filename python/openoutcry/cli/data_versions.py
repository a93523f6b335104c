"""`openoutcry data freeze`, `export` and `diff`: snapshots of markets."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import typer

from openoutcry import data
from openoutcry.cli.market_options import SNAPSHOT, checked_output_file, open_dataset, open_datasets
from openoutcry.cli.reader_options import NOTHING_STATED, Reading, reads_files
from openoutcry.data.snapshots.snapshot_diff import differences
from openoutcry.data.snapshots.snapshot_files import freeze as write
from openoutcry.errors import refusal
from openoutcry.untrusted.bounded_file import RECORD_BYTES, read_bytes, sha256_of
from openoutcry.untrusted.terminal import echo, echo_json, echo_lines

FREEZE_EXAMPLES = """
**Examples**

`openoutcry data freeze ecb-fx:all --out frozen`

`openoutcry data freeze prices.csv --out frozen --source "vendor X, downloaded 2026-10-30"`
"""
EXPORT_EXAMPLES = """
**Example** `openoutcry data export ecb-fx --out ecb-fx.market.gz`

A page of `openoutcry report --self-verifying --without-data` reads the file. The SHA-256 of its decompressed content is
the fingerprint of the market.
"""
DIFF_EXAMPLES = """
**Examples**

`openoutcry data diff prices-monday.csv prices-tuesday.csv`

`openoutcry data diff prices.csv frozen/<fingerprint>.json --json`

**Exit codes** 0: the markets are the same. 1: they differ. 2: one of them could not be read.
"""
SOURCE = typer.Argument(..., help="A bundled market (`openoutcry data list`), a file or a snapshot.")
AS_JSON = typer.Option(False, "--json", help="Print as JSON.")


@reads_files
def freeze(
    source: str = SOURCE,
    out: Path = typer.Option(..., "--out", help="Folder of the snapshot; created if missing."),
    provenance: str = typer.Option("", "--source", help="Source of the data, for the manifest."),
    as_json: bool = AS_JSON,
    reading: Reading = NOTHING_STATED,
) -> None:
    """Write a snapshot of a market, named by its fingerprint.

    Every command that takes a market accepts the snapshot, and verifies its fingerprint.
    """
    dataset = open_dataset(source, reading)
    try:
        path = write(dataset, out, provenance or _provenance(source))
    except OSError as error:
        message = f"`--out` must be a folder that can be written; received '{out}': {error.strerror}"
        raise refusal("argument_invalid", message) from error
    if as_json:
        echo_json({"fingerprint": dataset.fingerprint, "manifest": str(path)})
        return
    echo(str(path))


@reads_files
def export(
    source: str = SOURCE,
    out: Path = typer.Option(..., "--out", help="Output file; compressed if its name ends in `.gz`."),
    as_json: bool = AS_JSON,
    reading: Reading = NOTHING_STATED,
) -> None:
    """Write the canonical bytes of a market. Their SHA-256 is its fingerprint."""
    dataset = open_dataset(source, reading)
    content = dataset.to_bytes()
    checked_output_file(out, "--out").write_bytes(
        gzip.compress(content, 9, mtime=0) if out.suffix == ".gz" else content
    )
    if as_json:
        echo_json({"fingerprint": dataset.fingerprint, "file": str(out)})
        return
    echo(f"{out}: {dataset.name}, fingerprint {dataset.fingerprint}")


@reads_files
def diff(
    old: str = typer.Argument(..., help="Old version: bundled market (`openoutcry data list`), file or snapshot."),
    new: str = typer.Argument(..., help="New version: bundled market (`openoutcry data list`), file or snapshot."),
    as_json: bool = AS_JSON,
    reading: Reading = NOTHING_STATED,
) -> None:
    """Describe the differences between two versions of a market.

    Each version is a file, a snapshot or a bundled market. Prices before a split or dividend that changed by a common
    factor count as re-adjusted, not as revised. Options of the reader are for the files of prices among the two.
    """
    markets = open_datasets([old, new], reading)
    changes = differences(*markets)
    if as_json:
        fingerprints = {"old": markets[0].fingerprint, "new": markets[1].fingerprint}
        echo_json(fingerprints | {"same": not changes, "differences": [change.to_dict() for change in changes]})
    else:
        echo_lines(changes or [f"the same market: {markets[0].fingerprint}"])
    if changes:
        raise typer.Exit(1)


def _provenance(source: str) -> str:
    """Return the source of a market: a citation, or the name and digest of a file."""
    name = source.partition(":")[0]
    if name in data.names():
        return str(data.describe(name)["source"])
    path = Path(source)
    if path.suffix in SNAPSHOT:
        return str(json.loads(read_bytes(path.with_suffix(".json"), RECORD_BYTES, "a manifest"))["source"])
    return f"{path.name}, SHA-256 {sha256_of(path, 'a file of prices')}"
