//! What moves prices: noise whose volatility swings, from a night and from a day.
//!
//! All of it has mean 0 given what was before, and volatility is known before it is used: no price tells where the next
//! one goes.

use crate::scenario::climate::{Climate, climates};
use crate::scenario::draws::Draws;
use crate::scenario::elementary::exps;
use crate::scenario::normal::CHUNK;
use crate::scenario::spec::{Jumps, ScenarioSpec, Swing};
use crate::scenario::stream::{Purpose, Stream};
use crate::scenario::{DAYS_A_YEAR, Key};

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

    /// Goes on by a day whose return came of a standard normal.
    #[inline]
    pub(super) fn step(&mut self, normal: f64, stream: &mut Stream) {
        let (fast, slow) = stream.two_normals();
        self.push(normal, fast, slow);
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
#[derive(Clone, Copy, Default)]
pub(super) struct Noise {
    pub(super) night: f64,
    pub(super) day: f64,
    /// Scale of the tails that both share.
    pub(super) scale: f64,
    /// What drove it.
    pub(super) normal: f64,
}

/// Splits days into nights and days, with heavy tails.
#[derive(Clone, Copy)]
pub(super) struct Split {
    night: f64,
    day: f64,
    degrees: u32,
}

impl Split {
    pub(super) fn new(spec: &ScenarioSpec, degrees: u32) -> Self {
        Self { night: spec.overnight.sqrt(), day: (1.0 - spec.overnight).sqrt(), degrees }
    }

    /// Returns noise of variance 1, a share of it overnight.
    ///
    /// Night and day are independent given the scale of their tails.
    #[inline]
    pub(super) fn draw(self, stream: &mut Stream) -> Noise {
        let (normal, other) = stream.two_normals();
        self.noise(normal, other, stream.tail(self.degrees))
    }

    /// Returns the noise of two standard normals and the scale of its tails.
    #[inline(always)]
    pub(super) fn noise(self, normal: f64, other: f64, scale: f64) -> Noise {
        let (night, day) = (self.night * normal + self.day * other, self.day * normal - self.night * other);
        Noise { night: self.night * scale * night, day: self.day * scale * day, scale, normal }
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

impl Days {
    /// Returns days of a daily volatility times that of each.
    fn new(draws: &Draws, split: Split, daily: f64, vol: &[f64; CHUNK]) -> Self {
        let [mut overnight, mut intraday, mut variance, mut spread] = [[0.0; CHUNK]; 4];
        for i in 0..CHUNK {
            let vol = daily * vol[i];
            let noise = split.noise(draws.normal[i], draws.other[i], draws.scale[i]);
            overnight[i] = vol * (noise.night + draws.jump[i]);
            intraday[i] = vol * noise.day;
            variance[i] = vol * vol;
            spread[i] = vol * noise.scale;
        }
        Self { overnight, intraday, variance, spread }
    }
}

/// Returns the days of the market factor.
pub(super) fn market(spec: &ScenarioSpec, key: &Key) -> Vec<Market> {
    let mut stream = Stream::new(key, Purpose::Market, 0);
    let climates = climates(spec, &mut Stream::new(key, Purpose::Market, 1));
    let mut volatility = Volatility::new(spec.swings, spec.leverage, &mut stream);
    let (split, daily) = (Split::new(spec, spec.degrees), spec.market_vol / DAYS_A_YEAR.sqrt());
    let mut draws = Draws::new();
    let days = |climates: &[Climate]| {
        let n_days = climates.len();
        draws.take(&mut stream, n_days, spec.degrees, spec.market_jumps, 0..0);
        draws.finish(n_days, spec.degrees);
        let [mut swing, mut drift] = [[0.0; CHUNK]; 2];
        for (i, climate) in climates.iter().enumerate() {
            swing[i] = volatility.log() + libm::log(climate.vol);
            drift[i] = climate.drift;
            volatility.push(draws.normal[i], draws.fast[i], draws.slow[i]);
        }
        let mut vol = swing;
        exps(&mut vol);
        Market { n_days, days: Days::new(&draws, split, daily, &vol), swing, vol, drift }
    };
    climates.chunks(CHUNK).map(days).collect()
}

/// Returns the days of a sector factor, whose volatility is the common one.
pub(super) fn sector(spec: &ScenarioSpec, key: &Key, index: usize, market: &[Market]) -> Vec<Days> {
    let mut stream = Stream::new(key, Purpose::Sector, index);
    let (split, daily) = (Split::new(spec, spec.degrees), spec.sector_vol / DAYS_A_YEAR.sqrt());
    let mut draws = Draws::new();
    let days = |market: &Market| {
        draws.take_noise(&mut stream, market.n_days, spec.degrees);
        draws.finish(market.n_days, spec.degrees);
        Days::new(&draws, split, daily, &market.vol)
    };
    market.iter().map(days).collect()
}
