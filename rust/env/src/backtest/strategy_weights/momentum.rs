use openoutcry_engine::with_vector_instructions;

/// Bars that are ranked at once, in the first cache.
const TOGETHER: usize = 256;

/// Most symbols that are compared pair by pair; more are sorted bar by bar.
const PAIRED: usize = 24;

/// The negative returns of all symbols on the bars of a tile.
///
/// Those of a symbol that is not shown are infinite, after all others.
pub(super) struct Returns {
    pub(super) n_bars: usize,
    pub(super) negative: Vec<Vec<f64>>,
}

/// The numbers of symbols on some bars, and whether symbols are sold short.
struct Counts<'c> {
    shown: &'c [f64],
    /// Symbols held, and as many sold short.
    held: &'c [f64],
    is_short: bool,
}

/// Returns the number of symbols held of those shown.
fn n_held(n_shown: f64, share: f64) -> f64 {
    libm::floor(share * n_shown).max(1.0).min(libm::floor(n_shown / 2.0))
}

/// Writes the returns of windows without their last `skip` bars.
///
/// `closes` begin with the window of the first return.
pub(super) fn write_returns(closes: &[f64], window: usize, skip: usize, negative: &mut [f64]) {
    let (bases, lasts) = (closes, &closes[window - skip..]);
    with_vector_instructions(
        #[inline(always)]
        || {
            for ((rise, last), base) in negative.iter_mut().zip(lasts).zip(bases) {
                *rise = -(last / base);
            }
        },
    );
}

/// Writes the sides of all symbols over the number held, one row per bar.
///
/// `counts` are the numbers of symbols that are shown.
pub(super) fn weigh(returns: &Returns, counts: &[f64], share: f64, is_short: bool, rows: &mut [f64]) {
    let n_symbols = returns.negative.len();
    let (mut last, mut of_last) = (0.0, 0.0);
    let held = counts.iter().map(|count| {
        // The number shown rarely changes from bar to bar.
        if *count != last {
            (last, of_last) = (*count, n_held(*count, share));
        }
        of_last
    });
    let held: Vec<f64> = held.collect();
    let mut ranks = vec![[0.0; TOGETHER]; n_symbols];
    for first in (0..returns.n_bars).step_by(TOGETHER) {
        let bars = first..returns.n_bars.min(first + TOGETHER);
        let part: Vec<&[f64]> = returns.negative.iter().map(|column| &column[bars.clone()]).collect();
        if n_symbols <= PAIRED {
            rank_pairs(&part, &mut ranks);
        } else {
            rank_sorted(&part, &mut ranks);
        }
        let rows = &mut rows[bars.start * n_symbols..bars.end * n_symbols];
        let counts = Counts { shown: &counts[bars.clone()], held: &held[bars], is_short };
        for (symbol, (ranks, part)) in ranks.iter().zip(part).enumerate() {
            write_sides(rows, (symbol, n_symbols), (ranks, part), &counts);
        }
    }
}

/// Writes the weights of one symbol.
fn write_sides(
    rows: &mut [f64],
    (symbol, n_symbols): (usize, usize),
    (ranks, negative): (&[f64; TOGETHER], &[f64]),
    counts: &Counts<'_>,
) {
    let Counts { shown, held, is_short } = *counts;
    let mut weights = [0.0; TOGETHER];
    with_vector_instructions(
        #[inline(always)]
        || {
            let bars = weights.iter_mut().zip(ranks).zip(negative).zip(shown).zip(held);
            for ((((weight, rank), negative), count), held) in bars {
                let long = if rank < held { 1.0 } else { 0.0 };
                let is_low = *rank >= count - held && *negative < f64::INFINITY;
                let short = if is_low { 1.0 } else { 0.0 };
                let side = if is_short { (long - short) / 2.0 } else { long };
                let is_held = *negative < f64::INFINITY && *held > 0.0;
                *weight = if is_held { side / held } else { 0.0 };
            }
        },
    );
    for ((row, weight), count) in rows.chunks_exact_mut(n_symbols).zip(weights).zip(shown) {
        if *count > 0.0 {
            row[symbol] = weight;
        }
    }
}

/// Ranks by comparing all pairs; the first of two equal symbols comes first.
fn rank_pairs(columns: &[&[f64]], ranks: &mut [[f64; TOGETHER]]) {
    for ranks in ranks.iter_mut() {
        ranks.fill(0.0);
    }
    for later in 1..columns.len() {
        let (before, from) = ranks.split_at_mut(later);
        for (earlier, column) in before.iter_mut().zip(columns) {
            with_vector_instructions(
                #[inline(always)]
                || {
                    let pairs = earlier.iter_mut().zip(from[0].iter_mut()).zip(column.iter().zip(columns[later]));
                    for ((first, second), (first_return, second_return)) in pairs {
                        let is_behind = if second_return < first_return { 1.0 } else { 0.0 };
                        *first += is_behind;
                        *second += 1.0 - is_behind;
                    }
                },
            );
        }
    }
}

/// Ranks by sorting the symbols of each bar.
fn rank_sorted(columns: &[&[f64]], ranks: &mut [[f64; TOGETHER]]) {
    let mut order: Vec<(f64, usize)> = Vec::with_capacity(columns.len());
    for bar in 0..columns[0].len() {
        order.clear();
        order.extend(columns.iter().enumerate().map(|(symbol, column)| (column[bar], symbol)));
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (rank, (_, symbol)) in order.iter().enumerate() {
            ranks[*symbol][bar] = rank as f64;
        }
    }
}
