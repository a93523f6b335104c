"""Operator commands of `openoutcry arena`: results, agents, exports and backups.

Every change is a record of the log. A server may run meanwhile; it reloads what a command has written.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from openoutcry.errors import refusal, without_password
from openoutcry.untrusted.bounded_file import check_folder
from openoutcry.untrusted.counted_nouns import counted
from openoutcry.untrusted.terminal import echo, echo_error

if TYPE_CHECKING:
    from openoutcry.arena.store.arena_store import Arena
    from openoutcry.arena.store.cached_state import Market
    from openoutcry.arena.store.entry_writes import ResolveMarket

app = typer.Typer(rich_markup_mode="markdown")

OPERATOR = "Operator commands"
DATA = typer.Option(Path("arena"), "--data-dir", help="Folder of the database and the key.")
DATABASE = typer.Option(None, help="SQLAlchemy URL such as `postgresql+psycopg://...`; by default a SQLite file.")

SEASON_EXAMPLES = (
    "**Examples** `openoutcry arena season`, and `openoutcry arena season 2026Q2 --theater iran` for a leaderboard."
)
MARKET_EXAMPLES = """
**Examples** `openoutcry arena market --status closed`, and `openoutcry arena market kalshi:KXIRANSTRIKE-DEMO1`.

Markets come from snapshots; no command adds one.
"""
RESOLVE_EXAMPLES = "**Example** `openoutcry arena resolve kalshi:KXIRANSTRIKE-DEMO1 finalized --outcome no`"
AMEND_EXAMPLES = """
**Example** `openoutcry arena amend kalshi:KXIRANSTRIKE-DEMO1 yes --source 'correction of the exchange'`

The first result stays in the log. All scores use the new one at once, and the command prints the changes.
"""
SUSPEND_EXAMPLES = "**Example** `openoutcry arena suspend eve 'two agents of one person'`, and `--lift` to end it."
ISSUE_EXAMPLES = "**Example** `openoutcry arena issue-key my-agent --name 'My agent'`, which prints the key once."
ROTATE_EXAMPLES = "**Example** `openoutcry arena rotate-key my-agent`; the old key is invalid at once."
EXPORT_EXAMPLES = "**Example** `openoutcry arena export season --data-dir arena`, for `openoutcry arena verify season`."
BACKUP_EXAMPLES = """
**Example** `openoutcry arena backup /srv/backup/2026-05-08 --data-dir arena`, also while it is served.

To restore, serve the copy: `openoutcry arena serve --data-dir /srv/backup/2026-05-08`. Later records are lost. Holders
of a receipt or a cosigned checkpoint of such a record can prove it.
"""


class Commands(TyperGroup):
    """Command group that prints errors of the Arena, files and databases in one line."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        from openoutcry.arena.protocol import ArenaError
        from openoutcry.arena.snapshots.item_kinds import SnapshotError

        try:
            return super().invoke(ctx)
        except ArenaError as error:
            echo_error(error)
            for each in error.more.get("rejected", ()):
                echo(f"rejected: {each['market_id']}: {each['reason']}", err=True)
            raise typer.Exit(2) from error
        except BrokenPipeError:
            # The reader of a pipe has closed it, which is not an error of the command.
            raise
        except SnapshotError as error:
            raise refusal("argument_invalid", str(error)) from error
        except (OSError, sqlite3.Error) as error:
            raise refusal(
                "argument_invalid", f"readable and writable files are required; received {describe_error(error)}"
            ) from error


def describe_error(error: Exception) -> str:
    """Return the operating system's message of an error, with the file name."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}" if error.filename is None else f"'{error.filename}': {error.strerror}"
    return str(error)


def checked_export(folder: Path) -> Path:
    """Return the folder of an export.

    Raises:
        OpenOutcryError: `argument_invalid`: there is no such folder, or it contains a pipe or a device.
    """
    if folder.is_dir():
        check_folder(folder, "an export")
        return folder
    why = "is not a folder" if folder.exists() else "does not exist"
    raise refusal("argument_invalid", f"a folder of an export is required; received '{folder}', which {why}")


@contextmanager
def _arena_extra() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("needs `pip install openoutcry[arena]`", name=error.name) from error


def lock_for_serving(folder: Path, database: str | None) -> AbstractContextManager[None]:
    """Lock an arena in a SQLite file for serving; PostgreSQL needs no lock."""
    with _arena_extra():
        from openoutcry.arena.store.arena_store import serving_lock

    return serving_lock(folder) if database is None or database.startswith("sqlite") else nullcontext()


def open_arena(folder: Path, database: str | None, *, base_rates: bytes | None = None) -> Arena:
    """Open the arena of a folder.

    Args:
        folder: Folder of the key.
        database: SQLAlchemy URL; None for a SQLite file in the folder.
        base_rates: JSON table of base rates of a new arena; None if the arena must exist.
    """
    with _arena_extra():
        from sqlalchemy.exc import SQLAlchemyError

        from openoutcry.arena.store.arena_store import KEY, NO_RATES, Arena
    if base_rates is None and not (folder / KEY).exists():
        raise refusal("argument_invalid", f"the folder of an arena with `{KEY}` is required; received '{folder}'")
    try:
        return Arena(folder, database, base_rates=base_rates or NO_RATES)
    except SQLAlchemyError as error:
        received = str(getattr(error, "orig", None) or error).partition("\n")[0]
        wanted = "the database of an arena is required"
        raise refusal("argument_invalid", f"{wanted}; received {without_password(received)}") from error


@app.command(epilog=SEASON_EXAMPLES, rich_help_panel=OPERATOR)
def season(
    name: str | None = typer.Argument(None, help="A quarter such as `2026Q2`, or `all`: print its leaderboard."),
    theater: str | None = typer.Option(None, help="Leaderboard of one region."),
    folder: Path = DATA,
    database: str | None = DATABASE,
) -> None:
    """List the seasons, or print the leaderboard of one."""
    from openoutcry.arena.protocol import THEATERS
    from openoutcry.arena.season_export import board_at, standings
    from openoutcry.arena.timestamps import format_timestamp, now, seasons

    if theater is not None and (theater not in THEATERS or name is None):
        wanted = f"`--theater` must be one of {', '.join(THEATERS)}, of a season"
        raise refusal("argument_invalid", f"{wanted}; received {theater!r}")
    with open_arena(folder, database) as arena:
        timestamp, state = now(), arena.state
        windows = seasons(state.began, timestamp)
        if name is not None:
            if name not in windows:
                raise refusal("argument_invalid", f"a season of {', '.join(windows)} is required; received {name!r}")
            for row in board_at(arena, timestamp, windows[name], theater).rows:
                scores = (row.brier, row.brier_skill_score, row.roi)
                columns = "  ".join(_score(each) for each in scores)
                echo(f"{row.rank or '-':>5}  {row.slug:40}  {row.n_scored:>6}  {columns}")
            return
        latest = "none" if state.latest is None else format_timestamp(state.latest)
        n_records = arena.writer.log.end.seq
        echo(f"log: {arena.key.verifier.name}, {counted(n_records, 'record')} since {state.began}")
        echo(f"agents: {len(state.agents):,}, snapshots: {len(state.snapshots):,}, newest {latest}")
        for each, (settled, scored) in standings(arena, timestamp, windows).items():
            best = f", first {scored[0].slug}" if scored else ""
            echo(f"{each}: {counted(settled, 'market')} with a result, {counted(len(scored), 'agent')} scored{best}")


def _score(value: float | None) -> str:
    return f"{'-' if value is None else format(value, '.4f'):>8}"


@app.command(epilog=MARKET_EXAMPLES, rich_help_panel=OPERATOR)
def market(
    market_id: str | None = typer.Argument(None, help="Show this market; by default list all."),
    status: str | None = typer.Option(None, help="`open`, `closed` or `settled`."),
    folder: Path = DATA,
    database: str | None = DATABASE,
) -> None:
    """List markets, or show one with its results in the log."""
    import json

    from openoutcry.arena.server.market_routes import list_markets
    from openoutcry.arena.store.read_queries import record_texts
    from openoutcry.arena.timestamps import format_timestamp, now

    with open_arena(folder, database) as arena:
        if market_id is None:
            for each in ("open", "closed", "settled") if status is None else (status,):
                for row in list_markets(arena.state, arena.reading, each, None, now())["markets"]:
                    line = f"{each:8} {row['decision_cutoff']}  {row['market_id']}  {row['outcome'] or ''}"
                    echo(line.rstrip())
            return
        found = _known(arena, market_id)
        echo(f"{found.market_id}: {found.question}")
        echo(f"theaters: {', '.join(found.theaters) or 'none'}")
        echo(f"cutoff: {format_timestamp(found.decision_cutoff)}, closes: {format_timestamp(found.settlement_at)}")
        echo(f"snapshots: {format_timestamp(found.first_as_of)} to {format_timestamp(found.last_as_of)}")
        with arena.reading.connect() as connection:
            for text in record_texts(connection):
                record = json.loads(text)
                if record["type"] == "resolution" and record["market_id"] == market_id:
                    outcome = f", {record['outcome']}" if record["outcome"] else ""
                    result = f"{record['status']}{outcome}, {record['at']}, by {record['source']}"
                    echo(f"record {record['seq']}: {result}")


def _known(arena: Arena, market_id: str) -> Market:
    from openoutcry.arena.protocol import ArenaError

    if market_id not in arena.state.markets:
        raise ArenaError("not_found", f"a market of a published snapshot is required; received {market_id!r}")
    return arena.state.markets[market_id]


@app.command(epilog=RESOLVE_EXAMPLES, rich_help_panel=OPERATOR)
def resolve(
    market_id: str = typer.Argument(help="The market."),
    status: str = typer.Argument(help="`determined`, `disputed`, `amended`, `finalized`, `void` or `scalar`."),
    outcome: str | None = typer.Option(None, help="`yes` or `no`, for a status with a result."),
    source: str = typer.Option("operator", help="Source of the result."),
    closed_at: str | None = typer.Option(None, help="Actual close, if earlier than scheduled."),
    folder: Path = DATA,
    database: str | None = DATABASE,
) -> None:
    """Record the result of a market; the newest result counts, and the log has all."""
    from openoutcry.arena.store.entry_writes import ResolveMarket
    from openoutcry.arena.timestamps import now, parse_timestamp

    close = None if closed_at is None else parse_timestamp("--closed-at", closed_at)
    with open_arena(folder, database) as arena:
        _resolve(arena, ResolveMarket(market_id, status, outcome, close, _source(source), now()))


def _source(text: str) -> str:
    from openoutcry.arena.protocol import MAX_REASONING
    from openoutcry.arena.request_schema import text_field

    return text_field("source", text, MAX_REASONING) or ""


def _resolve(arena: Arena, result: ResolveMarket) -> None:
    """Write a result; print it and the time from which it counts."""
    from openoutcry.arena.store.cached_state import GRACE
    from openoutcry.arena.timestamps import format_timestamp

    seq = arena.writer.write(result)
    line = f"record {seq}: {result.market_id} is {result.status}"
    if result.outcome is not None:
        line += f", {result.outcome}"
        cutoff = arena.state.markets[result.market_id].decision_cutoff
        final = result.at + GRACE if result.status == "determined" else result.at
        # Decisions are public, and so scored, after the cutoff.
        if max(cutoff, final) > result.at:
            why = "the market's cutoff" if cutoff > final else "unless it is disputed before"
            line += f"; it counts after {format_timestamp(max(cutoff, final))}, {why}"
    echo(line)


@app.command(epilog=AMEND_EXAMPLES, rich_help_panel=OPERATOR)
def amend(
    market_id: str = typer.Argument(help="A market with a result."),
    outcome: str = typer.Argument(help="`yes` or `no`."),
    source: str = typer.Option("operator", help="Source of the result."),
    folder: Path = DATA,
    database: str | None = DATABASE,
) -> None:
    """Correct a result; all scores are recomputed, and the log shows the correction."""
    from openoutcry.arena.protocol import ArenaError
    from openoutcry.arena.store.entry_writes import ResolveMarket
    from openoutcry.arena.timestamps import now

    with open_arena(folder, database) as arena:
        market = _known(arena, market_id)
        if market.status is None:
            wanted = f"a market with a result is required; received {market_id}, which has none"
            raise ArenaError("invalid_payload", f"{wanted}; hint: use `openoutcry arena resolve` for the first one")
        if market.outcome == outcome:
            raise ArenaError(
                "invalid_payload", f"a different result is required; received {outcome}, the result of {market_id}"
            )
        with report_score_changes(arena):
            close = market.actual_close_time
            _resolve(arena, ResolveMarket(market_id, "amended", outcome, close, _source(source), now()))


@contextmanager
def report_score_changes(arena: Arena) -> Iterator[None]:
    """Print the agents whose rank or scores change inside the block."""
    from openoutcry.arena.season_export import board_at
    from openoutcry.arena.timestamps import now

    def current() -> dict[str, tuple[str, ...]]:
        rows = board_at(arena, now()).rows
        scores = {row.slug: map(_score, (row.brier, row.brier_skill_score, row.roi)) for row in rows}
        return {row.slug: (str(row.rank or "-"), *map(str.strip, scores[row.slug])) for row in rows}

    before = current()
    yield
    names = ("rank", "Brier", "skill", "return")
    for slug, after in current().items():
        changes = zip(names, before.get(slug, ("-",) * len(names)), after, strict=True)
        changed = [f"{name} {old} to {new}" for name, old, new in changes if old != new]
        if changed:
            echo(f"{slug}: {', '.join(changed)}")


@app.command(epilog=SUSPEND_EXAMPLES, rich_help_panel=OPERATOR)
def suspend(
    slug: str = typer.Argument(help="The agent."),
    reason: str = typer.Argument(help="Reason; it is public."),
    lift: bool = typer.Option(False, "--lift", help="Lift the suspension."),
    folder: Path = DATA,
    database: str | None = DATABASE,
) -> None:
    """Suspend an agent or lift its suspension; the log records it."""
    from openoutcry.arena.protocol import MAX_REASONING
    from openoutcry.arena.request_schema import text_field
    from openoutcry.arena.store.entry_writes import SuspendAgent, require_agent
    from openoutcry.arena.timestamps import now

    public_reason = text_field("reason", reason, MAX_REASONING)
    if public_reason is None:
        raise refusal("argument_invalid", f"a reason, which becomes public, is required; received {reason!r}")
    with open_arena(folder, database) as arena:
        agent = require_agent(arena.state, slug.lower())
        if agent.suspended is not lift:
            wanted, actual = (
                ("an agent that is suspended", "is not") if lift else ("an agent that is not suspended", "is")
            )
            raise refusal("argument_invalid", f"{wanted} is required; received {agent.slug!r}, which {actual}")
        seq = arena.writer.write(SuspendAgent(agent.slug, not lift, public_reason, now()))
        echo(f"record {seq}: {agent.slug} {'may submit again' if lift else 'is suspended'}: {public_reason}")


@app.command("issue-key", epilog=ISSUE_EXAMPLES, rich_help_panel=OPERATOR)
def issue_key(
    slug: str = typer.Argument(help="Unique name: a-z, 0-9, `_` and `-`; it cannot be changed."),
    name: str | None = typer.Option(None, help="Display name."),
    folder: Path = DATA,
    database: str | None = DATABASE,
) -> None:
    """Register an agent, without the daily limit, and print its API key once."""
    from openoutcry.arena.request_schema import name_field, slug_field
    from openoutcry.arena.store.entry_writes import RegisterAgent
    from openoutcry.arena.timestamps import now

    with open_arena(folder, database) as arena:
        echo(arena.writer.write(RegisterAgent(slug_field("slug", slug), name_field(name), None, now())))


@app.command("rotate-key", epilog=ROTATE_EXAMPLES, rich_help_panel=OPERATOR)
def rotate_key(
    slug: str = typer.Argument(help="An agent whose key is lost or leaked."),
    folder: Path = DATA,
    database: str | None = DATABASE,
) -> None:
    """Replace the API key of an agent and print the new one once."""
    from openoutcry.arena.store.entry_writes import RotateKey
    from openoutcry.arena.timestamps import now

    with open_arena(folder, database) as arena:
        echo(arena.writer.write(RotateKey(slug.lower(), now())))


@app.command(epilog=EXPORT_EXAMPLES, rich_help_panel=OPERATOR)
def export(
    out: Path = typer.Argument(help="A new folder."), folder: Path = DATA, database: str | None = DATABASE
) -> None:
    """Export a season as files, from which it can be verified and recomputed."""
    from openoutcry.arena.season_export import export as write
    from openoutcry.arena.timestamps import now

    with open_arena(folder, database) as arena:
        echo(f"exported: {counted(write(arena, out, now()), 'record')} to {out}")


@app.command(epilog=BACKUP_EXAMPLES, rich_help_panel=OPERATOR)
def backup(out: Path = typer.Argument(help="A new folder."), folder: Path = DATA) -> None:
    """Copy an arena with its key, also while it is served, and verify the copy."""
    from openoutcry.arena.store.backup import backup as copy

    echo(f"backed up: {counted(copy(folder, out), 'record')} to {out}; it contains the log's private key")
