//! Trades: positions from their opening to their close.

use crate::error::{Statistic, Undefined};

/// A position below this share of its largest size is closed.
const DUST: f64 = 1e-9;

/// A change of a position, in chronological order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Movement {
    /// Bar of the change.
    pub bar: usize,
    /// Symbol index.
    pub symbol: usize,
    /// Kind of the change.
    pub kind: Kind,
}

/// The kinds of changes of a position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A purchase or a sale, also by an exit, a liquidation or a settlement.
    Fill {
        /// Signed shares.
        shares: f64,
        /// Price including slippage, at least 0.
        price: f64,
        /// Commission, at least 0.
        fee: f64,
        /// Cause of the fill.
        cause: Cause,
    },
    /// The close of a whole position at this price by the ruin of the account.
    ///
    /// Without a position it has no effect.
    Ruin(f64),
    /// A dividend per share; a short pays it.
    Dividend(f64),
    /// A split, in new shares per old share.
    Split(f64),
}

macro_rules! causes {
    ($($(#[$doc:meta])* $variant:ident => $slug:literal,)*) => {
        /// Cause of a fill. That of the closing fill is the cause of the end of a trade.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Cause { $($(#[$doc])* $variant,)* }

        impl Cause {
            /// All causes, in the order of their codes.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns the stable name of this cause.
            #[must_use]
            pub fn slug(self) -> &'static str {
                match self { $(Self::$variant => $slug,)* }
            }
        }
    };
}

causes! {
    /// An order.
    Order => "order",
    /// The stop loss of a day order.
    StopLoss => "stop_loss",
    /// The take profit of a day order.
    TakeProfit => "take_profit",
    /// The settlement of a delisted symbol.
    Settled => "settled",
    /// A margin call.
    Liquidated => "liquidated",
    /// The ruin of the account.
    Ruined => "ruined",
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
    /// Whether the position was long; otherwise short.
    pub is_long: bool,
    /// Notional of the opening fill and of all additions, without fees.
    pub entry: f64,
    /// Profit after fees, in the unit of prices times shares.
    pub profit: f64,
    /// Cause of its end.
    pub end: Cause,
}

impl Trade {
    /// Returns the bars between opening and close.
    #[must_use]
    pub fn duration(&self) -> usize {
        self.closed - self.opened
    }
}

/// An open position.
#[derive(Clone, Copy, Debug)]
struct Position {
    opened: usize,
    shares: f64,
    most: f64,
    entry: f64,
    cash: f64,
}

/// Returns the trades of movements, and the number of open positions at the end.
///
/// Movements are in chronological order, trades in the order of their closes.
///
/// - A trade **opens** with a fill from no shares to some shares of a symbol.
/// - A fill of the same sign **adds** to it: the trade is the same, and its age is that of the first fill.
/// - A fill of the other sign that leaves shares of the old sign is a **partial close**. The trade stays open, and its
///   profit is counted when the rest is closed.
/// - A fill to no shares **closes** it. Fewer shares than 1e-9 of the largest position are no shares.
/// - A fill that leaves shares of the other sign is a **flip**: it closes one trade and opens another on the same bar,
///   at the same price, with the fee divided by shares.
/// - The **profit** is all cash of the position: sales less purchases, dividends on the shares held before the fill of
///   the bar, less fees. Interest, financing and borrow fees belong to the account and to no trade.
/// - The **end** of a trade is the cause of the fill that closed it. A ruin closes every position at the price given, its
///   mark, without a fee; what the account owes beyond its value is part of the loss.
/// - A position that is **open** at the end is no trade; its profit and age are not counted.
///
/// # Errors
///
/// Undefined for an invalid price, share count, fee, dividend or split, or movements out of order.
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
            Kind::Fill { shares, price, fee, cause }
                if [shares, price, fee].iter().all(|x| x.is_finite()) && price >= 0.0 =>
            {
                closed.extend(fill(held, movement, (shares, price, fee), cause));
            }
            Kind::Ruin(price) if price.is_finite() && price >= 0.0 => {
                let shares = held.as_ref().map_or(0.0, |position| -position.shares);
                closed.extend(fill(held, movement, (shares, price, 0.0), Cause::Ruined));
            }
            _ => return Err(Undefined::NotAReturn),
        }
    }
    Ok((closed, open.iter().flatten().count()))
}

/// Applies a fill to a position and returns the trade that it closes, if any.
fn fill(
    held: &mut Option<Position>,
    movement: &Movement,
    (shares, price, fee): (f64, f64, f64),
    end: Cause,
) -> Option<Trade> {
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
    // The closing part of a flip is the position before it.
    let (closing, closing_fee) =
        if is_closed { (shares, fee) } else { (-position.shares, fee * (position.shares / shares).abs()) };
    let trade = Trade {
        symbol: movement.symbol,
        opened: position.opened,
        closed: movement.bar,
        is_long: position.shares > 0.0,
        entry: position.entry,
        profit: position.cash - closing * price - closing_fee,
        end,
    };
    *held = (!is_closed).then(|| opening(left, fee - closing_fee));
    Some(trade)
}

/// Returns the fills of a path of shares, without fees.
///
/// `shares` and `prices` are rows of `n_symbols`, one per bar. The account is empty before the first bar. A symbol
/// without a price and without a trade is skipped.
///
/// # Panics
///
/// Panics unless both have the same whole number of rows.
#[must_use]
pub fn fills_of_path(shares: &[f64], prices: &[f64], n_symbols: usize) -> Vec<Movement> {
    assert!(shares.len() == prices.len() && shares.len().is_multiple_of(n_symbols), "one price per share and bar");
    let mut fills = Vec::new();
    for (place, (held, price)) in shares.iter().zip(prices).enumerate() {
        let before = place.checked_sub(n_symbols).map_or(0.0, |before| shares[before]);
        if *held != before {
            let kind = Kind::Fill { shares: held - before, price: *price, fee: 0.0, cause: Cause::Order };
            fills.push(Movement { bar: place / n_symbols, symbol: place % n_symbols, kind });
        }
    }
    fills
}

/// Statistics of the closed trades of a run; profits are in their unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TradeSummary {
    /// Closed trades.
    pub n_trades: usize,
    /// Positions open at the end.
    pub n_open: usize,
    /// Share of trades with a profit above 0.
    pub win_rate: Statistic,
    /// Sum of profits over the absolute sum of losses.
    pub profit_factor: Statistic,
    /// Mean profit of winning trades.
    pub average_win: Statistic,
    /// Mean loss of losing trades, below 0.
    pub average_loss: Statistic,
    /// Largest profit.
    pub max_win: Statistic,
    /// Largest loss, below 0.
    pub max_loss: Statistic,
    /// Mean bars from opening to close.
    pub average_duration: Statistic,
}

/// Returns the statistics of the closed trades of a run.
///
/// Each number may be undefined separately. A trade without profit or loss counts as a trade, and neither wins nor
/// loses. Without a loss the profit factor is undefined, not infinite.
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
