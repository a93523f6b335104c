//! The generator: the bars of every symbol of a scenario.

use std::iter::Peekable;
use std::ops::Range;
use std::vec::IntoIter;

use crate::market::market_tables::MarketTables;
use crate::scenario::Key;
use crate::scenario::log_exp::{exps, log};
use crate::scenario::normal_quantile::CHUNK;
use crate::scenario::random_draws::{DrawRequest, Prices, RandomDraws};
use crate::scenario::random_stream::{Purpose, Stream};
use crate::scenario::spec::{Family, ScenarioSpec};
use crate::scenario::stochastic_volatility::{Days, Factors, Market, NoiseSplit, Volatility};
use crate::scenario::symbol_parameters::{QUARTER, SymbolLifetime, SymbolParameters};
use crate::scenario::table_writer::{grow, put, tables};
use crate::vector::cpu_features::Arch;
use crate::vector::dispatch::vectorized;

/// The largest absolute simple return of a night or a day.
const MAX_MOVE: f64 = 0.7;

/// Daily persistence of a process with a half-life of ten days.
///
/// The second number scales its innovations to variance 1.
const HALF_OF_TEN_DAYS: (f64, f64) = (0.933_032_991_536_807_4, 0.359_790_823_540_395_3);

/// The state of one symbol from day to day.
struct Walk<'a> {
    spec: &'a ScenarioSpec,
    symbol: usize,
    stream: Stream,
    parameters: SymbolParameters,
    volatility: Volatility,
    split: NoiseSplit,
    /// Days with closes or halts, and the halts that are still to come.
    live: Range<usize>,
    halts: Peekable<IntoIter<usize>>,
    /// Day and return of the settlement.
    settled: Option<(usize, f64)>,
    /// Log volume relative to its expectation.
    busy: f64,
    /// The last close before rounding to ticks.
    price: f64,
    /// Log return relative to the partner of the pair.
    gap: f64,
}

/// Simple returns of the days of a symbol, and the prices that result.
///
/// Each day has a night followed by a session.
struct Moves {
    arch: Arch,
    night: [f64; CHUNK],
    day: [f64; CHUNK],
    /// Standard deviation of the session, and of the whole day.
    spread: [f64; CHUNK],
    vol: [f64; CHUNK],
    /// Log volatility relative to its mean.
    swing: [f64; CHUNK],
    /// Log returns, for a pair.
    logs: [f64; CHUNK],
    open: [f64; CHUNK],
    high: [f64; CHUNK],
    low: [f64; CHUNK],
    close: [f64; CHUNK],
    volume: [f64; CHUNK],
    /// Positions of halted days, and their number.
    halted: [usize; CHUNK],
    n_halted: usize,
}

/// Returns the tables of the market of a spec and key.
pub(super) fn grids(spec: &ScenarioSpec, key: &Key) -> MarketTables {
    let mut factors = Factors::new(spec, key);
    let mut grids = tables(spec);
    let mut walks: Vec<_> = (0..spec.n_symbols).map(|symbol| Walk::new(spec, key, symbol)).collect();
    let (mut draws, mut moves) = (RandomDraws::new(), Moves::new());
    // All symbols of a chunk of days come before later days: rows that are written together stay in the cache.
    for first in (0..spec.n_days).step_by(CHUNK) {
        factors.go(first);
        let days = first..first + factors.days_of(0).0.n_days;
        grow(&mut grids, spec, days.len());
        for walk in &mut walks {
            walk.draw(&days, &mut draws);
            walk.go(factors.days_of(walk.symbol), &draws, &mut moves);
            walk.trade(&days, &mut moves, &mut grids);
            walk.write(&days, &draws, &mut moves, &mut grids);
        }
    }
    grids
}

impl<'a> Walk<'a> {
    fn new(spec: &'a ScenarioSpec, key: &Key, symbol: usize) -> Self {
        let mut stream = Stream::new(key, Purpose::Symbol, symbol);
        let parameters = SymbolParameters::new(spec, key, symbol);
        let SymbolLifetime { listed, settled, halts } = SymbolLifetime::new(spec, key, symbol);
        Self {
            spec,
            symbol,
            volatility: Volatility::new(spec.own_swings, spec.leverage, &mut stream),
            stream,
            split: NoiseSplit::new(spec),
            live: listed..settled.map_or(spec.n_days, |(day, _)| day),
            halts: halts.into_iter().peekable(),
            settled,
            busy: 0.0,
            price: parameters.price,
            parameters,
            gap: 0.0,
        }
    }

    /// Returns the positions of days with closes or halts.
    fn live(&self, days: &Range<usize>) -> Range<usize> {
        let place = |day: usize| day.clamp(days.start, days.end) - days.start;
        place(self.live.start)..place(self.live.end)
    }

    fn draw(&mut self, days: &Range<usize>, draws: &mut RandomDraws) {
        let prices = if self.spec.has_bars { Prices::Bars(self.live(days)) } else { Prices::Nothing };
        let (degrees, jumps) = (self.spec.own_degrees, Some(self.spec.own_jumps));
        let request = DrawRequest { degrees, jumps, has_swings: true, prices };
        draws.take(&mut self.stream, days.len(), &request);
        draws.finish(days.len(), &request);
    }

    /// Computes the moves of a chunk of days.
    fn go(&mut self, (market, sector): (&Market, &Days), draws: &RandomDraws, moves: &mut Moves) {
        for i in 0..market.n_days {
            moves.swing[i] = market.swing[i] + self.volatility.log();
            self.volatility.push(draws.normal[i], draws.fast[i], draws.slow[i]);
        }
        moves.make((self.spec, &self.parameters, self.split), (market, sector), draws);
        if self.spec.family == Family::Pairs {
            self.pair(moves, market.n_days);
        }
    }

    /// Ties the moves of every second symbol to those of the symbol before it.
    ///
    /// `moves` still holds the moves of that symbol. Half of a gap is left after ten days.
    fn pair(&mut self, moves: &mut Moves, n_days: usize) {
        let Moves { arch, night, day, logs: partner, .. } = moves;
        let arch = *arch;
        let whole = |night: f64, day: f64| log((1.0 + night) * (1.0 + day));
        if self.symbol.is_multiple_of(2) {
            vectorized(
                arch,
                #[inline(always)]
                || {
                    for i in 0..CHUNK {
                        partner[i] = whole(night[i], day[i]);
                    }
                },
            );
            return;
        }
        let mut logs = [[0.0; CHUNK]; 2];
        vectorized(
            arch,
            #[inline(always)]
            || {
                for i in 0..CHUNK {
                    logs[0][i] = whole(night[i], day[i]);
                    logs[1][i] = log(1.0 + night[i]);
                }
            },
        );
        for i in 0..n_days {
            let next = HALF_OF_TEN_DAYS.0 * self.gap + 0.3 * (logs[0][i] - partner[i]);
            day[i] = partner[i] + next - self.gap - logs[1][i];
            self.gap = next;
        }
        vectorized(
            arch,
            #[inline(always)]
            || {
                exps(&mut day[..n_days]);
                for day in &mut day[..n_days] {
                    *day -= 1.0;
                }
            },
        );
    }

    /// Compounds the prices, before rounding to ticks.
    fn trade(&mut self, days: &Range<usize>, moves: &mut Moves, tables: &mut MarketTables) {
        let live = self.live(days);
        let (mut payday, share) = self.parameters.dividend(days.start + live.start).unwrap_or((usize::MAX, 0.0));
        moves.n_halted = 0;
        for i in live {
            let day = days.start + i;
            let pays = day == payday;
            payday = if pays { payday + QUARTER } else { payday };
            if self.halts.next_if_eq(&day).is_some() {
                moves.halted[moves.n_halted] = i;
                moves.n_halted += 1;
            } else if day > self.live.start {
                if pays {
                    self.pay(day, share, tables);
                }
                if self.spec.split_above > 0.0 && self.price > self.spec.split_above {
                    self.split_share(day, tables);
                }
            }
            moves.open[i] = self.price * (1.0 + moves.night[i]);
            self.price = moves.open[i] * (1.0 + moves.day[i]);
            moves.close[i] = self.price;
        }
    }

    /// Pays a dividend before the night and session of a day.
    fn pay(&mut self, day: usize, share: f64, tables: &mut MarketTables) {
        let paid = on_tick(share * self.price, per_unit(self.spec.tick));
        if let Some(dividends) = &mut tables.dividends {
            dividends.set(day, self.symbol, paid);
        }
        self.price -= paid;
    }

    /// Splits the share in two before the night and session of a day.
    fn split_share(&mut self, day: usize, tables: &mut MarketTables) {
        if let Some(splits) = &mut tables.splits {
            splits.set(day, self.symbol, 2.0);
        }
        self.price /= 2.0;
    }

    /// Writes a chunk of days to the tables.
    fn write(&mut self, days: &Range<usize>, draws: &RandomDraws, moves: &mut Moves, tables: &mut MarketTables) {
        let (spec, symbol, live) = (self.spec, self.symbol, self.live(days));
        if spec.has_bars {
            for i in live.clone() {
                let (kept, new) = HALF_OF_TEN_DAYS;
                self.busy = kept * self.busy + new * spec.volume_noise * draws.busy[i];
                moves.volume[i] = self.busy;
            }
        }
        moves.finish(spec, self.parameters.volume, live.end, draws);
        let Moves { open, high, low, close, volume, .. } = moves;
        for i in &moves.halted[..moves.n_halted] {
            for values in [&mut *open, high, low, close, volume] {
                values[*i] = f64::NAN;
            }
            if let Some(tradable) = &mut tables.tradable {
                tradable.set(days.start + i, symbol, 0.0);
            }
        }
        put(&mut tables.close, days.start, symbol, close, live.clone());
        let bars = [(&mut tables.open, open), (&mut tables.high, high), (&mut tables.low, low)];
        for (table, values) in bars.into_iter().chain([(&mut tables.volume, volume)]) {
            if let Some(table) = table {
                put(table, days.start, symbol, values, live.clone());
            }
        }
        if let Some(delistings) = &mut tables.delistings
            && let Some((day, paid)) = self.settled.filter(|(day, _)| days.contains(day))
        {
            delistings.set(day, symbol, paid);
        }
    }
}

impl Moves {
    fn new() -> Self {
        let [night, day, spread, vol, swing, logs, open, high, low, close, volume] = [[0.0; CHUNK]; 11];
        let (arch, halted) = (Arch::new(), [0; CHUNK]);
        Self { arch, night, day, spread, vol, swing, logs, open, high, low, close, volume, halted, n_halted: 0 }
    }

    /// Computes nights and sessions from volatilities and draws.
    fn make(
        &mut self,
        (spec, parameters, split): (&ScenarioSpec, &SymbolParameters, NoiseSplit),
        (market, sector): (&Market, &Days),
        draws: &RandomDraws,
    ) {
        let (beta, common) = (parameters.beta, &market.days);
        vectorized(
            self.arch,
            #[inline(always)]
            || {
                self.vol = self.swing;
                exps(&mut self.vol);
                for i in 0..CHUNK {
                    let vol = parameters.vol * self.vol[i];
                    let noise = split.noise(draws.normal[i], draws.other[i], draws.scale[i]);
                    // The drift pays for the variance of the market on that day and for nothing else: volatility
                    // predicts no excess return.
                    let drift = beta * (spec.risk_price * common.variance[i] + market.drift[i]);
                    let night =
                        beta * common.overnight[i] + sector.overnight[i] + vol * (noise.night + draws.jump[i]) + drift;
                    let day = beta * common.intraday[i] + sector.intraday[i] + vol * noise.day;
                    self.night[i] = night.clamp(-MAX_MOVE, MAX_MOVE);
                    self.day[i] = day.clamp(-MAX_MOVE, MAX_MOVE);
                    let (vectorized, own) = (beta * common.spread[i], vol * noise.scale);
                    let squares = vectorized * vectorized + sector.spread[i] * sector.spread[i] + own * own;
                    self.spread[i] = ((1.0 - spec.overnight) * squares).sqrt();
                    self.vol[i] = (beta * beta * common.variance[i] + sector.variance[i] + vol * vol).sqrt();
                }
            },
        );
    }

    /// Rounds prices to ticks, and adds extremes and volumes.
    ///
    /// The extremes are those of a Brownian bridge from open to close. `volume` holds the log of the volume noise.
    fn finish(&mut self, spec: &ScenarioSpec, log_volume: f64, n: usize, draws: &RandomDraws) {
        let per_unit = per_unit(spec.tick);
        vectorized(
            self.arch,
            #[inline(always)]
            || {
                if spec.has_bars {
                    for i in 0..CHUNK {
                        let (night, day, spread) = (self.night[i], self.day[i], self.spread[i]);
                        let reach = |u: f64| (day * day - 2.0 * spread * spread * log(u)).sqrt();
                        let up = self.open[i] * (1.0 + 0.5 * (day + reach(draws.up[i])));
                        let down = self.open[i] * (1.0 + 0.5 * (day - reach(draws.down[i]))).max(0.05);
                        self.high[i] = on_tick(up, per_unit);
                        self.low[i] = on_tick(down, per_unit);
                        let reaction = ((night + day).abs() / self.vol[i]).min(4.0);
                        let called = spec.volume_slope * self.swing[i] + spec.volume_reaction * reaction;
                        self.volume[i] = log_volume + (called + self.volume[i]);
                    }
                    exps(&mut self.volume[..n]);
                }
                for i in 0..CHUNK {
                    (self.open[i], self.close[i]) = (on_tick(self.open[i], per_unit), on_tick(self.close[i], per_unit));
                    self.high[i] = self.high[i].max(self.open[i].max(self.close[i]));
                    self.low[i] = self.low[i].min(self.open[i].min(self.close[i]));
                    self.volume[i] = whole(self.volume[i]) + 1.0;
                }
            },
        );
    }
}

/// Returns the number of ticks per unit, a whole number.
#[inline]
fn per_unit(tick: f64) -> f64 {
    whole(1.0 / tick)
}

/// Returns a price rounded to ticks, at least one tick.
#[inline(always)]
fn on_tick(price: f64, per_unit: f64) -> f64 {
    // A ratio of whole numbers is the double nearest to the decimal price.
    whole(price * per_unit).max(1.0) / per_unit
}

/// Returns the whole number nearest to a number from 0 to 2^51.
#[inline(always)]
fn whole(number: f64) -> f64 {
    const EVERY_UNIT: f64 = 4_503_599_627_370_496.0;
    (number + EVERY_UNIT) - EVERY_UNIT
}
