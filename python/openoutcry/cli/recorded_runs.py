"""Records named on the command line, replayed and recomputed run by run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from openoutcry import data as bundled
from openoutcry.backtest.replay import replay
from openoutcry.backtest.rerun import rerun
from openoutcry.backtest.run import Run
from openoutcry.cli.market_options import open_datasets
from openoutcry.cli.reader_options import Reading
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.records.run_record import RunRecord
from openoutcry.untrusted.terminal import echo

RECORD = typer.Argument(help="Record file: `.json` or `.jsonl`, optionally with `.zst`.")
DATA = typer.Option([], "--data", help="A market that is not bundled: a file or a snapshot; repeatable.")
FILL_KEY = typer.Option(None, help="Revealed key of sealed slippage noise, 64 hexadecimal digits.")
AS_JSON = typer.Option(False, "--json", help="Print as JSON.")


@dataclass(frozen=True)
class Verified:
    """A record that equals its replay, with the markets of its runs.

    Attributes:
        record: The record.
        datasets: Its markets.
        fill_key: Revealed key of sealed slippage noise.
    """

    record: RunRecord
    datasets: Sequence[Dataset]
    fill_key: str | None

    def market(self, place: int) -> Dataset:
        """Return the market of a run."""
        wanted = self.record.headers[place]["dataset.fingerprint"]
        return next(each for each in self.datasets if each.fingerprint == wanted)

    def run(self, place: int) -> Run:
        """Return a run, recomputed from its decisions."""
        return rerun(self.record, place, self.market(place), self.fill_key)


def verified_record(path: Path, source: Sequence[str], fill_key: str | None, reading: Reading) -> Verified:
    """Read a record and replay it; bundled markets need no `--data`.

    Raises:
        OpenOutcryError: the record or a market cannot be read, or a market is missing.
        typer.Exit: the record differs from its replay, or is unfinished.
    """
    record = RunRecord.load(path)
    datasets = open_datasets(source, reading)
    known = {each.fingerprint for each in datasets}
    for header in record.headers:
        name, fingerprint = header["dataset.name"], header["dataset.fingerprint"]
        if fingerprint in known:
            continue
        market = bundled.load(name) if name in bundled.names() else None
        if market is None and not datasets:
            raise refusal("argument_invalid", f"`--data` with the market {name!r} is required; received none")
        if market is not None:
            datasets.append(market)
            known.add(market.fingerprint)
    done = replay(record, datasets, fill_key=fill_key)
    if not done.verified:
        echo(f"no report: {done}", err=True)
        raise typer.Exit(1)
    return Verified(record, datasets, fill_key)
