use crate::account::event::{Event, LimitReason};

/// Tolerance of gross above `max_gross` for rounding, as a factor.
///
/// The f32 weights of a softmax sum to more than 1 half of the time. That is not leverage.
pub(crate) const GROSS_TOLERANCE: f64 = 1.0 + 1e-6;

/// Gross weights of one decision: new exposure and exposure already held.
#[derive(Default)]
pub(crate) struct GrossExposure {
    pub(crate) added: f64,
    pub(crate) kept: f64,
    /// Whether `max_weight` cut a weight.
    pub(crate) is_cut: bool,
    /// Whether an order must be refused.
    pub(crate) needs_refusal: bool,
}

impl GrossExposure {
    /// Returns the factor that cuts new exposure to `max_gross`, if needed (step 4).
    pub(crate) fn scale(&self, max_gross: f64) -> Option<f64> {
        let left = max_gross - self.kept;
        let exceeds = self.added > 0.0 && self.added + self.kept > max_gross * GROSS_TOLERANCE;
        exceeds.then(|| if left > 0.0 { left / self.added } else { 0.0 })
    }

    /// Returns the event of a cut by `scale`.
    pub(crate) fn limited(&self, scale: f64) -> Event {
        let (requested, allowed) = (self.added + self.kept, self.kept + self.added * scale);
        Event::Limited { symbol: None, requested, allowed, reason: LimitReason::MaxGross }
    }
}
