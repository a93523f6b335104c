"""Compare the engine with the Python reference on random markets: money, positions and all event fields."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from builders import Array, costs_of, count, dataset_of, limits_of
from markets import Costs, Limits, Market, random_market
from reference_engine import COSTS, Account
from reference_engine import run as run_reference

import openoutcry as oo

N_MARKETS = count(10_000, 1_500)
TOLERANCE = 1e-12
GAINS = ("interest", "dividends", "settlement", "shortfall")
Event = dict[str, Any]
Key = tuple["str | None", ...]
Number = tuple[float, float, float]
NUMBERS = {"weight", "price", "shortfall", "requested", "allowed", "shares"}


@dataclass
class Comparison:
    """Errors of the engine relative to the reference on one market."""

    seed: int
    errors: dict[str, float] = field(default_factory=dict)
    differing: list[Any] = field(default_factory=list)
    classes: Counter[Key] = field(default_factory=Counter)
    refusal: str = ""
    market: Market | None = None


def scales(accounts: list[Account]) -> Array:
    """Return NAV x max(1, gross / NAV) per close, with the worst leverage so far."""
    nav = np.array([each.nav for each in accounts])
    gross = np.array([np.abs(values(each)).sum() for each in accounts])
    leverage = np.divide(gross, nav, out=np.zeros_like(nav), where=nav > 0.0)
    return np.maximum.accumulate(np.maximum(1.0, leverage)) * nav


def values(account: Account) -> Array:
    return np.where(account.h != 0.0, account.h * account.m, 0.0)


def weights_of(account: Account) -> Array:
    return values(account) / account.nav if account.nav else np.zeros(len(account.h))


def worst(received: Any, expected: Any, scale: Any) -> float:
    """Return the largest error relative to its scale; any error at scale 0 is infinite."""
    error, scale = np.broadcast_arrays(np.abs(np.asarray(received) - np.asarray(expected)), scale)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.max(np.where(error == 0.0, 0.0, error / scale), initial=0.0))


def by_key(events: list[Event]) -> dict[Key, Event]:
    """Return events by key, without reductions within rounding."""
    reported = [each for each in events if each["slug"] != "limited" or is_cut(each["requested"], each["allowed"])]
    keyed = {(each["slug"], each.get("symbol"), each.get("reason")): each for each in reported}
    assert len(keyed) == len(reported), reported
    return keyed


def is_cut(requested: float, allowed: float) -> bool:
    return abs(requested - allowed) > TOLERANCE * abs(requested)


def numbers(received: Event, expected: Event, mark: float, account: float, nav: float) -> list[Number]:
    """Return pairs of the numbers of an event, with their scales."""
    found = []
    for name in NUMBERS & (set(expected) | set(received)):
        size = {"price": 0.0, "shortfall": account}.get(name, account / nav)  # a weight, or a gross over NAV
        if name == "shares" or expected.get("reason") == "participation":
            size = account / mark
        pair = received.get(name, np.nan), expected.get(name, np.nan)
        found.append((*pair, max(size, abs(pair[1]))))
    return found


def events_of(run: oo.Run) -> list[list[Event]]:
    """Return the events of each decision, including fills."""
    reported: list[list[Event]] = [[] for _ in run.returns]
    for event in run.events:
        reported[event["decision"]].append({name: x for name, x in event.items() if name not in {"decision", "bar"}})
    for _, bar, symbol, shares, price in zip(*run.trades.values(), strict=True):
        filled = {"slug": "filled", "symbol": symbol, "shares": shares, "price": price}
        reported[bar - run.window.start - 1].append(filled)
    return reported


def compare_events(run: oo.Run, accounts: list[Account], scale: Array, into: Comparison) -> None:
    reported, found = events_of(run), [(0.0, 0.0, 1.0)]
    for k, (before, after) in enumerate(pairwise(accounts)):
        received, expected = by_key(reported[k]), by_key(after.events)
        into.classes.update((slug, reason) for slug, _, reason in expected)
        if set(received) != set(expected):
            into.differing.append((k, set(received) ^ set(expected)))
            continue
        marks = dict(zip(before.names, (before.m / after.bars[after.t].split).tolist(), strict=True))
        size = max(scale[k], scale[k + 1])
        for key, event in expected.items():
            found += numbers(received[key], event, marks.get(key[1], np.nan), size, before.nav)
    into.errors["events"] = worst(*zip(*found, strict=True))
    if any(reported[len(accounts) - 1 :]):
        into.differing.append("events after the end")


def compare_numbers(run: oo.Run, accounts: list[Account], scale: Array, into: Comparison) -> None:
    n, errors = len(accounts), into.errors
    nav = np.array([each.nav for each in accounts])
    errors["nav"] = worst(run.nav[:n], nav, scale)
    weights = np.array([weights_of(each) for each in accounts])
    errors["weights"] = worst(run.weights[:n], weights, scale[:, None] / np.maximum(nav, 1e-300)[:, None])
    # Costs and gains of a step are compared on the scale of the account before and after it.
    size = np.maximum(scale[:-1], scale[1:])
    columns = {name: column for name, column in [*run.costs.items(), *run.gains.items()] if name in (*COSTS, *GAINS)}
    assert set(columns) == {*COSTS, *GAINS}
    for name, column in columns.items():
        expected = np.array([each.part[name] for each in accounts[1:]])
        errors[name] = worst(column[: n - 1], expected, np.maximum(size, np.abs(expected)))
    turnover = np.array([each.turnover for each in accounts[1:]])
    errors["turnover"] = worst(run.turnover[: n - 1], turnover, np.maximum(size / nav[:-1], turnover))
    rest = [run.nav[n:] - run.nav[n - 1], run.turnover[n - 1 :], *(column[n - 1 :] for column in columns.values())]
    errors["rest"] = float(np.max([worst(each, 0.0, 0.0) for each in rest]))
    errors["terminated_at"] = worst(run.terminated_at or 0, n - 2 if accounts[-1].terminated else 0, 0.0)


def compare(draw: Any, seed: int) -> Comparison:
    market, weights, start, end, costs, limits = draw
    comparison = Comparison(seed, market=market)
    try:
        dataset = dataset_of(market)
    except oo.OpenOutcryError as error:
        comparison.refusal = str(error)
        return comparison
    comparison.market = None
    run = oo.run_backtest(dataset, weights, (start, end), costs_of(costs), limits_of(limits), seed=seed)
    accounts = run_reference(Account(market, costs, limits, start, seed), weights, end)
    scale = scales(accounts)
    compare_numbers(run, accounts, scale, comparison)
    compare_events(run, accounts, scale, comparison)
    return comparison


@pytest.fixture(scope="module")
def comparisons() -> list[Comparison]:
    found: list[Comparison] = []
    n_accepted = 0
    while n_accepted < N_MARKETS:
        found.append(compare(random_market(len(found)), len(found)))
        n_accepted += not found[-1].refusal
    return found


@pytest.mark.parametrize("what", ["nav", "weights", "events", "turnover", "rest", "terminated_at", *COSTS, *GAINS])
def test_the_engine_agrees_with_the_reference_to_1e_12(comparisons: list[Comparison], what: str) -> None:
    errors = {each.seed: each.errors[what] for each in comparisons if not each.refusal}
    print(f"{what}: worst error {max(errors.values()):.1e} on {len(errors)} markets")
    assert {seed: error for seed, error in errors.items() if not error <= TOLERANCE} == {}


def test_the_engine_reports_the_events_of_the_reference(comparisons: list[Comparison]) -> None:
    print(f"{sum(sum(each.classes.values()) for each in comparisons)} events, fills among them")
    assert {each.seed: each.differing for each in comparisons if each.differing} == {}


def test_the_random_markets_reach_every_event_of_the_contract(comparisons: list[Comparison]) -> None:
    found = sum((each.classes for each in comparisons), Counter[Any]())
    reasons = {
        "refused": ("unknown_symbol", "settled_symbol", "weight_out_of_range", "short_not_allowed"),
        "limited": ("max_weight", "max_gross", "participation", "rebalanced"),
        "unfilled": ("no_price", "not_tradable", "no_volume", "cost_too_high"),
    }
    expected = {(slug, reason) for slug, each in reasons.items() for reason in each}
    expected |= {(slug, None) for slug in ("stale_price", "delisted", "filled", "liquidated", "ruined")}
    assert set(found) == expected
    assert {kind: n for kind, n in found.items() if n < 20} == {}


CORNERS = {  # closes, weights and limits; each lies exactly on a bound, which random numbers miss
    "a_purchase_cut_within_the_tolerance_of_max_gross_is_not_rebalanced": (
        [[1.0, 1.0]] * 3,
        [[0.5, 0.5000009], [np.nan, np.nan]],
        Limits(max_participation=0.5000005),
    ),
    "a_nav_of_exactly_the_margin_is_not_called": (
        [[1.0]] * 3,
        [[2.0], [np.nan]],
        Limits(max_weight=np.inf, max_gross=np.inf, maintenance_margin=0.5),
    ),
    "a_nav_of_exactly_zero_is_ruin": ([[1.0], [0.5], [1.0]], [[2.0], [np.nan]], Limits(np.inf, np.inf)),
    "a_weight_of_exactly_100_is_accepted": ([[1.0], [1.0]], [[100.0]], Limits(np.inf, np.inf)),
    "a_weight_of_exactly_max_weight_is_not_cut": ([[1.0], [1.0]], [[0.75]], Limits(max_weight=0.75)),
}


@pytest.mark.parametrize("corner", CORNERS)
def test_the_engine_agrees_with_the_reference_on_a_bound(corner: str) -> None:
    closes, weights, limits = CORNERS[corner]
    market, rows = Market(np.array(closes)), np.array([*weights, [np.nan] * len(closes[0])])
    compared = compare((market, rows, 0, len(closes), Costs(), limits), 0)
    assert (compared.refusal, compared.differing) == ("", [])
    assert {name: error for name, error in compared.errors.items() if not error <= TOLERANCE} == {}


@pytest.mark.parametrize("acts", [False, True], ids=["closes alone", "dividends and splits"])
def test_without_opens_and_costs_the_reward_is_the_chosen_weights_times_the_next_return(acts: bool) -> None:
    for seed in range(count(1_000, 100)):
        rng = np.random.default_rng(seed)
        shape = int(rng.integers(3, 40)), int(rng.integers(1, 20))
        close = 50.0 * np.exp(np.cumsum(rng.normal(0.0, 0.02, shape), axis=0))
        dividends = np.where(acts & (rng.random(shape) < 0.1), rng.uniform(0.0, 1.0, shape), 0.0)
        splits = np.where(acts & (rng.random(shape) < 0.1), rng.choice([0.1, 2.0, 3.0], shape), 1.0)
        # As traded: prices are on the share basis of their day.
        close /= np.cumprod(splits, axis=0)
        dividends /= np.cumprod(splits, axis=0)
        weights = rng.normal(size=shape)
        weights *= rng.uniform(0.0, 2.0, (shape[0], 1)) / np.abs(weights).sum(axis=1, keepdims=True)
        dataset = dataset_of(Market(close, dividends=dividends, splits=splits))
        run = oo.run_backtest(dataset, weights, (0, len(close)), oo.CostModel.zero(), oo.Limits.off())
        returns = (close[1:] * splits[1:] + dividends[1:]) / close[:-1] - 1.0
        expected = (weights[:-1] * returns).sum(axis=1)
        assert run.terminated_at is None
        assert np.abs(run.returns - expected).max() <= 1e-12, seed


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
