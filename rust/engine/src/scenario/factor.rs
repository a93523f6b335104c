//! What moves prices: noise whose volatility swings, from a night and from a day.
//!
//! All of it has mean 0 given what was before, and volatility is known before it is used: no price tells where the next
//! one goes.

use crate::scenario::spec::{Family, Jumps, ScenarioSpec, Swing};
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
        let ((with, alone), (fast, slow)) = (self.leverage, stream.two_normals());
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
        let ((normal, other), scale) = (stream.two_normals(), stream.tail(self.degrees));
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

/// One day of a factor.
#[derive(Clone, Copy, Default)]
pub(super) struct Day {
    pub(super) overnight: f64,
    pub(super) intraday: f64,
    /// Variance that was due, before tails.
    pub(super) variance: f64,
    /// Standard deviation of the day part as the tails had it.
    pub(super) spread: f64,
    /// Log of the common volatility over its mean.
    pub(super) swing: f64,
    /// Drift that is not paid for variance.
    pub(super) drift: f64,
}

/// Returns the days of the market factor.
pub(super) fn market(spec: &ScenarioSpec, key: &Key) -> Vec<Day> {
    let mut stream = Stream::new(key, Purpose::Market, 0);
    let climates = climates(spec, &mut Stream::new(key, Purpose::Market, 1));
    let mut volatility = Volatility::new(spec.swings, spec.leverage, &mut stream);
    let split = Split::new(spec, spec.degrees);
    let daily = spec.market_vol / DAYS_A_YEAR.sqrt();
    let mut days = Vec::with_capacity(spec.n_days);
    for climate in climates {
        let swing = volatility.log() + libm::log(climate.vol);
        let vol = daily * libm::exp(swing);
        let noise = split.draw(&mut stream);
        let jump = jump(spec.market_jumps, &mut stream);
        days.push(Day {
            overnight: vol * (noise.night + jump),
            intraday: vol * noise.day,
            variance: vol * vol,
            spread: vol * noise.scale,
            swing,
            drift: climate.drift,
        });
        volatility.step(noise.normal, &mut stream);
    }
    days
}

/// Returns the days of a sector factor, whose volatility is the common one.
pub(super) fn sector(spec: &ScenarioSpec, key: &Key, index: usize, market: &[Day]) -> Vec<Day> {
    let mut stream = Stream::new(key, Purpose::Sector, index);
    let (split, daily) = (Split::new(spec, spec.degrees), spec.sector_vol / DAYS_A_YEAR.sqrt());
    let day = |market: &Day| {
        let (vol, noise) = (daily * libm::exp(market.swing), split.draw(&mut stream));
        let spread = vol * noise.scale;
        Day { overnight: vol * noise.night, intraday: vol * noise.day, variance: vol * vol, spread, ..*market }
    };
    market.iter().map(day).collect()
}

/// What a family does to all volatilities and drifts on a day.
#[derive(Clone, Copy)]
struct Climate {
    vol: f64,
    drift: f64,
}

impl Climate {
    const FAIR: Self = Self { vol: 1.0, drift: 0.0 };
}

fn climates(spec: &ScenarioSpec, stream: &mut Stream) -> Vec<Climate> {
    match spec.family {
        Family::RegimeShift => regimes(spec.n_days, stream),
        Family::Crisis => crisis(spec.n_days, stream),
        _ => vec![Climate::FAIR; spec.n_days],
    }
}

/// Volatility and drift that change for good, every 16 months on average.
fn regimes(n_days: usize, stream: &mut Stream) -> Vec<Climate> {
    const RATE: f64 = 0.75 / DAYS_A_YEAR;
    let kinds = [(0.7, 0.12), (1.0, 0.0), (1.8, -0.15)];
    let mut kind = 1;
    let next = |_| {
        if stream.uniform() < RATE {
            kind = (kind + if stream.uniform() < 0.5 { 1 } else { 2 }) % kinds.len();
        }
        Climate { vol: kinds[kind].0, drift: kinds[kind].1 / DAYS_A_YEAR }
    };
    (0..n_days).map(next).collect()
}

/// A fall of about 30 % in 30 days, somewhere in the middle of the window.
///
/// Volatility calms down after it.
fn crisis(n_days: usize, stream: &mut Stream) -> Vec<Climate> {
    const CRASH: f64 = 30.0;
    let first = (0.2 + 0.6 * stream.uniform()) * n_days as f64;
    let climate = |day: usize| {
        let since = day as f64 - first;
        if since < 0.0 {
            return Climate::FAIR;
        }
        let drift = if since < CRASH { -0.35 / CRASH } else { 0.0 };
        Climate { vol: 1.0 + 2.0 * libm::exp(-since / 50.0), drift }
    };
    (0..n_days).map(climate).collect()
}
