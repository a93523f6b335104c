use crate::account::event::{Event, LimitReason};

/// How far rounding may lift gross above `max_gross`, as a factor.
///
/// f32 softmax weights sum to more than 1 half the time; that is not leverage.
pub(crate) const GROSS_TOLERANCE: f64 = 1.0 + 1e-6;

/// Gross weights: new and already held.
#[derive(Default)]
pub(crate) struct Gross {
    pub(crate) added: f64,
    pub(crate) kept: f64,
    /// Whether `max_weight` took something away.
    pub(crate) is_cut: bool,
    /// Whether an order has to be refused.
    pub(crate) is_odd: bool,
}

impl Gross {
    /// Returns the factor that brings what is new within `max_gross`, if any (step 4).
    pub(crate) fn scale(&self, max_gross: f64) -> Option<f64> {
        let left = max_gross - self.kept;
        let exceeds = self.added > 0.0 && self.added + self.kept > max_gross * GROSS_TOLERANCE;
        exceeds.then(|| if left > 0.0 { left / self.added } else { 0.0 })
    }

    /// Returns what is told of a scaling by `scale`.
    pub(crate) fn limited(&self, scale: f64) -> Event {
        let (requested, allowed) = (self.added + self.kept, self.kept + self.added * scale);
        Event::Limited { symbol: None, requested, allowed, reason: LimitReason::MaxGross }
    }
}
