"""`openoutcry replay` and `diff`: records verified, or side by side."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import typer

from openoutcry.backtest.divergence import Comparison, Divergence, SettingDifference, compare
from openoutcry.backtest.replay import Replay
from openoutcry.backtest.replay import replay as replayed
from openoutcry.cli.market_options import open_dataset, public_key_of
from openoutcry.records.run_record import RunRecord

REPLAY_EXAMPLES = """
**Examples**

`openoutcry run --data ecb-fx --agent momentum --record run.json`

`openoutcry replay run.json --data ecb-fx`

`openoutcry replay run.jsonl.zst --data frozen/<fingerprint>.json --public-key <64 digits> --json`

A record holds decisions and no result. Every number is recomputed from the data, and every step is compared: the
chain of hashes, what was shown, cash and NAV. What differs is named with its bar, how many doubles apart two numbers
are, and the likely cause: other data, other costs, another engine, or an edit, and of what.

**Exit codes** 0: verified. 1: it differs, or is unfinished. 2: it could not be read or replayed.
"""
DIFF_EXAMPLES = """
**Examples**

`openoutcry diff monday.json tuesday.json`

`openoutcry diff mine.jsonl theirs.jsonl.zst --json`

It prints the settings that differ, such as `costs.fee_bps`, and of each run the first bar at which the two part. A
decision that differs where nothing was shown differently is the agent's doing; a NAV that differs after equal
decisions is that of data, costs or engine.

**Exit codes** 0: the same record. 1: they differ. 2: one of the two could not be read.
"""
RECORD = typer.Argument(help="A record: `.json` or `.jsonl`, or either with `.zst`.")
AS_JSON = typer.Option(False, "--json", help="Print as JSON.")
# Of many differences the first ones tell; the rest follow from them.
SHOWN = 5


def replay(
    record: Path = RECORD,
    source: list[str] = typer.Option(
        ..., "--data", help="The market: bundled, a file or a snapshot. May be given again for runs on several."
    ),
    periods_per_year: float | None = typer.Option(None, help="Bars a year of a file; 252 by default."),
    public_key: str | None = typer.Option(None, help="Key that must have signed it: 64 digits, or a file of them."),
    fill_key: str | None = typer.Option(None, help="Revealed key of sealed slippage noise, 64 hexadecimal digits."),
    as_json: bool = AS_JSON,
) -> None:
    """Recompute a record from its decisions and compare every step."""
    read = RunRecord.load(record)
    datasets = [open_dataset(each, periods_per_year) for each in source]
    key = None if public_key is None else public_key_of(public_key)
    done = replayed(read, datasets, public_key=key, fill_key=fill_key)
    if as_json:
        typer.echo(json.dumps(_as_json(read, done)))
    else:
        _show(read, done)
    raise typer.Exit(0 if done.verified else 1)


def _as_json(read: RunRecord, done: Replay) -> dict[str, object]:
    return {
        "verified": done.verified,
        "agent": read.agent_id,
        "digest": done.digest,
        "runs": done.n_runs,
        "steps": done.n_steps,
        "differences": [asdict(each) for each in done.differences],
        "unfinished": done.unfinished,
        "torn": read.torn,
        "signed_by": done.signed_by,
        "headers": read.headers,
    }


def _show(read: RunRecord, done: Replay) -> None:
    typer.echo(str(done))
    for difference in done.differences[1:SHOWN]:
        typer.echo(f"  then {difference}")
    if len(done.differences) > SHOWN:
        typer.echo(f"  and {len(done.differences) - SHOWN} more; `--json` has them all")
    if read.torn:
        typer.echo("  the file was torn by a crash: its last piece, which was no whole line, was dropped")
    versions = {f"engine {each['engine_version']}, contract {each['contract_version']}" for each in read.headers}
    if done.verified:
        told = "; ".join(sorted(versions))
        typer.echo(f"  made by {told}, it says: of versions that give the same numbers no replay can tell")
    if done.signed_by is not None:
        typer.echo(f"  signed by {done.signed_by}")


def diff(left: Path = RECORD, right: Path = RECORD, as_json: bool = AS_JSON) -> None:
    """Say which settings of two records differ, and where their runs part."""
    found = compare(RunRecord.load(left), RunRecord.load(right))
    if as_json:
        typer.echo(json.dumps(asdict(found)))
    elif found.same:
        typer.echo("the same record")
    else:
        _show_comparison(found)
    raise typer.Exit(0 if found.same else 1)


def _show_comparison(found: Comparison) -> None:
    for setting in found.record:
        typer.echo(_format_setting(setting))
    for run, (settings, divergence) in enumerate(found.runs):
        for setting in settings:
            typer.echo(f"run {run}: {_format_setting(setting)}")
        if divergence is not None:
            typer.echo(f"run {run}: {_format_divergence(divergence)}")
        elif settings:
            typer.echo(f"run {run}: no bar differs")


def _format_setting(setting: SettingDifference) -> str:
    return f"{setting.field}: {setting.left} | {setting.right}"


def _format_divergence(at: Divergence) -> str:
    apart = "" if at.ulps is None else f", {at.ulps:,} ulps apart"
    return f"first at {at.place}, bar {at.bar}: {at.field} {at.left} | {at.right}{apart}"
