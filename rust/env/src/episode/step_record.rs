//! The record of a step of one account: costs, gains, and events by kind.

use openoutcry_engine::{Event, StepCosts, Stepped};

/// Costs and gains of a step, and the number of its events by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepRecord {
    /// Costs by kind, in the order of [`StepCosts::KINDS`].
    pub costs: [f64; StepCosts::KINDS.len()],
    /// Dividends, interest, settlement and turnover, as in [`StepRecord::GAINS`].
    pub gains: [f64; 4],
    /// Number of events by [`StepRecord::EVENTS`].
    pub events: [u32; 8],
    /// Number of `limited` events by [`StepRecord::LIMITS`].
    pub limits: [u32; 4],
}

impl StepRecord {
    /// The names of the gains.
    pub const GAINS: [&'static str; 4] = ["dividends", "interest", "settlement", "turnover"];
    /// The slugs of events.
    pub const EVENTS: [&'static str; 8] =
        ["filled", "unfilled", "refused", "limited", "stale_price", "delisted", "liquidated", "ruined"];
    /// The reasons of `limited` events: the limits that cut an order.
    pub const LIMITS: [&'static str; 4] = ["max_weight", "max_gross", "participation", "rebalanced"];

    /// Returns the record of a step with all its events.
    #[must_use]
    pub fn new(stepped: &Stepped, events: &[Event]) -> Self {
        let mut record = Self {
            costs: stepped.costs.by_kind(),
            gains: [stepped.dividends, stepped.interest, stepped.settlement, stepped.turnover],
            ..Self::default()
        };
        for event in events {
            let slug = event.slug();
            count(&Self::EVENTS, slug, &mut record.events);
            if slug == "limited" {
                count(&Self::LIMITS, event.reason().unwrap_or(""), &mut record.limits);
            }
        }
        record
    }
}

fn count(names: &[&str], name: &str, counts: &mut [u32]) {
    if let Some(place) = names.iter().position(|known| *known == name) {
        counts[place] += 1;
    }
}
