//! An account stepped over a random market.

use openoutcry_engine::{
    Book, Columns, Dataset, Detail, Event, FillKey, Rules, StepError, Stepped, Workspace, step_once,
};
use proptest::test_runner::TestCaseResult;

use crate::random_market::Case;

/// The fill seed of every walk.
const FILL_SEED: u64 = 7;

/// One step of a walk: the state before, the orders, and the state after.
pub struct Step<'a> {
    pub columns: &'a Columns,
    pub case: &'a Case,
    /// The bar of the fills.
    pub bar: usize,
    pub orders: &'a [f64],
    pub before: &'a Book,
    pub after: &'a Book,
    pub stepped: Stepped,
    pub events: &'a [Event],
}

pub fn rules(case: &Case) -> Rules {
    Rules::new(case.costs, case.limits, FillKey::from_seed(FILL_SEED)).expect("valid rules")
}

/// Steps from the first bar of the case to its last, or until the account ends.
pub fn walk(case: &Case, mut see: impl FnMut(&Step) -> TestCaseResult) -> TestCaseResult {
    let (columns, data, rules) = (case.columns(), case.dataset(), rules(case));
    let mut workspace = Workspace::new(case.n_symbols, Detail::Full);
    let mut before = Book::new(&data, case.start);
    for bar in case.start + 1..case.n_bars {
        let mut after = before.clone();
        let orders = case.orders(bar - 1);
        let stepped = step_once(&data, &rules, &mut after, &orders, &mut workspace).expect("a finite NAV");
        let (columns, orders, events) = (&columns, &orders[..], workspace.events());
        see(&Step { columns, case, bar, orders, before: &before, after: &after, stepped, events })?;
        if stepped.terminated {
            break;
        }
        before = after;
    }
    Ok(())
}

/// Returns the NAV of each bar and the largest gross over NAV of `orders`.
pub fn navs(
    data: &Dataset,
    rules: &Rules,
    start: usize,
    orders: impl Fn(usize) -> Vec<f64>,
) -> Result<(Vec<f64>, f64), StepError> {
    let mut workspace = Workspace::new(data.n_symbols(), Detail::Money);
    let mut book = Book::new(data, start);
    let (mut navs, mut leverage) = (vec![1.0], 1.0_f64);
    for bar in start..data.n_bars() - 1 {
        let stepped = step_once(data, rules, &mut book, &orders(bar), &mut workspace)?;
        navs.push(stepped.nav);
        if stepped.terminated {
            break;
        }
        leverage = leverage.max(gross(&book) / book.nav());
    }
    Ok((navs, leverage))
}

/// Returns the sum of the absolute values of all positions.
pub fn gross(book: &Book) -> f64 {
    (0..book.n_symbols()).map(|i| (book.shares(i) * book.mark(i)).abs()).sum()
}

impl Step<'_> {
    pub fn symbols(&self) -> std::ops::Range<usize> {
        0..self.case.n_symbols
    }

    fn cell(&self, bar: usize, symbol: usize) -> usize {
        bar * self.case.n_symbols + symbol
    }

    pub fn split(&self, symbol: usize) -> f64 {
        self.columns.splits.as_ref().map_or(1.0, |splits| splits[self.cell(self.bar, symbol)])
    }

    /// Returns the shares held before the fill, on the fill bar's share basis.
    pub fn held(&self, symbol: usize) -> f64 {
        self.before.shares(symbol) * self.split(symbol)
    }

    /// Returns the price at which an order fills, NaN without one.
    pub fn reference_price(&self, symbol: usize) -> f64 {
        if let Some(open) = &self.columns.open {
            return open[self.cell(self.bar, symbol)];
        }
        let dividend = self.columns.dividends.as_ref().map_or(0.0, |row| row[self.cell(self.bar, symbol)]);
        (self.columns.close[self.cell(self.bar - 1, symbol)] - dividend) / self.split(symbol)
    }

    /// Returns the return of a settlement on the fill bar.
    pub fn settlement(&self, symbol: usize) -> Option<f64> {
        let delistings = self.columns.delistings.as_ref()?;
        Some(delistings[self.cell(self.bar, symbol)]).filter(|value| !value.is_nan())
    }

    pub fn filled(&self, symbol: usize) -> Option<(f64, f64)> {
        self.events.iter().find_map(|event| match *event {
            Event::Filled { symbol: of, shares, price, .. } if of == symbol => Some((shares, price)),
            _ => None,
        })
    }

    /// Returns whether an event with this slug names the symbol.
    pub fn tells(&self, slug: &str, symbol: usize) -> bool {
        self.events.iter().any(|event| event.slug() == slug && event.symbol() == Some(symbol))
    }
}
