//! What moves prices: noise whose volatility swings, from a night and from a day.
//!
//! All of it has mean 0 given what was before, and volatility is known before it is used: no price tells where the next
//! one goes.

use crate::scenario::Key;
use crate::scenario::log_exp::{exps, log};
use crate::scenario::normal_quantile::CHUNK;
use crate::scenario::random_draws::{Asked, Draws, Prices};
use crate::scenario::random_stream::{Purpose, Stream};
use crate::scenario::regime::{Climate, climates};
use crate::scenario::spec::{DAYS_A_YEAR, Jumps, ScenarioSpec, Swing};
use crate::vector::dispatch::wide;

/// Log volatility: a fast and a slow swing around its mean.
pub(super) struct Volatility {
    values: [f64; 2],
    keeps: [f64; 2],
    moves: [f64; 2],
    /// What makes the mean variance 1.
    level: f64,
    /// Correlation of what pushes it with the day's return, and the share of its own.
    leverage: (f64, f64),
}

impl Volatility {
    /// Returns a volatility somewhere on its way.
    pub(super) fn new(swings: [Swing; 2], leverage: f64, stream: &mut Stream) -> Self {
        let keeps = swings.map(|swing| libm::exp2(-1.0 / swing.half_life));
        let moves = std::array::from_fn(|k| swings[k].sd * (1.0 - keeps[k] * keeps[k]).sqrt());
        let values = swings.map(|swing| swing.sd * stream.normal());
        // The mean of exp(2 x) of a normal x is exp of twice its variance.
        let level = -swings.iter().map(|swing| swing.sd * swing.sd).sum::<f64>();
        Self { values, keeps, moves, level, leverage: (leverage, (1.0 - leverage * leverage).sqrt()) }
    }

    /// Returns the log of the volatility of the day to come, over its root mean square.
    #[inline]
    pub(super) fn log(&self) -> f64 {
        self.level + (self.values[0] + self.values[1])
    }

    /// Goes on by a day.
    ///
    /// Takes the normals of that day, of the fast and of the slow swing.
    #[inline(always)]
    pub(super) fn push(&mut self, normal: f64, fast: f64, slow: f64) {
        let (with, alone) = self.leverage;
        let pushes = [with * normal + alone * fast, with * normal + alone * slow];
        self.values = std::array::from_fn(|k| self.keeps[k] * self.values[k] + self.moves[k] * pushes[k]);
    }
}

/// Noise of a night and of the day after it, of one variance in all.
#[derive(Clone, Copy)]
pub(super) struct Noise {
    pub(super) night: f64,
    pub(super) day: f64,
    /// Scale of the tails that both share.
    pub(super) scale: f64,
}

/// Splits days into nights and days, with heavy tails.
#[derive(Clone, Copy)]
pub(super) struct Split {
    night: f64,
    day: f64,
}

impl Split {
    pub(super) fn new(spec: &ScenarioSpec) -> Self {
        Self { night: spec.overnight.sqrt(), day: (1.0 - spec.overnight).sqrt() }
    }

    /// Returns noise of variance 1, a share of it overnight.
    ///
    /// It is made of two standard normals and the scale of its tails.
    ///
    /// Night and day are independent given that scale.
    #[inline(always)]
    pub(super) fn noise(self, normal: f64, other: f64, scale: f64) -> Noise {
        let (night, day) = (self.night * normal + self.day * other, self.day * normal - self.night * other);
        Noise { night: self.night * scale * night, day: self.day * scale * day, scale }
    }
}

/// Returns a jump in standard deviations.
///
/// Its mean is 0 with that of the days without one.
#[inline]
pub(super) fn jump(jumps: Jumps, stream: &mut Stream) -> f64 {
    let chance = jumps.rate / DAYS_A_YEAR;
    let mean = -chance * jumps.mean;
    if stream.uniform() < chance { mean + jumps.mean + jumps.sd * stream.normal() } else { mean }
}

/// At most [`CHUNK`] days of a factor.
pub(super) struct Days {
    pub(super) overnight: [f64; CHUNK],
    pub(super) intraday: [f64; CHUNK],
    /// Variance that was due, before tails.
    pub(super) variance: [f64; CHUNK],
    /// Standard deviation of the day part as the tails had it.
    pub(super) spread: [f64; CHUNK],
}

/// At most [`CHUNK`] days of the market, and what all symbols have of them.
pub(super) struct Market {
    pub(super) n_days: usize,
    pub(super) days: Days,
    /// Log of the common volatility over its mean, and its exponential.
    pub(super) swing: [f64; CHUNK],
    vol: [f64; CHUNK],
    /// Drift that is not paid for variance.
    pub(super) drift: [f64; CHUNK],
}

/// The market and the sectors on their way through the days.
pub(super) struct Factors<'a> {
    spec: &'a ScenarioSpec,
    climates: Vec<Climate>,
    stream: Stream,
    volatility: Volatility,
    draws: Draws,
    market: Market,
    sectors: Vec<(Stream, Days)>,
}

impl Days {
    fn new() -> Self {
        let [overnight, intraday, variance, spread] = [[0.0; CHUNK]; 4];
        Self { overnight, intraday, variance, spread }
    }

    /// Makes days of a daily volatility times that of each.
    fn make(&mut self, draws: &Draws, split: Split, daily: f64, vol: &[f64; CHUNK]) {
        wide(
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
            climates: climates(spec, &mut Stream::new(key, Purpose::Market, 1)),
            volatility: Volatility::new(spec.swings, spec.leverage, &mut stream),
            stream,
            draws: Draws::new(),
            market: Market { n_days: 0, days: Days::new(), swing, vol, drift },
            sectors: (0..spec.n_sectors).map(|i| (Stream::new(key, Purpose::Sector, i), Days::new())).collect(),
        }
    }

    /// Goes on to the days from one on, of which there are at most [`CHUNK`].
    pub(super) fn go(&mut self, first: usize) {
        let Self { spec, climates, stream, volatility, draws, market, sectors } = self;
        let climates = &climates[first..climates.len().min(first + CHUNK)];
        let n_days = climates.len();
        let split = Split::new(spec);
        let daily = |annual: f64| annual / DAYS_A_YEAR.sqrt();
        let jumps = Some(spec.market_jumps);
        let mut asked = Asked { degrees: spec.degrees, jumps, has_swings: true, prices: Prices::Nothing };
        draws.take(stream, n_days, &asked);
        draws.finish(n_days, &asked);
        market.n_days = n_days;
        for (i, climate) in climates.iter().enumerate() {
            market.swing[i] = volatility.log() + log(climate.vol);
            market.drift[i] = climate.drift;
            volatility.push(draws.normal[i], draws.fast[i], draws.slow[i]);
        }
        market.vol = market.swing;
        exps(&mut market.vol);
        market.days.make(draws, split, daily(spec.market_vol), &market.vol);
        // Sectors do not jump, and their volatility is the common one.
        (asked.jumps, asked.has_swings) = (None, false);
        draws.jump.fill(0.0);
        for (stream, days) in sectors {
            draws.take(stream, n_days, &asked);
            draws.finish(n_days, &asked);
            days.make(draws, split, daily(spec.sector_vol), &market.vol);
        }
    }

    /// Returns the days of the market, and of the sector of a symbol.
    pub(super) fn days_of(&self, symbol: usize) -> (&Market, &Days) {
        (&self.market, &self.sectors[symbol % self.sectors.len()].1)
    }
}
