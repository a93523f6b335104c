"""Compare the engine with the independent reference of day orders on random markets: NAV and events, bit for bit."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from builders import count
from order_engine import run_of
from order_inputs import random_day
from order_market import opened
from order_reference import step

import openoutcry as oo

N_MARKETS = count(10_000, 400)
N_BATCHES = 4
Key = tuple[tuple[str, Any], ...]


def key_of(event: dict[str, Any]) -> Key:
    return tuple(sorted((name, value) for name, value in event.items() if name not in ("decision", "bar")))


def fill_of(symbol: str, shares: float, price: float) -> Key:
    return key_of({"slug": "filled", "symbol": symbol, "shares": shares, "price": price})


def othersof(run: oo.Run) -> list[Counter[Key]]:
    """Return the events of each decision; the trades of a run contain its exits."""
    found: list[Counter[Key]] = [Counter() for _ in run.returns]
    for event in run.events:
        found[event["decision"]][key_of(event)] += 1
    columns = (run.trades[name].tolist() for name in ("bar", "symbol", "shares", "price"))
    for bar, symbol, shares, price in zip(*columns, strict=True):
        found[bar - run.window.start - 1][fill_of(symbol, shares, price)] += 1
    return found


def differences(seed: int, kinds: Counter[tuple[str, str | None]]) -> list[str]:
    """Return where engine and reference differ on a random run, and count the events by slug and reason."""
    draw = random_day(seed)
    run = run_of(draw)
    account, names, shown = opened(draw.market, draw.start), draw.market.names(), othersof(run)
    for k, bar in enumerate(range(draw.start, draw.end - 1)):
        account, events, _ = step(draw.market, draw.rules, account, draw.table.orders(names, bar))
        wanted = Counter(map(key_of, events))
        wanted.update(fill_of(x["symbol"], x["shares"], x["price"]) for x in events if x["slug"] == "exited")
        kinds.update((event["slug"], event.get("reason")) for event in events)
        if account.nav != run.nav[k + 1] or wanted != shown[k]:
            others = f"{shown[k] - wanted} for {wanted - shown[k]}"
            return [f"seed {seed}, bar {bar}: NAV {run.nav[k + 1]!r} for {account.nav!r}; {others}"]
        if account.terminated:
            break
    return []


@pytest.mark.parametrize("batch", range(N_BATCHES))
def test_the_engine_gives_the_bits_and_othersof_the_reference(batch: int) -> None:
    kinds: Counter[tuple[str, str | None]] = Counter()
    found = [text for seed in range(batch, N_MARKETS, N_BATCHES) for text in differences(seed, kinds)]
    assert found == []
    reasons = {"limit_not_reached", "stop_not_reached", "no_range", "exited", "stop_loss", "take_profit", "cash"}
    assert reasons <= {reason for _, reason in kinds}
