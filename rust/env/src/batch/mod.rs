//! Many accounts in step: a learner's door to the same engine.
//!
//! It is without JSON and without an allocation a step.

mod buffers;
mod lane;
mod market;
mod settings;
mod share;

use std::sync::Arc;

use openoutcry_engine::lanes::LANES;
use openoutcry_engine::{Book, Desk, Detail, FillKey, Rules, StepError};
use rayon::{ThreadPool, ThreadPoolBuilder};

pub use buffers::{Arrays, Outcome, Seen};
use lane::Lane;
pub use market::{Market, observe_account};
pub use settings::{Autoreset, BatchError, Settings, Terms};
use share::Share;

use crate::episode::check_lookback;

/// Rules whose tables are worth their memory.
///
/// Beyond as many, each account computes its own.
const MAX_TABLES: usize = 8;

/// Lanes of accounts that are stepped together.
#[derive(Debug)]
pub struct Batch {
    markets: Vec<Arc<Market>>,
    rules: Vec<Rules>,
    settings: Settings,
    lanes: Vec<Lane>,
    /// Weights asked for, lane after lane, in f64; NaN is a hold.
    orders: Vec<f64>,
    desks: Vec<Desk>,
    pool: Option<ThreadPool>,
}

impl Batch {
    /// Returns a batch of one lane per entry of `lanes`.
    ///
    /// An entry is the index of its market, and its terms.
    ///
    /// Lane i plays the episodes of the stream of `seed + i`, and is in the first.
    ///
    /// # Errors
    ///
    /// Returns an error if a window leaves its data, a cost, a limit or a setting is out of range, or the markets have
    /// different numbers of symbols.
    pub fn new(
        markets: Vec<Arc<Market>>,
        lanes: &[(usize, Terms)],
        settings: Settings,
        seed: u64,
    ) -> Result<Self, BatchError> {
        check(&markets, lanes, &settings)?;
        let mut kinds: Vec<(usize, Terms)> = Vec::new();
        let mut kind_of = Vec::with_capacity(lanes.len());
        for lane in lanes {
            let kind = kinds.iter().position(|kind| kind == lane).unwrap_or(kinds.len());
            if kind == kinds.len() {
                kinds.push(*lane);
            }
            kind_of.push(kind);
        }
        let key = FillKey::from_seed(settings.seed);
        let shares_tables = kinds.len() <= MAX_TABLES;
        let rules = kinds.iter().map(|(market, terms)| {
            let rules = Rules::new(terms.costs, terms.limits, key)?;
            Ok(if shares_tables { rules.with_tables(markets[*market].data()) } else { rules })
        });
        let rules: Vec<Rules> = rules.collect::<Result<_, BatchError>>()?;
        let made = lanes.iter().zip(&kind_of).enumerate().map(|(i, ((market, _), kind))| {
            Lane::new(&markets[*market], &settings.windows[*market], (*market, *kind), seed.wrapping_add(i as u64))
        });
        let n_symbols = markets[0].data().n_symbols();
        let pool = (settings.n_threads > 1).then(|| ThreadPoolBuilder::new().num_threads(settings.n_threads).build());
        Ok(Self {
            lanes: made.collect(),
            orders: vec![0.0; lanes.len() * n_symbols],
            desks: vec![Desk::new(n_symbols, Detail::Money); settings.n_threads],
            pool: pool.transpose().map_err(|error| BatchError::Setting {
                name: "threads",
                range: "a number that the system can start",
                value: error.to_string(),
            })?,
            markets,
            rules,
            settings,
        })
    }

    /// Returns the number of lanes.
    #[must_use]
    pub fn n_lanes(&self) -> usize {
        self.lanes.len()
    }

    /// Returns the number of symbols of every market.
    #[must_use]
    pub fn n_symbols(&self) -> usize {
        self.markets[0].data().n_symbols()
    }

    /// Returns the settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the index of the market of a lane.
    #[must_use]
    pub fn market_index(&self, lane: usize) -> usize {
        self.lanes[lane].market
    }

    /// Returns the market of a lane.
    #[must_use]
    pub fn market(&self, lane: usize) -> &Arc<Market> {
        &self.markets[self.lanes[lane].market]
    }

    /// Returns the account of a lane.
    #[must_use]
    pub fn book(&self, lane: usize) -> &Book {
        &self.lanes[lane].book
    }

    /// Returns whether the episode of a lane has ended.
    #[must_use]
    pub fn is_done(&self, lane: usize) -> bool {
        self.lanes[lane].is_done()
    }

    /// Returns the NAV and the bar at which the last episode of a lane ended.
    ///
    /// That is the episode before the present one; nothing if that one did not end.
    #[must_use]
    pub fn ended(&self, lane: usize) -> Option<(f64, usize)> {
        self.lanes[lane].ended
    }

    /// Begins an episode in each lane of `mask`, or in all.
    ///
    /// With a seed, lane i begins the stream of `seed + i`.
    ///
    /// # Errors
    ///
    /// Returns an error, and resets nothing, if `mask` has not one element a lane.
    pub fn reset(&mut self, seed: Option<u64>, mask: Option<&[bool]>) -> Result<(), BatchError> {
        if let Some(mask) = mask
            && mask.len() != self.lanes.len()
        {
            return Err(length("reset_mask", self.lanes.len(), mask.len()));
        }
        for (i, lane) in self.lanes.iter_mut().enumerate().filter(|(i, _)| mask.is_none_or(|mask| mask[*i])) {
            if let Some(seed) = seed {
                lane.seed(seed.wrapping_add(i as u64));
            }
            lane.begin(&self.markets[lane.market], &self.settings.windows[lane.market]);
        }
        Ok(())
    }

    /// Writes what every lane may see.
    ///
    /// # Errors
    ///
    /// Returns an error, and writes nothing, if an array has the wrong length.
    pub fn observe(&self, mut seen: Seen<'_>) -> Result<(), BatchError> {
        self.check_seen(&seen)?;
        for (i, lane) in self.lanes.iter().enumerate() {
            seen.write(i, lane, &self.markets[lane.market], self.settings.lookback);
        }
        Ok(())
    }

    /// Takes the actions of the next step over: one weight per lane and symbol.
    ///
    /// Where `hold` is set, it takes none.
    ///
    /// # Errors
    ///
    /// Returns an error, and no lane can move, if an array has the wrong length, a weight is not finite, or a lane's
    /// episode is over and a step does not begin the next.
    pub fn accept<T: Copy + Into<f64>>(&mut self, actions: &[T], hold: Option<&[bool]>) -> Result<(), BatchError> {
        if actions.len() != self.orders.len() {
            return Err(length("actions", self.orders.len(), actions.len()));
        }
        if let Some(hold) = hold
            && hold.len() != self.orders.len()
        {
            return Err(length("hold", self.orders.len(), hold.len()));
        }
        if !widen(actions, &mut self.orders) {
            let index = self.orders.iter().position(|weight| !weight.is_finite()).unwrap_or(0);
            let (lane, symbol) = (index / self.n_symbols(), index % self.n_symbols());
            return Err(BatchError::Weight { lane, symbol, weight: self.orders[index] });
        }
        for (order, _) in self.orders.iter_mut().zip(hold.unwrap_or(&[])).filter(|(_, hold)| **hold) {
            *order = f64::NAN;
        }
        for (i, lane) in self.lanes.iter().enumerate() {
            if lane.is_done() && self.settings.autoreset == Autoreset::Disabled {
                return Err(BatchError::Lane { lane: i, source: StepError::EpisodeOver });
            }
            lane.book.check_nav().map_err(|source| BatchError::Lane { lane: i, source })?;
        }
        Ok(())
    }

    /// Carries out the actions taken over and writes what they led to.
    ///
    /// `last` gets the observation before the reset of each lane that this very step resets, and nothing else.
    ///
    /// # Errors
    ///
    /// Returns an error, and no lane has moved, if an array has the wrong length.
    pub fn step(&mut self, seen: Seen<'_>, last: Option<Seen<'_>>, outcome: Outcome<'_>) -> Result<(), BatchError> {
        self.check_seen(&seen)?;
        if let Some(last) = &last {
            self.check_seen(last)?;
        }
        if let Some((name, received, expected)) = outcome.misfit(self.lanes.len()) {
            return Err(length(name, expected, received));
        }
        let first_lane = 0;
        let share = Share {
            markets: &self.markets,
            rules: &self.rules,
            settings: &self.settings,
            lanes: &mut self.lanes,
            orders: &mut self.orders,
            seen,
            last,
            outcome,
            first_lane,
        };
        match &self.pool {
            Some(pool) => pool.install(|| share.run(&mut self.desks)),
            None => share.advance(&mut self.desks[0]),
        }
    }

    fn check_seen(&self, seen: &Seen<'_>) -> Result<(), BatchError> {
        match seen.misfit(self.lanes.len(), &self.markets[0], self.settings.lookback) {
            Some((name, received, expected)) => Err(length(name, expected, received)),
            None => Ok(()),
        }
    }
}

/// Writes actions as f64 and returns whether all are finite.
fn widen<T: Copy + Into<f64>>(actions: &[T], orders: &mut [f64]) -> bool {
    // A finite number times 0 is 0, and no other is; sums side by side wait for none but their own.
    let mut faults = [0.0; LANES];
    let (blocks, rest) = orders.as_chunks_mut::<LANES>();
    let (action_blocks, action_rest) = actions.as_chunks::<LANES>();
    for (orders, actions) in blocks.iter_mut().zip(action_blocks) {
        for k in 0..LANES {
            orders[k] = actions[k].into();
            faults[k] += orders[k] * 0.0;
        }
    }
    for (order, action) in rest.iter_mut().zip(action_rest) {
        *order = (*action).into();
        faults[0] += *order * 0.0;
    }
    faults.iter().sum::<f64>() == 0.0
}

fn length(name: &'static str, expected: usize, received: usize) -> BatchError {
    BatchError::Length { name, expected, received }
}

fn check(markets: &[Arc<Market>], lanes: &[(usize, Terms)], settings: &Settings) -> Result<(), BatchError> {
    let refuse = |name, range, value: String| Err(BatchError::Setting { name, range, value });
    check_lookback(settings.lookback)?;
    if lanes.is_empty() || markets.is_empty() {
        return refuse("num_envs", "at least 1", "0".to_owned());
    }
    let n_symbols = markets[0].data().n_symbols();
    if let Some(other) = markets.iter().map(|market| market.data().n_symbols()).find(|n| *n != n_symbols) {
        return refuse("datasets", "of one number of symbols", format!("{n_symbols} and {other}"));
    }
    if !(settings.no_trade_band >= 0.0 && settings.no_trade_band.is_finite()) {
        return refuse("no_trade_band", "a finite number of at least 0", settings.no_trade_band.to_string());
    }
    if settings.n_threads == 0 || settings.max_episode_steps == 0 {
        return refuse("threads` and `max_episode_steps", "at least 1", "0".to_owned());
    }
    if settings.windows.len() != markets.len() {
        return Err(length("windows", markets.len(), settings.windows.len()));
    }
    for (windows, market) in settings.windows.iter().zip(markets) {
        windows.validate(market.data().n_bars())?;
    }
    Ok(())
}
