//! Trades: positions from their opening to their close.

use crate::error::{Statistic, Undefined};

/// Less than this share of the most that a position was is nothing.
const DUST: f64 = 1e-9;

/// What happens to a position, in the order of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Movement {
    /// Bar on which it happens.
    pub bar: usize,
    /// Symbol index.
    pub symbol: usize,
    /// What it is.
    pub kind: Kind,
}

/// The kinds of movements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Shares are bought, or sold below 0, also by a liquidation or a settlement.
    Fill {
        /// Signed shares.
        shares: f64,
        /// Price of each, slippage in it, at least 0.
        price: f64,
        /// Commission on all, at least 0.
        fee: f64,
    },
    /// Each share held is paid this; a short pays it.
    Dividend(f64),
    /// Each share held becomes this many.
    Split(f64),
}

/// A position from its opening to its close.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trade {
    /// Symbol index.
    pub symbol: usize,
    /// Bar of the fill that opened it.
    pub opened: usize,
    /// Bar of the fill that closed it.
    pub closed: usize,
    /// Whether shares were held; else they were owed.
    pub is_long: bool,
    /// The notional of every fill that opened it or added to it, without fees.
    pub entry: f64,
    /// What it brought after its fees, in the unit of prices times shares.
    pub profit: f64,
}

impl Trade {
    /// Returns the bars between its opening and its close.
    #[must_use]
    pub fn duration(&self) -> usize {
        self.closed - self.opened
    }
}

/// A position that is open.
#[derive(Clone, Copy, Debug)]
struct Position {
    opened: usize,
    shares: f64,
    most: f64,
    entry: f64,
    cash: f64,
}

/// Returns the trades of movements, and how many positions are open at the end.
///
/// Movements are in the order of time, trades in that of their closes.
///
/// - A trade **opens** with the fill that leaves a symbol with shares that it had none of before.
/// - A fill of the same sign **adds** to it: it is the same trade, as old as its first fill.
/// - A fill of the other sign that leaves shares of the old sign is a **partial close**: it is still the same trade, whose
///   profit is told when the rest is closed, and no trade of its own.
/// - A fill that leaves none **closes** it. Less than 1e-9 of the most shares the position ever had are none.
/// - A fill that leaves shares of the other sign is a **flip**: it closes one trade and opens another on the same bar, at
///   the same price, its fee divided by shares.
/// - The **profit** is all cash that the position brought: sales less purchases, dividends on the shares held before the
///   bar's fill, less fees. Interest, financing and borrowing belong to the account and to no trade.
/// - What is **open** at the end is no trade, and neither its profit nor its age is counted.
///
/// # Errors
///
/// Undefined for a price, share, fee, dividend or split that is none, or movements out of order.
///
/// # Panics
///
/// Panics if a symbol is not below `n_symbols`.
pub fn trades(movements: &[Movement], n_symbols: usize) -> Result<(Vec<Trade>, usize), Undefined> {
    let mut open: Vec<Option<Position>> = vec![None; n_symbols];
    let mut closed = Vec::new();
    let mut last = 0;
    for movement in movements {
        if movement.bar < last {
            return Err(Undefined::NotInOrder);
        }
        last = movement.bar;
        let held = &mut open[movement.symbol];
        match movement.kind {
            Kind::Dividend(paid) if paid.is_finite() => {
                if let Some(position) = held {
                    position.cash += position.shares * paid;
                }
            }
            Kind::Split(ratio) if ratio.is_finite() && ratio > 0.0 => {
                if let Some(position) = held {
                    position.shares *= ratio;
                    position.most *= ratio;
                }
            }
            Kind::Fill { shares, price, fee } if [shares, price, fee].iter().all(|x| x.is_finite()) && price >= 0.0 => {
                closed.extend(fill(held, movement, (shares, price, fee)));
            }
            _ => return Err(Undefined::NotAReturn),
        }
    }
    Ok((closed, open.iter().flatten().count()))
}

/// Carries a fill out on a position and returns the trade that it closes, if any.
fn fill(held: &mut Option<Position>, movement: &Movement, (shares, price, fee): (f64, f64, f64)) -> Option<Trade> {
    let opening = |shares: f64, fee: f64| Position {
        opened: movement.bar,
        shares,
        most: shares.abs(),
        entry: shares.abs() * price,
        cash: -shares * price - fee,
    };
    let Some(position) = held else {
        *held = (shares != 0.0).then(|| opening(shares, fee));
        return None;
    };
    let left = position.shares + shares;
    if position.shares * shares >= 0.0 {
        position.shares = left;
        position.most = position.most.max(left.abs());
        position.entry += shares.abs() * price;
        position.cash -= shares * price + fee;
        return None;
    }
    let is_closed = left.abs() <= DUST * position.most;
    if !is_closed && left * position.shares > 0.0 {
        position.shares = left;
        position.cash -= shares * price + fee;
        return None;
    }
    // Of a flip, the part that closes is what was held.
    let (closing, closing_fee) =
        if is_closed { (shares, fee) } else { (-position.shares, fee * (position.shares / shares).abs()) };
    let trade = Trade {
        symbol: movement.symbol,
        opened: position.opened,
        closed: movement.bar,
        is_long: position.shares > 0.0,
        entry: position.entry,
        profit: position.cash - closing * price - closing_fee,
    };
    *held = (!is_closed).then(|| opening(left, fee - closing_fee));
    Some(trade)
}

/// Returns the fills that lead along a path of shares, without fees.
///
/// `shares` and `prices` are rows of `n_symbols`, one a bar; the account is empty before the first. A symbol without a
/// price that does not trade is passed over.
///
/// # Panics
///
/// Panics unless the two have the same whole number of rows.
#[must_use]
pub fn fills_of_path(shares: &[f64], prices: &[f64], n_symbols: usize) -> Vec<Movement> {
    assert!(shares.len() == prices.len() && shares.len().is_multiple_of(n_symbols), "one price per share and bar");
    let mut fills = Vec::new();
    for (place, (held, price)) in shares.iter().zip(prices).enumerate() {
        let before = place.checked_sub(n_symbols).map_or(0.0, |before| shares[before]);
        if *held != before {
            let kind = Kind::Fill { shares: held - before, price: *price, fee: 0.0 };
            fills.push(Movement { bar: place / n_symbols, symbol: place % n_symbols, kind });
        }
    }
    fills
}

/// What the closed trades of a run were like; profits are in their unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TradeSummary {
    /// Closed trades.
    pub n_trades: usize,
    /// Positions open at the end, which are no trades.
    pub n_open: usize,
    /// Share of trades with a profit above 0.
    pub win_rate: Statistic,
    /// Sum of profits over the size of the sum of losses.
    pub profit_factor: Statistic,
    /// Mean profit of the trades that won.
    pub average_win: Statistic,
    /// Mean loss of those that lost, below 0.
    pub average_loss: Statistic,
    /// Largest profit.
    pub max_win: Statistic,
    /// Largest loss, below 0.
    pub max_loss: Statistic,
    /// Mean bars from opening to close.
    pub average_duration: Statistic,
}

/// Returns what the closed trades of a run were like.
///
/// Each number is defined or not on its own. A trade without profit or loss counts as a trade, and is neither won nor lost. Without a loss there is no profit
/// factor, rather than an infinite one.
#[must_use]
pub fn summarize_trades(trades: &[Trade], n_open: usize) -> TradeSummary {
    let of = |wanted: fn(f64) -> bool| trades.iter().map(|trade| trade.profit).filter(move |profit| wanted(*profit));
    let (wins, losses) = (|profit| profit > 0.0, |profit| profit < 0.0);
    let n = trades.len();
    let among = |count: usize, none: Undefined| if count == 0 { Err(none) } else { Ok(count as f64) };
    let (won, lost) = (among(of(wins).count(), Undefined::NoWin), among(of(losses).count(), Undefined::NoLosingTrade));
    let traded = among(n, Undefined::NoTrade);
    let (gain, loss): (f64, f64) = (of(wins).sum(), of(losses).sum());
    TradeSummary {
        n_trades: n,
        n_open,
        win_rate: traded.map(|n| of(wins).count() as f64 / n),
        profit_factor: traded.and(lost).map(|_| gain / loss.abs()),
        average_win: won.map(|count| gain / count),
        average_loss: lost.map(|count| loss / count),
        max_win: won.map(|_| of(wins).fold(0.0, f64::max)),
        max_loss: lost.map(|_| of(losses).fold(0.0, f64::min)),
        average_duration: traded.map(|n| trades.iter().map(|trade| trade.duration() as f64).sum::<f64>() / n),
    }
}
