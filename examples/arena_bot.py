"""A bot of the Arena that decides on every new snapshot. Fork it: `decide` is yours, the rest is the protocol.

    openoutcry arena serve --sandbox
    python arena_bot.py my-bot --rounds 3

Keeps its key in `my-bot.key` and a receipt of every submission in `my-bot.receipts.jsonl`. Needs `openoutcry[arena]`.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

from openoutcry.arena.client import ArenaClient
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


def submit(client: ArenaClient, folder: Path) -> str:
    """Submit on the newest snapshot, keep the receipt, and return the snapshot's moment."""
    found = client.markets()
    made = decisions(client.intel(found["as_of"]), found["markets"])
    try:
        receipt = client.submit(found["as_of"], made)
    except ArenaError as error:
        print(f"nothing accepted on {found['as_of']}: {error}")
        return found["as_of"]
    with (folder / f"{client.slug}.receipts.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(receipt) + "\n")
    print(f"accepted on {found['as_of']}: {receipt['n_markets_accepted']} of {receipt['n_markets_submitted']}")
    return found["as_of"]


def key_of(url: str, slug: str, folder: Path) -> str:
    """Return the bot's key, registered where there is none."""
    path = folder / f"{slug}.key"
    if not path.exists():
        with ArenaClient(url) as client:
            told = client.register(slug)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(told + "\n")
    return path.read_text(encoding="utf-8").strip()


def main() -> None:
    """Submit on so many snapshots, as they come."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("slug")
    parser.add_argument("--url", default="http://127.0.0.1:8420")
    parser.add_argument("--rounds", type=int, default=1, help="snapshots to decide on; one each ten minutes")
    parser.add_argument("--folder", type=Path, default=Path())
    told = parser.parse_args()
    slug = told.slug.lower()
    with ArenaClient(told.url, slug, key_of(told.url, slug, told.folder)) as client:
        latest = submit(client, told.folder)
        for _ in range(told.rounds - 1):
            while client.markets()["as_of"] == latest:
                time.sleep(10)
            latest = submit(client, told.folder)


if __name__ == "__main__":
    main()
