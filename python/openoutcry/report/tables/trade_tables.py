"""Tables of closed trades, their statistics, and open positions."""

from __future__ import annotations

from math import isfinite

from openoutcry.backtest.run import Run
from openoutcry.backtest.trade_list import open_positions, payoff_of, round_trips
from openoutcry.backtest.trades import closed_trades
from openoutcry.report.pages.analysis_labels import TRADES
from openoutcry.report.tables.table_builders import statistics_table
from openoutcry.report.views.table_view import Column, Table, Value
from openoutcry.scoring.statistic_values import collected

__all__ = ["trade_tables"]

_COLUMNS = (
    *(Column("symbol", "Symbol"), Column("side", "Side"), Column("entry_date", "Entry"), Column("exit_date", "Exit")),
    *(Column("entry_price", "Entry price", "price"), Column("exit_price", "Exit price", "price")),
    *(Column("quantity", "Quantity", "quantity"), Column("notional", "Notional", "money")),
    *(Column("profit", "P&L", "money"), Column("return", "P&L, %", "rate")),
    Column("bars", "Hold, bars", "count"),
)
_END = Column("end", "Ended by")
_PLAIN_ENDS = {"order", "settled", "liquidated"}
_MONEY = ("average_win", "average_loss", "max_win", "max_loss")


def trade_tables(run: Run, most: int | None = None) -> list[Table]:
    """Return the tables `trade_statistics`, `trades` and `open_positions` of a run.

    The statistics are of all trades; with `most`, the table `trades` has the latest ones only. It has a column `end` if
    an exit or ruin closed one of them.
    """
    closed, found = closed_trades(run)
    capital = run.cost_model.capital
    values: dict[str, float | str] = {"n_trades": float(found["n_trades"]), "n_open": float(found["n_open"])}
    names = ("win_rate", "profit_factor", *_MONEY, "average_duration")
    for name in names:
        value = found[name]
        scale = capital if name in _MONEY else 1.0
        values[name] = found["undefined"].get(name, "no trade was closed") if value is None else value * scale
    payoff, expectancy = payoff_of(closed.profit * capital)
    few = "no trade was closed" if not found["n_trades"] else "the trades have no winner or no loser"
    values |= {"payoff": few if payoff is None else payoff, "expectancy": few if expectancy is None else expectancy}
    columns = _COLUMNS if _PLAIN_ENDS.issuperset(closed.end) else (*_COLUMNS, _END)
    rows: list[tuple[Value, ...]] = []
    reasons: dict[tuple[int, str], str] = {}
    latest = closed.part(slice(0 if most is None else max(found["n_trades"] - most, 0), None))
    for place, each in enumerate(reversed(round_trips(run, latest))):
        row: list[Value] = [
            value if isinstance(value, str) or isfinite(value) else None for value in each[: len(columns)]
        ]
        reasons.update({(place, column.name): "unknown" for column, v in zip(columns, row, strict=True) if v is None})
        rows.append(tuple(row))
    held = tuple((each.symbol, each.side, each.weight) for each in open_positions(run))
    positions = (Column("symbol", "Symbol"), Column("side", "Side"), Column("weight", "Weight", "rate"))
    size = f"{capital:,.0f}"
    return [
        statistics_table(
            "trade_statistics", "Statistics of closed trades", TRADES, [("value", "Value", collected(values))]
        ),
        Table(
            "trades",
            f"Closed trades, latest first, for a starting capital of {size}",
            columns,
            tuple(rows),
            reasons=reasons,
            n_rows=found["n_trades"],
        ),
        Table("open_positions", "Positions at the last close", positions, held),
    ]
