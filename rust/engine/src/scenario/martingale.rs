//! The martingale generator: the expected change of every price is 0.

use crate::market::market_tables::MarketTables;
use crate::scenario::Key;
use crate::scenario::log_exp::exps;
use crate::scenario::normal_quantile::CHUNK;
use crate::scenario::random_draws::{DrawRequest, Prices, RandomDraws};
use crate::scenario::random_stream::{Purpose, Stream};
use crate::scenario::spec::ScenarioSpec;
use crate::scenario::stochastic_volatility::{Days, Factors, Market, NoiseSplit, Volatility};
use crate::scenario::symbol_parameters::SymbolParameters;
use crate::scenario::table_writer::{grow, put, tables};
use crate::vector::dispatch::vectorized;

/// The largest absolute return of a night or a session.
const MAX_MOVE: f64 = 0.5;

/// Price in ticks below which a price never moves again.
const FLOOR: f64 = 100.0;

/// Shares traded per day.
const VOLUME: f64 = 1e6;

/// Returns the tables of the market of a spec and key.
///
/// There is no drift, jump, dividend, split, listing or halt, as [`ScenarioSpec::validate`] requires.
pub(super) fn grids(spec: &ScenarioSpec, key: &Key) -> MarketTables {
    let mut factors = Factors::new(spec, key);
    let mut grids = tables(spec);
    let mut walks: Vec<_> = (0..spec.n_symbols).map(|symbol| Walk::new(spec, key, symbol)).collect();
    let (mut draws, mut moves) = (RandomDraws::new(), Moves::new());
    let request = DrawRequest { degrees: spec.own_degrees, jumps: None, has_swings: true, prices: Prices::Ticks };
    for first in (0..spec.n_days).step_by(CHUNK) {
        factors.go(first);
        let n_days = factors.days_of(0).0.n_days;
        grow(&mut grids, spec, n_days);
        for (symbol, walk) in walks.iter_mut().enumerate() {
            draws.take(&mut walk.stream, n_days, &request);
            draws.finish(n_days, &request);
            walk.go(factors.days_of(symbol), &draws, &mut moves);
            moves.write(first, symbol, n_days, &mut grids);
        }
    }
    grids
}

struct Walk {
    stream: Stream,
    parameters: SymbolParameters,
    volatility: Volatility,
    split: NoiseSplit,
    /// Price in ticks, a whole number.
    ticks: f64,
    per_unit: f64,
}

/// Shocks of the days of a symbol, and the prices that result.
struct Moves {
    vol: [f64; CHUNK],
    night: [f64; CHUNK],
    day: [f64; CHUNK],
    open: [f64; CHUNK],
    high: [f64; CHUNK],
    low: [f64; CHUNK],
    close: [f64; CHUNK],
}

impl Walk {
    fn new(spec: &ScenarioSpec, key: &Key, symbol: usize) -> Self {
        let mut stream = Stream::new(key, Purpose::Symbol, symbol);
        let parameters = SymbolParameters::new(spec, key, symbol);
        let volatility = Volatility::new(spec.own_swings, spec.leverage, &mut stream);
        let per_unit = libm::round(1.0 / spec.tick);
        let ticks = libm::round(parameters.price * per_unit).max(FLOOR);
        Self { stream, parameters, volatility, split: NoiseSplit::new(spec), ticks, per_unit }
    }

    /// Compounds the prices.
    fn go(&mut self, (market, sector): (&Market, &Days), draws: &RandomDraws, moves: &mut Moves) {
        for i in 0..market.n_days {
            moves.vol[i] = market.swing[i] + self.volatility.log();
            self.volatility.push(draws.normal[i], draws.fast[i], draws.slow[i]);
        }
        vectorized(
            draws.arch,
            #[inline(always)]
            || {
                self.shock(market, sector, draws, moves);
                for i in 0..market.n_days {
                    self.step(moves.night[i], draws.up[i]);
                    moves.open[i] = self.ticks;
                    self.step(moves.day[i], draws.down[i]);
                    moves.close[i] = self.ticks;
                }
                for i in 0..CHUNK {
                    (moves.open[i], moves.close[i]) = (moves.open[i] / self.per_unit, moves.close[i] / self.per_unit);
                    moves.high[i] = moves.open[i].max(moves.close[i]);
                    moves.low[i] = moves.open[i].min(moves.close[i]);
                }
            },
        );
    }

    /// Computes the symmetric shocks of nights and sessions.
    ///
    /// `vol` holds log volatilities.
    #[inline(always)]
    fn shock(&self, market: &Market, sector: &Days, draws: &RandomDraws, moves: &mut Moves) {
        exps(&mut moves.vol[..market.n_days]);
        let beta = self.parameters.beta;
        for i in 0..CHUNK {
            let vol = self.parameters.vol * moves.vol[i];
            let noise = self.split.noise(draws.normal[i], draws.other[i], draws.scale[i]);
            let night = beta * market.days.overnight[i] + sector.overnight[i] + vol * noise.night;
            let day = beta * market.days.intraday[i] + sector.intraday[i] + vol * noise.day;
            moves.night[i] = night.clamp(-MAX_MOVE, MAX_MOVE);
            moves.day[i] = day.clamp(-MAX_MOVE, MAX_MOVE);
        }
    }

    /// Moves the price by a shock and rounds it to a tick above or below.
    ///
    /// The rounding is random with the right mean. A price at the floor does not move, but its draw is consumed to keep
    /// the stream in step.
    #[inline(always)]
    fn step(&mut self, shock: f64, draw: f64) {
        if self.ticks <= FLOOR {
            return;
        }
        let aim = self.ticks * (1.0 + shock);
        let below = aim.floor();
        self.ticks = if draw < aim - below { below + 1.0 } else { below };
    }
}

impl Moves {
    fn new() -> Self {
        let [vol, night, day, open, high, low, close] = [[0.0; CHUNK]; 7];
        Self { vol, night, day, open, high, low, close }
    }

    /// Writes days to the tables.
    fn write(&self, first: usize, symbol: usize, n_days: usize, grids: &mut MarketTables) {
        let volume = [VOLUME; CHUNK];
        put(&mut grids.close, first, symbol, &self.close, 0..n_days);
        let bars = [(&mut grids.open, &self.open), (&mut grids.high, &self.high), (&mut grids.low, &self.low)];
        for (table, values) in bars.into_iter().chain([(&mut grids.volume, &volume)]) {
            if let Some(table) = table {
                put(table, first, symbol, values, 0..n_days);
            }
        }
    }
}
