use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

use crate::error::DataError;
use crate::market::columns::Columns;
use crate::market::dataset::{DEFAULT_PERIODS_PER_YEAR, Dataset};
use crate::market::dates::Dates;
use crate::market::size_limits::check_size;

const TICK: f64 = 0.01;

/// The generated columns: open, high, low, close and volume.
const N_COLUMNS: usize = 5;

impl Dataset {
    /// Returns a random market of weekday bars from 2000-01-03 on.
    ///
    /// It has opens and volume, and prices in cents.
    ///
    /// Prices do not predict later prices, but a small seed can be found by exhaustive search.
    ///
    /// # Errors
    ///
    /// Returns an error for fewer than 2 days, no symbol, more than 2^28 values, or so many days (centuries) that a
    /// price leaves the range of the contract.
    pub fn synthetic(n_symbols: usize, n_days: usize, seed: u64) -> Result<Self, DataError> {
        check_size(n_symbols, n_days, N_COLUMNS)?;
        Self::new(columns(n_symbols, n_days, seed))
    }
}

/// Returns one random walk per symbol.
///
/// Each symbol has its own stream, so that more symbols or more days change no earlier value.
fn columns(n_symbols: usize, n_days: usize, seed: u64) -> Columns {
    let mut hash = Sha256::new();
    hash.update(b"openoutcry/synthetic/v1\0");
    hash.update(seed.to_le_bytes());
    let key: [u8; 32] = hash.finalize().into();
    let cells = n_symbols * n_days;
    let mut open = vec![0.0; cells];
    let (mut high, mut low, mut close, mut volume) = (open.clone(), open.clone(), open.clone(), open.clone());
    for symbol in 0..n_symbols {
        let mut walk = Walk::new(key, symbol as u64);
        for cell in (symbol..cells).step_by(n_symbols) {
            let bar = walk.next_bar();
            (open[cell], high[cell], low[cell], close[cell], volume[cell]) =
                (bar.open, bar.high, bar.low, bar.close, bar.volume);
        }
    }
    Columns {
        dates: Dates::weekdays(n_days),
        symbols: (0..n_symbols).map(|i| format!("S{i:03}")).collect(),
        close,
        open: Some(open),
        high: Some(high),
        low: Some(low),
        volume: Some(volume),
        periods_per_year: DEFAULT_PERIODS_PER_YEAR,
        ..Columns::default()
    }
}

struct Bar {
    open: f64,
    high: f64,
    low: f64,
    close: f64,
    volume: f64,
}

/// A geometric Gaussian walk with a quarter of the daily variance overnight.
struct Walk {
    random: ChaCha20Rng,
    daily_vol: f64,
    close: f64,
}

impl Walk {
    fn new(key: [u8; 32], stream: u64) -> Self {
        let mut random = ChaCha20Rng::from_seed(key);
        random.set_stream(stream);
        let mut walk = Self { random, daily_vol: 0.0, close: 0.0 };
        walk.close = on_tick(20.0 + 180.0 * walk.uniform());
        walk.daily_vol = 0.008 + 0.012 * walk.uniform();
        walk
    }

    fn next_bar(&mut self) -> Bar {
        // The drift offsets the variance, so that volatility predicts no return.
        let variance = self.daily_vol * self.daily_vol;
        let (gap, _) = self.normals();
        let open = on_tick(self.close * libm::exp(0.5 * self.daily_vol * gap));
        let (day, wick) = self.normals();
        let move_ = 1.5 * variance + 0.866 * self.daily_vol * day;
        let close = on_tick(open * libm::exp(move_));
        let reach = 1.0 + 0.3 * self.daily_vol * wick.abs();
        self.close = close;
        Bar {
            open,
            high: on_tick(open.max(close) * reach).max(open.max(close)),
            low: on_tick(open.min(close) / reach).min(open.min(close)),
            close,
            volume: libm::floor(1e6 * libm::exp(0.4 * wick + 0.3 * day.abs())) + 1.0,
        }
    }

    /// Returns a draw in (0, 1].
    fn uniform(&mut self) -> f64 {
        ((self.random.next_u64() >> 11) + 1) as f64 / 9_007_199_254_740_992.0
    }

    /// Returns two independent standard normals (Box and Muller 1958).
    fn normals(&mut self) -> (f64, f64) {
        let radius = (-2.0 * libm::log(self.uniform())).sqrt();
        let (sine, cosine) = libm::sincos(2.0 * std::f64::consts::PI * self.uniform());
        (radius * cosine, radius * sine)
    }
}

fn on_tick(price: f64) -> f64 {
    (libm::round(price / TICK) / 100.0).max(TICK)
}
