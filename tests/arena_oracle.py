"""The Arena's scores said again, decision by decision, in exact ratios: no arrays, no sums in groups."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from typing import Any

from openoutcry.arena.scoring import Facts

DAY_US = 86_400_000_000
HOUR_US = 3_600_000_000


def settlement(facts: Facts, market_id: str) -> tuple[str, str | None, int | None, int | None]:
    """Return state, outcome, moment of settlement and actual close of a market."""
    records = sorted(r for r in facts.resolutions if r.market_id == market_id and r.at_us <= facts.at_us)
    if not records:
        return "open", None, None, None
    settled_us = close_us = None
    for i, record in enumerate(records):
        if record.actual_close_us is not None:
            close_us = record.actual_close_us
        if record.outcome is None or settled_us is not None:
            continue
        if record.status in ("finalized", "amended"):
            settled_us = record.at_us
        elif record.status == "determined":
            is_left_alone = i + 1 == len(records) or records[i + 1].at_us >= record.at_us + DAY_US
            settled_us = record.at_us + DAY_US if is_left_alone else None
    last = records[-1]
    if last.status == "disputed":
        return "disputed", None, settled_us, close_us
    if last.outcome is None or last.status in ("void", "scalar"):
        return "excluded", None, settled_us, close_us
    if last.status == "determined" and facts.at_us < last.at_us + DAY_US:
        return "provisional", last.outcome, settled_us, close_us
    return "settled", last.outcome, settled_us, close_us


def counted(facts: Facts) -> list[dict[str, Any]]:
    """Return the decisions that count, settled or provisional."""
    quotes = {(q.market_id, q.snapshot_us): q for q in facts.quotes}
    best: dict[tuple[str, str], Any] = {}
    suspended = {a.slug for a in facts.agents if a.suspended}
    for d in sorted(facts.decisions, key=lambda d: (d.received_us, d.seq)):
        seen = [s for s in facts.snapshots_us if s <= d.received_us]
        shown = quotes[d.market_id, max(s for s in seen if (d.market_id, s) in quotes)]
        state, outcome, settled_us, close_us = settlement(facts, d.market_id)
        in_window = facts.window is None or (settled_us is not None and facts.window[0] <= settled_us < facts.window[1])
        in_time = d.received_us <= shown.cutoff_us and (
            close_us is None or d.received_us <= close_us - facts.parameters.close_margin_s * 1_000_000
        )
        if d.agent_slug in suspended or state not in ("settled", "provisional") or not in_window or not in_time:
            continue
        cited = [s for s in facts.snapshots_us if s <= d.snapshot_us and (d.market_id, s) in quotes]
        used = quotes[d.market_id, max(cited)] if cited else shown
        now = quotes.get((d.market_id, max(seen)))
        best[d.agent_slug, d.market_id] = {
            "slug": d.agent_slug,
            "market": d.market_id,
            "p": Fraction(d.yes_probability),
            "confidence": None if d.confidence is None else Fraction(d.confidence),
            "y": 1 if outcome == "yes" else 0,
            "settled": state == "settled",
            "theaters": used.theaters,
            "theta": used.theaters[0] if used.theaters else None,
            "mid": None if now is None or now.mid is None else Fraction(now.mid),
            "bid": None if now is None or now.bid is None else Fraction(now.bid),
            "ask": None if now is None or now.ask is None else Fraction(now.ask),
        }
    return list(best.values())


def is_rate(rate: Fraction, n: int) -> bool:
    return n >= 10 and Fraction(1, 20) <= rate <= Fraction(19, 20)


def reference(facts: Facts, settled: list[dict[str, Any]], theta: str | None) -> tuple[Fraction, str, int]:
    """Return the rate of a theater, its source and its count."""
    own = [d["y"] for d in settled if d["theta"] == theta]
    if theta is not None and own and is_rate(Fraction(sum(own), len(own)), len(own)):
        return Fraction(sum(own), len(own)), "platform_theater", len(own)
    for row in facts.base_rates:
        if theta is not None and row.theater == theta and is_rate(Fraction(row.rate), row.n):
            return Fraction(row.rate), "historical_theater", row.n
    n = sum(row.n for row in facts.base_rates)
    blend = sum((row.n * Fraction(row.rate) for row in facts.base_rates), Fraction(0)) / n if n else Fraction(0)
    if is_rate(blend, n):
        return blend, "historical_blend", n
    ys = [d["y"] for d in settled]
    if ys and is_rate(Fraction(sum(ys), len(ys)), len(ys)):
        return Fraction(sum(ys), len(ys)), "platform_global", len(ys)
    return Fraction(1, 2), "always_50", 0


def profit(price: Fraction, won: bool, model: str) -> Fraction:
    """Return what 50 of stake earn at a price, the fee of a contract rounded up to a cent in all."""
    contracts = Fraction(50) / price
    fee = Fraction(0)
    if model != "none":
        exact = Fraction(7, 100) * contracts * price * (1 - price)
        digits = Decimal(exact.numerator) / Decimal(exact.denominator)
        fee = Fraction(digits.quantize(Decimal("0.01"), ROUND_CEILING))
    return (contracts if won else 0) - 50 - fee


def roi(rows: list[dict[str, Any]], model: str, at_touch: bool) -> tuple[Fraction | None, int]:
    """Return the profit over stakes of an agent's decisions, and how many positions there are."""
    earned, n = Fraction(0), 0
    for d in rows:
        mid = d["mid"]
        if d["confidence"] is None or d["confidence"] < Fraction(65, 100) or mid is None or not 0 < mid < 1:
            continue
        if d["p"] > mid + Fraction(1, 20):
            price, won = (d["ask"] if at_touch else mid), d["y"] == 1
        elif d["p"] < mid - Fraction(1, 20):
            no = d["bid"] if at_touch else mid
            price, won = (None if no is None else 1 - no), d["y"] == 0
        else:
            continue
        if price is not None and 0 < price < 1:
            earned, n = earned + profit(price, won, model), n + 1
    return (earned / (50 * n) if n else None), n


def murphy(rows: list[dict[str, Any]]) -> dict[str, Fraction] | None:
    """Return the parts of the Brier score of binned forecasts, and the calibration error."""
    if not rows:
        return None
    bins: dict[int, list[dict[str, Any]]] = {}
    for d in rows:
        bins.setdefault(min(9, math.floor(d["p"] * 10)), []).append(d)
    n, base = len(rows), Fraction(sum(d["y"] for d in rows), len(rows))
    parts = {
        "reliability": Fraction(0),
        "resolution": Fraction(0),
        "uncertainty": base * (1 - base),
        "ece": Fraction(0),
        "binned": Fraction(0),
    }
    for own in bins.values():
        mean, share = sum(d["p"] for d in own) / len(own), Fraction(sum(d["y"] for d in own), len(own))
        parts["reliability"] += len(own) * (mean - share) ** 2 / n
        parts["resolution"] += len(own) * (share - base) ** 2 / n
        parts["ece"] += len(own) * abs(mean - share) / n
        parts["binned"] += sum((mean - d["y"]) ** 2 for d in own) / n
    return parts


def coverage(facts: Facts, slug: str, registered_us: int) -> Fraction | None:
    """Return the share of the markets open since then that an agent forecast, whose cutoff is past."""
    open_ids = set()
    for market_id in {q.market_id for q in facts.quotes}:
        own = sorted((q for q in facts.quotes if q.market_id == market_id), key=lambda q: q.snapshot_us)
        resolved = [r.at_us for r in facts.resolutions if r.market_id == market_id and r.at_us <= facts.at_us]
        if own[-1].cutoff_us >= facts.at_us:
            continue
        for q in own:
            in_window = facts.window is None or facts.window[0] <= q.snapshot_us < facts.window[1]
            is_open = q.snapshot_us <= q.cutoff_us and all(q.snapshot_us < at for at in resolved)
            if is_open and in_window and registered_us <= q.snapshot_us <= facts.at_us:
                open_ids.add(market_id)
    decided = {d.market_id for d in facts.decisions if d.agent_slug == slug}
    return Fraction(len(decided & open_ids), len(open_ids)) if open_ids else None


def board(facts: Facts, theater: str | None = None) -> list[dict[str, Any]]:
    """Return the rows of a board in order, with exact ratios."""
    everything = counted(facts)
    platform = [d for d in everything if d["settled"]]
    pool = [d for d in everything if theater is None or theater in d["theaters"]]
    settled = [d for d in pool if d["settled"]]
    rows = [row(facts, agent, platform, settled, pool, theater) for agent in facts.agents]

    def place(row: dict[str, Any]) -> tuple[Any, ...]:
        bss, gain = row["brier_skill_score"], row["roi"]
        return (
            row["n_scored"] == 0,
            bss is None,
            0 if bss is None else -bss,
            gain is None,
            0 if gain is None else -gain,
            -row["n_scored"],
            row["slug"],
        )

    return sorted(rows, key=place)


def row(facts: Facts, agent: Any, platform: Any, settled: Any, pool: Any, theater: str | None) -> dict[str, Any]:
    """Return the scores of an agent."""
    own = [d for d in settled if d["slug"] == agent.slug]
    waiting = [d for d in pool if d["slug"] == agent.slug and not d["settled"]]
    n, loss = len(own), sum(((d["p"] - d["y"]) ** 2 for d in own), Fraction(0))
    used = [reference(facts, platform, d["theta"] if theater is None else theater) for d in own]
    expected = sum((b * (1 - b) for b, _, _ in used), Fraction(0))
    realized = sum(((b - d["y"]) ** 2 for (b, _, _), d in zip(used, own, strict=True)), Fraction(0))
    sources = {source for _, source, _ in used}
    gaps = []
    for d in own:
        others = [(o["p"] - o["y"]) ** 2 for o in settled if o["market"] == d["market"] and o["slug"] != agent.slug]
        if others:
            gaps.append(sum(others, Fraction(0)) / len(others) - (d["p"] - d["y"]) ** 2)
    logs = [min(Fraction(999, 1000), max(Fraction(1, 1000), d["p"] if d["y"] else 1 - d["p"])) for d in own]
    gain, n_positions = roi(own, facts.parameters.fee_model, at_touch=False)
    later = sum(((d["p"] - d["y"]) ** 2 for d in waiting), Fraction(0))
    return {
        "slug": agent.slug,
        "n_scored": n,
        "n_provisional": len(waiting),
        "brier": loss / n if n else None,
        "brier_provisional": (loss + later) / (n + len(waiting)) if n + len(waiting) else None,
        "brier_skill_score": 1 - loss / expected if expected else None,
        "brier_skill_score_paired": 1 - loss / realized if realized else None,
        "brier_skill_score_vs_50": 1 - 4 * loss / n if n else None,
        "skill_reference": None if not sources else sources.pop() if len(sources) == 1 else "mixed",
        "roi": gain,
        "n_positions": n_positions,
        "roi_at_touch": roi(own, facts.parameters.fee_model, at_touch=True)[0],
        "peer_score": sum(gaps, Fraction(0)) / len(gaps) if gaps else None,
        "n_peer": len(gaps),
        "log_score": math.fsum(math.log(each) for each in logs) / n if n else None,
        "coverage": coverage(facts, agent.slug, agent.registered_us),
        "murphy": murphy(own),
    }
