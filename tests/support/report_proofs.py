"""Self-verifying pages of small runs for tests, and functions that modify them."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
import string
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import openoutcry as oo
from openoutcry.agents import Answer, TextAgent
from openoutcry.backtest.rerun import rerun
from openoutcry.records.keys import public_key
from openoutcry.report.pages.proof_panel import content_digest
from openoutcry.report.self_verifying import Written, market_of, proof_of, write_proof
from openoutcry.scenarios.scenario import Scenario


class Faulty(TextAgent):
    """Times out, returns an invalid decision and trades, in turn."""

    def __init__(self) -> None:
        self.n_calls = 0

    def answer(self, observation: str) -> Answer:
        self.n_calls += 1
        if self.n_calls % 3 == 0:
            return Answer("", "agent_late")
        if self.n_calls % 3 == 1:
            return Answer('{"orders":[{"symbol":"A","action":"buy","target_weight":0.4},{"bad":1}]}')
        return Answer(
            '{"reasoning":"so\\ufeff\\u00a0\\u2028</script>&amp;","orders":[{"symbol":"B","action":"buy","target_weight":0.5,"confidence":0.9,"rationale":"r"}]}'
        )


def odd_run(case: str) -> oo.Run:
    arguments = {"dataset": market(), "window": (19, 75), **CASES[case]}
    return oo.run_backtest(**arguments, name="x </p>", capture=True)


def minute_bars() -> oo.Dataset:
    closes = 100.0 + np.arange(160.0).reshape(80, 2) % 7
    minutes = np.datetime64("2021-01-01T23:00:00") + 60 * np.arange(80)
    dates = [f"{minute}Z" for minute in minutes]
    return oo.Dataset.from_arrays(dates, ["A", "B"], closes, name="minutes", periods_per_year=525_600)


def foreseen(data: oo.Dataset) -> np.ndarray:
    """Return weights with knowledge of the next close; their NAV spans decades."""
    return 5.0 * np.sign(np.diff(data.close, axis=0, append=data.close[-1:]))


def odd_page(case: str, path: Path) -> oo.RunRecord:
    """Write the page of a run of one of the cases."""
    run, key = odd_run(case), CASES[case].get("fill_key")
    proof = proof_of(run.record, 0, [market_of(run.dataset)], "" if key is None else key.hex())
    write_proof(rerun(run.record, 0, run.dataset, key), path, proof)
    return run.record


def prices(seed: int = 1, n_bars: int = 80, volatility: float = 0.02) -> str:
    """Return a wide CSV of two symbols."""
    closes = 100.0 * np.cumprod(1.0 + np.random.default_rng(seed).normal(0.0, volatility, (n_bars, 2)), axis=0)
    days = np.datetime64("2021-01-01") + np.arange(n_bars)
    rows = [f"{day},{first:.4f},{second:.4f}" for day, (first, second) in zip(days, closes, strict=True)]
    return "\n".join(["date,A,B", *rows, ""])


def market(seed: int = 1, name: str = "prices", volatility: float = 0.02) -> oo.Dataset:
    return oo.Dataset.from_csv(prices(seed, volatility=volatility), 365.0, name=name)


CASES: dict[str, dict[str, Any]] = {
    "a baseline": {"agent_or_weights": "momentum"},
    "other rules": {
        "agent_or_weights": "random",
        "seed": 2**63,
        "costs": oo.CostModel(fee_bps=0.1, slippage_jitter=0.3, impact_bps=3.0),
        "limits": oo.Limits(max_weight=float("inf"), max_gross=2.5, max_participation=0.2, maintenance_margin=0.1),
        "lookback": 7,
    },
    "faults": {"agent_or_weights": Faulty()},
    "weights": {"agent_or_weights": np.where(np.arange(160).reshape(80, 2) % 3 == 0, np.nan, 0.3)},
    "one decision": {"agent_or_weights": "equal-weight", "window": (19, 21)},
    "decades": {"agent_or_weights": foreseen(market()), "limits": oo.Limits.off()},
    "NAV above the range of 64-bit integers": {
        "agent_or_weights": foreseen(market(volatility=0.2)),
        "dataset": market(volatility=0.2),
        "limits": oo.Limits.off(),
    },
    "minutes": {"agent_or_weights": "momentum", "dataset": minute_bars()},
    "cash": {"agent_or_weights": "hold-cash"},
    "ruin": {"agent_or_weights": np.full((80, 2), [90.0, -90.0]), "limits": oo.Limits.off()},
    "sealed noise": {
        "agent_or_weights": "momentum",
        "fill_key": b"\5" * 32,
        "costs": oo.CostModel(slippage_jitter=0.5),
    },
}


def small_page(path: Path, *, has_data: bool = True) -> tuple[oo.RunRecord, Written]:
    """Write the page of a run on `market()`."""
    data = market()
    record = oo.run_backtest(data, "momentum", name="momentum", capture=True).record
    written = write_proof(rerun(record, 0, data), path, proof_of(record, 0, [market_of(data)]), has_data=has_data)
    return record, written


def joined_page(path: Path) -> oo.RunRecord:
    """Write the page of the second of two runs, on two markets, signed."""
    data = [market(1, "one"), market(2, "two")]
    runs = [oo.run_backtest(each, "momentum", (19, 70), capture=True).record for each in data]
    record = oo.RunRecord.join("both", runs, 3).sign(b"\7" * 32)
    proof = proof_of(record, 1, [market_of(each) for each in data], public_key=public_key(b"\7" * 32).hex())
    write_proof(rerun(record, 1, data[1]), path, proof)
    return record


def sealed_page(path: Path, fill_key: bytes, stated_key: bytes) -> oo.RunRecord:
    """Write the page of a run on a sealed scenario with sealed noise, with the stated key of the noise."""
    scenario = Scenario.revealed("calm", "07" * 32)
    data, costs = scenario.dataset(), oo.CostModel(slippage_jitter=0.5)
    record = oo.run_backtest(data, "momentum", (19, 60), costs, fill_key=fill_key, capture=True).record
    proof = proof_of(record, 0, [market_of(data, scenario)], stated_key.hex())
    write_proof(rerun(record, 0, data, fill_key), path, proof)
    return record


def part_of(page: str, name: str) -> str:
    found = re.search(f'<template data-part="{name}">([^<]*)</template>', page)
    assert found
    return html.unescape(found[1])


def with_part(page: str, name: str, change: Callable[[str], str]) -> str:
    was = part_of(page, name)
    now = change(was)
    assert now != was
    return page.replace(html.escape(was), html.escape(now), 1)


def with_claims(page: str, change: Callable[[dict[str, Any]], None]) -> str:
    def changed(text: str) -> str:
        claims = json.loads(text)
        change(claims)
        return json.dumps(claims)

    return with_part(page, "claims", changed)


def with_bytes(page: str, name: str, change: Callable[[bytes], bytes]) -> str:
    """Return a page with a changed packed part."""
    return with_part(
        page,
        name,
        lambda text: base64.b64encode(gzip.compress(change(gzip.decompress(base64.b64decode(text))))).decode(),
    )


def with_trace(page: str, change: Callable[[dict[str, Any]], None]) -> str:
    """Return a page with a changed bar-by-bar trace."""
    found = re.search(r'-inspector"><template>([^<]*)</template>', page)
    assert found
    trace = json.loads(zlib.decompress(base64.b64decode(found[1]), -15))
    change(trace)
    squeeze = zlib.compressobj(6, zlib.DEFLATED, -15)
    packed = base64.b64encode(squeeze.compress(json.dumps(trace).encode()) + squeeze.flush()).decode()
    return page.replace(found[1], packed, 1)


def with_one_letter(page: str, part: str, draw: Random) -> str:
    """Return a page with one changed letter in a packed part, after the compression header."""

    def change(text: str) -> str:
        place = draw.randrange(20, len(text.rstrip("=")) - 1)
        letter = draw.choice([each for each in string.ascii_letters if each != text[place]])
        return text[:place] + letter + text[place + 1 :]

    return with_part(page, part, change)


def with_words(page: str, was: str, now: str) -> str:
    assert was in page
    return page.replace(was, now, 1)


def flipped(content: bytes, place: int) -> bytes:
    changed = bytearray(content)
    changed[place] ^= 1
    return bytes(changed)


def with_recomputed_digest(page: str) -> str:
    """Return a changed page with a recomputed page digest, as a forger would."""
    return with_part(page, "page", lambda _: content_digest(page))
