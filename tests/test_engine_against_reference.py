"""Hold the engine against the plain-Python reference on random markets: money, positions and every event."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import reference
from markets import random_market
from reference import COSTS, Account, Market, Result
from support import Array, costs_of, count, dataset_of, limits_of

import openoutcry as oo
from openoutcry import openoutcry_py as native

N_MARKETS = count(10_000, 1_500)
TOLERANCE = 1e-12
GAINS = ("interest", "dividends", "settlement", "shortfall")
SPELLED = {  # reasons of the reference, in the words of the contract
    "weight_above_100": "weight_out_of_range",
    "settled": "settled_symbol",
    "never_closed": "unknown_symbol",
    "max_participation": "participation",
    "no_close": "no_price",
    "mask": "not_tradable",
    "cost": "cost_too_high",
}
Event = tuple[str, "str | None", "str | None"]


def is_cut(requested: float, allowed: float) -> bool:
    """Return whether a cut is more than rounding: the contract does not say in which order a bound is computed."""
    return abs(requested - allowed) > TOLERANCE * abs(requested)


class Told(Account):
    """Says what the reference leaves to its caller: which orders traded nothing, and what a settlement found."""

    def act(self) -> None:
        idle = {name for name, q in zip(self.names, self.q, strict=True) if q == 0.0}
        kept = [event for event in self.events if event[0] != "stale_price" or event[1] not in idle]
        held, ordered = list(self.h), list(self.q)
        self.events = []
        super().act()
        for _, name, _ in self.events:
            i = self.names.index(name)
            if held[i] != 0.0:
                kept.append(("delisted", name, None))
            elif ordered[i] != 0.0:
                kept.append(("unfilled", name, "no_price"))
        self.events = kept

    def fillable(self, i: int, q: float) -> float:
        allowed, limited = super().fillable(i, q), ("limited", self.names[i], "max_participation")
        if limited in self.events and not is_cut(abs(q) * self.per_share(i), self.limits.max_participation):
            self.events.remove(limited)
        return allowed

    def fill(self) -> None:
        if is_cut(1.0, self.factor):
            self.event("limited", None, "rebalanced")
        super().fill()

    def close_if_insolvent(self) -> None:
        held, kept = [name for name, h in zip(self.names, self.h, strict=True) if h != 0.0], self.events
        self.events = []
        super().close_if_insolvent()
        for _, _, reason in self.events:
            margin = reason == "maintenance_margin"
            kept += [("liquidated", name, None) for name in held] if margin else [("ruined", None, None)]
        self.events = kept


def spelled(market: Market, bar: int, event: tuple[str, Any, Any]) -> Event:
    """Return an event of the reference as the contract says it."""
    slug, name, reason = event
    if slug == "refused":
        # The contract names this reason first, so that no other can tell a future listing from a name of nobody.
        seen = np.isfinite(np.asarray(market.close)[: bar + 1, market.symbols.index(name)]).any()
        reason = reason if seen else "never_closed"
    reason = None if slug == "stale_price" else reason
    return slug, name, SPELLED.get(reason, reason)


@dataclass
class Comparison:
    """How far the engine is from the reference on one market, in units of the tolerance."""

    seed: int
    errors: dict[str, float] = field(default_factory=dict)
    differing: list[Any] = field(default_factory=list)
    classes: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    n_fills: int = 0
    refusal: str = ""
    market: Market | None = None


def scales(result: Result) -> Array:
    """Return NAV x max(1, gross / NAV) per bar of the window, with the worst leverage so far."""
    nav = np.array(result.nav)
    held = zip(result.shares, result.marks, strict=True)
    gross = np.array([sum(abs(h) * m for h, m in zip(*bar, strict=True) if h != 0.0) for bar in held])
    leverage = np.divide(gross, nav, out=np.zeros_like(nav), where=nav > 0.0)
    return np.maximum.accumulate(np.maximum(1.0, leverage)) * nav


def worst(received: Any, expected: Any, scale: Any) -> float:
    """Return the largest error over its scale; what must be exactly 0 counts as infinite where it is not."""
    error, scale = np.broadcast_arrays(np.abs(np.asarray(received) - np.asarray(expected)), scale)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.max(np.where(error == 0.0, 0.0, error / scale), initial=0.0))


def held_weights(result: Result) -> Array:
    rows = zip(result.shares, result.marks, result.nav, strict=True)
    return np.array([[h * m / nav if h != 0.0 else 0.0 for h, m in zip(hs, ms, strict=True)] for hs, ms, nav in rows])


def compare_events(run: oo.Run, result: Result, market: Market, start: int, into: Comparison) -> None:
    told: list[list[Event]] = [[] for _ in result.steps]
    for event in run.events:
        if event["slug"] == "limited" and not is_cut(event["requested"], event["allowed"]):
            continue
        told[event["decision"]].append((event["slug"], event.get("symbol"), event.get("reason")))
    for k, events in enumerate(result.events):
        expected = Counter(spelled(market, start + k, event) for event in events)
        into.classes.update((slug, reason) for slug, _, reason in expected.elements())
        if Counter(told[k]) != expected:
            into.differing.append((k, told[k], expected))


def compare_fills(run: oo.Run, result: Result, start: int, into: Comparison) -> None:
    shape = (len(result.steps), len(result.marks[0]))
    received = np.zeros(shape)
    place = {symbol: i for i, symbol in enumerate(run.dataset.symbols)}
    for bar, symbol, shares in zip(run.trades["bar"], run.trades["symbol"], run.trades["shares"], strict=True):
        received[bar - start - 1, place[symbol]] += shares
    expected = np.array([filled or [0.0] * shape[1] for _, filled, _ in result.orders])
    into.n_fills = int((expected != 0.0).sum())
    # In value at the mark after the fill: a share count has no size of its own.
    value = np.nan_to_num(np.array(result.marks[1:]), nan=0.0)
    size = np.maximum(scales(result)[:-1, None], np.abs(expected) * value)
    into.errors["fills"] = worst(received * value, expected * value, size)


def compare(seed: int) -> Comparison:
    market, weights, start, end, costs, limits = random_market(seed)
    comparison = Comparison(seed, market=market)
    try:
        dataset = dataset_of(market)
    except oo.OpenOutcryError as error:
        comparison.refusal = str(error)
        return comparison
    comparison.market = None
    run = oo.run_backtest(dataset, weights, (start, end), costs_of(costs), limits_of(limits), seed=seed)
    noise = lambda bar, symbol: native.fill_noise(seed, bar, symbol)  # noqa: E731
    result = reference.run(market, weights, start, end, costs, limits, noise)
    scale = scales(result)
    errors = comparison.errors
    errors["nav"] = worst(run.nav, result.nav, scale)
    errors["weights"] = worst(run.weights, held_weights(result), scale[:, None] / np.maximum(run.nav, 1e-300)[:, None])
    # A cost or gain of a step stands beside the account before and after it.
    size = np.maximum(scale[:-1], scale[1:])
    for kinds, columns in ((COSTS, run.costs), (GAINS, run.gains)):
        for kind in kinds:
            expected = np.array([step[kind] for step in result.steps])
            errors[kind] = worst(columns[kind], expected, np.maximum(size, np.abs(expected)))
    ended = None if result.terminated_at is None else result.terminated_at - start - 1
    errors["terminated_at"] = 0.0 if run.terminated_at == ended else np.inf
    compare_events(run, result, market, start, comparison)
    compare_fills(run, result, start, comparison)
    return comparison


@pytest.fixture(scope="module")
def comparisons() -> list[Comparison]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "Account", Told)
        found: list[Comparison] = []
        n_accepted = 0
        while n_accepted < N_MARKETS:
            found.append(compare(len(found)))
            n_accepted += not found[-1].refusal
        return found


@pytest.mark.parametrize("what", ["nav", "weights", "fills", "terminated_at", *COSTS, *GAINS])
def test_the_engine_agrees_with_the_reference_to_1e_12(comparisons: list[Comparison], what: str) -> None:
    errors = {each.seed: each.errors[what] for each in comparisons if not each.refusal}
    print(f"{what}: worst error {max(errors.values()):.1e} on {len(errors)} markets")
    assert {seed: error for seed, error in errors.items() if not error <= TOLERANCE} == {}


def test_the_engine_reports_the_events_of_the_reference(comparisons: list[Comparison]) -> None:
    n_events = sum(sum(each.classes.values()) for each in comparisons)
    print(f"{n_events} events and {sum(each.n_fills for each in comparisons)} fills")
    assert {each.seed: each.differing for each in comparisons if each.differing} == {}


def test_the_random_markets_reach_every_event_of_the_contract(comparisons: list[Comparison]) -> None:
    found = sum((each.classes for each in comparisons), Counter[Any]())
    reasons = {
        "refused": ("unknown_symbol", "settled_symbol", "weight_out_of_range", "short_not_allowed"),
        "limited": ("max_weight", "max_gross", "participation", "rebalanced"),
        "unfilled": ("no_price", "not_tradable", "no_volume", "cost_too_high"),
    }
    expected = {(slug, reason) for slug, each in reasons.items() for reason in each}
    expected |= {(slug, None) for slug in ("stale_price", "delisted", "liquidated", "ruined")}
    assert set(found) == expected
    assert {kind: n for kind, n in found.items() if n < 20} == {}


def within(values: Any, low: float, high: float) -> bool:
    array = np.asarray([] if values is None else values, dtype=float)
    return bool((np.isnan(array) | ((array >= low) & (array <= high))).all())


def is_in_the_ranges_of_the_contract(market: Market) -> bool:
    prices = within(market.close, 1e-15, 1e15) and within(market.open, 1e-15, 1e15)
    amounts = within(market.volume, 0.0, 1e18) and within(market.dividends, 0.0, 1e15)
    return prices and amounts and within(market.splits, 1e-9, 1e9) and within(market.delistings, -1.0, 1e6)


def test_only_markets_beyond_the_ranges_of_the_contract_are_refused(comparisons: list[Comparison]) -> None:
    refused = [each for each in comparisons if each.refusal]
    print(f"{len(refused)} of {len(comparisons)} markets refused")
    assert [each.refusal for each in refused if is_in_the_ranges_of_the_contract(each.market)] == []
    accepted = [each.seed for each in comparisons if not each.refusal]
    assert [seed for seed in accepted if not is_in_the_ranges_of_the_contract(random_market(seed)[0])] == []
    assert len(refused) < N_MARKETS / 100
