"""`openoutcry data freeze` and `diff`: markets kept as they are, or compared."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import typer

from openoutcry import data
from openoutcry.cli.market_options import SNAPSHOT, open_dataset, page_to_write
from openoutcry.data.snapshots.snapshot_diff import differences
from openoutcry.data.snapshots.snapshot_files import freeze as write
from openoutcry.errors import refusal

FREEZE_EXAMPLES = """
**Examples**

`openoutcry data freeze ecb-fx:all --out frozen`

`openoutcry data freeze prices.csv --out frozen --source "vendor X, downloaded 2026-10-30"`
"""
EXPORT_EXAMPLES = """
**Example** `openoutcry data export ecb-fx --out ecb-fx.market.gz`

A page of `openoutcry report --self-verifying --without-data` takes the file; `sha256sum` of it, unpacked, is the
fingerprint of the market.
"""
DIFF_EXAMPLES = """
**Examples**

`openoutcry data diff prices-monday.csv prices-tuesday.csv`

`openoutcry data diff prices.csv frozen/<fingerprint>.json --json`

**Exit codes** 0: the same market. 1: it differs. 2: one of the two could not be read.
"""
AS_JSON = typer.Option(False, "--json", help="Print as JSON.")


def freeze(
    source: str,
    out: Path = typer.Option(..., "--out", help="Folder of the snapshot; made if it is missing."),
    words: str = typer.Option("", "--source", help="Where the data came from, for the manifest."),
    periods_per_year: float = typer.Option(None, "--periods-per-year", help="Bars a year of a file; 252 if left out."),
    as_json: bool = AS_JSON,
) -> None:
    """Write a snapshot of a market, named by its fingerprint.

    It can be given wherever a market can, and is checked against its fingerprint whenever it is read.
    """
    dataset = open_dataset(source, periods_per_year)
    try:
        path = write(dataset, out, words or _provenance(source))
    except OSError as error:
        message = f"`--out` must be a folder that can be written; received '{out}': {error.strerror}"
        raise refusal("argument_invalid", message) from error
    if as_json:
        typer.echo(json.dumps({"fingerprint": dataset.fingerprint, "manifest": str(path)}))
        return
    typer.echo(str(path))


def export(
    source: str,
    out: Path = typer.Option(..., "--out", help="The file; compressed if its name ends in `.gz`."),
    periods_per_year: float = typer.Option(None, "--periods-per-year", help="Bars a year of a file; 252 if left out."),
    as_json: bool = AS_JSON,
) -> None:
    """Write the bytes of a market, which its fingerprint is the SHA-256 of."""
    dataset = open_dataset(source, periods_per_year)
    content = dataset.to_bytes()
    page_to_write(out, "--out").write_bytes(gzip.compress(content, 9, mtime=0) if out.suffix == ".gz" else content)
    if as_json:
        typer.echo(json.dumps({"fingerprint": dataset.fingerprint, "file": str(out)}))
        return
    typer.echo(f"{out}: {dataset.name}, fingerprint {dataset.fingerprint}")


def diff(old: str, new: str, as_json: bool = AS_JSON) -> None:
    """Say what differs between two versions of a market, in sentences.

    Each is a file, a snapshot or a bundled market. What lies before a split or a dividend and was multiplied counts
    as re-adjusted, not as revised.
    """
    markets = open_dataset(old), open_dataset(new)
    found = differences(*markets)
    if as_json:
        fingerprints = {"old": markets[0].fingerprint, "new": markets[1].fingerprint}
        typer.echo(json.dumps(fingerprints | {"same": not found, "differences": [each.to_dict() for each in found]}))
    else:
        typer.echo("\n".join(map(str, found)) or f"the same market: {markets[0].fingerprint}")
    if found:
        raise typer.Exit(1)


def _provenance(source: str) -> str:
    """Return where a market came from.

    It is the citation of a bundled one, else name and digest of the file.
    """
    name = source.partition(":")[0]
    if name in data.names():
        return str(data.describe(name)["source"])
    path = Path(source)
    if path.suffix in SNAPSHOT:
        return str(json.loads(path.with_suffix(".json").read_bytes())["source"])
    return f"{path.name}, SHA-256 {hashlib.sha256(path.read_bytes()).hexdigest()}"
