use crate::account::book::Book;
use crate::account::rates::Rates;

/// Returns whether the cash of an account moves on a bar without a trade.
pub(super) fn accrues(book: &Book, rates: &Rates) -> bool {
    if book.shares[0].iter().any(|shares| *shares < 0.0) {
        (rates.cash, rates.financing, rates.borrow) != (0.0, 0.0, 0.0)
    } else {
        rate(rates, book.cash) != 0.0
    }
}

/// Returns the rate on own cash.
#[inline(always)]
pub(super) fn rate(rates: &Rates, own: f64) -> f64 {
    if own >= 0.0 { rates.cash } else { rates.financing }
}
