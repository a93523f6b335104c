use crate::account::lane_terms::Whose;
use crate::market::dataset::Dataset;

/// What a plain step may leave out, known before it.
#[derive(Clone, Copy)]
pub(super) struct Features {
    /// Whether a price may be missing.
    pub(super) gaps: bool,
    /// Whether the cost of a fill depends on its size, bar or symbol.
    pub(super) varies: bool,
    /// Whether an account can be short, or called.
    pub(super) owes: bool,
}

impl Features {
    /// Returns the features of steps in `market` under these rules.
    ///
    /// Nothing where no step of them is plain: where rules differ none has a jitter, whose table is of one set of them.
    pub(super) fn of(market: &Dataset, whose: Whose<'_>) -> Option<Self> {
        let traits = whose.traits();
        let has_table = whose.tables().is_some();
        if cfg!(feature = "planted") || !traits.is_plain || (traits.jitters && !has_table) {
            return None;
        }
        let gaps = !market.is_whole();
        Some(Self { gaps, varies: traits.varies || traits.jitters, owes: gaps || traits.owes })
    }
}
