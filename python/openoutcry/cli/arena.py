"""`openoutcry arena`: serve a competition, take part in it, operate it."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from openoutcry.cli import arena_operator, arena_scoring
from openoutcry.cli.arena_operator import DATA, DATABASE, Commands, describe_error, lock_for_serving, open_arena
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import OpenOutcryError

if TYPE_CHECKING:
    from openoutcry.arena.arena_client import ArenaClient
    from openoutcry.arena.season_scheduler import SeasonScheduler
    from openoutcry.arena.store.arena_store import Arena

app = typer.Typer(
    cls=Commands,
    help="A forecasting competition whose log nobody can rewrite unseen.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

SERVE_EXAMPLES = """
**Examples**

`openoutcry arena serve` and, elsewhere, `openoutcry arena register my-agent`

`openoutcry arena serve --port 8421 --data-dir /srv/arena --rate-key 0 --rate-anon 0 --register-cap 0`

A new folder begins with a demo season, all of it made up: open markets, and a snapshot every ten minutes. With
`--sandbox` the first cutoff comes after twenty seconds, the last after an hour; `arena resolve` settles them.

`openoutcry arena serve --plan shipped` asks real sources before every edge instead, and keeps what they say in
`captures`, from which `arena replay-season` makes the same snapshots again.
"""
WATCH_EXAMPLES = """
**Examples**

`openoutcry arena watch my-agent` prints a line for each snapshot, result and change of the agent's standing

`openoutcry arena watch --json | while read -r change; do echo "$change"; done`
"""
REGISTER_EXAMPLES = "**Example** `openoutcry arena register my-agent --name 'My agent'`, which prints the key once."
SUBMIT_EXAMPLES = """
**Example** `OPENOUTCRY_ARENA_KEY=tarena_... openoutcry arena submit my-agent decisions.json --receipt receipt.json`, of
`[{"market_id": "kalshi:...", "yes_probability": 0.04}]`. `openoutcry-verify receipt receipt.json --vkey ...` checks it.
"""
WITNESS_EXAMPLES = """
**Examples**

`openoutcry arena witness https://arena.example --dir witness --name witness.example/w1`, and with the key of the log
as you know it, `--vkey VKEY`

`openoutcry arena witness http://127.0.0.1:8420 --once` and, of an export, `openoutcry arena verify season --witness K`

The folder must not be the operator's: a witness that the operator can rewrite has seen nothing. Its key, which is
printed, goes to the operator for `arena serve --witness`. Exit code 1: the log went back, or has two histories; the
folder has both checkpoints, each signed by the log, in `evidence`. With `--once`, 2: nothing was signed, since no
server answered as one; 3: it was signed, and is kept in `cosigned`, and the log does not take it.
"""
QUESTIONS_EXAMPLES = "**Example** `openoutcry arena questions season --out questions.jsonl`, of an export."
REPLAY_EXAMPLES = "**Example** `openoutcry arena replay-season arena/captures --out again`, of a live season."
VERIFY_EXAMPLES = """
**Example** `openoutcry arena verify season --recompute-scores`, and with the log's key as you know it, `--vkey VKEY`
"""

PORT = 8420
URL = typer.Option(f"http://127.0.0.1:{PORT}", help="Where the Arena is.")
LIMITS = "How often somebody may ask; 0 for no bound"


def _limit(default: int, told: str) -> Any:
    return typer.Option(default, min=0, help=told, rich_help_panel=LIMITS)


@app.command(epilog=SERVE_EXAMPLES)
def serve(
    port: int = typer.Option(PORT, min=0, max=65535, help="Port; 0 for one that is free."),
    host: str = typer.Option("127.0.0.1", help="Address; 0.0.0.0 for all."),
    folder: Path = DATA,
    database: str | None = DATABASE,
    public: str = typer.Option("", help="Where the Arena is found, for links, such as `https://arena.example`."),
    witness: list[str] = typer.Option([], help="The key of a witness whose cosignatures are taken; may come again."),
    proxy: list[str] = typer.Option([], help="A network whose `X-Forwarded-For` is believed; may come again."),
    rate_key: int = _limit(60, "Requests a minute of each key."),
    rate_anon: int = _limit(60, "Requests a minute of each address without a key."),
    register_cap: int = _limit(5, "Registrations a day of each address."),
    plan: str | None = typer.Option(None, help="A live season: what to ask, of whom, as JSON; `shipped` for our own."),
    sandbox: bool = typer.Option(False, "--sandbox", help="A season to practise on: first cutoffs within minutes."),
) -> None:
    """Serve the Arena until it is interrupted."""
    import uvicorn

    from openoutcry.arena.demo_season import BASE_RATES
    from openoutcry.arena.scoring.operator_rules import table_of
    from openoutcry.arena.season_scheduler import SetSeasonKind
    from openoutcry.arena.app import create_app
    from openoutcry.arena.server.server_settings import Settings, parse_networks, parse_public_url, parse_witnesses

    # A season that is made up has a past that is made up, and says so.
    rates = table_of(json.dumps(BASE_RATES if plan is None else []).encode())
    settings = Settings(
        parse_public_url(public),
        rate_key,
        rate_anon,
        register_cap,
        parse_networks(tuple(proxy)),
        parse_witnesses(tuple(witness)),
    )
    with (
        _listening(host, port) as taken,
        lock_for_serving(folder, database),
        open_arena(folder, database, base_rates=rates) as arena,
    ):
        season, kind = _season(arena, plan, folder, is_sandbox=sandbox)
        arena.writer.write(SetSeasonKind(kind))
        season.start()
        place = f"{host}:{taken.getsockname()[1]}"
        typer.echo(f"arena: http://{place}, {len(arena.state.markets)} markets, {kind} season")
        typer.echo(f"key of the log: {arena.key.verifier}")
        # Whose `X-Forwarded-For` is believed is for `--proxy` to say, and not for uvicorn.
        config = uvicorn.Config(create_app(arena, settings), log_level="warning", access_log=False, proxy_headers=False)
        try:
            with suppress(KeyboardInterrupt):
                uvicorn.Server(config).run([taken])
        finally:
            season.stop()


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; a port of another ends all before it begins."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        told = f"an address that is free is required; received {host}:{port}: {describe_error(error)}"
        raise refusal("argument_invalid", told) from error


def _season(arena: Arena, plan: str | None, folder: Path, *, is_sandbox: bool) -> tuple[SeasonScheduler, str]:
    """Return what publishes, and its kind: a demo, or what the sources of a plan say."""
    from openoutcry.arena.demo_season import Demo
    from openoutcry.arena.season_scheduler import SeasonScheduler
    from openoutcry.arena.sources.live_season import Live
    from openoutcry.arena.sources.source_plan import read_plan, shipped_plan

    if plan is None:
        demo = Demo(datetime.now(timezone.utc), is_sandbox)
        return SeasonScheduler(arena, demo.snapshot), "practice" if is_sandbox else "demo"
    if is_sandbox:
        raise refusal(
            "argument_invalid", "`--sandbox` makes its season up, and `--plan` asks real sources; received both"
        )
    told = shipped_plan() if plan == "shipped" else read_plan(Path(plan).read_bytes(), Path(plan).parent)
    live = Live(told, folder / "captures")
    return SeasonScheduler(arena, live.snapshot, live.prepare), "live"


@app.command(epilog=REGISTER_EXAMPLES)
def register(
    slug: str = typer.Argument(help="a-z, 0-9, `_` and `-`; nobody else's, for good."),
    name: str | None = typer.Option(None, help="Name for people."),
    email: str | None = typer.Option(None, help="Shown to nobody."),
    url: str = URL,
) -> None:
    """Register an agent and print its key, which is shown once."""
    with _client(url) as client:
        typer.echo(client.register(slug, name, email))


@app.command(epilog=SUBMIT_EXAMPLES)
def submit(
    slug: str = typer.Argument(help="The agent; its key is in `OPENOUTCRY_ARENA_KEY`."),
    decisions: Path = typer.Argument(help="A JSON list of decisions; `-` for standard input."),
    receipt: Path | None = typer.Option(None, help="A new file for the receipt; by default one named by its id."),
    as_of: str | None = typer.Option(None, help="The snapshot that was decided on; the newest by default."),
    url: str = URL,
) -> None:
    """Submit decisions and keep the receipt."""
    from openoutcry.arena.arena_client import save_receipt
    from openoutcry.arena.timestamps import parse_timestamp

    if receipt is not None and (receipt.exists() or not receipt.parent.is_dir()):
        raise refusal("argument_invalid", f"a new file in a folder that is there is required; received '{receipt}'")
    if as_of is not None:
        parse_timestamp("--as-of", as_of)
    told = _decisions(decisions)
    key = os.environ.get("OPENOUTCRY_ARENA_KEY", "")
    if not (key and key.isascii() and key.isprintable()):
        raise refusal("argument_invalid", "`OPENOUTCRY_ARENA_KEY` must hold the agent's key; received none")
    with _client(url, slug, key) as client:
        snapshot = as_of or str(client.markets()["as_of"])
        # Typed again, after a connection that broke, the same is told the same.
        again = sha256(json.dumps([snapshot, told]).encode()).hexdigest()
        found = client.submit(snapshot, told, again)
    kept = save_receipt(found, receipt or Path())
    typer.echo(f"accepted: {found['n_markets_accepted']} of {found['n_markets_submitted']}, {found['submission_id']}")
    for each in found["rejected"]:
        typer.echo(f"rejected: {each['market_id']}: {each['reason']}")
    typer.echo(f"receipt: {kept}")


def _decisions(path: Path) -> list[dict[str, Any]]:
    """Return the decisions of a file, or of standard input."""
    from openoutcry.arena.protocol import shown

    try:
        told = json.loads(sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes())
        # What Python reads beside JSON, such as NaN, no server takes.
        json.dumps(told, allow_nan=False)
    except (OSError, ValueError, RecursionError) as error:
        why = describe_error(error) if isinstance(error, OSError) else f"'{path}', which holds something else"
        if isinstance(error, json.JSONDecodeError):
            why = f"'{path}', which is none at line {error.lineno}, column {error.colno}"
        raise refusal("argument_invalid", f"decisions must be a file of JSON, or `-`; received {why}") from error
    if not isinstance(told, list) or not all(isinstance(each, dict) for each in told):
        raise refusal("argument_invalid", f"decisions must be a JSON list of objects; received {shown(told)}")
    return told


@app.command(epilog=WATCH_EXAMPLES)
def watch(
    slug: str | None = typer.Argument(None, help="An agent whose standing is told, too."),
    every: float = typer.Option(30.0, min=1.0, help="Seconds between two looks."),
    once: bool = typer.Option(False, "--once", help="Tell how things stand, and end."),
    as_json: bool = typer.Option(False, "--json", help="Print each change as JSON."),
    url: str = URL,
) -> None:
    """Tell of new snapshots, of results and of an agent's standing."""
    from openoutcry.arena.event_stream import Watch, format_event

    with _client(url) as client:
        watcher = Watch(client, slug)
        while True:
            for change in watcher.poll():
                if once and watcher.is_unreachable:
                    typer.echo(
                        f"error: a server of the Arena at {url} is required; received {change['detail']}", err=True
                    )
                    raise typer.Exit(2)
                typer.echo(json.dumps(change) if as_json else format_event(change))
            if once:
                return
            time.sleep(max(every, watcher.pause))


@app.command(epilog=VERIFY_EXAMPLES)
def verify(
    folder: Path = typer.Argument(help="What was exported."),
    vkey: str | None = typer.Option(None, help="The log's key as you know it; by default its own."),
    witness: list[str] = typer.Option([], help="The key of a witness that must have signed; may come again."),
    recompute: bool = typer.Option(False, "--recompute-scores", help="Also that the scores are what the log makes."),
    as_json: bool = typer.Option(False, "--json", help="Print the faults as JSON."),
) -> None:
    """Check an export: records, chain, tree, what was opened. Exit code 1: a fault."""
    from openoutcry.arena.log.export_audit import Fault, audit
    from openoutcry.arena.season_export import score_faults

    faults = audit(folder, vkey, witness)
    if recompute:
        faults += [Fault("scores.json", None, each) for each in score_faults(folder)]
    if as_json:
        typer.echo(json.dumps([each._asdict() for each in faults]))
    else:
        for each in faults:
            typer.echo(str(each))
        typer.echo("ok" if not faults else f"{len(faults):,} faults")
    raise typer.Exit(int(bool(faults)))


@app.command(epilog=WITNESS_EXAMPLES)
def witness(
    url: str = typer.Argument(f"http://127.0.0.1:{PORT}", help="Where the Arena is."),
    folder: Path = typer.Option(Path("witness"), "--dir", help="Folder of the witness: its key, and what it has seen."),
    name: str | None = typer.Option(None, help="Name of a new key, such as `witness.example/w1`; or `witness.local`."),
    vkey: str | None = typer.Option(None, help="The log's key as you know it; by default the first that it tells."),
    once: bool = typer.Option(False, "--once", help="Look once, not until it is interrupted."),
    every: float = typer.Option(60.0, min=1.0, help="Seconds between two looks."),
) -> None:
    """Cosign the log of an Arena as long as it only grows."""
    import httpx

    from openoutcry.arena.timestamps import now
    from openoutcry.arena.witness import Misbehaviour, Witness

    with closing(Witness(folder, url, name)) as found, suppress(KeyboardInterrupt):
        typer.echo(f"key of the witness: {found.key.verifier}")
        if vkey is not None:
            found.pin_log_key(vkey)
        while True:
            try:
                found.pin_log_key()
                seen = found.cosign(now())
                if seen.rejection:
                    typer.echo(f"cosigned: {seen.size:,} records; the log does not take it: {seen.rejection}", err=True)
                    if once:
                        raise typer.Exit(3)
                else:
                    typer.echo(f"cosigned: {seen.size:,} records")
            except Misbehaviour as error:
                typer.echo(f"MISBEHAVIOUR: {error}", err=True)
                raise typer.Exit(1) from error
            except (httpx.HTTPError, OpenOutcryError) as error:
                # What passes by, such as a server that starts anew, is no reason to look away for good.
                left = _away(url, error)
                if once:
                    raise left from error
            if once:
                return
            time.sleep(every)


@app.command("replay-season", epilog=REPLAY_EXAMPLES)
def replay_season(
    folder: Path = typer.Argument(help="Captures, a folder an edge."),
    out: Path = typer.Option(..., help="A new folder."),
) -> None:
    """Make the snapshots of a season again from what its sources said, byte for byte."""
    from openoutcry.arena.sources.captures import replay

    if out.exists() and any(out.iterdir()):
        raise refusal("argument_invalid", f"snapshots must go to an empty folder; received '{out}'")
    made = [(f"{each.as_of:%Y-%m-%dT%H-%M-%SZ}.json", each.body) for each in replay(folder)]
    out.mkdir(parents=True, exist_ok=True)
    for name, body in made:
        (out / name).write_bytes(body)
    typer.echo(f"snapshots: {len(made):,} in {out}")


@app.command(epilog=QUESTIONS_EXAMPLES)
def questions(
    folder: Path = typer.Argument(help="What was exported, after markets were settled."),
    out: Path = typer.Option(..., help="A file of JSON lines, a question each."),
    split: str | None = typer.Option(None, help="`train`, `validation` or `test`; all by default."),
    every_hours: float = typer.Option(24.0, help="Hours between two questions on a market."),
    embargo_hours: float = typer.Option(24.0, help="Hours from a split's end to the next's first question."),
    settling_hours: float = typer.Option(72.0, help="Hours after a market's close until its result is due."),
    vkey: str | None = typer.Option(None, help="The log's key as you know it; by default the export's own."),
) -> None:
    """Make questions of a past season to train on, each of what was known at its time."""
    from openoutcry.arena.dataset_splits import EMPTY, SPLITS, Sampling
    from openoutcry.arena.past_questions import PastSeason

    if split is not None and split not in SPLITS:
        raise refusal("argument_invalid", f"a split of {', '.join(SPLITS)} is required; received {split!r}")
    sampling = Sampling(every_hours, embargo_hours, settling_hours)
    if out.exists():
        raise refusal("argument_invalid", f"a file that is not there yet is required; received '{out}'")
    season = PastSeason.read(folder, vkey)
    layout, asked = season.layout(sampling), set[str]()
    found = dict.fromkeys(SPLITS if split is None else [split], 0)
    # Whole, or not there: rows that end in the middle would train as well.
    begun = out.with_name(f"{out.name}.tmp")
    with begun.open("w", encoding="utf-8") as file:
        for each in season.questions(sampling):
            asked.add(each.market_id)
            if each.split in found:
                file.write(each.to_line())
                found[each.split] += 1
    if not any(found.values()):
        begun.unlink()
        raise refusal("argument_invalid", f"{EMPTY}; received {split or 'all'!r}, of none: {layout.told(asked)}")
    begun.replace(out)
    if layout.warning is not None:
        typer.echo(f"warning: {layout.warning}", err=True)
    typer.echo(f"verified: {season.vkey}")
    typer.echo(f"questions: {', '.join(f'{count:,} {name}' for name, count in found.items())} in {out}")
    typer.echo(f"of {layout.told(asked)}")


def _away(url: str, why: Exception | str) -> typer.Exit:
    """Say that nobody has answered as an Arena, and return how a command ends."""
    from openoutcry.arena.protocol import transport_failure

    why = transport_failure(why) if isinstance(why, Exception) else why
    typer.echo(f"error: a server of the Arena at {url} is required; received {why}", err=True)
    return typer.Exit(2)


@contextmanager
def _client(url: str, slug: str = "", key: str | None = None) -> Iterator[ArenaClient]:
    import httpx

    from openoutcry.arena.arena_client import ArenaClient

    with ArenaClient(url, slug.lower(), key) as client:
        try:
            yield client
        except httpx.TransportError as error:
            raise _away(url, error) from error


app.add_typer(arena_operator.app)
app.add_typer(arena_scoring.app)
