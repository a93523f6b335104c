use openoutcry_engine::with_vector_instructions;

/// Writes the weights by the side of the fast average from the slow one.
///
/// `counts` are the numbers of symbols that share the account.
pub(super) fn weigh(fast: &[f64], slow: &[f64], counts: &[f64], is_short: bool, weights: &mut [f64]) {
    let below = if is_short { -1.0 } else { 0.0 };
    with_vector_instructions(
        #[inline(always)]
        || {
            for (((weight, fast), slow), count) in weights.iter_mut().zip(fast).zip(slow).zip(counts) {
                let side = if fast < slow { below } else { 0.0 };
                *weight = if fast > slow { 1.0 } else { side } / count;
            }
        },
    );
}
