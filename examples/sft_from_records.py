"""Convert run records to chat-format JSONL for fine-tuning, one conversation per line.

A record holds decisions, but no messages. The decisions are executed again, and the messages of the environment are
written down. An episode of the verifiers environment uses the specification stored next to its record; a run of
`openoutcry run` or `run_backtest` with 2 to 2,520 decisions uses `--style` and `--mandate`. The assistant messages hold
the recorded decisions, without reasoning. A record is used only if its replay verifies and every observation equals the
recorded one; skipped records are listed with the reason.

    python examples/sft_from_records.py                                 # plays episodes first
    python examples/sft_from_records.py outputs/openoutcry --min-excess 0.0
    python examples/sft_from_records.py run.json --data ecb-fx --style tools

Each line has `messages`, in the style `tools` also `tools`; `record`, a digest; and `excess`, the return in excess of
buy-and-hold on the same bars, averaged over windows.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import openoutcry as oo
from openoutcry.cli.market_options import open_dataset
from openoutcry.data.snapshots import snapshot_files
from openoutcry.verifiers_env.episode_outcome import outcome_of
from openoutcry.verifiers_env.mandates import MANDATES
from openoutcry.verifiers_env.prompts import TOOLS
from openoutcry.verifiers_env.record_conversations import (
    EpisodeSpec,
    rebuild_conversation,
    recorded_decisions,
    recorded_outcome,
    row_of,
)
from openoutcry.verifiers_env.record_store import MARKETS, SPECS, RecordStore, record_of
from openoutcry.verifiers_env.rollout_state import RolloutState
from openoutcry.verifiers_env.row_markets import digest_of
from openoutcry.verifiers_env.scripted_policies import baseline
from openoutcry.verifiers_env.task_rows import STYLES, TIERS, Row


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="*", type=Path, help="records, or folders of records; by default new ones")
    parser.add_argument("--data", action="append", default=[], help="a market of the runs, as for `openoutcry run`")
    parser.add_argument("--style", choices=STYLES, help="by default that of the episode, or text for a run")
    parser.add_argument("--mandate", choices=tuple(MANDATES), default="beat-benchmark", help="mandate of a run")
    parser.add_argument("--min-excess", type=float, help="minimum return in excess of buy-and-hold")
    parser.add_argument(
        "--malformed",
        choices=("drop", "hold", "keep"),
        default="drop",
        help="invalid answers: drop their episode, replace them by the executed hold, or keep them",
    )
    parser.add_argument("--out", type=Path, default=Path("sft.jsonl"))
    return parser.parse_args()


def make(folder: Path, n_tasks: int = 4) -> None:
    """Play the first tasks of `train` with two baselines, and store their records as the environment does."""
    tier = TIERS["easy"]
    digest = digest_of("pairs", tier.n_symbols, 20 + tier.horizon)
    for index in range(n_tasks):
        row = Row("train", index, "pairs", digest, n_symbols=tier.n_symbols, horizon=tier.horizon)
        for name in ("equal-weight", "momentum"):
            rollout, policy = RolloutState(row), baseline(name, row)
            while not rollout.done:
                rollout.decide(policy(rollout))
            outcome = outcome_of(rollout, name, capture=True)
            RecordStore(folder).save(f"{row.key}-{name}", record_of(outcome, name), outcome, EpisodeSpec(row))


def paths(given: list[Path]) -> list[Path]:
    """Return the paths of records in folders and files."""
    return [path for each in given for path in (sorted(each.glob("*.json")) if each.is_dir() else [each])]


def episodes(
    path: Path, markets: dict[str, oo.Dataset], mandate: str
) -> Iterator[tuple[oo.RunRecord, EpisodeSpec, list[oo.Dataset]]]:
    """Yield the episodes of a file: an episode of the environment, or each of its runs."""
    record = oo.RunRecord.load(path)
    known = dict(markets)
    for header in record.headers:
        kept = path.parent / MARKETS / f"{header['dataset.fingerprint']}.json"
        if kept.is_file():
            known[header["dataset.fingerprint"]] = snapshot_files.load(kept)
    missing = [name for header in record.headers if (name := header["dataset.fingerprint"]) not in known]
    if missing:
        raise ValueError(f"its market must be among `--data`; received none with the fingerprint {missing[0][:12]}")
    replayed = oo.replay(record, known.values())
    if not replayed.verified:
        raise ValueError(str(replayed))
    spec = path.parent / SPECS / path.name
    if spec.is_file():
        windows = [known[header["dataset.fingerprint"]] for header in record.headers]
        yield record, EpisodeSpec.from_json(spec.read_text(encoding="utf-8")), windows
        return
    for run in record.runs():
        dataset = known[run.headers[0]["dataset.fingerprint"]]
        yield run, EpisodeSpec(row_of(run, dataset, mandate)), [dataset]


def line_of(record: oo.RunRecord, spec: EpisodeSpec, markets: list[oo.Dataset], malformed: str) -> dict:
    """Return the line of an episode."""
    decisions = recorded_decisions(record)
    if malformed == "drop" and not all(each.is_decision for each in decisions):
        n_malformed = sum(not each.is_decision for each in decisions)
        raise ValueError(
            f"valid decisions are required, unless `--malformed` is set; received {n_malformed} invalid ones"
        )
    windows = recorded_outcome(spec, markets, decisions).windows
    excess = sum(float(each.run.nav[-1] - each.market.nav[-1]) for each in windows) / len(windows)
    line = {"messages": rebuild_conversation(spec, markets, decisions, holds=malformed == "hold")}
    tools = {"tools": TOOLS} if spec.style == "tools" else {}
    return line | tools | {"record": record.digest, "excess": excess}


def lines_of(path: Path, markets: dict[str, oo.Dataset], given: argparse.Namespace) -> list[dict]:
    """Return the lines of a file, none if it is unusable."""
    try:
        found = [
            line_of(record, replace(spec, style=given.style or spec.style), windows, given.malformed)
            for record, spec, windows in episodes(path, markets, given.mandate)
        ]
    except (ValueError, oo.OpenOutcryError) as error:
        print(f"left out {path}: {error}", file=sys.stderr)
        return []
    return found


def main() -> int:
    given = arguments()
    if not given.records:
        given.records = [Path("sft_records")]
        make(given.records[0])
    markets = {each.fingerprint: each for each in map(open_dataset, given.data)}
    lines = [line for path in paths(given.records) for line in lines_of(path, markets, given)]
    chosen = [line for line in lines if given.min_excess is None or line["excess"] >= given.min_excess]
    given.out.write_text("".join(f"{json.dumps(line)}\n" for line in chosen), encoding="utf-8")
    n_weak = len(lines) - len(chosen)
    print(f"{given.out}: {len(chosen)} conversations" + (f", {n_weak} below the excess left out" if n_weak else ""))
    return int(not chosen)


if __name__ == "__main__":
    sys.exit(main())
