//! Prices of which nobody can gain: their expected change is 0, whatever is known.

use crate::columns::Columns;
use crate::date;
use crate::scenario::factor::{self, Days, Market, Noise, Split, Volatility};
use crate::scenario::nature::Nature;
use crate::scenario::spec::{Jumps, ScenarioSpec};
use crate::scenario::stream::{Purpose, Stream};
use crate::scenario::{DAYS_A_YEAR, Key};

/// The largest move of a price in one half of a day, either way alike.
const MAX_MOVE: f64 = 0.5;

/// Ticks at which a price stays for good.
const FLOOR: f64 = 100.0;

/// Returns the columns of the market of a spec and key.
///
/// Only volatilities, ticks and sizes are read of the spec: there is no drift, dividend, split, listing or halt.
pub(super) fn columns(spec: &ScenarioSpec, key: &Key) -> Columns {
    let none = Jumps::new(0.0, 0.0, 0.0);
    let spec = &ScenarioSpec { risk_price: 0.0, market_jumps: none, own_jumps: none, ..spec.clone() };
    let market = factor::market(spec, key);
    let sectors: Vec<_> = (0..spec.n_sectors).map(|index| factor::sector(spec, key, index, &market)).collect();
    let cells = spec.n_symbols * spec.n_days;
    let (mut open, mut close) = (vec![0.0; cells], vec![0.0; cells]);
    for symbol in 0..spec.n_symbols {
        let mut walk = Walk::new(spec, key, symbol);
        let mut cell = symbol;
        for (market, sector) in market.iter().zip(&sectors[symbol % spec.n_sectors]) {
            for day in 0..market.n_days {
                (open[cell], close[cell]) = walk.next(day, market, sector);
                cell += spec.n_symbols;
            }
        }
    }
    Columns {
        dates: date::weekdays(spec.n_days),
        symbols: (0..spec.n_symbols).map(|i| format!("S{i:03}")).collect(),
        high: Some(open.iter().zip(&close).map(|(open, close)| open.max(*close)).collect()),
        low: Some(open.iter().zip(&close).map(|(open, close)| open.min(*close)).collect()),
        volume: Some(vec![1e6; cells]),
        open: Some(open),
        close,
        periods_per_year: DAYS_A_YEAR,
        ..Columns::default()
    }
}

struct Walk {
    stream: Stream,
    nature: Nature,
    volatility: Volatility,
    split: Split,
    /// Price in ticks, a whole number.
    ticks: f64,
    per_unit: f64,
}

impl Walk {
    fn new(spec: &ScenarioSpec, key: &Key, symbol: usize) -> Self {
        let mut stream = Stream::new(key, Purpose::Symbol, symbol);
        let nature = Nature::new(spec, key, symbol);
        let volatility = Volatility::new(spec.own_swings, spec.leverage, &mut stream);
        let per_unit = libm::round(1.0 / spec.tick);
        let ticks = libm::round(nature.price * per_unit).max(FLOOR);
        Self { stream, nature, volatility, split: Split::new(spec, spec.own_degrees), ticks, per_unit }
    }

    /// Returns the open and the close of the next day.
    fn next(&mut self, at: usize, market: &Market, sector: &Days) -> (f64, f64) {
        let vol = self.nature.vol * libm::exp(market.swing[at] + self.volatility.log());
        let Noise { night, day, normal, .. } = self.split.draw(&mut self.stream);
        self.volatility.step(normal, &mut self.stream);
        let beta = self.nature.beta;
        self.step(beta * market.days.overnight[at] + sector.overnight[at] + vol * night);
        let open = self.ticks / self.per_unit;
        self.step(beta * market.days.intraday[at] + sector.intraday[at] + vol * day);
        (open, self.ticks / self.per_unit)
    }

    /// Moves the price by a symmetric shock.
    ///
    /// It goes to the tick above or below, so that the mean stays.
    fn step(&mut self, shock: f64) {
        if self.ticks <= FLOOR {
            return;
        }
        let aim = self.ticks * (1.0 + shock.clamp(-MAX_MOVE, MAX_MOVE));
        let below = libm::floor(aim);
        self.ticks = below + f64::from(u8::from(self.stream.uniform() < aim - below));
    }
}
