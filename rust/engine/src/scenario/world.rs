//! The days of every symbol, put into columns.

use crate::columns::Columns;
use crate::date;
use crate::scenario::factor::{self, Day, Noise, Split, Volatility};
use crate::scenario::nature::{Life, Nature};
use crate::scenario::spec::{Family, ScenarioSpec};
use crate::scenario::stream::{Purpose, Stream};
use crate::scenario::{DAYS_A_YEAR, Key};

/// The columns of a market; those that it has not stay empty.
struct Tables {
    close: Vec<f64>,
    open: Vec<f64>,
    high: Vec<f64>,
    low: Vec<f64>,
    volume: Vec<f64>,
    dividends: Vec<f64>,
    splits: Vec<f64>,
    delistings: Vec<f64>,
    tradable: Vec<bool>,
}

/// The largest simple return of a night or a day, either way.
const MAX_MOVE: f64 = 0.7;

/// One symbol on its way through the days.
struct Walk<'a> {
    spec: &'a ScenarioSpec,
    stream: Stream,
    nature: Nature,
    volatility: Volatility,
    split: Split,
    /// Log of the volume over what the day calls for.
    busy: f64,
    /// The last close before ticks.
    price: f64,
}

/// A day of a symbol in simple returns: night, then day.
#[derive(Clone, Copy)]
struct Move {
    night: f64,
    day: f64,
    /// Standard deviation of the day part, and of the whole.
    spread: f64,
    vol: f64,
    /// Log volatility over its mean.
    swing: f64,
}

/// A day of a symbol before its prices are put on ticks.
struct Bar {
    open: f64,
    high: f64,
    low: f64,
    close: f64,
    volume: f64,
}

/// Returns the columns of the market of a spec and key.
pub(super) fn columns(spec: &ScenarioSpec, key: &Key) -> Columns {
    let market = factor::market(spec, key);
    let sectors: Vec<_> = (0..spec.n_sectors).map(|index| factor::sector(spec, key, index, &market)).collect();
    let mut tables = Tables::new(spec);
    let mut moves = Vec::new();
    for symbol in 0..spec.n_symbols {
        let partner = (spec.family == Family::Pairs && symbol % 2 == 1).then_some(moves.as_slice());
        let factors = (market.as_slice(), sectors[symbol % spec.n_sectors].as_slice());
        let life = Life::new(spec, key, symbol);
        moves = Walk::new(spec, key, symbol).walk(factors, partner, &life, symbol, &mut tables);
    }
    tables.into_columns(spec)
}

impl<'a> Walk<'a> {
    fn new(spec: &'a ScenarioSpec, key: &Key, symbol: usize) -> Self {
        let mut stream = Stream::new(key, Purpose::Symbol, symbol);
        let nature = Nature::new(spec, key, symbol);
        let volatility = Volatility::new(spec.own_swings, spec.leverage, &mut stream);
        let (split, price) = (Split::new(spec, spec.own_degrees), nature.price);
        Self { spec, stream, nature, volatility, split, busy: 0.0, price }
    }

    /// Writes all days of the symbol and returns its log returns.
    fn walk(
        mut self,
        factors: (&[Day], &[Day]),
        partner: Option<&[f64]>,
        life: &Life,
        symbol: usize,
        tables: &mut Tables,
    ) -> Vec<f64> {
        let mut halts = life.halts.iter().copied().peekable();
        let (mut moves, mut gap) = (Vec::new(), 0.0);
        for day in 0..self.spec.n_days {
            let cell = day * self.spec.n_symbols + symbol;
            let mut move_ = self.next(&factors.0[day], &factors.1[day]);
            if self.spec.family == Family::Pairs {
                if let Some(partner) = partner {
                    gap = move_.follow(partner[day], gap);
                }
                moves.push(libm::log((1.0 + move_.night) * (1.0 + move_.day)));
            }
            let is_halted = halts.next_if_eq(&day).is_some();
            if day < life.listed || life.settled.is_some_and(|(settled, _)| day >= settled) {
                if let Some((_, paid)) = life.settled.filter(|(settled, _)| *settled == day) {
                    tables.delistings[cell] = paid;
                }
                continue;
            }
            if day > life.listed && !is_halted {
                self.act(day, cell, tables);
            }
            let bar = self.bar(move_);
            if is_halted {
                tables.tradable[cell] = false;
            } else {
                tables.put(cell, &bar, self.spec);
            }
        }
        moves
    }

    /// Returns the next day's move.
    #[inline]
    fn next(&mut self, market: &Day, sector: &Day) -> Move {
        let spec = self.spec;
        let swing = self.volatility.log();
        let vol = self.nature.vol * libm::exp(market.swing + swing);
        let Noise { night, day, scale, normal } = self.split.draw(&mut self.stream);
        let jump = factor::jump(spec.own_jumps, &mut self.stream);
        self.volatility.step(normal, &mut self.stream);
        let beta = self.nature.beta;
        // The drift pays for the market's variance as it is that day, and for nothing else: volatility is no signal.
        let drift = beta * (spec.risk_price * market.variance + market.drift);
        let (wide, own) = (beta * market.spread, vol * scale);
        Move {
            night: (beta * market.overnight + sector.overnight + vol * (night + jump) + drift)
                .clamp(-MAX_MOVE, MAX_MOVE),
            day: (beta * market.intraday + sector.intraday + vol * day).clamp(-MAX_MOVE, MAX_MOVE),
            spread: ((1.0 - spec.overnight) * (wide * wide + sector.spread * sector.spread + own * own)).sqrt(),
            vol: (beta * beta * market.variance + sector.variance + vol * vol).sqrt(),
            swing: market.swing + swing,
        }
    }

    /// Pays a dividend or splits the share, before the day's trading.
    fn act(&mut self, day: usize, cell: usize, tables: &mut Tables) {
        if let Some(share) = self.nature.dividend(day) {
            let paid = on_tick(share * self.price, self.spec.tick);
            tables.dividends[cell] = paid;
            self.price -= paid;
        }
        if self.spec.split_above > 0.0 && self.price > self.spec.split_above {
            tables.splits[cell] = 2.0;
            self.price /= 2.0;
        }
    }

    /// Returns the prices of a day's move.
    ///
    /// The extremes are those of a Brownian bridge from open to close.
    #[inline]
    fn bar(&mut self, move_: Move) -> Bar {
        let open = self.price * (1.0 + move_.night);
        self.price = open * (1.0 + move_.day);
        if !self.spec.has_bars {
            return Bar { open, high: open, low: open, close: self.price, volume: 0.0 };
        }
        let (up, down) = self.stream.two_uniforms();
        let Move { day, spread, .. } = move_;
        let reach = |u: f64| (day * day - 2.0 * spread * spread * libm::log(u)).sqrt();
        let reaction = ((move_.night + day).abs() / move_.vol).min(4.0);
        self.busy = HALF_OF_TEN_DAYS.0 * self.busy + HALF_OF_TEN_DAYS.1 * self.spec.volume_noise * self.stream.normal();
        let busy = self.spec.volume_slope * move_.swing + self.spec.volume_reaction * reaction + self.busy;
        Bar {
            open,
            high: open * (1.0 + 0.5 * (day + reach(up))),
            low: open * (1.0 + 0.5 * (day - reach(down))).max(0.05),
            close: self.price,
            volume: whole(libm::exp(self.nature.volume + busy)) + 1.0,
        }
    }
}

/// What a day keeps of a number of which half is left after ten.
///
/// And what keeps its variance.
const HALF_OF_TEN_DAYS: (f64, f64) = (0.933_032_991_536_807_4, 0.359_790_823_540_395_3);

impl Move {
    /// Ties this move to the log return of a partner.
    ///
    /// It was `gap` away from it; returns how far it is then. Half of a gap is left after ten days.
    fn follow(&mut self, partner: f64, gap: f64) -> f64 {
        let own = libm::log((1.0 + self.night) * (1.0 + self.day)) - partner;
        let next = HALF_OF_TEN_DAYS.0 * gap + 0.3 * own;
        let night = libm::log(1.0 + self.night);
        self.day = libm::exp(partner + next - gap - night) - 1.0;
        next
    }
}

impl Tables {
    fn new(spec: &ScenarioSpec) -> Self {
        let cells = spec.n_symbols * spec.n_days;
        let table = |is_kept: bool, value: f64| if is_kept { vec![value; cells] } else { Vec::new() };
        let (bars, nothing) = (spec.has_bars, f64::NAN);
        Self {
            close: table(true, nothing),
            open: table(bars, nothing),
            high: table(bars, nothing),
            low: table(bars, nothing),
            volume: table(bars, nothing),
            dividends: table(spec.dividend_yield > 0.0, 0.0),
            splits: table(spec.split_above > 0.0, 1.0),
            delistings: table(spec.delisting_rate > 0.0, nothing),
            tradable: if spec.halt_rate > 0.0 { vec![true; cells] } else { Vec::new() },
        }
    }

    #[inline]
    fn put(&mut self, cell: usize, bar: &Bar, spec: &ScenarioSpec) {
        let tick = |price| on_tick(price, spec.tick);
        let close = tick(bar.close);
        self.close[cell] = close;
        if spec.has_bars {
            let open = tick(bar.open);
            self.open[cell] = open;
            self.high[cell] = tick(bar.high).max(open.max(close));
            self.low[cell] = tick(bar.low).min(open.min(close));
            self.volume[cell] = bar.volume;
        }
    }

    fn into_columns(self, spec: &ScenarioSpec) -> Columns {
        fn some<T>(table: Vec<T>) -> Option<Vec<T>> {
            (!table.is_empty()).then_some(table)
        }
        Columns {
            dates: date::weekdays(spec.n_days),
            symbols: (0..spec.n_symbols).map(|i| format!("S{i:03}")).collect(),
            close: self.close,
            open: some(self.open),
            high: some(self.high),
            low: some(self.low),
            volume: some(self.volume),
            dividends: some(self.dividends),
            splits: some(self.splits),
            delistings: some(self.delistings),
            tradable: some(self.tradable),
            periods_per_year: DAYS_A_YEAR,
            ..Columns::default()
        }
    }
}

/// Returns the price on the lattice of ticks, at least one of them.
#[inline]
pub(super) fn on_tick(price: f64, tick: f64) -> f64 {
    // A whole number over a whole number is the double nearest to the price as it is written.
    let per_unit = whole(1.0 / tick);
    whole(price * per_unit).max(1.0) / per_unit
}

/// Returns the whole number nearest to a number from 0 to 2^51.
#[inline]
fn whole(number: f64) -> f64 {
    const EVERY_UNIT: f64 = 4_503_599_627_370_496.0;
    (number + EVERY_UNIT) - EVERY_UNIT
}
