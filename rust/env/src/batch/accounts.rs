use openoutcry_engine::lanes::LANES;
use openoutcry_engine::{Book, Dataset, Pack, StepError};

/// The accounts of lanes.
///
/// Of few symbols they lie eight to a pack, to be stepped side by side.
#[derive(Debug)]
pub(crate) enum Accounts {
    Packs(Vec<Pack>),
    Books(Vec<Book>),
}

/// Some of the accounts, to be changed.
pub(super) enum AccountsMut<'a> {
    Packs(&'a mut [Pack]),
    Books(&'a mut [Book]),
}

impl Accounts {
    /// Returns accounts of `books`, all of one number of symbols.
    pub(crate) fn new(books: Vec<Book>) -> Self {
        if books[0].n_symbols() > LANES {
            return Self::Books(books);
        }
        let packs = books.chunks(LANES).map(|books| {
            let mut pack = Pack::default();
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
            Self::Books(books) => books[i].bar(),
        }
    }

    pub(crate) fn nav(&self, i: usize) -> f64 {
        match self {
            Self::Packs(packs) => packs[i / LANES].nav(i % LANES),
            Self::Books(books) => books[i].nav(),
        }
    }

    pub(crate) fn cash(&self, i: usize) -> f64 {
        match self {
            Self::Packs(packs) => packs[i / LANES].cash(i % LANES),
            Self::Books(books) => books[i].cash(),
        }
    }

    pub(crate) fn shares(&self, i: usize, symbol: usize) -> f64 {
        match self {
            Self::Packs(packs) => packs[i / LANES].shares(i % LANES, symbol),
            Self::Books(books) => books[i].shares(symbol),
        }
    }

    /// Returns whether some account may be beyond taking a decision.
    pub(crate) fn overflow(&self) -> bool {
        match self {
            Self::Packs(packs) => packs.iter().any(Pack::overflows),
            Self::Books(books) => books.iter().any(|book| book.check_nav().is_err()),
        }
    }

    /// Checks that an account can take a decision.
    pub(crate) fn check_nav(&self, i: usize) -> Result<(), StepError> {
        match self {
            Self::Packs(packs) => packs[i / LANES].check_nav(i % LANES),
            Self::Books(books) => books[i].check_nav(),
        }
    }

    /// Returns an account as a book, in `memory` where it is not one already.
    ///
    /// Its marks are only right if they are to be shown.
    pub(crate) fn book<'a>(
        &'a self,
        i: usize,
        market: &Dataset,
        (memory, shows_marks): (&'a mut Book, bool),
    ) -> &'a Book {
        match self {
            Self::Packs(packs) => {
                packs[i / LANES].take(i % LANES, market, memory);
                memory
            }
            Self::Books(books) if !shows_marks => &books[i],
            Self::Books(books) => {
                memory.clone_from(&books[i]);
                memory.mark_to_close(market);
                memory
            }
        }
    }

    pub(super) fn as_mut(&mut self) -> AccountsMut<'_> {
        match self {
            Self::Packs(packs) => AccountsMut::Packs(packs),
            Self::Books(books) => AccountsMut::Books(books),
        }
    }

    /// Begins an account anew at the close of a bar.
    pub(crate) fn restart(&mut self, i: usize, market: &Dataset, bar: usize, memory: &mut Book) {
        match self {
            Self::Packs(packs) => restart(&mut packs[i / LANES], i % LANES, market, bar, memory),
            Self::Books(books) => books[i].restart(market, bar),
        }
    }
}

/// Begins an account of a pack anew; `memory` is that account from then on.
pub(super) fn restart(pack: &mut Pack, place: usize, market: &Dataset, bar: usize, memory: &mut Book) {
    memory.restart(market, bar);
    pack.put(place, memory);
}

impl AccountsMut<'_> {
    /// Splits off the accounts of the first `n` lanes, whole packs of them.
    pub(super) fn split(self, n: usize) -> (Self, Self) {
        match self {
            Self::Packs(packs) => {
                let (first, rest) = packs.split_at_mut(n.div_ceil(LANES));
                (Self::Packs(first), Self::Packs(rest))
            }
            Self::Books(books) => {
                let (first, rest) = books.split_at_mut(n);
                (Self::Books(first), Self::Books(rest))
            }
        }
    }
}
