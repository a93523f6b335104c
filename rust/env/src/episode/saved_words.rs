//! The bytes of saved states: words of 64 bits, little endian.

use openoutcry_engine::Book;

use crate::episode::reward_state::{RewardState, StepFigures};

/// A writer of words.
#[derive(Debug)]
pub(crate) struct SavedWords(Vec<u8>);

/// A reader of words; every method returns `None` at the end of the bytes.
#[derive(Debug)]
pub(crate) struct WordReader<'a>(&'a [u8]);

impl SavedWords {
    /// Returns a writer; `format` names the layout of what follows.
    pub(crate) fn new(format: [u8; 8]) -> Self {
        Self(format.to_vec())
    }

    pub(crate) fn integer(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    pub(crate) fn size(&mut self, value: usize) {
        self.integer(value as u64);
    }

    pub(crate) fn number(&mut self, value: f64) {
        self.integer(value.to_bits());
    }

    pub(crate) fn digest(&mut self, digest: &[u8; 32]) {
        self.0.extend(digest);
    }

    pub(crate) fn book(&mut self, book: &Book) {
        let numbers = book.numbers();
        self.size(book.bar());
        self.size(book.n_symbols());
        self.size(numbers.len());
        for number in numbers {
            self.number(number);
        }
    }

    pub(crate) fn reward_state(&mut self, state: &RewardState) {
        let RewardState { paid, log_paid, square, weight, peak, drawdown, figures } = *state;
        let StepFigures { return_, previous_nav, nav, turnover, drawdown: last_drawdown, n_steps } = figures;
        for number in [paid, log_paid, square, weight, peak, drawdown] {
            self.number(number);
        }
        for number in [return_, previous_nav, nav, turnover, last_drawdown] {
            self.number(number);
        }
        self.integer(n_steps.into());
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

impl<'a> WordReader<'a> {
    /// Returns a reader of bytes of `format`.
    pub(crate) fn new(format: [u8; 8], bytes: &'a [u8]) -> Option<Self> {
        bytes.strip_prefix(&format).map(Self)
    }

    pub(crate) fn integer(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*word))
    }

    pub(crate) fn size(&mut self) -> Option<usize> {
        self.integer()?.try_into().ok()
    }

    pub(crate) fn number(&mut self) -> Option<f64> {
        self.integer().map(f64::from_bits)
    }

    pub(crate) fn flag(&mut self) -> Option<bool> {
        Some(self.integer()? != 0)
    }

    pub(crate) fn digest(&mut self) -> Option<[u8; 32]> {
        let (digest, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*digest)
    }

    pub(crate) fn book(&mut self) -> Option<Book> {
        let (bar, n_symbols, len) = (self.size()?, self.size()?, self.size()?);
        // Checked first, so that a false length takes no memory.
        if len.checked_mul(8)? > self.0.len() {
            return None;
        }
        let numbers: Vec<f64> = (0..len).map_while(|_| self.number()).collect();
        Book::from_numbers(n_symbols, bar, &numbers)
    }

    pub(crate) fn reward_state(&mut self) -> Option<RewardState> {
        Some(RewardState {
            paid: self.number()?,
            log_paid: self.number()?,
            square: self.number()?,
            weight: self.number()?,
            peak: self.number()?,
            drawdown: self.number()?,
            figures: StepFigures {
                return_: self.number()?,
                previous_nav: self.number()?,
                nav: self.number()?,
                turnover: self.number()?,
                drawdown: self.number()?,
                n_steps: self.integer()?.try_into().ok()?,
            },
        })
    }

    /// Returns whether all bytes were read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }
}
