"""A bot of the Arena that submits decisions on every new snapshot. Replace `decide`; the rest is the protocol.

    openoutcry arena serve --practice
    python arena_bot.py my-bot --rounds 3

Stores its key in `my-bot.key` and each receipt in `ID.receipt.json`, which `openoutcry-verify receipt` checks. If the
server is unavailable, the bot waits and retries; if the server refuses the bot, for example after a suspension, it
exits with code 1. Needs `openoutcry[arena]`.
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
        market: An entry of `GET /markets`.
        items: Items of the snapshot in the theaters of the market: news, and counts of the sources.
    """
    price = market["yes_mid_price"]
    if price is None:
        return None
    # A placeholder, not a strategy: hostile theaters shift the price by a few cents.
    counts = [each for each in items if each["kind"] == "theater_intel" and each["gdelt_lean"] == "hostile"]
    probability = min(0.99, max(0.01, price + 0.03 * len(counts)))
    return {
        "yes_probability": round(probability, 6),
        "confidence": 0.5,
        "reasoning": f"{len(counts)} theaters are tense",
    }


def decisions(snapshot: dict, markets: list[dict]) -> list[dict]:
    """Return the decisions on the markets of a snapshot."""
    decided = []
    for market in markets[:500]:
        items = [each for each in snapshot["items"] if each.get("theater") in market["theaters"]]
        decision = decide(market, items)
        if decision is not None:
            decided.append({"market_id": market["market_id"], **decision})
    return decided


def report(line: str) -> None:
    """Print a line without buffering, so that a pipe receives it immediately."""
    print(line, flush=True)


def submit(client: ArenaClient, folder: Path) -> str:
    """Submit on the newest snapshot, store the receipt, and return the timestamp of the snapshot."""
    snapshot = retry_request(client.intel, report)
    as_of = snapshot["as_of"]
    decided = decisions(snapshot, retry_request(client.markets, report)["markets"])
    if not decided:
        report(f"no market to decide on at {as_of}")
        return as_of
    # With one idempotency key, a retry after a lost connection is the same submission.
    idempotency_key = secrets.token_hex(16)
    try:
        receipt = retry_request(partial(client.submit, as_of, decided, idempotency_key), report)
    except ArenaError as error:
        if "rejected" not in error.more:
            raise
        report(f"no decision accepted on {as_of}: {error}")
        return as_of
    path = save_receipt(receipt, folder)
    report(f"accepted on {as_of}: {receipt['n_markets_accepted']} of {receipt['n_markets_submitted']}, {path}")
    return as_of


def key_of(url: str, slug: str, folder: Path) -> str:
    """Return the key of the bot; register the bot if it has none."""
    path = folder / f"{slug}.key"
    if not path.exists():
        with ArenaClient(url) as client:
            key = retry_request(partial(client.register, slug), report)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(key + "\n")
    return path.read_text(encoding="utf-8").strip()


def run(url: str, slug: str, rounds: int, folder: Path) -> None:
    """Submit on a number of snapshots, each when it is published."""
    with ArenaClient(url, slug, key_of(url, slug, folder)) as client:
        latest = submit(client, folder)
        for _ in range(rounds - 1):
            while retry_request(client.markets, report)["as_of"] == latest:
                time.sleep(10)
            latest = submit(client, folder)


def main() -> int:
    """Run the bot and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("slug")
    parser.add_argument("--url", default="http://127.0.0.1:8420")
    parser.add_argument("--rounds", type=int, default=1, help="number of snapshots; one every ten minutes")
    parser.add_argument("--folder", type=Path, default=Path())
    options = parser.parse_args()
    try:
        run(options.url, options.slug.lower(), options.rounds, options.folder)
    except (ArenaError, OSError, httpx.HTTPError, httpx.InvalidURL) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
