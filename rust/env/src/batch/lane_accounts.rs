use openoutcry_engine::lane_sums::LANES;
use openoutcry_engine::{AccountBlock, AccountStore, AccountStoreMut, AccountView, Book, Dataset, StepError};

/// The accounts of lanes.
///
/// Of few symbols they lie eight to a pack, to be stepped side by side.
#[derive(Debug)]
pub(crate) enum Accounts {
    Packs(Vec<AccountBlock>),
    AccountStore(AccountStore),
}

/// Some of the accounts, to be changed.
pub(super) enum AccountsMut<'a> {
    Packs(&'a mut [AccountBlock]),
    AccountStore(AccountStoreMut<'a>),
}

impl Accounts {
    /// Returns accounts of `books`, all of one number of symbols.
    pub(crate) fn new(books: &[Book]) -> Self {
        if books[0].n_symbols() > LANES {
            return Self::AccountStore(AccountStore::new(books));
        }
        let packs = books.chunks(LANES).map(|books| {
            let mut pack = AccountBlock::default();
            for (place, book) in books.iter().enumerate() {
                pack.put(place, book);
            }
            pack
        });
        Self::Packs(packs.collect())
    }

    pub(crate) fn bar(&self, i: usize) -> usize {
        match self {
            Self::Packs(packs) => packs[i / LANES].bar(i % LANES),
            Self::AccountStore(shelf) => shelf.bar(i),
        }
    }

    pub(crate) fn nav(&self, i: usize) -> f64 {
        match self {
            Self::Packs(packs) => packs[i / LANES].nav(i % LANES),
            Self::AccountStore(shelf) => shelf.nav(i),
        }
    }

    pub(crate) fn cash(&self, i: usize) -> f64 {
        match self {
            Self::Packs(packs) => packs[i / LANES].cash(i % LANES),
            Self::AccountStore(shelf) => shelf.cash(i),
        }
    }

    pub(crate) fn shares(&self, i: usize, symbol: usize) -> f64 {
        match self {
            Self::Packs(packs) => packs[i / LANES].shares(i % LANES, symbol),
            Self::AccountStore(shelf) => shelf.shares(i, symbol),
        }
    }

    /// Returns whether some account may be beyond taking a decision.
    pub(crate) fn overflow(&self) -> bool {
        match self {
            Self::Packs(packs) => packs.iter().any(AccountBlock::overflows),
            Self::AccountStore(shelf) => shelf.overflows(),
        }
    }

    /// Checks that an account can take a decision.
    pub(crate) fn check_nav(&self, i: usize) -> Result<(), StepError> {
        match self {
            Self::Packs(packs) => packs[i / LANES].check_nav(i % LANES),
            Self::AccountStore(shelf) => shelf.check_nav(i),
        }
    }

    /// Returns what an account of that market holds.
    ///
    /// In `memory`, where it lies in a pack.
    pub(crate) fn held<'a>(&'a self, i: usize, market: &'a Dataset, memory: &'a mut Book) -> AccountView<'a> {
        match self {
            Self::Packs(packs) => {
                packs[i / LANES].take(i % LANES, market, memory);
                memory.held()
            }
            Self::AccountStore(shelf) => shelf.held(i, market),
        }
    }

    pub(super) fn as_mut(&mut self) -> AccountsMut<'_> {
        match self {
            Self::Packs(packs) => AccountsMut::Packs(packs),
            Self::AccountStore(shelf) => AccountsMut::AccountStore(shelf.as_mut()),
        }
    }

    /// Begins an account anew at the close of a bar.
    ///
    /// `memory` is that account from then on.
    pub(crate) fn restart(&mut self, i: usize, market: &Dataset, bar: usize, memory: &mut Book) {
        memory.restart(market, bar);
        match self {
            Self::Packs(packs) => packs[i / LANES].put(i % LANES, memory),
            Self::AccountStore(shelf) => shelf.as_mut().put(i, memory),
        }
    }
}

impl AccountsMut<'_> {
    /// Splits off the accounts of the first `n` lanes, whole packs of them.
    pub(super) fn split(self, n: usize) -> (Self, Self) {
        match self {
            Self::Packs(packs) => {
                let (first, rest) = packs.split_at_mut(n.div_ceil(LANES));
                (Self::Packs(first), Self::Packs(rest))
            }
            Self::AccountStore(shelf) => {
                let (first, rest) = shelf.split_at(n);
                (Self::AccountStore(first), Self::AccountStore(rest))
            }
        }
    }
}
