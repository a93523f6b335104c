"""`openoutcry suite`: evaluation protocols, and agents run under them."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
from rich.table import Table

from openoutcry.cli.agent_options import (
    AGENT,
    ALLOW_NET,
    ENV,
    SANDBOX,
    START_TIMEOUT,
    TIMEOUT,
    AgentOptions,
    exit_on_agent_fault,
    fault_summary,
    public_name,
    show_first_faults,
)
from openoutcry.cli.market_options import checked_output_file, checked_record_file, load_agent, open_dataset
from openoutcry.cli.run_table import plain
from openoutcry.errors import add_note, refusal
from openoutcry.harness import Launcher
from openoutcry.harness.process_privacy import private_process
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.scoring.evaluation_journal import journal_of
from openoutcry.scoring.suite import DEFAULT, Suite
from openoutcry.scoring.suite_evaluation import Evaluation

app = typer.Typer(help="Show, seal and run evaluation protocols.", no_args_is_help=True, rich_markup_mode="markdown")

SUITE = typer.Argument(DEFAULT, help="`default`, or a JSON file.")
KEYS = typer.Option(
    None, "--keys", help="File of the keys of sealed scenarios, as `suite seal` wrote it; `-` is standard input."
)
DATA = typer.Option(None, "--data", help="A real market of the suite that does not ship; may be given again.")

SHOW_EXAMPLES = """
**Examples**

`openoutcry suite show`

`openoutcry suite show default --json > mine.json`, a suite to change and keep
"""

SEAL_EXAMPLES = """
**Example** `openoutcry suite seal default season.json --keys season.keys`

Publish `season.json` before anybody trades in it, and `season.keys` when all have.
"""

RUN_EXAMPLES = """
**Examples**

`openoutcry suite run season.json --keys season.keys --agent momentum --record momentum.json.zst`

`openoutcry suite run season.json --keys season.keys --agent my_agent:decide --record mine.jsonl.zst`

`openoutcry suite run season.json --keys season.keys --agent "cmd:node agent.js" --record node.json.zst --jobs 2`

`gpg -d season.keys.gpg | openoutcry suite run season.json --keys - --agent my_agent:decide --record mine.json.zst`
"""


# What an agent keeps of a run that fails, it can use in the next one, and no record shows that there was another.
SEEN = (
    "the agent has seen sealed windows, up to where it stopped, so begun anew under this suite it is not out of sample"
    "; hint: go on with `--resume`, with all answers as they stand, or `openoutcry suite seal` the suite anew"
)


@app.command(epilog=SHOW_EXAMPLES)
def show(
    source: str = SUITE, as_json: bool = typer.Option(False, "--json", help="Print the file in canonical form.")
) -> None:
    """Show the markets, windows and rules of a suite, and its digest."""
    suite = Suite.load(source)
    if as_json:
        typer.echo(suite.to_json())
        return
    console = Console()
    console.print(f"{plain(suite.name)} {plain(suite.edition)}", style="bold", highlight=False)
    console.print(f"digest {suite.digest}", style="dim", highlight=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for head in ("market", "what it is", "windows"):
        table.add_column(head)
    for market in suite.markets:
        windows = "\n".join(f"{each.start} .. {each.end}" for each in market.windows)
        table.add_row(plain(market.name), _kind(market), windows)
    console.print(table)
    n_windows = sum(len(market.windows) for market in suite.markets)
    runs = f"{n_windows} windows under {len(suite.seeds)} seeds, {n_windows * len(suite.seeds)} runs an agent"
    console.print(f"{runs}; {suite.n_luck} agents without skill beside them", highlight=False)
    for name, rules in (("costs", suite.costs), ("limits", suite.limits)):
        told = ", ".join(f"{field} {value}" for field, value in rules.to_dict().items() if value is not None)
        console.print(f"{name}: {told}", style="dim", highlight=False)


def _kind(market: Any) -> str:
    if market.scenario is None:
        return f"data {market.fingerprint[:12]}"
    state = f"sealed {market.commitment[:12]}" if market.commitment else "not sealed yet"
    return f"scenario {market.scenario.family}, {market.scenario.n_symbols} symbols, {state}"


@app.command(epilog=SEAL_EXAMPLES)
def seal(
    source: str = SUITE,
    sealed: Path = typer.Argument(help="The file of the sealed suite, which may be published."),
    keys: Path = typer.Option(help="The file of its keys: whoever has it knows every price."),
) -> None:
    """Draw a secret key for each scenario of a suite, and commit to it."""
    suite = Suite.load(source)
    if suite.is_sealed:
        raise refusal("argument_invalid", f"a suite with a scenario to seal is required; received {suite!r}")
    for path in (sealed, keys):
        checked_output_file(path, "the file")
        if path.exists():
            raise refusal("argument_invalid", f"a new file is required; received '{path}', which is there")
    done, drawn = suite.seal()
    # Nobody else on this machine is to read it: readable by its owner alone from the first byte.
    keys.touch(mode=0o600, exist_ok=False)
    keys.write_text(json.dumps({"suite": done.digest, "keys": drawn}, indent=1), encoding="utf-8")
    sealed.write_text(done.to_json() + "\n", encoding="utf-8")
    typer.echo(f"sealed {done.name} {done.edition}, {len(drawn)} keys, digest {done.digest}")


@app.command(epilog=RUN_EXAMPLES)
def run(
    source: str = SUITE,
    agent: str = typer.Option(..., help=AGENT),
    record: Path = typer.Option(..., help="The record to write: .json or .jsonl, or either with .zst."),
    name: str = typer.Option("", help="What the agent is called on boards; by default as `--agent` says."),
    seed: int = typer.Option(0, help="Seed of the random agent."),
    jobs: int = typer.Option(1, min=1, max=256, help="Sealed markets that are run at the same time."),
    resume: bool = typer.Option(False, "--resume", help="Go on where a run of it was cut; all answers stand."),
    force: bool = typer.Option(False, "--force", help="Replace a record that is there, and begin anew."),
    trials: int = typer.Option(0, min=0, help="Trials made before on these markets, which you declare."),
    keys: Path | None = KEYS,
    data: list[str] | None = DATA,
    env: list[str] | None = ENV,
    timeout: float = TIMEOUT,
    start_timeout: float = START_TIMEOUT,
    sandbox: str = SANDBOX,
    allow_net: bool = ALLOW_NET,
) -> None:
    """Run an agent over all windows and seeds of a suite, and write its record.

    An agent of yours answers from processes of its own, a fresh one for every run, and is shown one bar at a time. What
    it does that is no answer is a hold, which the record names.
    """
    console = Console(stderr=True)

    def show(text: object) -> None:
        console.out(text, highlight=False)

    # Closed before the keys are read.
    with exit_on_agent_fault(), private_process(), _progress(console) as bar:
        evaluation = open_evaluation(source, keys, data)
        _make_place(record, force=force, resume=resume)
        task = bar.add_task("", total=evaluation.n_runs)
        # What holds the future, or will.
        named = (keys, *map(Path, data or ()))
        hidden = [record, journal_of(record), *(each for each in named if each is not None and each.exists())]
        how = AgentOptions(env or (), timeout, start_timeout, sandbox, allow_net, hidden, show)
        asked = how.launcher(agent) if ":" in agent else load_agent(agent, seed)
        tell_fault = show_first_faults(show)
        with _telling_what_it_saw(evaluation) if isinstance(asked, Launcher) else nullcontext():
            made = evaluation.run(
                asked,
                name or public_name(agent),
                in_sample_trials=trials,
                record=record,
                resume=resume,
                jobs=jobs,
                on_run=lambda: bar.advance(task),
                on_fault=lambda fault: tell_fault(str(fault)),
            )
    told = [f"{evaluation.n_runs} runs of {name or public_name(agent)}: {record}, digest {made.digest}"]
    typer.echo("; ".join([*told, *fault_summary(made.faults)]))


def _progress(console: Console) -> Progress:
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _make_place(record: Path, *, force: bool, resume: bool) -> None:
    """See to it that the record can be written, and no old one is in its way."""
    checked_record_file(record, force=force)
    kept = journal_of(record)
    if force and not resume and kept.exists():
        shutil.rmtree(kept)
    elif kept.exists() and not resume:
        wanted = "`--record` must have no runs beside it of an evaluation that was cut"
        hint = "hint: `--resume` goes on with them, `--force` throws them away"
        raise refusal("argument_invalid", f"{wanted}; received '{kept}'; {hint}")


@contextmanager
def _telling_what_it_saw(evaluation: Evaluation) -> Iterator[None]:
    """Say, where an evaluation fails, that the agent has seen markets of it."""
    if not any(window.sealed for window in evaluation.windows):
        yield
        return
    try:
        yield
    except OpenOutcryError as error:
        add_note(error, f"in an evaluation that cannot be repeated: {SEEN}")
        raise
    except KeyboardInterrupt:
        typer.echo(f"stopped an evaluation that cannot be repeated: {SEEN}", err=True)
        raise


def open_evaluation(
    source: str, keys: Path | None, data: list[str] | None, periods_per_year: float | None = None
) -> Evaluation:
    """Return a suite with its markets, as the command line names them."""
    suite = Suite.load(source)
    given = [open_dataset(each, periods_per_year) for each in data or ()]
    return Evaluation(suite, _read_keys(keys, suite), given)


def _read_keys(path: Path | None, suite: Suite) -> dict[str, str]:
    if path is None:
        return {}
    try:
        fields = json.loads(sys.stdin.read() if str(path) == "-" else path.read_text("utf-8"))
        keys = dict(fields["keys"])
        digest = fields["suite"]
    except (OSError, ValueError, TypeError, KeyError) as error:
        wanted = "`--keys` must be a file that `openoutcry suite seal` wrote"
        raise refusal("argument_invalid", f"{wanted}; received '{path}': {error}") from error
    if digest != suite.digest:
        wanted = f"`--keys` must be those of the suite, {suite.digest}"
        raise refusal("argument_invalid", f"{wanted}; received '{path}', of the suite {digest}")
    return keys
