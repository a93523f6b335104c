"""A bot of the Arena that decides on every new snapshot. Fork it: `decide` is yours, the rest is the protocol.

    openoutcry arena serve --sandbox
    python arena_bot.py my-bot --rounds 3

Keeps its key in `my-bot.key` and the receipt of every submission in a file of its own, `ID.receipt.json`, which
`openoutcry-verify receipt` checks. A server that is away is waited for; one that refuses the bot, such as one that has
suspended it, ends it with exit code 1. Needs `openoutcry[arena]`.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import time
from functools import partial
from pathlib import Path

import httpx

from openoutcry.arena.arena_client import ArenaClient, retry_request, save_receipt
from openoutcry.arena.protocol import ArenaError


def decide(market: dict, items: list[dict]) -> dict | None:
    """Return a probability of YES for a market, or None to pass.

    Args:
        market: As `GET /markets` has it.
        items: What the snapshot says of its theaters: news, and what the sources count.
    """
    price = market["yes_mid_price"]
    if price is None:
        return None
    # Tension shifts the price by a few cents. It is a place for what you know, not a strategy.
    counts = [each for each in items if each["kind"] == "theater_intel" and each["gdelt_lean"] == "hostile"]
    probability = min(0.99, max(0.01, price + 0.03 * len(counts)))
    return {
        "yes_probability": round(probability, 6),
        "confidence": 0.5,
        "reasoning": f"{len(counts)} theaters are tense",
    }


def decisions(snapshot: dict, markets: list[dict]) -> list[dict]:
    """Return what is decided on a snapshot."""
    made = []
    for market in markets[:500]:
        items = [each for each in snapshot["items"] if each.get("theater") in market["theaters"]]
        told = decide(market, items)
        if told is not None:
            made.append({"market_id": market["market_id"], **told})
    return made


def told(line: str) -> None:
    """Say a line at once, whoever reads."""
    print(line, flush=True)


def submit(client: ArenaClient, folder: Path) -> str:
    """Submit on the newest snapshot, keep the receipt, and return the snapshot's moment."""
    snapshot = retry_request(client.intel, told)
    as_of = snapshot["as_of"]
    made = decisions(snapshot, retry_request(client.markets, told)["markets"])
    if not made:
        told(f"nothing to decide on {as_of}")
        return as_of
    # Sent again under one key after a connection that broke, it is one submission.
    again = secrets.token_hex(16)
    try:
        receipt = retry_request(partial(client.submit, as_of, made, again), told)
    except ArenaError as error:
        if "rejected" not in error.more:
            raise
        told(f"nothing accepted on {as_of}: {error}")
        return as_of
    kept = save_receipt(receipt, folder)
    told(f"accepted on {as_of}: {receipt['n_markets_accepted']} of {receipt['n_markets_submitted']}, {kept}")
    return as_of


def key_of(url: str, slug: str, folder: Path) -> str:
    """Return the bot's key, registered where there is none."""
    path = folder / f"{slug}.key"
    if not path.exists():
        with ArenaClient(url) as client:
            key = retry_request(partial(client.register, slug), told)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(key + "\n")
    return path.read_text(encoding="utf-8").strip()


def run(url: str, slug: str, rounds: int, folder: Path) -> None:
    """Submit on so many snapshots, as they come."""
    with ArenaClient(url, slug, key_of(url, slug, folder)) as client:
        latest = submit(client, folder)
        for _ in range(rounds - 1):
            while retry_request(client.markets, told)["as_of"] == latest:
                time.sleep(10)
            latest = submit(client, folder)


def main() -> int:
    """Run the bot; 1 where it is refused."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("slug")
    parser.add_argument("--url", default="http://127.0.0.1:8420")
    parser.add_argument("--rounds", type=int, default=1, help="snapshots to decide on; one each ten minutes")
    parser.add_argument("--folder", type=Path, default=Path())
    given = parser.parse_args()
    try:
        run(given.url, given.slug.lower(), given.rounds, given.folder)
    except (ArenaError, OSError, httpx.HTTPError, httpx.InvalidURL) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
