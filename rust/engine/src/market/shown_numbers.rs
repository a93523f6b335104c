//! Numbers in messages.

/// Returns a number with at most `n_digits` significant digits.
pub(crate) fn significant(value: f64, n_digits: usize) -> f64 {
    format!("{value:.*e}", n_digits - 1).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::significant;

    #[test]
    fn digits_after_the_last_shown_one_are_rounded() {
        let shown = [(1.0 / 3.0, 6), (0.1 + 0.2, 6), (1_234_567.0, 6), (10.0, 6), (0.998_7, 3)];
        let shown = shown.map(|(value, n_digits)| significant(value, n_digits).to_string());
        assert_eq!(shown, ["0.333333", "0.3", "1234570", "10", "0.999"]);
    }
}
