"""`openoutcry research`: search for strategies with out-of-sample validation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from openoutcry.cli.market_options import checked_output_file, open_dataset
from openoutcry.cli.reader_options import NOTHING_STATED, Reading, reads_files
from openoutcry.cli.research_interrupt import stopping_after_round
from openoutcry.cli.research_output import LONGEST, ProgressPrinter, result_lines
from openoutcry.cli.run_table import plain
from openoutcry.cli.table_options import FORMAT, TABLES, check_tables, tables_line, write_tables_of
from openoutcry.data.readers.market_columns import ReadOptions
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import CostModel
from openoutcry.untrusted.bounded_file import DOCUMENT_BYTES, read_bytes
from openoutcry.untrusted.counted_nouns import counted
from openoutcry.untrusted.rich_console import Console
from openoutcry.untrusted.terminal import echo, echo_json, echo_lines

if TYPE_CHECKING:
    from openoutcry.data.dataset import Dataset
    from openoutcry.ledger import Ledger
    from openoutcry.research.acceptance_gates import Thresholds
    from openoutcry.research.session_config import ResearchConfig
    from openoutcry.research.session_manager import Workspace
    from openoutcry.research.trial import Result

app = typer.Typer(
    help="Search for trading strategies, and validate them on a sealed holdout.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

RUN_EXAMPLES = """
**Examples**

`openoutcry research run --provider fixed:examples/proposals.json --data ecb-fx`

`openoutcry research run --provider random --data us-treasury --max-trials 40 --max-dry-rounds 40 --gates strict`

`openoutcry research run --provider random --data ecb-fx --tables tables`, with every table of the report as a file

`openoutcry research run --provider anthropic --model MODEL --goal "trend in currencies" --max-tokens 200000`

`openoutcry research run --provider http://127.0.0.1:8000/v1 --model MODEL --allow-code-gen`

Every step is journaled before the next one starts: continue an interrupted run with `research resume`. Ctrl-C stops
after the round and writes the results so far; a second Ctrl-C aborts.

**Holdout** It passes a strategy with a true Sharpe ratio of 1.2 in 39 % of cases with 60 bars, 64 % with 252 and 80 %
with 499, of 252 bars per year; luck passes in 20 % with any number. The first lines of a session show the numbers for
its market, and the number of bars that it needs.

**Exit codes** 0: the session ended, with or without candidates. 1: the model could not be reached. 2: invalid
input.
"""
REPLAY_EXAMPLES = """
**Examples**

`openoutcry research replay --verify research/logs/research_journal.jsonl`

`openoutcry research replay --verify --ledger research/logs/research_journal.jsonl`

**Exit codes** 0: every event was reproduced, bit for bit. 1: an event differs, or the journal was altered.
"""
RESUME_EXAMPLES = "**Example** `openoutcry research resume research/logs/research_journal.jsonl`"
REPORT_EXAMPLES = (
    "**Example** `openoutcry research report research/logs/research_journal.jsonl --out page.html --tables tables`"
)
PROMPT_EXAMPLES = "**Example** `openoutcry research prompt research/logs/research_journal.jsonl --round 1`"

BUDGETS, SPLIT, COSTS = "Budgets", "Division of the bars", "Costs, in basis points"
LEDGER_DIR = typer.Option(None, help="Folder of the ledger; by default `OPENOUTCRY_LEDGER` or your user folder.")
PROVIDER = typer.Option(
    ..., help="`fixed:FILE`, `random`, `optuna`, `anthropic`, `openai`, `ollama`, or the URL of a server."
)
UNSAFE = typer.Option(False, "--unsafe-no-isolation", help="Run code without a sandbox; results record it.")
ACCEPT = typer.Option(
    False, "--accept-implausible", help="Also list trials above the Sharpe ratio that `--gates strict` allows."
)
JOURNAL = typer.Argument(help="`logs/research_journal.jsonl` of a session's folder.")
SESSION = typer.Option(None, help="ID of the session, or a prefix; the last one by default.")
DATA = typer.Option(None, "--data", help="The market, if its location has changed.")


def _budget(default: Any, text: str) -> Any:
    return typer.Option(default, help=text, rich_help_panel=BUDGETS)


def _split(default: Any, text: str) -> Any:
    return typer.Option(default, help=text, rich_help_panel=SPLIT)


def _cost(text: str) -> Any:
    return typer.Option(None, help=text, rich_help_panel=COSTS)


@app.command(epilog=RUN_EXAMPLES)
@reads_files
def run(
    source: str = typer.Option("ecb-fx", "--data", help="A bundled market (`openoutcry data list`) or a file."),
    provider: str = PROVIDER,
    model: str | None = typer.Option(None, help="Model of the provider."),
    goal: str | None = typer.Option(None, help="Goal of the search, as free text."),
    out: Path = typer.Option(Path("research"), help="Folder for journal, candidates and report."),
    gates: str = typer.Option("default", help="`default`, `strict`, or a JSON file of thresholds."),
    seed: int = typer.Option(0, help="Seed of all random draws."),
    shortlist: int = typer.Option(3, help="Maximum length of the short list."),
    all_kept: bool = typer.Option(False, "--all-kept", help="Also list trials that passed without taking the lead."),
    ledger: bool = typer.Option(True, "--ledger/--no-ledger", help="Record every trial across sessions."),
    ledger_dir: Path | None = LEDGER_DIR,
    burn_holdout: bool = typer.Option(False, "--burn-holdout", help="Open a spent holdout again; results record it."),
    allow_code_gen: bool = typer.Option(False, "--allow-code-gen", help="Allow proposals of code, run in the sandbox."),
    unsafe_no_isolation: bool = UNSAFE,
    accept_implausible: bool = ACCEPT,
    training_cutoff: str | None = typer.Option(None, help="Last date of the model's training data."),
    tables: Path | None = TABLES,
    table_format: str = FORMAT,
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
    max_trials: int = _budget(10, "Trials: configurations with an out-of-sample result."),
    max_dry_rounds: int = _budget(3, "Consecutive rounds without improvement."),
    max_rounds: int | None = _budget(None, "Rounds; three per trial by default."),
    max_tokens: int | None = _budget(None, "Tokens of language models; unlimited by default."),
    max_seconds: float | None = _budget(None, "Seconds; unlimited by default."),
    folds: int | None = _split(4, "Folds of the walk-forward."),
    mode: str = _split("anchored", "`anchored` or `rolling`."),
    train: int | None = _split(None, "Bars of the first training; those of a test by default."),
    test: int | None = _split(None, "Bars of each test; an equal share of the rest by default."),
    holdout_bars: int = _split(60, "Bars at the end that research never sees; 0 for none. See *Holdout* below."),
    embargo: int = _split(1, "Bars left out before each test and before the holdout."),
    horizon: int = _split(1, "Bars that a decision looks ahead."),
    fee_bps: float | None = _cost("Commission on notional."),
    slippage_bps: float | None = _cost("Half-spread."),
    reading: Reading = NOTHING_STATED,
) -> None:
    """Propose and validate strategies, and write a short list of candidates."""
    from openoutcry.research import session_manager

    check_tables(tables, table_format)
    split = mode, folds, train, test, holdout_bars, embargo, horizon
    options: dict[str, Any] = {"goal": goal, "seed": seed, "shortlist": shortlist, "burn_holdout": burn_holdout}
    options |= {"allow_code": allow_code_gen, "unsafe_no_isolation": unsafe_no_isolation}
    options |= {"training_cutoff": training_cutoff, "costs": CostModel(fee_bps=fee_bps, slippage_bps=slippage_bps)}
    options["gates"] = _gates(gates, accept_implausible=accept_implausible)
    config = _config(split, (max_trials, max_dry_rounds, max_rounds, max_tokens, max_seconds), all_kept, options)
    workspace = _workspace(out, (ledger, ledger_dir), (source, f"{provider} {model or ''}".strip(), reading), as_json)
    load, proposer = partial(open_dataset, source, reading), _proposer(provider, model, training_cutoff)
    search = partial(session_manager.research, load, proposer, config, workspace)
    _run_and_print(load, search, workspace, as_json, (tables, table_format))


@app.command(epilog=RESUME_EXAMPLES)
def resume(
    journal: Path = JOURNAL,
    session: str | None = SESSION,
    source: str | None = DATA,
    ledger: bool = typer.Option(True, "--ledger/--no-ledger", help="Record every trial across sessions."),
    ledger_dir: Path | None = LEDGER_DIR,
    tables: Path | None = TABLES,
    table_format: str = FORMAT,
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
) -> None:
    """Resume an interrupted session after its last complete event.

    For a session that has ended, its files are written again.
    """
    from openoutcry.research import session_manager
    from openoutcry.research.session_records import session_of

    check_tables(tables, table_format)
    recorded = session_of(journal, session, is_cut=True)
    start = recorded.start
    provider, _, model = str(start["provider"]).partition(" ")
    proposer = _proposer(provider, model or None, start["config"]["training_cutoff"])
    origin = str(start["data"]), str(start["provider"]), _reading(start)
    workspace = _workspace(_folder(journal), (ledger, ledger_dir), origin, as_json)
    load = _loader(start, source)
    if recorded.is_over:
        # It may have been interrupted while its files were written, and may have started without a ledger.
        search = partial(session_manager.replay, load, replace(workspace, ledger=None), recorded.session_id)
    else:
        search = partial(session_manager.resume, load, proposer, workspace, recorded.session_id)
    _run_and_print(load, search, workspace, as_json, (tables, table_format))


@app.command(epilog=REPLAY_EXAMPLES)
def replay(
    journal: Path = JOURNAL,
    verify: bool = typer.Option(False, "--verify", help="Print only the verdict."),
    session: str | None = SESSION,
    source: str | None = DATA,
    ledger: bool = typer.Option(False, "--ledger", help="Also check the journal against its anchors in the ledger."),
    ledger_dir: Path | None = LEDGER_DIR,
    as_json: bool = typer.Option(False, "--json", help="Print the verdict as JSON."),
) -> None:
    """Recompute a session and compare every event with its recording."""
    from openoutcry.openoutcry_py import OpenOutcryError
    from openoutcry.research.session_manager import DivergedError
    from openoutcry.research.session_records import check, session_of

    if not journal.is_file():
        raise refusal("argument_invalid", f"a journal is required; received '{journal}', which does not exist")
    opened_ledger = _open_ledger(ledger or ledger_dir is not None, ledger_dir)
    n_events, fault = 0, ""
    try:
        check(journal)
    except OpenOutcryError as error:
        fault = str(error)
    if not fault:
        recorded = session_of(journal, session)
        n_events = len(recorded.events)
        try:
            _replayed(journal, recorded.session_id, source, opened_ledger, quiet=verify or as_json)
        except DivergedError as error:
            was_cut = not recorded.is_over and error.seq >= n_events
            fault = f"event {error.seq + 1} of {n_events}: {error}"
            if was_cut:
                fault = f"the session was interrupted after {counted(n_events, 'event')}, all reproduced;"
                fault += " continue it with `research resume`"
        except OpenOutcryError as error:
            fault = str(error)
    if as_json:
        echo_json({"reproduced": not fault, "n_events": n_events, "fault": fault or None})
    elif fault:
        echo(f"not reproduced: {fault}", err=True)
    else:
        echo(f"reproduced: all {n_events} events, bit for bit")
    raise typer.Exit(int(bool(fault)))


@app.command(epilog=REPORT_EXAMPLES)
def report(
    journal: Path = JOURNAL,
    out: Path = typer.Option(Path("report.html"), help="Path of the page, in the working folder by default."),
    session: str | None = SESSION,
    source: str | None = DATA,
    tables: Path | None = TABLES,
    table_format: str = FORMAT,
) -> None:
    """Write the report of a recorded session, recomputed from its journal."""
    from openoutcry.report.pages.research_page import render_research
    from openoutcry.report.tables.research_tables import research_tables
    from openoutcry.research.session_report import view_of

    checked_output_file(out, "--out")
    check_tables(tables, table_format)
    view = view_of(*_replayed(journal, session, source, None, quiet=True))
    out.write_text(render_research(view), encoding="utf-8")
    echo(f"report: {out}")
    if paths := write_tables_of(lambda: research_tables(view), tables, table_format):
        echo(tables_line(paths))


@app.command(epilog=PROMPT_EXAMPLES)
def prompt(
    journal: Path = JOURNAL,
    number: int = typer.Option(1, "--round", min=1, help="The round, from 1."),
    session: str | None = SESSION,
) -> None:
    """Print the prompt of a round."""
    from openoutcry.research.session_journal import BLOBS, Blobs
    from openoutcry.research.session_records import session_of

    found = [each["payload"] for each in session_of(journal, session).events if each["event"] == "proposal"]
    if number > len(found):
        raise refusal("argument_invalid", f"`--round` must be from 1 to {len(found)}; received {number}")
    echo_lines(Blobs(journal.parent / BLOBS).get(found[number - 1]["prompt_sha256"]).decode("utf-8"))


def _proposer(provider: str, model: str | None, training_cutoff: str | None) -> Any:
    from openoutcry.research.proposers import build_proposer

    return build_proposer(provider, model, training_cutoff=training_cutoff)


def _config(
    split: tuple[Any, ...], budgets: tuple[Any, ...], all_kept: bool, options: Mapping[str, Any]
) -> ResearchConfig:
    from openoutcry.research.session_config import Budgets, Guard, ResearchConfig, Split

    fields = {name: value for name, value in options.items() if value is not None}
    guard = Guard(advanced_only=not all_kept)
    return ResearchConfig(split=Split(*split), budgets=Budgets(*budgets), guard=guard, **fields)


def _gates(name: str, *, accept_implausible: bool) -> Thresholds:
    from openoutcry.research.acceptance_gates import PRESETS, thresholds_of

    found: Any = {"preset": name}
    if name not in PRESETS:
        try:
            found = json.loads(read_bytes(name, DOCUMENT_BYTES, "`--gates`"))
        except (OSError, ValueError) as error:
            wanted = f"`--gates` must be one of {', '.join(PRESETS)}, or a JSON file of thresholds"
            raise refusal("argument_invalid", f"{wanted}; received {name!r}: {error}") from error
    if not isinstance(found, dict):
        raise refusal("argument_invalid", f"`--gates` must hold an object; received {type(found).__name__}")
    return thresholds_of(found | ({"max_sharpe": None} if accept_implausible else {}))


def _workspace(
    out: Path, ledger: tuple[bool, Path | None], origin: tuple[str, str, Reading], as_json: bool
) -> Workspace:
    from openoutcry.research.session_manager import Workspace

    if out.exists() and not out.is_dir():
        raise refusal("argument_invalid", f"`--out` must be a folder; received '{out}'")
    on_event = (lambda event, payload: None) if as_json else ProgressPrinter()
    stated = origin[2].periods_per_year, origin[2].options.stated()
    return Workspace(out, _open_ledger(*ledger), *origin[:2], *stated, on_event=on_event)


def _open_ledger(is_wanted: bool, folder: Path | None) -> Ledger | None:
    from openoutcry.ledger import Ledger

    if not is_wanted and folder is not None:
        raise refusal(
            "argument_invalid",
            "`--ledger-dir` requires a ledger; received `--no-ledger` with it; hint: omit one of the two",
        )
    return Ledger(folder) if is_wanted else None


def _folder(journal: Path) -> Path:
    return journal.parent.parent


def _loader(recorded: Mapping[str, Any], source: str | None) -> Callable[[], Dataset]:
    named = source or str(recorded["data"])
    if not named:
        raise refusal("argument_invalid", "`--data` is required for a session that started in Python; received none")
    return partial(open_dataset, named, _reading(recorded))


def _reading(recorded: Mapping[str, Any]) -> Reading:
    """Return the options that the market of a recorded session was read with."""
    return Reading(ReadOptions(**recorded.get("reading", {})), recorded["periods_per_year"])


def _replayed(
    journal: Path, session: str | None, source: str | None, ledger: Ledger | None, *, quiet: bool
) -> tuple[Result, Any]:
    from openoutcry.research.session_manager import Workspace, recorded_setup, replay
    from openoutcry.research.session_records import session_of

    recorded = session_of(journal, session)
    load = _loader(recorded.start, source)
    workspace = Workspace(
        _folder(journal), ledger, on_event=(lambda event, payload: None) if quiet else ProgressPrinter()
    )
    result = replay(load, workspace, recorded.session_id)
    return result, recorded_setup(load, recorded)


def _run_and_print(
    load: Callable[[], Dataset],
    run_session: Callable[[], Result],
    workspace: Workspace,
    as_json: bool,
    tables: tuple[Path | None, str],
) -> None:
    """Run a session, write its files and print its result."""
    from openoutcry.report.tables.research_tables import research_tables
    from openoutcry.research.session_files import write_session_files
    from openoutcry.research.session_manager import recorded_setup
    from openoutcry.research.session_records import session_of
    from openoutcry.research.session_report import view_of

    with stopping_after_round(workspace.cancelled):
        result = run_session()
    setup = recorded_setup(load, session_of(workspace.journal, result.session_id))
    written = write_session_files(result, setup, workspace.folder)
    paths = write_tables_of(lambda: research_tables(view_of(result, setup)), *tables)
    if as_json:
        summary = json.loads((workspace.folder / "shortlist.json").read_text(encoding="utf-8"))
        files = {"files": [str(path) for path in written], "tables": paths, "journal": str(workspace.journal)}
        echo_json(summary | files)
        raise typer.Exit(int(result.stopped_reason == "proposer_failed"))
    lines = [*result_lines(result, written), f"journal: {workspace.journal}", f"report: {written[-1]}"]
    lines += [tables_line(paths)] if paths else []
    if result.shortlist:
        lines.append(f"`--agent {written[0]}` runs a candidate, in every command with an agent")
    console = Console()
    for line in lines:
        console.print(plain(line, LONGEST), highlight=False, soft_wrap=True)
    raise typer.Exit(int(result.stopped_reason == "proposer_failed"))
