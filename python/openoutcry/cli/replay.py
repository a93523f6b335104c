"""`openoutcry replay` and `diff`: verify a record, or compare two."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from openoutcry.backtest.divergence import Comparison, Divergence, SettingDifference, compare
from openoutcry.backtest.replay import Replay
from openoutcry.backtest.replay import replay as replay_record
from openoutcry.cli.market_options import open_datasets, public_key_of
from openoutcry.cli.reader_options import NOTHING_STATED, Reading, reads_files
from openoutcry.records.run_record import RunRecord
from openoutcry.untrusted.counted_nouns import counted
from openoutcry.untrusted.terminal import echo, echo_json

REPLAY_EXAMPLES = """
**Examples**

`openoutcry run --data ecb-fx --agent momentum --record run.json`

`openoutcry replay run.json --data ecb-fx`

`openoutcry replay run.jsonl.zst --data frozen/<fingerprint>.json --public-key <64 digits> --json`

A record contains decisions and no results. Every number is recomputed from the data, and every step is compared: the
hash chain, the observation, cash and NAV. A difference is reported with its bar, its size in ulps, and its likely
cause: other data, other costs, another engine version, or an edit.

**Exit codes** 0: verified. 1: it differs, or is unfinished. 2: it could not be read or replayed.
"""
DIFF_EXAMPLES = """
**Examples**

`openoutcry diff monday.json tuesday.json`

`openoutcry diff mine.jsonl theirs.jsonl.zst --json`

It prints the settings that differ, such as `costs.fee_bps`, and the first divergence of each run. A decision that
differs after equal observations comes from the agent. A NAV that differs after equal decisions comes from data, costs
or engine.

**Exit codes** 0: the records are the same. 1: they differ. 2: one of them could not be read.
"""
RECORD = typer.Argument(help="Record: `.json` or `.jsonl`, optionally with `.zst`.")
AS_JSON = typer.Option(False, "--json", help="Print as JSON.")
# Later differences usually follow from the first ones.
SHOWN = 5


@reads_files
def replay(
    record: Path = RECORD,
    source: list[str] = typer.Option(
        ..., "--data", help="Market: bundled, a file or a snapshot. Repeat the option for runs on several markets."
    ),
    public_key: str | None = typer.Option(
        None, help="Public key that must have signed the record: 64 hexadecimal digits, or their file."
    ),
    fill_key: str | None = typer.Option(None, help="Revealed key of the sealed slippage noise: 64 hexadecimal digits."),
    as_json: bool = AS_JSON,
    reading: Reading = NOTHING_STATED,
) -> None:
    """Recompute a record from its decisions and compare every step."""
    loaded = RunRecord.load(record)
    datasets = open_datasets(source, reading)
    key = None if public_key is None else public_key_of(public_key)
    result = replay_record(loaded, datasets, public_key=key, fill_key=fill_key)
    if as_json:
        echo_json(_as_json(loaded, result))
    else:
        _show(loaded, result)
    raise typer.Exit(0 if result.verified else 1)


def _as_json(record: RunRecord, result: Replay) -> dict[str, object]:
    return {
        "verified": result.verified,
        "agent": record.agent_id,
        "digest": result.digest,
        "runs": result.n_runs,
        "steps": result.n_steps,
        "differences": [asdict(difference) for difference in result.differences],
        "unfinished": result.unfinished,
        "torn": record.torn,
        "signed_by": result.signed_by,
        "headers": record.headers,
    }


def _show(record: RunRecord, result: Replay) -> None:
    echo(str(result))
    for difference in result.differences[1:SHOWN]:
        echo(f"  then {difference}")
    if len(result.differences) > SHOWN:
        echo(f"  and {len(result.differences) - SHOWN} more; `--json` has them all")
    if record.torn:
        echo("  the file was truncated by a crash; its last partial line was dropped")
    versions = {
        f"engine {header['engine_version']}, contract {header['contract_version']}" for header in record.headers
    }
    if result.verified:
        stated = "; ".join(sorted(versions))
        echo(f"  recorded by {stated}, as stated: a replay cannot distinguish versions with the same numbers")
    if result.signed_by is not None:
        echo(f"  signed by {result.signed_by}")


def diff(left: Path = RECORD, right: Path = RECORD, as_json: bool = AS_JSON) -> None:
    """Compare two records: setting differences and the first divergence."""
    comparison = compare(RunRecord.load(left), RunRecord.load(right))
    if as_json:
        echo_json(asdict(comparison))
    elif comparison.same:
        echo("the same record")
    else:
        _show_comparison(comparison)
    raise typer.Exit(0 if comparison.same else 1)


def _show_comparison(comparison: Comparison) -> None:
    for setting in comparison.record:
        echo(_format_setting(setting))
    for run, (settings, divergence) in enumerate(comparison.runs):
        for setting in settings:
            echo(f"run {run}: {_format_setting(setting)}")
        if divergence is not None:
            echo(f"run {run}: {_format_divergence(divergence)}")
        elif settings:
            echo(f"run {run}: no bar differs")


def _format_setting(setting: SettingDifference) -> str:
    return f"{setting.field}: {setting.left} | {setting.right}"


def _format_divergence(at: Divergence) -> str:
    apart = "" if at.ulps is None else f", {counted(at.ulps, 'ulp')} apart"
    return f"first at {at.place}, bar {at.bar}: {at.field} {at.left} | {at.right}{apart}"
