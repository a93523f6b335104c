use openoutcry_engine::with_vector_instructions;

/// Writes weights in proportion to distances, the largest at `width` deviations.
///
/// `counts` are the numbers of symbols that share the account.
pub(super) fn weigh(distances: &[f64], counts: &[f64], width: f64, is_short: bool, weights: &mut [f64]) {
    let least = if is_short { -1.0 } else { 0.0 };
    with_vector_instructions(
        #[inline(always)]
        || {
            for ((weight, distance), count) in weights.iter_mut().zip(distances).zip(counts) {
                let distance = distance / width;
                let part = if distance > least { distance } else { least };
                *weight = if part < 1.0 { part } else { 1.0 } / count;
            }
        },
    );
}
