"""`openoutcry arena`: serve the Arena, submit to it, verify its log."""

from __future__ import annotations

import json
import os
import socket
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
from openoutcry.errors import refusal, without_password
from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.untrusted.bounded_file import DOCUMENT_BYTES, read_bytes, read_input
from openoutcry.untrusted.counted_nouns import counted
from openoutcry.untrusted.terminal import echo, echo_error, echo_json, echo_lines

if TYPE_CHECKING:
    from openoutcry.arena.arena_client import ArenaClient
    from openoutcry.arena.season_scheduler import SeasonScheduler
    from openoutcry.arena.store.arena_store import Arena

app = typer.Typer(
    cls=Commands,
    help="Serve, enter and verify a forecasting competition with a public log.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

SERVE_EXAMPLES = """
**Examples**

`openoutcry arena serve` and, elsewhere, `openoutcry arena register my-agent`

`openoutcry arena serve --port 8421 --data-dir /srv/arena --rate-key 0 --rate-anon 0 --register-cap 0`

A new folder starts with a synthetic demo season: open markets, and a snapshot every ten minutes. With `--practice` the
first cutoff is after twenty seconds and the last after an hour; `arena resolve` settles the markets.

`openoutcry arena serve --plan shipped` fetches real sources before each snapshot instead, and stores the responses in
`captures`, from which `arena replay-season` recomputes the same snapshots.
"""
WATCH_EXAMPLES = """
**Examples**

`openoutcry arena watch my-agent` prints a line for each snapshot, result and change of the agent's scores

`openoutcry arena watch --json | while read -r change; do echo "$change"; done`
"""
REGISTER_EXAMPLES = "**Example** `openoutcry arena register my-agent --name 'My agent'`, which prints the key once."
SUBMIT_EXAMPLES = """
**Example** `OPENOUTCRY_ARENA_KEY=tarena_... openoutcry arena submit my-agent decisions.json --receipt receipt.json`:
`[{"market_id": "kalshi:...", "yes_probability": 0.04}]`. `openoutcry-verify receipt receipt.json --vkey ...` checks it.
"""
WITNESS_EXAMPLES = """
**Examples**

`openoutcry arena witness https://arena.example --dir witness --name witness.example/w1`; add `--vkey VKEY` if you know
the key of the log

`openoutcry arena witness http://127.0.0.1:8420 --once`; for an export, `openoutcry arena verify season --witness K`

Keep the folder out of the operator's reach. Give the printed key to the operator for `arena serve --witness`. Exit code
1: the log shrank or has two histories; both checkpoints, each signed by the log, are in `evidence`. With `--once`, exit
code 2: no Arena responded, and nothing was signed; 3: the cosignature is stored in `cosigned`, but the log rejected it.
"""
QUESTIONS_EXAMPLES = "**Example** `openoutcry arena questions season --out questions.jsonl`, after an export."
REPLAY_EXAMPLES = "**Example** `openoutcry arena replay-season arena/captures --out again`, for a live season."
VERIFY_EXAMPLES = """
**Example** `openoutcry arena verify season --recompute-scores`; add `--vkey VKEY` if you know the key of the log
"""

PORT = 8420
URL = typer.Option(f"http://127.0.0.1:{PORT}", help="Address of the Arena.")
LIMITS = "Rate limits; 0 for no limit"


def _limit(default: int, text: str) -> Any:
    return typer.Option(default, min=0, help=text, rich_help_panel=LIMITS)


@app.command(epilog=SERVE_EXAMPLES)
def serve(
    port: int = typer.Option(PORT, min=0, max=65535, help="Port; 0 for a free one."),
    host: str = typer.Option("127.0.0.1", help="Listen address; 0.0.0.0 for all interfaces."),
    folder: Path = DATA,
    database: str | None = DATABASE,
    public: str = typer.Option("", help="Public address for links, such as `https://arena.example`."),
    witness: list[str] = typer.Option([], help="Public key of a witness to accept; repeatable."),
    proxy: list[str] = typer.Option([], help="Network of a proxy whose `X-Forwarded-For` is trusted; repeatable."),
    rate_key: int = _limit(60, "Requests per minute for each key."),
    rate_anon: int = _limit(60, "Requests per minute for each address without a key."),
    register_cap: int = _limit(5, "Registrations per day for each address."),
    plan: str | None = typer.Option(None, help="Live season: JSON file of its sources, or `shipped`."),
    practice: bool = typer.Option(False, "--practice", help="Synthetic practice season; first cutoffs in minutes."),
) -> None:
    """Serve the Arena until interrupted."""
    import uvicorn

    from openoutcry.arena.app import create_app
    from openoutcry.arena.demo_season import BASE_RATES
    from openoutcry.arena.scoring.operator_rules import canonical_rate_table
    from openoutcry.arena.season_scheduler import SetSeasonKind
    from openoutcry.arena.server.server_settings import Settings, parse_networks, parse_public_url, parse_witnesses

    # A synthetic season has synthetic base rates, labelled as such.
    rates = canonical_rate_table(json.dumps(BASE_RATES if plan is None else []).encode())
    networks, witness_keys = parse_networks(tuple(proxy)), parse_witnesses(tuple(witness))
    settings = Settings(parse_public_url(public), rate_key, rate_anon, register_cap, networks, witness_keys)
    with (
        _listening(host, port) as taken,
        lock_for_serving(folder, database),
        open_arena(folder, database, base_rates=rates) as arena,
    ):
        season, kind = _season(arena, plan, folder, is_practice=practice)
        arena.writer.write(SetSeasonKind(kind))
        season.start()
        place = f"{host}:{taken.getsockname()[1]}"
        echo(f"arena: http://{place}, {counted(len(arena.state.markets), 'market')}, {kind} season")
        echo(f"key of the log: {arena.key.verifier}")
        # `--proxy` decides which `X-Forwarded-For` is trusted, not uvicorn.
        config = uvicorn.Config(create_app(arena, settings), log_level="warning", access_log=False, proxy_headers=False)
        try:
            with suppress(KeyboardInterrupt):
                uvicorn.Server(config).run([taken])
        finally:
            season.stop()


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        wanted = "a free address is required"
        raise refusal("argument_invalid", f"{wanted}; received {host}:{port}: {describe_error(error)}") from error


def _season(arena: Arena, plan: str | None, folder: Path, *, is_practice: bool) -> tuple[SeasonScheduler, str]:
    """Return the scheduler of a season, and its kind: `demo`, `practice` or `live`."""
    from openoutcry.arena.demo_season import Demo
    from openoutcry.arena.season_scheduler import SeasonScheduler
    from openoutcry.arena.sources.live_season import LiveSeason
    from openoutcry.arena.sources.source_plan import default_plan, read_plan

    if plan is None:
        demo = Demo(datetime.now(timezone.utc), is_practice)
        return SeasonScheduler(arena, demo.snapshot), "practice" if is_practice else "demo"
    if is_practice:
        raise refusal("argument_invalid", "`--practice` without `--plan` is required; received both")
    stated = None if plan == "shipped" else read_bytes(plan, DOCUMENT_BYTES, "`--plan`")
    sources = default_plan() if stated is None else read_plan(stated, Path(plan).parent)
    live = LiveSeason(sources, folder / "captures")
    return SeasonScheduler(arena, live.snapshot, live.prepare), "live"


@app.command(epilog=REGISTER_EXAMPLES)
def register(
    slug: str = typer.Argument(help="Unique name: a-z, 0-9, `_` and `-`; it cannot be changed."),
    name: str | None = typer.Option(None, help="Display name."),
    email: str | None = typer.Option(None, help="Contact address; never shown."),
    url: str = URL,
) -> None:
    """Register an agent and print its API key, which is shown once."""
    with _client(url) as client:
        echo(client.register(slug, name, email))


@app.command(epilog=SUBMIT_EXAMPLES)
def submit(
    slug: str = typer.Argument(help="The agent; its key must be in `OPENOUTCRY_ARENA_KEY`."),
    decisions: Path = typer.Argument(help="JSON file with a list of decisions; `-` for standard input."),
    receipt: Path | None = typer.Option(None, help="New file for the receipt; by default named by its id."),
    as_of: str | None = typer.Option(None, help="Snapshot that the decisions are based on; the newest by default."),
    url: str = URL,
) -> None:
    """Submit decisions and save the receipt."""
    from openoutcry.arena.arena_client import save_receipt
    from openoutcry.arena.timestamps import parse_timestamp

    if receipt is not None and (receipt.exists() or not receipt.parent.is_dir()):
        raise refusal("argument_invalid", f"`--receipt` must be a new file in an existing folder; received '{receipt}'")
    if as_of is not None:
        parse_timestamp("--as-of", as_of)
    submitted = _decisions(decisions)
    key = os.environ.get("OPENOUTCRY_ARENA_KEY", "")
    if not (key and key.isascii() and key.isprintable()):
        raise refusal("argument_invalid", "`OPENOUTCRY_ARENA_KEY` must be the agent's API key; received none")
    with _client(url, slug, key) as client:
        snapshot = as_of or str(client.markets()["as_of"])
        # Repeating the command after a broken connection returns the same receipt.
        idempotency_key = sha256(json.dumps([snapshot, submitted]).encode()).hexdigest()
        reply = client.submit(snapshot, submitted, idempotency_key)
    path = save_receipt(reply, receipt or Path())
    echo(f"accepted: {reply['n_markets_accepted']} of {reply['n_markets_submitted']}, {reply['submission_id']}")
    for each in reply["rejected"]:
        echo(f"rejected: {each['market_id']}: {each['reason']}")
    echo(f"receipt: {path}")


def _decisions(path: Path) -> list[dict[str, Any]]:
    """Return the decisions of a file, or of standard input."""
    from openoutcry.arena.protocol import shown

    try:
        decisions = json.loads(read_input(path, DOCUMENT_BYTES, "decisions"))
        # Python also parses non-JSON values such as NaN, which a server refuses.
        json.dumps(decisions, allow_nan=False)
    except (OSError, ValueError, RecursionError) as error:
        why = describe_error(error) if isinstance(error, OSError | OpenOutcryError) else f"'{path}', which is not JSON"
        if isinstance(error, json.JSONDecodeError):
            why = f"'{path}', which is invalid at line {error.lineno}, column {error.colno}"
        raise refusal("argument_invalid", f"decisions must be a JSON file or `-`; received {why}") from error
    if not isinstance(decisions, list) or not all(isinstance(each, dict) for each in decisions):
        raise refusal("argument_invalid", f"decisions must be a JSON list of objects; received {shown(decisions)}")
    return decisions


@app.command(epilog=WATCH_EXAMPLES)
def watch(
    slug: str | None = typer.Argument(None, help="Also watch the scores of this agent."),
    every: float = typer.Option(30.0, min=1.0, help="Seconds between two polls."),
    once: bool = typer.Option(False, "--once", help="Print the current state and exit."),
    as_json: bool = typer.Option(False, "--json", help="Print each event as JSON."),
    url: str = URL,
) -> None:
    """Print new snapshots, new results and changes of an agent's scores."""
    from openoutcry.arena.event_stream import Watch, format_event

    with _client(url) as client:
        watcher = Watch(client, slug)
        show = echo_json if as_json else lambda event: echo(format_event(event))
        while True:
            for event in watcher.poll():
                if once and watcher.is_unreachable:
                    raise _report_no_arena(url, event["detail"])
                show(event)
            if once:
                return
            time.sleep(max(every, watcher.pause))


@app.command(epilog=VERIFY_EXAMPLES)
def verify(
    folder: Path = typer.Argument(help="Folder of an export."),
    vkey: str | None = typer.Option(None, help="Trusted public key of the log; by default the export's own key."),
    witness: list[str] = typer.Option([], help="Public key of a witness that must have cosigned; repeatable."),
    recompute: bool = typer.Option(False, "--recompute-scores", help="Also recompute the scores from the log."),
    as_json: bool = typer.Option(False, "--json", help="Print the faults as JSON."),
) -> None:
    """Verify the records, chain, tree and revealed decisions of an export.

    Exit code 1: a fault.
    """
    from openoutcry.arena.log.export_audit import Fault, audit
    from openoutcry.arena.season_export import score_faults

    faults = audit(arena_operator.checked_export(folder), vkey, witness)
    if recompute:
        faults += [Fault("scores.json", None, each) for each in score_faults(folder)]
    if as_json:
        echo_json([each._asdict() for each in faults])
    else:
        echo_lines([*faults, counted(len(faults), "fault") if faults else "ok"])
    raise typer.Exit(int(bool(faults)))


@app.command(epilog=WITNESS_EXAMPLES)
def witness(
    url: str = typer.Argument(f"http://127.0.0.1:{PORT}", help="Address of the Arena."),
    folder: Path = typer.Option(Path("witness"), "--dir", help="Folder of the witness: key and last checkpoint."),
    name: str | None = typer.Option(None, help="Name of a new key, such as `witness.example/w1`."),
    vkey: str | None = typer.Option(None, help="Trusted public key of the log; by default the first one seen."),
    once: bool = typer.Option(False, "--once", help="Cosign once and exit."),
    every: float = typer.Option(60.0, min=1.0, help="Seconds between two polls."),
) -> None:
    """Cosign the checkpoints of an Arena's log while they are consistent."""
    import httpx

    from openoutcry.arena.timestamps import now
    from openoutcry.arena.witness import Misbehaviour, Witness

    with closing(Witness(folder, url, name)) as watcher, suppress(KeyboardInterrupt):
        echo(f"key of the witness: {watcher.key.verifier}")
        if vkey is not None:
            watcher.pin_log_key(vkey)
        while True:
            try:
                watcher.pin_log_key()
                cosigned = watcher.cosign(now())
                if why := cosigned.rejection:
                    echo(f"cosigned: {counted(cosigned.size, 'record')}; the log rejected it: {why}", err=True)
                    if once:
                        raise typer.Exit(3)
                else:
                    echo(f"cosigned: {counted(cosigned.size, 'record')}")
            except Misbehaviour as error:
                echo(f"MISBEHAVIOUR: {error}", err=True)
                raise typer.Exit(1) from error
            except (httpx.HTTPError, OpenOutcryError) as error:
                # Temporary failures, such as a restarting server, do not end the witness.
                exit_code = _report_no_arena(url, error)
                if once:
                    raise exit_code from error
            if once:
                return
            time.sleep(every)


@app.command("replay-season", epilog=REPLAY_EXAMPLES)
def replay_season(
    folder: Path = typer.Argument(help="Folder of captures."),
    out: Path = typer.Option(..., help="A new folder."),
) -> None:
    """Recompute the snapshots of a season from its captures, byte for byte."""
    from openoutcry.arena.sources.captures import replay

    if out.exists() and any(out.iterdir()):
        raise refusal("argument_invalid", f"snapshots must go to an empty folder; received '{out}'")
    snapshots = [(f"{each.as_of:%Y-%m-%dT%H-%M-%SZ}.json", each.body) for each in replay(folder)]
    out.mkdir(parents=True, exist_ok=True)
    for name, body in snapshots:
        (out / name).write_bytes(body)
    echo(f"snapshots: {len(snapshots):,} in {out}")


@app.command(epilog=QUESTIONS_EXAMPLES)
def questions(
    folder: Path = typer.Argument(help="Folder of an export with settled markets."),
    out: Path = typer.Option(..., help="New JSON Lines file, one question per line."),
    split: str | None = typer.Option(None, help="`train`, `validation` or `test`; all by default."),
    every_hours: float = typer.Option(24.0, help="Hours between two questions on a market."),
    embargo_hours: float = typer.Option(24.0, help="Hours from the end of a split to the first question of the next."),
    settling_hours: float = typer.Option(72.0, help="Hours after a market's close until its result is due."),
    vkey: str | None = typer.Option(None, help="Trusted public key of the log; by default the export's own key."),
) -> None:
    """Write forecast questions of a past season, with the information of their time."""
    from openoutcry.arena.dataset_splits import EMPTY, SPLITS, Sampling
    from openoutcry.arena.past_questions import PastSeason

    if split is not None and split not in SPLITS:
        raise refusal("argument_invalid", f"a split of {', '.join(SPLITS)} is required; received {split!r}")
    sampling = Sampling(every_hours, embargo_hours, settling_hours)
    if out.exists():
        raise refusal("argument_invalid", f"`--out` must be a new file; received '{out}'")
    season = PastSeason.read(folder, vkey)
    layout, with_questions = season.layout(sampling), set[str]()
    counts = dict.fromkeys(SPLITS if split is None else [split], 0)
    # Renamed when complete: training on a truncated file would not fail.
    partial = out.with_name(f"{out.name}.tmp")
    with partial.open("w", encoding="utf-8") as file:
        for each in season.questions(sampling):
            with_questions.add(each.market_id)
            if each.split in counts:
                file.write(each.to_line())
                counts[each.split] += 1
    if not any(counts.values()):
        partial.unlink()
        raise refusal("argument_invalid", f"{EMPTY}; received {split or 'all'!r}: {layout.describe(with_questions)}")
    partial.replace(out)
    if layout.warning is not None:
        echo(f"warning: {layout.warning}", err=True)
    echo(f"verified: {season.vkey}")
    echo(f"questions: {', '.join(f'{count:,} {name}' for name, count in counts.items())} in {out}")
    echo(f"of {layout.describe(with_questions)}")


def _report_no_arena(url: str, why: Exception | str) -> typer.Exit:
    """Print that no Arena responded, and return the exit of the command."""
    from openoutcry.arena.protocol import transport_failure

    why = transport_failure(why) if isinstance(why, Exception) else why
    echo_error(f"an Arena server at {without_password(url)} is required; received {why}")
    return typer.Exit(2)


@contextmanager
def _client(url: str, slug: str = "", key: str | None = None) -> Iterator[ArenaClient]:
    import httpx

    from openoutcry.arena.arena_client import ArenaClient

    with ArenaClient(url, slug.lower(), key) as client:
        try:
            yield client
        except httpx.TransportError as error:
            raise _report_no_arena(url, error) from error


app.add_typer(arena_operator.app)
app.add_typer(arena_scoring.app)
