"""Cases of `episode.json`: several symbols over about twelve bars."""

from __future__ import annotations

from vectors.cases import DEFAULT_LIMITS, HOLD, SYMBOLS, Case, Table, case, close, dataset, order, rows, says


class Dice:
    """A 31-bit linear congruential generator: the same draws on every machine."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def between(self, low: float, high: float) -> float:
        self.state = (1103515245 * self.state + 12345) % 2**31
        return low + (high - low) * (self.state >> 8) / 2**23

    def walk(self, n_bars: int, first: float, move: float) -> list[float | None]:
        prices = [first]
        while len(prices) < n_bars:
            prices.append(round(prices[-1] * (1.0 + self.between(-move, move)), 2))
        return list(prices)


def opens(dice: Dice, closes: Table) -> Table:
    """Return opens near the previous close, or None if it is None."""
    before = [closes[0], *closes[:-1]]
    return [[None if c is None else round(c * (1.0 + dice.between(-0.01, 0.01)), 2) for c in row] for row in before]


def weights(dice: Dice, n_symbols: int, gross: float, low: float = 0.0) -> list[float]:
    draws = [dice.between(low, 1.0) for _ in range(n_symbols)]
    total = sum(abs(draw) for draw in draws)
    return [round(gross * draw / total, 3) for draw in draws]


def row(*values: float) -> str:
    """Return a decision with an order for each symbol."""
    return says(*zip(SYMBOLS, values, strict=False))


def all_cases() -> list[Case]:
    return [every_cost(), long_and_short(), ten_symbols(), lives(), margin_call()]


def every_cost() -> Case:
    dice, n = Dice(11), 12
    closes = rows(*(dice.walk(n, first, 0.03) for first in (100.0, 20.0, 450.0, 7.5)))
    volume = [[round(dice.between(2e4, 4e5)) if dice.between(0.0, 1.0) > 0.1 else None for _ in day] for day in closes]
    dividends: Table = [[0.0] * 4 for _ in range(n)]
    dividends[4][0], dividends[7][2], dividends[7][1] = 0.75, 3.5, 0.1
    decisions = [row(*weights(dice, 4, dice.between(0.5, 1.3), -0.4)) for _ in range(n - 1)]
    decisions[3], decisions[6] = HOLD, says(close("AAA"), order("BBB", "hold", 0.5), ("CCC", 0.4))
    costs = {
        "fee_bps": 1.5,
        "slippage_bps": 3.0,
        "slippage_jitter": 0.5,
        "impact_bps": 40.0,
        "financing_bps": 600.0,
        "cash_bps": 250.0,
        "borrow_bps": 150.0,
        "capital": 2e6,
    }
    market = dataset(closes, open=opens(dice, closes), volume=volume, dividends=dividends)
    return case(
        "every_cost_at_the_next_open",
        "Four symbols, long and short, with volume, dividends and every cost.",
        [1, 3, 4, 5, 6, 7, 9, 11, 12, 13, 15],
        market,
        *decisions,
        costs=costs,
        limits=DEFAULT_LIMITS | {"max_weight": 0.6, "max_participation": 0.1},
        seed=42,
        lookback=4,
    )


def long_and_short() -> Case:
    dice, n = Dice(5), 10
    closes = rows(*(dice.walk(n, first, 0.05) for first in (1.1, 150.0, 0.85)))
    decisions = [row(*weights(dice, 3, 2.0, -1.0)) for _ in range(n - 1)]
    costs = {"fee_bps": 0.5, "slippage_bps": 1.0, "financing_bps": 450.0, "cash_bps": 300.0, "borrow_bps": 80.0}
    return case(
        "long_and_short_close_to_close",
        "Three currencies at twice the account, filled at the close decided on.",
        [5, 7, 11, 12, 13, 15],
        dataset(closes, periods_per_year=260.0),
        *decisions,
        costs=costs,
        lookback=3,
    )


def ten_symbols() -> Case:
    dice, n = Dice(99), 6
    closes = rows(*(dice.walk(n, round(dice.between(5.0, 300.0), 2), 0.02) for _ in range(10)))
    decisions = [row(*weights(dice, 10, 1.0)) for _ in range(n - 1)]
    return case(
        "ten_symbols_rebalanced",
        "Ten symbols and full rows: two lanes hold two symbols each.",
        [4, 5, 11, 13, 15],
        dataset(closes, open=opens(dice, closes)),
        *decisions,
        costs={"fee_bps": 1.0, "slippage_bps": 2.0},
        limits=DEFAULT_LIMITS,
        lookback=2,
    )


def lives() -> Case:
    dice, n = Dice(3), 12
    old, halted, gone, new = (dice.walk(n, first, 0.04) for first in (60.0, 12.0, 33.0, 5.0))
    halted[4:7] = [None, None, None]
    halted[7:] = [None if price is None else round(price / 4.0, 2) for price in halted[7:]]
    gone[8:] = [None] * 4
    new[:5] = [None] * 5
    closes = rows(old, halted, gone, new)
    splits: Table = [[1.0] * 4 for _ in range(n)]
    splits[5][1], splits[6][1] = 2.0, 2.0
    ends: Table = [[None] * 4 for _ in range(n)]
    ends[8][2] = -0.45
    market = dataset(closes, open=opens(dice, closes), splits=splits, delistings=ends)
    decisions = [
        says(("AAA", 0.25), ("BBB", 0.25), ("CCC", 0.25)),
        HOLD,
        HOLD,
        says(("DDD", 0.2)),
        says(("BBB", 0.5)),
        says(("DDD", 0.2), close("BBB")),
        says(("AAA", 0.1)),
        says(("CCC", 0.3)),
        says(("CCC", 0.3), ("BBB", 0.2)),
        says(close("BBB"), ("DDD", -0.15)),
        says(("AAA", 0.0)),
    ]
    return case(
        "listing_halt_split_and_settlement",
        "A symbol lists late, one is halted through two splits, one is settled.",
        [1, 5, 6, 8, 13, 15],
        market,
        *decisions,
        costs={"fee_bps": 2.0, "slippage_bps": 5.0},
        limits=DEFAULT_LIMITS,
        lookback=5,
    )


def margin_call() -> Case:
    closes = rows([50.0, 50.5, 49.0, 46.0, 43.5, 40.0, 47.0], [30.0, 30.2, 30.9, 31.5, 33.0, 36.0, 30.0])
    market = dataset(
        closes, open=rows([50.0, 50.0, 50.5, 48.5, 45.5, 43.0, 41.0], [30.0, 30.0, 30.5, 31.0, 31.6, 33.5, 35.0])
    )
    held = row(2.0, -1.0)
    return case(
        "a_margin_call",
        "A levered pair drifts to its maintenance margin, is closed by force, and the episode ends.",
        [5, 11, 12, 13, 14, 15],
        market,
        held,
        HOLD,
        HOLD,
        HOLD,
        costs={"fee_bps": 5.0, "slippage_bps": 10.0, "financing_bps": 500.0, "borrow_bps": 200.0},
        limits={"maintenance_margin": 0.2},
        lookback=2,
    )
