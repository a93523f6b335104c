//! Counts in words: `1 bar`, `2 bars`.

/// Returns a number with its noun, in the singular for 1.
#[must_use]
pub fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_count_of_one_has_a_noun_in_the_singular() {
        assert_eq!([0, 1, 2].map(|n| counted(n, "bar")), ["0 bars", "1 bar", "2 bars"]);
    }
}
