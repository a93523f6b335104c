//! Gains and losses of a series of returns, in one pass.

const LANES: usize = 8;

/// The gains or the losses of a series of returns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signed {
    /// Their sum, of lanes of every eighth return.
    pub sum: f64,
    /// Their number.
    pub count: usize,
    /// The longest run of them.
    pub longest: usize,
}

/// Returns the gains and the losses of returns; zeros are neither.
#[must_use]
pub fn signed_sums(returns: &[f64]) -> [Signed; 2] {
    [1.0, -1.0].map(|sign| {
        let (mut lanes, mut found, mut run) = ([0.0; LANES], Signed::default(), 0);
        for part in returns.chunks(LANES) {
            for (lane, value) in lanes.iter_mut().zip(part) {
                let is_one = sign * value > 0.0;
                *lane += if is_one { *value } else { 0.0 };
                run = if is_one { run + 1 } else { 0 };
                found.count += usize::from(is_one);
                found.longest = found.longest.max(run);
            }
        }
        Signed { sum: lanes.iter().sum(), ..found }
    })
}
