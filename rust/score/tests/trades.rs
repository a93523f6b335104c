//! Openings, additions, partial closes and flips, one by one.

use openoutcry_score::Undefined;
use openoutcry_score::trades::{Cause, Kind, Movement, Trade, fills_of_path, summarize_trades, trades};

fn fill(bar: usize, shares: f64, price: f64) -> Movement {
    Movement { bar, symbol: 0, kind: Kind::Fill { shares, price, fee: 0.0, cause: Cause::Order } }
}

fn ended(bar: usize, shares: f64, price: f64, cause: Cause) -> Movement {
    Movement { bar, symbol: 0, kind: Kind::Fill { shares, price, fee: 0.0, cause } }
}

fn paid(bar: usize, shares: f64, price: f64, fee: f64) -> Movement {
    Movement { bar, symbol: 0, kind: Kind::Fill { shares, price, fee, cause: Cause::Order } }
}

fn profits(movements: &[Movement]) -> Vec<f64> {
    trades(movements, 1).unwrap().0.iter().map(|trade| trade.profit).collect()
}

#[test]
fn a_position_bought_added_to_and_sold_in_parts_is_one_trade() {
    let movements = [fill(1, 1.0, 10.0), fill(2, 1.0, 12.0), fill(4, -0.5, 14.0), fill(7, -1.5, 16.0)];
    let (closed, n_open) = trades(&movements, 1).unwrap();
    // Sold for 7 + 24, bought for 10 + 12.
    let expected =
        Trade { symbol: 0, opened: 1, closed: 7, is_long: true, entry: 22.0, profit: 9.0, end: Cause::Order };
    assert_eq!((closed.as_slice(), n_open), (&[expected][..], 0));
    assert_eq!(closed[0].duration(), 6);
    // It is not closed until the last share is sold.
    assert_eq!(trades(&movements[..3], 1), Ok((vec![], 1)));
}

#[test]
fn a_flip_closes_one_trade_and_opens_another_its_fee_divided() {
    let movements = [paid(1, 2.0, 10.0, 0.25), paid(3, -6.0, 11.0, 0.75), paid(4, 4.0, 9.0, 0.5)];
    let (closed, n_open) = trades(&movements, 1).unwrap();
    // Long: 22 - 20 - 0.25 - a third of 0.75; short: 44 - 36 - 0.5 - 0.5.
    assert_eq!(closed.iter().map(|trade| trade.profit).collect::<Vec<_>>(), [1.5, 7.0]);
    assert_eq!(closed.iter().map(|trade| trade.is_long).collect::<Vec<_>>(), [true, false]);
    assert_eq!(closed.iter().map(|trade| (trade.opened, trade.closed)).collect::<Vec<_>>(), [(1, 3), (3, 4)]);
    assert_eq!((closed[1].entry, n_open), (44.0, 0));
}

#[test]
fn dividends_and_splits_belong_to_the_position_that_is_held() {
    let movement = |bar, kind| Movement { bar, symbol: 0, kind };
    let movements = [
        movement(0, Kind::Dividend(5.0)),
        movement(0, Kind::Split(3.0)),
        fill(1, -2.0, 10.0),
        movement(2, Kind::Dividend(0.5)),
        movement(2, Kind::Split(2.0)),
        fill(3, 4.0, 4.0),
    ];
    // Sold for 20, bought for 16, 1 of dividends owed.
    assert_eq!(profits(&movements), [3.0]);
}

#[test]
fn a_settlement_for_nothing_closes_a_position() {
    assert_eq!(profits(&[fill(1, 2.0, 10.0), fill(3, -2.0, 0.0)]), [-20.0]);
}

#[test]
fn a_trade_ends_by_the_cause_of_its_closing_fill() {
    let movements = [
        fill(1, 2.0, 10.0),
        ended(2, -1.0, 9.0, Cause::StopLoss),
        ended(3, -1.0, 12.0, Cause::TakeProfit),
        fill(4, -1.0, 10.0),
        ended(5, 1.0, 9.0, Cause::Settled),
        fill(6, 1.0, 10.0),
        ended(7, -1.0, 4.0, Cause::Liquidated),
    ];
    let closed = trades(&movements, 1).unwrap().0;
    let ends: Vec<_> = closed.iter().map(|trade| (trade.closed, trade.end.slug())).collect();
    assert_eq!(ends, [(3, "take_profit"), (5, "settled"), (7, "liquidated")]);
}

#[test]
fn the_trade_that_ruins_an_account_is_a_trade() {
    let ruin = |symbol| Movement { bar: 4, symbol, kind: Kind::Ruin(30.0) };
    let (closed, n_open) = trades(&[paid(1, -2.0, 10.0, 0.5), ruin(0), ruin(1)], 2).unwrap();
    // Sold for 20 less a fee of 0.5, owed at 60.
    assert_eq!(closed.iter().map(|trade| (trade.profit, trade.end)).collect::<Vec<_>>(), [(-40.5, Cause::Ruined)]);
    assert_eq!((summarize_trades(&closed, n_open).win_rate, n_open), (Ok(0.0), 0));
    let wrong = Movement { bar: 4, symbol: 0, kind: Kind::Ruin(f64::NAN) };
    assert_eq!(trades(&[wrong], 1), Err(Undefined::NotAReturn));
}

#[test]
fn what_rounding_leaves_is_no_position() {
    let movements = [fill(1, 0.3, 10.0), fill(2, -0.1, 10.0), fill(3, -0.2, 10.0), fill(4, 1.0, 10.0)];
    assert_ne!(0.3 - 0.1 - 0.2, 0.0);
    let (closed, n_open) = trades(&movements, 1).unwrap();
    assert_eq!((closed.len(), n_open), (1, 1));
    assert_eq!(trades(&[fill(1, 0.0, 10.0)], 1), Ok((vec![], 0)));
}

#[test]
fn a_path_of_shares_leads_to_the_fills_between_its_rows() {
    let (shares, prices) = ([0.0, 1.0, 2.0, 1.0, 2.0, 0.0, 0.0, 0.0], [5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 8.0, 1.0]);
    let movements = fills_of_path(&shares, &prices, 2);
    let (closed, n_open) = trades(&movements, 2).unwrap();
    let found: Vec<_> = closed.iter().map(|trade| (trade.symbol, trade.opened, trade.closed, trade.profit)).collect();
    assert_eq!((found.as_slice(), n_open), (&[(1, 0, 2, 4.0), (0, 1, 3, 2.0)][..], 0));
}

#[test]
fn a_summary_counts_closed_trades_only_and_says_what_it_cannot() {
    let trade =
        |profit, closed| Trade { symbol: 0, opened: 0, closed, is_long: true, entry: 1.0, profit, end: Cause::Order };
    let closed = [trade(3.0, 1), trade(1.0, 2), trade(-2.0, 3), trade(0.0, 6)];
    let found = summarize_trades(&closed, 2);
    assert_eq!((found.n_trades, found.n_open), (4, 2));
    assert_eq!((found.win_rate, found.profit_factor), (Ok(0.5), Ok(2.0)));
    assert_eq!((found.average_win, found.max_win), (Ok(2.0), Ok(3.0)));
    assert_eq!((found.average_loss, found.max_loss), (Ok(-2.0), Ok(-2.0)));
    assert_eq!(found.average_duration, Ok(3.0));
    let won = summarize_trades(&closed[..2], 0);
    assert_eq!((won.profit_factor, won.average_loss), (Err(Undefined::NoLosingTrade), Err(Undefined::NoLosingTrade)));
    let lost = summarize_trades(&closed[2..], 0);
    assert_eq!((lost.profit_factor, lost.max_win), (Ok(0.0), Err(Undefined::NoWin)));
    let none = summarize_trades(&[], 0);
    for statistic in [none.win_rate, none.profit_factor, none.average_duration] {
        assert_eq!(statistic, Err(Undefined::NoTrade));
    }
}

#[test]
fn movements_that_cannot_be_are_errors() {
    let of = |movements: &[Movement]| trades(movements, 1).unwrap_err();
    assert_eq!(of(&[fill(2, 1.0, 1.0), fill(1, 1.0, 1.0)]), Undefined::NotInOrder);
    for (shares, price, fee) in [(f64::NAN, 1.0, 0.0), (1.0, -1.0, 0.0), (1.0, 1.0, f64::INFINITY)] {
        assert_eq!(of(&[paid(0, shares, price, fee)]), Undefined::NotAReturn);
    }
    for kind in [Kind::Split(0.0), Kind::Split(f64::NAN), Kind::Dividend(f64::INFINITY)] {
        assert_eq!(of(&[Movement { bar: 0, symbol: 0, kind }]), Undefined::NotAReturn);
    }
}
