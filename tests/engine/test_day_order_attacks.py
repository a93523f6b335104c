"""Look-ahead attacks on day orders: a step to bar t+1 depends on no bar after t+1."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from builders import Draw, accepted, corrupted, costs_of, count, dataset_of, dates_of, env_of, limits_of
from day_order_samples import FORMS, N_MOVES, conditions, day_order, ranges
from hypothesis import given, settings
from hypothesis import strategies as st
from markets import Market
from numpy.typing import NDArray

import openoutcry as oo

Array = NDArray[np.float64]
DRAWS = settings(max_examples=count(1_000, 150))
SEEDS = st.integers(0, 2**32 - 1)
PLACES = st.integers(0, 1000)  # where in the window the future begins, in thousandths
LOOKBACK = 5


def conditional(observation: dict[str, Any]) -> dict[str, Any]:
    """Return orders of every form from a hash of the observation, so that any difference changes them."""
    orders = []
    digest = hashlib.sha256(json.dumps(observation, sort_keys=True).encode()).digest()
    for place, view in enumerate(observation["symbols"]):
        rng = np.random.default_rng([*digest, place])
        orders.append(day_order(rng, view["symbol"], view["close_history"][-1]))
    return {"orders": orders}


class Pair(NamedTuple):
    """One past up to `bar` with two futures: the real one and garbage."""

    bar: int
    own: Draw
    garbage: Draw


def pair_of(seed: int, place: int, *, first: int = 1) -> Pair:
    """Return a random market, and the same one with every cell from `first` bars after a bar on changed."""
    market, weights, start, end, costs, limits = accepted(seed)
    rng, bar = np.random.default_rng(seed), start + 1 + round(place / 1000 * (end - 2 - start))
    own = ranges(rng, market.close, market.open)
    later = corrupted(rng, market, bar + first - 1)
    garbage = {name: table.copy() for name, table in own.items()}
    for table in garbage.values():
        after = table[bar + first :]
        after[:] = np.where(rng.random(after.shape) < 0.2, np.nan, 10.0 ** rng.uniform(-6.0, 6.0, after.shape))
    dates = dates_of(len(market.close))

    def drawn(of: Market, tables: dict[str, Array]) -> Draw:
        dataset = dataset_of(of, market.symbols, dates, **tables)
        return Draw(dataset, weights, (start, end), costs_of(costs), limits_of(limits))

    return Pair(bar, drawn(market, own), drawn(later, garbage))


def steps_to(drawn: Draw, seed: int, last: int) -> list[tuple[Any, ...]]:
    """Return everything that the steps up to bar `last` return."""
    env = env_of(drawn, seed=seed, lookback=LOOKBACK)
    text, steps = env.reset(), []
    for _ in range(drawn.window[0], last):
        text, reward, done, info = env.step(json.dumps(conditional(json.loads(text))))
        # Whether the window ends here is the same: both windows are equal.
        steps.append((text, np.float64(reward).tobytes(), done, info))
        if done:
            break
    return steps


@DRAWS
@given(seed=SEEDS, place=PLACES)
def test_no_bar_after_the_next_one_changes_a_step_with_day_orders(seed: int, place: int) -> None:
    pair = pair_of(seed, place)
    assert steps_to(pair.garbage, seed, pair.bar) == steps_to(pair.own, seed, pair.bar)


def test_the_steps_of_these_attacks_contain_every_outcome_of_a_day_order() -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(150):
        pair = pair_of(seed, 1000)
        for _, _, _, info in steps_to(pair.own, seed, pair.bar):
            events = json.loads(info)["events"]
            outcomes.update(event.get("reason", event["slug"]) for event in events)
    reached = {"stop_loss", "take_profit", "limit_not_reached", "stop_not_reached", "no_range", "exited", "filled"}
    reached |= {"rebalanced", "participation", "exits_crossed", "cost_too_high", "not_tradable"}
    assert {name: outcomes[name] for name in reached if outcomes[name] < 5} == {}


def test_a_change_of_the_next_bar_itself_changes_its_step() -> None:
    changed = 0
    for seed in range(100):
        pair = pair_of(seed, 500, first=0)
        changed += steps_to(pair.garbage, seed, pair.bar) != steps_to(pair.own, seed, pair.bar)
    assert changed > 95


class Table(NamedTuple):
    """Weights with conditions, as arrays of shape `(n_bars, n_symbols)`."""

    weights: Array
    conditions: dict[str, Any]


def table_of(drawn: Draw, seed: int, last: int, future: int) -> Table:
    """Return random conditions near each close; rows after bar `last` depend on `future`."""
    close = np.asarray(drawn.dataset.close)
    weights = np.full(close.shape, np.nan)
    prices = {name: np.full(close.shape, np.nan) for name in ("limit_price", "stop_price", "stop_loss", "take_profit")}
    times = np.full(close.shape, "open", dtype=object)
    for bar in range(len(close)):
        rng = np.random.default_rng([seed, bar, future if bar > last else 0])
        for place in range(close.shape[1]):
            form = FORMS[int(rng.integers(len(FORMS)))]
            weight, moves = rng.uniform(-0.6, 0.9), rng.normal(0.0, 0.03, N_MOVES).tolist()
            if not np.isfinite(close[bar, place]):
                continue
            made = conditions(form, float(close[bar, place]), moves)
            weights[bar, place] = np.nan if form == "held_exits" else weight
            times[bar, place] = made.pop("at", "open")
            for name, price in made.items():
                prices[name][bar, place] = price
    return Table(weights, {**prices, "at": times})


def ledger(drawn: Draw, table: Table, seed: int, last: int) -> tuple[Any, ...]:
    """Return everything that a backtest of a table states up to bar `last`, to the bit."""
    dataset, _, window, costs, limits = drawn
    run = oo.run_backtest(dataset, table.weights, window, costs, limits, seed, **table.conditions)
    n_bars = last - window[0] + 1
    trades = run.trades["bar"] <= last
    accounts = [each[:n_bars].tobytes() for each in (run.nav, run.weights)]
    steps = [each[: n_bars - 1].tobytes() for each in (run.turnover, *run.costs.values(), *run.gains.values())]
    fills = [run.trades[name][trades].tolist() for name in ("bar", "symbol", "shares", "price")]
    return accounts, steps, fills, [event for event in run.events if event["bar"] <= last]


@DRAWS
@given(seed=SEEDS, place=PLACES)
def test_no_later_bar_or_row_changes_a_table_of_day_orders_before_it(seed: int, place: int) -> None:
    pair = pair_of(seed, place)
    # A few bars of garbage suffice. Over many, an account can exceed float64 and the run is refused.
    start, end = pair.own.window
    window = (start, min(end, pair.bar + 4))
    # The decision of bar t - 1 fills in bar t; rows from t on are other ones.
    found = [
        ledger(drawn._replace(window=window), table_of(drawn, seed, pair.bar - 1, future), seed, pair.bar)
        for future, drawn in enumerate((pair.own, pair.garbage))
    ]
    assert found[0] == found[1]
