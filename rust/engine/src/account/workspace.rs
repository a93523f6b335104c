use crate::account::day_cell::DayCell;
use crate::account::event::Event;
use crate::vector::cpu_features::Arch;
use crate::vector::lane_sums::{self, Block, LANES};

/// Level of detail of the outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The inputs of a reward, and events other than fills.
    ///
    /// Costs and interest are NaN.
    RewardInputs,
    /// Costs, interest and events other than fills; no average prices.
    Money,
    /// All events, and average prices.
    Full,
}

/// Scratch memory of a step, reused so that a step allocates nothing.
#[derive(Clone, Debug)]
pub struct Workspace {
    pub(crate) detail: Detail,
    pub(crate) arch: Arch,
    /// Weights ordered; NaN is a hold.
    pub(crate) orders: Vec<Block>,
    /// Weights after the limits.
    pub(crate) targets: Vec<Block>,
    /// Shares ordered, before the fill bar cuts them.
    pub(crate) sized: Vec<Block>,
    /// Shares traded.
    pub(crate) filled: Vec<Block>,
    /// Shares held and their marks on the fill bar's share basis.
    pub(crate) shares: Vec<Block>,
    pub(crate) marks: Vec<Block>,
    pub(crate) avg_prices: Vec<Block>,
    /// Slippage with its jitter, and the impact coefficient, per symbol.
    pub(crate) slippage: Vec<Block>,
    pub(crate) impact: Vec<Block>,
    /// One cell per symbol after the first step with day orders, none before.
    pub(crate) day: Vec<DayCell>,
    pub(crate) events: Vec<Event>,
    /// Events of the previous step, restored if this step is refused.
    pub(crate) last_events: Vec<Event>,
}

impl Workspace {
    /// Returns the work space for steps of `rules` on a market of `n_symbols`.
    #[must_use]
    pub fn new(n_symbols: usize, detail: Detail) -> Self {
        let zeros = vec![[0.0; LANES]; lane_sums::n_blocks(n_symbols)];
        // A symbol has at most twelve events: refused or limited, stale, delisted, limited, unfilled, filled and
        // liquidated, and four of an exit. The account has at most two in each of three phases, and two more.
        let most_events = 12 * n_symbols + 8;
        Self {
            detail,
            arch: Arch::new(),
            slippage: zeros.clone(),
            orders: zeros.clone(),
            targets: zeros.clone(),
            sized: zeros.clone(),
            filled: zeros.clone(),
            shares: zeros.clone(),
            marks: zeros.clone(),
            avg_prices: zeros.clone(),
            impact: zeros,
            day: Vec::new(),
            events: Vec::with_capacity(most_events),
            last_events: Vec::with_capacity(most_events),
        }
    }

    /// Returns the events of the last step, in the order of the timeline.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }
}
