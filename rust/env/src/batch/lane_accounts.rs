use openoutcry_engine::lane_sums::LANES;
use openoutcry_engine::{AccountBlock, AccountStore, AccountStoreMut, AccountView, Book, Dataset, StepError};

/// The accounts of the lanes.
///
/// Accounts of few symbols are in blocks of eight that are stepped together.
#[derive(Debug)]
pub(crate) enum LaneAccounts {
    Packs(Vec<AccountBlock>),
    AccountStore(AccountStore),
}

/// A mutable slice of the accounts.
pub(super) enum LaneAccountsMut<'a> {
    Packs(&'a mut [AccountBlock]),
    AccountStore(AccountStoreMut<'a>),
}

impl LaneAccounts {
    /// Returns accounts of `books`, which have the same number of symbols.
    pub(crate) fn new(books: &[Book]) -> Self {
        if books[0].n_symbols() > LANES {
            return Self::AccountStore(AccountStore::new(books));
        }
        let blocks = books.chunks(LANES).map(|books| {
            let mut block = AccountBlock::default();
            for (place, book) in books.iter().enumerate() {
                block.put(place, book);
            }
            block
        });
        Self::Packs(blocks.collect())
    }

    pub(crate) fn bar(&self, i: usize) -> usize {
        match self {
            Self::Packs(blocks) => blocks[i / LANES].bar(i % LANES),
            Self::AccountStore(store) => store.bar(i),
        }
    }

    pub(crate) fn nav(&self, i: usize) -> f64 {
        match self {
            Self::Packs(blocks) => blocks[i / LANES].nav(i % LANES),
            Self::AccountStore(store) => store.nav(i),
        }
    }

    pub(crate) fn cash(&self, i: usize) -> f64 {
        match self {
            Self::Packs(blocks) => blocks[i / LANES].cash(i % LANES),
            Self::AccountStore(store) => store.cash(i),
        }
    }

    pub(crate) fn shares(&self, i: usize, symbol: usize) -> f64 {
        match self {
            Self::Packs(blocks) => blocks[i / LANES].shares(i % LANES, symbol),
            Self::AccountStore(store) => store.shares(i, symbol),
        }
    }

    /// Returns whether the NAV of an account may be too large for a decision.
    pub(crate) fn overflow(&self) -> bool {
        match self {
            Self::Packs(blocks) => blocks.iter().any(AccountBlock::overflows),
            Self::AccountStore(store) => store.overflows(),
        }
    }

    /// Checks that an account can take a decision.
    pub(crate) fn check_nav(&self, i: usize) -> Result<(), StepError> {
        match self {
            Self::Packs(blocks) => blocks[i / LANES].check_nav(i % LANES),
            Self::AccountStore(store) => store.check_nav(i),
        }
    }

    /// Returns a view of an account in `market`.
    ///
    /// It is in `memory` for an account in a block.
    pub(crate) fn held<'a>(&'a self, i: usize, market: &'a Dataset, memory: &'a mut Book) -> AccountView<'a> {
        match self {
            Self::Packs(blocks) => {
                blocks[i / LANES].take(i % LANES, market, memory);
                memory.held()
            }
            Self::AccountStore(store) => store.held(i, market),
        }
    }

    /// Copies an account to `memory`.
    pub(super) fn take(&mut self, i: usize, market: &Dataset, memory: &mut Book) {
        match self {
            Self::Packs(blocks) => blocks[i / LANES].take(i % LANES, market, memory),
            Self::AccountStore(store) => store.as_mut().take(i, market, memory),
        }
    }

    /// Replaces an account by `book`.
    pub(super) fn put(&mut self, i: usize, book: &Book) {
        match self {
            Self::Packs(blocks) => blocks[i / LANES].put(i % LANES, book),
            Self::AccountStore(store) => store.as_mut().put(i, book),
        }
    }

    pub(super) fn as_mut(&mut self) -> LaneAccountsMut<'_> {
        match self {
            Self::Packs(blocks) => LaneAccountsMut::Packs(blocks),
            Self::AccountStore(store) => LaneAccountsMut::AccountStore(store.as_mut()),
        }
    }

    /// Resets an account at the close of a bar.
    ///
    /// `memory` then holds that account.
    pub(crate) fn restart(&mut self, i: usize, market: &Dataset, bar: usize, memory: &mut Book) {
        memory.restart(market, bar);
        self.put(i, memory);
    }
}

impl LaneAccountsMut<'_> {
    /// Splits off the accounts of the first `n` lanes, in whole blocks.
    pub(super) fn split(self, n: usize) -> (Self, Self) {
        match self {
            Self::Packs(blocks) => {
                let (first, rest) = blocks.split_at_mut(n.div_ceil(LANES));
                (Self::Packs(first), Self::Packs(rest))
            }
            Self::AccountStore(store) => {
                let (first, rest) = store.split_at(n);
                (Self::AccountStore(first), Self::AccountStore(rest))
            }
        }
    }
}
