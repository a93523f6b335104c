use crate::BadSetup;

/// Returns p-values adjusted for the family-wise error rate.
///
/// # Errors
///
/// Returns an error for a value outside of [0, 1].
///
/// Source: Holm (1979).
pub fn holm(p_values: &[f64]) -> Result<Vec<f64>, BadSetup> {
    let n = p_values.len();
    adjust(p_values, (0..n).map(|place| (n - place) as f64), false)
}

/// Returns p-values adjusted for the false discovery rate.
///
/// Valid for independent or positively dependent p-values.
///
/// # Errors
///
/// Returns an error for a value outside of [0, 1].
///
/// Source: Benjamini and Hochberg (1995).
pub fn benjamini_hochberg(p_values: &[f64]) -> Result<Vec<f64>, BadSetup> {
    let n = p_values.len();
    adjust(p_values, (1..=n).rev().map(|rank| n as f64 / rank as f64), true)
}

/// Multiplies sorted p-values by factors and restores monotonicity.
fn adjust(p_values: &[f64], factors: impl Iterator<Item = f64>, from_largest: bool) -> Result<Vec<f64>, BadSetup> {
    if let Some(index) = p_values.iter().position(|p| !(0.0..=1.0).contains(p)) {
        return Err(BadSetup::Probability { index, received: p_values[index] });
    }
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    if from_largest {
        order.reverse();
    }
    let mut adjusted = vec![0.0; p_values.len()];
    let mut last: f64 = if from_largest { 1.0 } else { 0.0 };
    for (place, factor) in order.into_iter().zip(factors) {
        let raised = (p_values[place] * factor).min(1.0);
        last = if from_largest { last.min(raised) } else { last.max(raised) };
        adjusted[place] = last;
    }
    Ok(adjusted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_multiplies_by_how_many_are_left_and_never_falls() {
        assert_eq!(holm(&[0.01, 0.5, 0.02, 0.5]).unwrap(), [0.04, 1.0, 0.06, 1.0]);
        assert_eq!(holm(&[]).unwrap(), [0.0; 0]);
    }

    #[test]
    fn benjamini_and_hochberg_divide_by_the_rank_and_never_rise() {
        assert_eq!(benjamini_hochberg(&[0.125, 0.75, 0.25, 0.5]).unwrap(), [0.5, 0.75, 0.5, 4.0 / 3.0 * 0.5]);
    }

    #[test]
    fn what_is_no_probability_is_refused_by_its_place() {
        for (bad, index) in [([0.1, 1.1], 1), ([f64::NAN, 0.1], 0), ([0.2, -0.1], 1)] {
            assert!(matches!(holm(&bad), Err(BadSetup::Probability { index: found, .. }) if found == index));
        }
    }
}
