"""Builders of `orders.json`: markets of one bar, day orders, and exact accounts.

A case states by hand which orders are filled, at which price, and why. `Book` turns these fills into money with exact
fractions. Nothing here uses the engine or the reference.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from vectors.cases import DAYS, NO_COSTS, NO_LIMITS, SYMBOLS, Case, order, says

Number = str | int | float | Fraction
Entry = dict[str, Any]
Quotes = tuple[Number | None, Number | None, Number | None, Number | None]  # open, high, low, close

FLAT: Quotes = (100, 100, 100, 100)
NO_DAY_COSTS = NO_COSTS | {"stop_gap": 0.0}
NO_DAY_LIMITS = NO_LIMITS | {"cash_account": False}
PRICES = ("limit_price", "stop_price", "stop_loss", "take_profit")


def exact(value: Number) -> Fraction:
    """Return a decimal, or a quotient of decimals as in `95/1.01`, as a fraction."""
    if isinstance(value, float):
        return Fraction(repr(value))
    if not isinstance(value, str):
        return Fraction(value)
    top, *below = value.split("/")
    result = Fraction(top)
    for each in below:
        result /= Fraction(each)
    return result


def filled(symbol: str, q: Number, f: Number, b: Number | None = None, slippage: Number = 1) -> Entry:
    """Return a fill of q shares at f.

    `b` is the price before cost, `slippage` the part of the cost that is slippage.
    """
    parts = {"q": exact(q), "f": exact(f), "b": exact(f if b is None else b), "part": exact(slippage)}
    return {"slug": "filled", "symbol": symbol, "shares": exact(q), "price": exact(f), "fill": parts}


def exited(symbol: str, reason: str, q: Number, f: Number, b: Number | None = None, slippage: Number = 1) -> Entry:
    """Return the fill of an exit."""
    return filled(symbol, q, f, b, slippage) | {"slug": "exited", "reason": reason}


def unfilled(symbol: str, q: Number, reason: str) -> Entry:
    return {"slug": "unfilled", "symbol": symbol, "shares": exact(q), "reason": reason}


def limited(reason: str, requested: Number, allowed: Number, symbol: str = "") -> Entry:
    named = {"symbol": symbol} if symbol else {}
    return {"slug": "limited", "reason": reason, "requested": exact(requested), "allowed": exact(allowed)} | named


def refused(symbol: str, weight: Number, reason: str) -> Entry:
    return {"slug": "refused", "symbol": symbol, "weight": exact(weight), "reason": reason}


class Book:
    """An account in exact fractions."""

    def __init__(self, costs: dict[str, Any]) -> None:
        self.cash, self.nav, self.fee = Fraction(1), Fraction(1), exact(costs["fee_bps"]) / 10000
        self.h: dict[str, Fraction] = {}
        self.average: dict[str, Fraction] = {}

    def split(self, symbol: str, ratio: Fraction) -> None:
        self.h[symbol] = self.h.get(symbol, Fraction(0)) * ratio
        self.average[symbol] = self.average.get(symbol, Fraction(0)) / ratio

    def trade(self, symbol: str, q: Fraction, f: Fraction) -> None:
        """Add a fill to cash, shares and average price."""
        held = self.h.get(symbol, Fraction(0))
        self.cash -= q * f + self.fee * abs(q) * f
        self.h[symbol] = held + q
        if held * q > 0:
            self.average[symbol] = (self.average[symbol] * abs(held) + f * abs(q)) / abs(held + q)
        elif held * (held + q) <= 0:
            self.average[symbol] = f

    def step(self, entries: Sequence[Entry], marks: dict[str, Fraction], **other: Any) -> Entry:
        """Return the expected result of a step.

        Args:
            entries: Events of the step, in order; those of fills contain the fill.
            marks: Price of each symbol at the close.
            other: Dividends, settlement, interest, and costs that are not of fills, as worked out by hand.
        """
        before, amounts = self.nav, {name: exact(value) for name, value in other.items()}
        fills = [entry["fill"] | {"symbol": entry["symbol"]} for entry in entries if "fill" in entry]
        traded = sum((abs(x["q"]) * x["f"] for x in fills), Fraction(0))
        paid = [(abs(x["q"]) * abs(x["f"] - x["b"]), x["part"]) for x in fills]
        for x in fills:
            self.trade(x["symbol"], x["q"], x["f"])
        gains = {name: amounts.get(name, Fraction(0)) for name in ("interest", "dividends", "settlement")}
        costs = {
            "fee": self.fee * traded,
            "slippage": sum((cost * part for cost, part in paid), Fraction(0)),
            "impact": sum((cost * (1 - part) for cost, part in paid), Fraction(0)),
            **{name: amounts.get(name, Fraction(0)) for name in ("financing", "borrow", "liquidation")},
        }
        # A settlement pays the mark with its gain; `released` is that mark.
        self.cash += (
            sum(gains.values(), Fraction(0))
            - costs["financing"]
            - costs["borrow"]
            + amounts.get("released", Fraction(0))
        )
        self.nav = self.cash + sum((h * marks[symbol] for symbol, h in self.h.items() if h), Fraction(0))
        events = [{name: plain(x) for name, x in entry.items() if name != "fill"} for entry in entries]
        info = {"nav": self.nav, "costs": costs, "turnover": traded / before} | gains
        held = [
            {"symbol": symbol, "shares": plain(self.h[symbol]), "avg_price": plain(self.average[symbol])}
            for symbol in SYMBOLS
            if self.h.get(symbol)
        ]
        return {
            "observation": {"cash": plain(self.cash), "portfolio": held},
            "reward": plain(self.nav / before - 1),
            "info": plain(info) | {"events": events},
        }


def plain(value: Any) -> Any:
    """Return JSON with every fraction as the nearest double."""
    if isinstance(value, dict):
        return {name: plain(x) for name, x in value.items()}
    return float(value) if isinstance(value, Fraction) else value


def asks(symbol: str, weight: Number | None, **fields: Number | str) -> Entry:
    """Return an order; a weight of None holds, one of 0 closes."""
    prices = {name: value if name == "at" else float(exact(value)) for name, value in fields.items()}
    if weight is None:
        return order(symbol, "hold", 0.0) | prices
    target = float(exact(weight))
    action = "close" if target == 0.0 else "sell" if target < 0.0 else "buy"
    return order(symbol, action, target) | prices


def table(name: str, bars: Sequence[Sequence[Quotes]]) -> list[list[float | None]]:
    place = ("open", "high", "low", "close").index(name)
    columns = [[cell[place] for cell in bar] for bar in bars]
    return [[None if price is None else float(exact(price)) for price in column] for column in columns]


def rows_of(texts: Sequence[str], symbols: Sequence[str]) -> dict[str, list[list[Any]]]:
    """Return decisions as rows of weights and of every field that is used.

    None is a hold, or no price.
    """
    listed = [{each["symbol"]: each for each in json.loads(text)["orders"]} for text in texts]
    absent: Entry = {"action": "hold"}

    def weight(each: Entry) -> float | None:
        return {"hold": None, "close": 0.0}.get(each["action"], each.get("target_weight"))

    rows: dict[str, list[list[Any]]] = {"weights": [[weight(o.get(s, absent)) for s in symbols] for o in listed]}
    for name in PRICES:
        rows[name] = [[orders.get(s, absent).get(name) for s in symbols] for orders in listed]
    rows["at_close"] = [[orders.get(s, absent).get("at") == "close" for s in symbols] for orders in listed]
    used = {name: any(x is not None and x is not False for row in cells for x in row) for name, cells in rows.items()}
    return {name: cells for name, cells in rows.items() if name == "weights" or used[name]}


def market(bars: Sequence[Sequence[Quotes]], columns: dict[str, Any], opens: bool = True) -> Entry:
    """Return a dataset with a range on every bar; `columns` has the other tables."""
    names = ("close", "open", "high", "low") if opens else ("close", "high", "low")
    base = {"dates": DAYS[: len(bars)], "symbols": list(SYMBOLS[: len(bars[0])]), "periods_per_year": 252.0}
    return base | {name: table(name, bars) for name in names} | columns


class Story:
    """A case: bars, decisions, and the events of each step as worked out by hand.

    Args:
        rules: Rows of the fill table and rules of contract 1.1 that the case tests.
        n_symbols: Number of symbols; every symbol is at 100 before the first decision.
    """

    def __init__(self, name: str, rules: str, about: str, n_symbols: int = 1, **settings: Any) -> None:
        self.name, self.rules, self.about = name, rules.split(), about
        self.costs = NO_DAY_COSTS | settings.pop("costs", {})
        self.limits = NO_DAY_LIMITS | settings.pop("limits", {})
        self.opens, self.columns = settings.pop("opens", True), settings
        self.bars: list[list[Quotes]] = [[FLAT] * n_symbols]
        self.texts: list[str] = []
        self.book = Book(self.costs)
        self.steps: list[Entry] = []
        self.marks = {symbol: Fraction(100) for symbol in SYMBOLS[:n_symbols]}

    def bar(self, orders: Sequence[Entry], bar: Sequence[Quotes], entries: Sequence[Entry], **other: Any) -> Story:
        """Add a decision, the bar after it, and what happens on that bar."""
        self.texts.append(says(*orders))
        self.bars.append(list(bar))
        for symbol, split in other.pop("splits", {}).items():
            self.book.split(symbol, exact(split))
            self.marks[symbol] /= exact(split)
        for symbol in other.pop("settled", ()):
            self.book.h[symbol] = Fraction(0)
        closes = zip(self.marks, (cell[3] for cell in bar), strict=True)
        self.marks |= {symbol: exact(close) for symbol, close in closes if close is not None}
        self.steps.append(self.book.step(entries, self.marks, **other))
        return self

    def case(self) -> Case:
        dataset = market(self.bars, self.columns, self.opens)
        given = {
            "dataset": dataset,
            "window": [0, len(self.bars)],
            "lookback": 20,
            "seed": 0,
            "costs": self.costs,
            "limits": self.limits,
            "decisions": self.texts,
            **rows_of(self.texts, dataset["symbols"]),
        }
        last = len(self.steps) - 1
        steps = [step | {"done": k == last} for k, step in enumerate(self.steps)]
        return {
            "name": self.name,
            "about": self.about,
            "rules": self.rules,
            "given": given,
            "expected": {"steps": steps},
        }


def entry(name: str, rules: str, about: str, placed: Entry, bar: Quotes, *entries: Entry, **settings: Any) -> Case:
    """Return a case of one order of a flat account over one bar."""
    return Story(name, rules, about, **settings).bar([placed], [bar], entries).case()


def held(
    name: str, rules: str, about: str, weight: Number, placed: Entry, bar: Quotes, *entries: Entry, **settings: Any
) -> Case:
    """Return a case of one order of an account that holds `weight`."""
    story = Story(name, rules, about, **settings)
    return story.bar([asks("AAA", weight)], [FLAT], [first(story, weight)]).bar([placed], [bar], entries).case()


def first(story: Story, weight: Number, symbol: str = "AAA") -> Entry:
    """Return the fill of the first decision: a plain order at 100 that pays slippage."""
    q, c = exact(weight) / 100, exact(story.costs["slippage_bps"]) / 10000
    return filled(symbol, q, 100 * (1 + c if q > 0 else 1 - c), 100)
