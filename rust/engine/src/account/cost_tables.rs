use crate::account::rules::Rules;
use crate::market::dataset::Dataset;
use crate::market::grid::Grid;
use crate::vector::lane_sums::Block;

/// Cost coefficients of every bar and symbol that do not depend on the account.
///
/// They are computed once and shared by many accounts.
#[derive(Debug)]
pub(crate) struct CostTables {
    /// Slippage including its jitter.
    pub(crate) slippage: Option<Grid>,
    /// Square root of capital over volume; present if every cell has a volume.
    pub(crate) roots: Option<Grid>,
}

impl CostTables {
    /// Returns the tables of `rules` in `market`.
    pub(crate) fn new(market: &Dataset, rules: &Rules) -> Self {
        let (n_bars, n_symbols) = (market.n_bars(), market.n_symbols());
        let cells = || (0..n_bars).flat_map(|bar| (0..n_symbols).map(move |symbol| (bar, symbol)));
        let grid = |values: Vec<f64>, padding| Grid::from_rows(&values, n_symbols, padding);
        let slippage = (rules.costs().slippage_jitter > 0.0).then(|| {
            let drawn = cells().map(|(bar, i)| jittered_slippage(market, rules, bar, i));
            grid(drawn.collect(), 0.0)
        });
        let reads_volume = rules.rates.impact > 0.0 || rules.limits().max_participation.is_some();
        let volumes: Option<Vec<f64>> = cells().map(|(bar, i)| market.volume_of(bar, i)).collect();
        let roots = volumes.filter(|_| reads_volume).map(|volumes| {
            let roots: Vec<f64> = volumes.iter().map(|volume| (rules.costs().capital / volume).sqrt()).collect();
            grid(roots, 1.0)
        });
        Self { slippage, roots }
    }

    pub(crate) fn slippage(&self, bar: usize) -> Option<&[Block]> {
        self.slippage.as_ref().map(|grid| grid.row(bar))
    }

    pub(crate) fn roots(&self, bar: usize) -> Option<&[Block]> {
        self.roots.as_ref().map(|grid| grid.row(bar))
    }
}

/// Returns the slippage of a symbol in a bar, including its jitter.
pub(crate) fn jittered_slippage(market: &Dataset, rules: &Rules, bar: usize, symbol: usize) -> f64 {
    let draw = rules.fill_key.uniform(bar, &market.symbols()[symbol]);
    rules.rates.slippage * (1.0 + rules.costs().slippage_jitter * (2.0 * draw - 1.0))
}
