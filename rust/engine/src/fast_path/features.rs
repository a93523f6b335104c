use crate::account::block_terms::BlockTerms;
use crate::market::dataset::Dataset;

/// Features of a step that are known in advance, to select its compiled variant.
#[derive(Clone, Copy)]
pub(super) struct Features {
    /// Whether a price may be missing.
    pub(super) gaps: bool,
    /// Whether the cost of a fill depends on its size, bar or symbol.
    pub(super) varies: bool,
    /// Whether an account can be short or receive a margin call.
    pub(super) owes: bool,
}

impl Features {
    /// Returns the features of steps in `market` under these rules.
    ///
    /// None if the fast path supports no step of them. Different rules support no jitter, because the slippage table
    /// belongs to one set of rules.
    pub(super) fn of(market: &Dataset, terms: BlockTerms<'_>) -> Option<Self> {
        let traits = terms.traits();
        let has_table = terms.tables().is_some();
        if cfg!(feature = "planted") || market.has_charges() || !traits.is_supported || (traits.jitters && !has_table) {
            return None;
        }
        let gaps = !market.is_whole();
        Some(Self { gaps, varies: traits.varies || traits.jitters, owes: gaps || traits.owes })
    }
}
