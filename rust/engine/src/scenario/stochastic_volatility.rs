//! Stochastic volatility: overnight and intraday returns of the common factors.
//!
//! Returns have conditional mean 0, and the volatility of a day is known before the day: past prices predict no return.

use crate::scenario::Key;
use crate::scenario::log_exp::{exps, log};
use crate::scenario::normal_quantile::CHUNK;
use crate::scenario::random_draws::{DrawRequest, Prices, RandomDraws};
use crate::scenario::random_stream::{Purpose, Stream};
use crate::scenario::regime::{Regime, regimes_by_day};
use crate::scenario::spec::{DAYS_A_YEAR, ScenarioSpec, Swing};
use crate::vector::dispatch::vectorized;

/// Log volatility: a fast and a slow mean-reverting factor.
pub(super) struct Volatility {
    values: [f64; 2],
    keeps: [f64; 2],
    moves: [f64; 2],
    /// Normalizes the mean variance to 1.
    level: f64,
    /// Correlation of innovations with returns, and the independent share.
    leverage: (f64, f64),
}

impl Volatility {
    /// Returns a volatility drawn from its stationary distribution.
    pub(super) fn new(swings: [Swing; 2], leverage: f64, stream: &mut Stream) -> Self {
        let keeps = swings.map(|swing| libm::exp2(-1.0 / swing.half_life));
        let moves = std::array::from_fn(|k| swings[k].sd * (1.0 - keeps[k] * keeps[k]).sqrt());
        let values = swings.map(|swing| swing.sd * stream.normal());
        // The mean of exp(2 x) of a normal x is exp of twice its variance.
        let level = -swings.iter().map(|swing| swing.sd * swing.sd).sum::<f64>();
        Self { values, keeps, moves, level, leverage: (leverage, (1.0 - leverage * leverage).sqrt()) }
    }

    /// Returns the log volatility of the next day, over its root mean square.
    #[inline]
    pub(super) fn log(&self) -> f64 {
        self.level + (self.values[0] + self.values[1])
    }

    /// Advances by a day.
    ///
    /// The arguments are the normals of that day, of the fast and of the slow factor.
    #[inline(always)]
    pub(super) fn push(&mut self, normal: f64, fast: f64, slow: f64) {
        let (with, alone) = self.leverage;
        let pushes = [with * normal + alone * fast, with * normal + alone * slow];
        self.values = std::array::from_fn(|k| self.keeps[k] * self.values[k] + self.moves[k] * pushes[k]);
    }
}

/// Noise of a night and of the session after it, of constant total variance.
#[derive(Clone, Copy)]
pub(super) struct Noise {
    pub(super) night: f64,
    pub(super) day: f64,
    /// Scale of the tails, shared by both.
    pub(super) scale: f64,
}

/// Division of the variance of a day into night and session, with heavy tails.
#[derive(Clone, Copy)]
pub(super) struct NoiseSplit {
    night: f64,
    day: f64,
}

impl NoiseSplit {
    pub(super) fn new(spec: &ScenarioSpec) -> Self {
        Self { night: spec.overnight.sqrt(), day: (1.0 - spec.overnight).sqrt() }
    }

    /// Returns noise of variance 1, with a share of it overnight.
    ///
    /// The inputs are two standard normals and the scale of the tails. Night and session are independent given that
    /// scale.
    #[inline(always)]
    pub(super) fn noise(self, normal: f64, other: f64, scale: f64) -> Noise {
        let (night, day) = (self.night * normal + self.day * other, self.day * normal - self.night * other);
        Noise { night: self.night * scale * night, day: self.day * scale * day, scale }
    }
}

/// At most [`CHUNK`] days of a factor.
pub(super) struct Days {
    pub(super) overnight: [f64; CHUNK],
    pub(super) intraday: [f64; CHUNK],
    /// Expected variance, before tails.
    pub(super) variance: [f64; CHUNK],
    /// Standard deviation of the session, including tails.
    pub(super) spread: [f64; CHUNK],
}

/// At most [`CHUNK`] days of the market factor, and what all symbols share.
pub(super) struct Market {
    pub(super) n_days: usize,
    pub(super) days: Days,
    /// Log of the common volatility over its mean, and its exponential.
    pub(super) swing: [f64; CHUNK],
    vol: [f64; CHUNK],
    /// Drift that is no compensation for variance.
    pub(super) drift: [f64; CHUNK],
}

/// State of the market and sector factors from day to day.
pub(super) struct Factors<'a> {
    spec: &'a ScenarioSpec,
    regimes_by_day: Vec<Regime>,
    stream: Stream,
    volatility: Volatility,
    draws: RandomDraws,
    market: Market,
    sectors: Vec<(Stream, Days)>,
}

impl Days {
    fn new() -> Self {
        let [overnight, intraday, variance, spread] = [[0.0; CHUNK]; 4];
        Self { overnight, intraday, variance, spread }
    }

    /// Computes days of a daily volatility times the relative volatility of each day.
    fn make(&mut self, draws: &RandomDraws, split: NoiseSplit, daily: f64, vol: &[f64; CHUNK]) {
        vectorized(
            draws.arch,
            #[inline(always)]
            || {
                for i in 0..CHUNK {
                    let vol = daily * vol[i];
                    let noise = split.noise(draws.normal[i], draws.other[i], draws.scale[i]);
                    self.overnight[i] = vol * (noise.night + draws.jump[i]);
                    self.intraday[i] = vol * noise.day;
                    self.variance[i] = vol * vol;
                    self.spread[i] = vol * noise.scale;
                }
            },
        );
    }
}

impl<'a> Factors<'a> {
    pub(super) fn new(spec: &'a ScenarioSpec, key: &Key) -> Self {
        let mut stream = Stream::new(key, Purpose::Market, 0);
        let [swing, vol, drift] = [[0.0; CHUNK]; 3];
        Self {
            spec,
            regimes_by_day: regimes_by_day(spec, &mut Stream::new(key, Purpose::Market, 1)),
            volatility: Volatility::new(spec.swings, spec.leverage, &mut stream),
            stream,
            draws: RandomDraws::new(),
            market: Market { n_days: 0, days: Days::new(), swing, vol, drift },
            sectors: (0..spec.n_sectors).map(|i| (Stream::new(key, Purpose::Sector, i), Days::new())).collect(),
        }
    }

    /// Advances to the days from `first` on, at most [`CHUNK`].
    pub(super) fn go(&mut self, first: usize) {
        let Self { spec, regimes_by_day, stream, volatility, draws, market, sectors } = self;
        let regimes_by_day = &regimes_by_day[first..regimes_by_day.len().min(first + CHUNK)];
        let n_days = regimes_by_day.len();
        let split = NoiseSplit::new(spec);
        let daily = |annual: f64| annual / DAYS_A_YEAR.sqrt();
        let jumps = Some(spec.market_jumps);
        let mut request = DrawRequest { degrees: spec.degrees, jumps, has_swings: true, prices: Prices::Nothing };
        draws.take(stream, n_days, &request);
        draws.finish(n_days, &request);
        market.n_days = n_days;
        for (i, regime) in regimes_by_day.iter().enumerate() {
            market.swing[i] = volatility.log() + log(regime.vol);
            market.drift[i] = regime.drift;
            volatility.push(draws.normal[i], draws.fast[i], draws.slow[i]);
        }
        market.vol = market.swing;
        exps(&mut market.vol);
        market.days.make(draws, split, daily(spec.market_vol), &market.vol);
        // Sectors do not jump, and have the common volatility.
        (request.jumps, request.has_swings) = (None, false);
        draws.jump.fill(0.0);
        for (stream, days) in sectors {
            draws.take(stream, n_days, &request);
            draws.finish(n_days, &request);
            days.make(draws, split, daily(spec.sector_vol), &market.vol);
        }
    }

    /// Returns the days of the market, and of the sector of a symbol.
    pub(super) fn days_of(&self, symbol: usize) -> (&Market, &Days) {
        (&self.market, &self.sectors[symbol % self.sectors.len()].1)
    }
}
