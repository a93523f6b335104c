"""`openoutcry suite`: show, seal and run evaluation suites."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import typer
from rich import box
from rich.table import Table

from openoutcry.cli.agent_options import (
    AGENT,
    NO_VALUES,
    AgentValues,
    exit_on_agent_fault,
    fault_summary,
    runs_agents,
    show_first_faults,
)
from openoutcry.cli.holdout_reading import read_windows
from openoutcry.cli.market_options import checked_output_file, checked_record_file, open_datasets
from openoutcry.cli.reader_options import NOTHING_STATED, Reading, reads_files
from openoutcry.cli.run_table import plain
from openoutcry.cli.selected_agent import SelectedAgent, select_agent
from openoutcry.errors import add_note, refusal
from openoutcry.harness.process_privacy import private_process
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.records.run_record import RunRecord
from openoutcry.scoring.board_notices import edition_notices
from openoutcry.scoring.evaluation_journal import journal_of
from openoutcry.scoring.suite import DEFAULT, Suite
from openoutcry.scoring.suite_evaluation import Evaluation
from openoutcry.untrusted.bounded_file import DOCUMENT_BYTES, read_input
from openoutcry.untrusted.counted_nouns import counted
from openoutcry.untrusted.rich_console import BarColumn, Console, MofNCompleteColumn, Progress, TimeRemainingColumn
from openoutcry.untrusted.terminal import echo, echo_json

app = typer.Typer(help="Show, seal and run evaluation suites.", no_args_is_help=True, rich_markup_mode="markdown")

SUITE = typer.Argument(DEFAULT, help="`default`, `default-2026.1`, or a JSON file.")
KEYS = typer.Option(
    None, "--keys", help="Key file of the sealed scenarios, written by `suite seal`; `-` reads standard input."
)
DATA = typer.Option(None, "--data", help="A real market of the suite that is not bundled; repeatable.")

SHOW_EXAMPLES = """
**Examples**

`openoutcry suite show`

`openoutcry suite show default --json > mine.json`, a suite to edit
"""

SEAL_EXAMPLES = """
**Example** `openoutcry suite seal default season.json --keys season.keys`

Publish `season.json` before the first evaluation, and `season.keys` after the last one.
"""

RUN_EXAMPLES = """
**Examples**

`openoutcry suite run season.json --keys season.keys --agent momentum --record momentum.json.zst`

`openoutcry suite run season.json --keys season.keys --agent trend:fast=20,slow=100 --record trend.json.zst`

`openoutcry suite run season.json --keys season.keys --agent my_agent:decide --record mine.jsonl.zst`

`openoutcry suite run season.json --keys season.keys --agent "cmd:node agent.js" --record node.json.zst --jobs 2`

`gpg -d season.keys.gpg | openoutcry suite run season.json --keys - --agent my_agent:decide --record mine.json.zst`
"""


# An agent can keep prices of a failed evaluation and use them in the next one; no record shows that there was another.
SEEN_WINDOWS_WARNING = (
    "the agent has seen sealed windows up to where it stopped, so a new evaluation under this suite is not out of"
    " sample; hint: continue with `--resume`, which keeps all decisions, or seal the suite again with"
    " `openoutcry suite seal`"
)


@app.command(epilog=SHOW_EXAMPLES)
def show(
    source: str = SUITE, as_json: bool = typer.Option(False, "--json", help="Print the file in canonical form.")
) -> None:
    """Show the markets, windows and rules of a suite, and its digest."""
    suite = Suite.load(source)
    if as_json:
        echo_json(suite.to_json())
        return
    console = Console()
    console.print(f"{plain(suite.name)} {plain(suite.edition)}", style="bold", highlight=False)
    console.print(f"digest {suite.digest}", style="dim", highlight=False)
    decide = f"scorer edition {suite.scorer_edition}: {', '.join(suite.benchmarks)} decide"
    console.print(decide, style="dim", highlight=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for head in ("market", "type", "windows"):
        table.add_column(head)
    for market in suite.markets:
        rows = [(plain(market.name), _kind(market)), *[("", "")] * (len(market.windows) - 1)]
        for row, window in zip(rows, market.windows, strict=True):
            table.add_row(*row, f"{window.start} .. {window.end}")
    console.print(table)
    n_windows = sum(len(market.windows) for market in suite.markets)
    runs = f"{counted(n_windows, 'window')} x {counted(len(suite.seeds), 'seed')}"
    runs += f" = {counted(n_windows * len(suite.seeds), 'run')} per agent"
    console.print(f"{runs}; {counted(suite.n_luck, 'null agent')} for comparison", highlight=False)
    for name, rules in (("costs", suite.costs), ("limits", suite.limits)):
        settings = ", ".join(
            f"{field} {_setting(value)}" for field, value in rules.to_dict().items() if value is not None
        )
        console.print(f"{name}: {settings}", style="dim", highlight=False)


def _setting(value: float | bool) -> str:
    return ("off", "on")[value] if isinstance(value, bool) else f"{value:,.15g}"


def _kind(market: Any) -> str:
    if market.scenario is None:
        return f"data {market.fingerprint[:12]}"
    state = f"sealed {market.commitment[:12]}" if market.commitment else "not sealed yet"
    return f"scenario {market.scenario.family}, {counted(market.scenario.n_symbols, 'symbol')}, {state}"


@app.command(epilog=SEAL_EXAMPLES)
def seal(
    source: str = SUITE,
    sealed: Path = typer.Argument(help="Output file of the sealed suite, which may be published."),
    keys: Path = typer.Option(help="Output file of the keys. Keep it secret: the keys reveal every price."),
) -> None:
    """Draw a secret key for each scenario of a suite, and commit to it."""
    suite = Suite.load(source)
    if suite.is_sealed:
        raise refusal("argument_invalid", f"a suite with a scenario to seal is required; received {suite!r}")
    for path in (sealed, keys):
        checked_output_file(path, "the file")
        if path.exists():
            raise refusal("argument_invalid", f"a new file is required; received '{path}', which exists")
    for notice in edition_notices(suite.scorer_edition):
        echo(f"warning: {plain(notice, 400)}", err=True)
    done, drawn = suite.seal()
    # Readable by its owner only, from the first byte.
    keys.touch(mode=0o600, exist_ok=False)
    keys.write_text(json.dumps({"suite": done.digest, "keys": drawn}, indent=1), encoding="utf-8")
    sealed.write_text(done.to_json() + "\n", encoding="utf-8")
    echo(f"sealed {done.name} {done.edition}, {counted(len(drawn), 'key')}, digest {done.digest}")


@app.command(epilog=RUN_EXAMPLES)
@reads_files
@runs_agents
def run(
    context: typer.Context,
    source: str = SUITE,
    agent: str = typer.Option(..., help=AGENT),
    record: Path = typer.Option(..., help="Record file to write: .json or .jsonl, optionally with .zst."),
    name: str = typer.Option("", help="Name of the agent on boards; default: from `--agent`."),
    seed: int = typer.Option(0, help="Seed of the random agent."),
    jobs: int = typer.Option(1, min=1, max=256, help="Number of sealed markets that run in parallel."),
    resume: bool = typer.Option(False, "--resume", help="Continue an interrupted evaluation; logged decisions stand."),
    force: bool = typer.Option(False, "--force", help="Overwrite an existing record and start from the beginning."),
    trials: int = typer.Option(0, min=0, help="Earlier trials on these markets that you declare."),
    keys: Path | None = KEYS,
    data: list[str] | None = DATA,
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
    values: AgentValues = NO_VALUES,
    reading: Reading = NOTHING_STATED,
) -> None:
    """Run an agent over all windows and seeds of a suite, and write its record.

    Your own agent runs in a new process for every run and receives one bar at a time. On a fault the decision defaults
    to hold, and the record names the fault.
    """
    console = Console(stderr=True)

    def show(text: object) -> None:
        # Several lines of an agent's standard error arrive as one text.
        for line in str(text).splitlines():
            console.out(line, highlight=False)

    # Private before the keys are read.
    with exit_on_agent_fault(), private_process(), _progress(console) as bar:
        evaluation = open_evaluation(source, keys, data, reading)
        _check_output(record, force=force, resume=resume)
        task = bar.add_task("", total=evaluation.n_runs)
        chosen = select_agent(agent, seed, values.options(context, show))
        launched = chosen.baseline or chosen.launcher()
        for notice in (*edition_notices(evaluation.suite.scorer_edition), *_notices(chosen, evaluation)):
            show(f"notice: {notice}")
        show_fault = show_first_faults(show)
        with _warn_of_seen_windows(evaluation) if chosen.is_own else nullcontext():
            done = evaluation.run(
                launched,
                name or chosen.name,
                in_sample_trials=trials,
                record=record,
                resume=resume,
                jobs=jobs,
                on_run=lambda: bar.advance(task),
                on_fault=lambda fault: show_fault(str(fault)),
            )
    _show_run(done, record, evaluation.n_runs, as_json=as_json)


def _show_run(done: RunRecord, record: Path, n_runs: int, *, as_json: bool) -> None:
    if as_json:
        faults = Counter(fault for run in done.faults for fault in run.values())
        written = {"agent": done.agent_id, "record": str(record), "digest": done.digest}
        echo_json(written | {"n_runs": n_runs, "faults": dict(sorted(faults.items()))})
        return
    summary = f"{counted(n_runs, 'run')} of {done.agent_id}: {record}, digest {done.digest}"
    echo("; ".join([summary, *fault_summary(done.faults)]))


def _notices(chosen: SelectedAgent, evaluation: Evaluation) -> Iterator[str]:
    """Yield what a person should know about a strategy or a candidate under a suite."""
    needed, shown = chosen.lookback, evaluation.lookback()
    shortest = min((window.end - window.start - 1 for window in evaluation.windows), default=0)
    if chosen.strategy is not None and needed > shown:
        text = f"{chosen.name} needs {counted(needed, 'close')} and the suite shows {shown}: it holds for the first"
        held = needed - shown
        yield f"{text} {counted(held, 'decision')} of each window" + (", all of some" if held >= shortest else "")
    yield from read_windows(
        chosen,
        (
            (f"window {window.bars} of `{window.market}`", window.dataset, (window.start, window.end))
            for window in evaluation.windows
        ),
    )


def _progress(console: Console) -> Progress:
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, disable=not console.is_terminal)


def _check_output(record: Path, *, force: bool, resume: bool) -> None:
    """Check that the record can be written and has no journal of another evaluation."""
    checked_record_file(record, force=force)
    journal = journal_of(record)
    if force and not resume and journal.exists():
        shutil.rmtree(journal)
    elif journal.exists() and not resume:
        wanted = "`--record` must have no journal of an interrupted evaluation"
        hint = "hint: `--resume` continues it, `--force` deletes it"
        raise refusal("argument_invalid", f"{wanted}; received '{journal}'; {hint}")


@contextmanager
def _warn_of_seen_windows(evaluation: Evaluation) -> Iterator[None]:
    """If the evaluation fails, warn that the agent has seen its sealed markets."""
    if not any(window.sealed for window in evaluation.windows):
        yield
        return
    try:
        yield
    except OpenOutcryError as error:
        add_note(error, f"in an evaluation that cannot be repeated: {SEEN_WINDOWS_WARNING}")
        raise
    except KeyboardInterrupt:
        echo(f"stopped an evaluation that cannot be repeated: {SEEN_WINDOWS_WARNING}", err=True)
        raise


def open_evaluation(source: str, keys: Path | None, data: list[str] | None, reading: Reading) -> Evaluation:
    """Return the evaluation of a suite from command-line values."""
    suite = Suite.load(source)
    return Evaluation(suite, _read_keys(keys, suite), open_datasets(data or (), reading))


def _read_keys(path: Path | None, suite: Suite) -> dict[str, str]:
    if path is None:
        return {}
    try:
        fields = json.loads(read_input(path, DOCUMENT_BYTES, "`--keys`"))
        keys = dict(fields["keys"])
        digest = fields["suite"]
    except (OSError, ValueError, TypeError, KeyError) as error:
        wanted = "`--keys` must be a file written by `openoutcry suite seal`"
        raise refusal("argument_invalid", f"{wanted}; received '{path}': {error}") from error
    if digest != suite.digest:
        wanted = f"`--keys` must be the keys of the suite {suite.digest}"
        raise refusal("argument_invalid", f"{wanted}; received '{path}', of the suite {digest}")
    return keys
