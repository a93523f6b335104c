//! Distinct texts of a column, numbered in the order of their first occurrence.

use std::collections::BTreeMap;

/// Slots that are tried for a text before the sorted texts.
///
/// Texts made to share a hash then take the time of a search, not that of a list.
const PROBES: usize = 8;
const FREE: u32 = u32::MAX;

/// The distinct texts of a column.
#[derive(Debug)]
pub(crate) struct DistinctNames {
    /// All texts, and the end of each.
    text: String,
    ends: Vec<usize>,
    /// Numbers by hash. The length is a power of 2.
    slots: Vec<u32>,
    /// Texts for which no slot was free.
    others: BTreeMap<String, u32>,
    last: u32,
    /// Difference between the numbers of the last two texts, if it was 0 or 1.
    step: u32,
}

impl DistinctNames {
    pub(crate) fn new() -> Self {
        let slots = vec![FREE; 1 << 10];
        Self { text: String::new(), ends: Vec::new(), slots, others: BTreeMap::new(), last: FREE, step: 0 }
    }

    /// Returns the number of a text.
    #[inline]
    pub(crate) fn number(&mut self, text: &str) -> u32 {
        // Files are sorted by date or by symbol: a text is often that of the previous row, or new after it there.
        let number = self.last.wrapping_add(self.step);
        if !self.is(number, text) {
            return self.unlikely(text);
        }
        self.last = number;
        number
    }

    fn unlikely(&mut self, text: &str) -> u32 {
        let (other, last) = (1 - self.step, self.last);
        let number = last.wrapping_add(other);
        let is_other = self.is(number, text);
        self.last = if is_other { number } else { self.found(text).unwrap_or_else(|| self.add(text)) };
        if is_other {
            self.step = other;
        }
        self.last
    }

    #[inline]
    fn is(&self, number: u32, text: &str) -> bool {
        (number as usize) < self.ends.len() && are_equal(self.name(number).as_bytes(), text.as_bytes())
    }

    pub(crate) fn into_names(self) -> Vec<String> {
        (0..self.ends.len() as u32).map(|number| self.name(number).to_owned()).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    pub(crate) fn name(&self, number: u32) -> &str {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.text[start..self.ends[number]]
    }

    fn found(&self, text: &str) -> Option<u32> {
        for slot in self.probes(text) {
            let number = self.slots[slot];
            if number == FREE {
                return None;
            }
            if self.name(number) == text {
                return Some(number);
            }
        }
        self.others.get(text).copied()
    }

    fn add(&mut self, text: &str) -> u32 {
        let number = self.ends.len() as u32;
        self.text.push_str(text);
        self.ends.push(self.text.len());
        if self.ends.len() > self.slots.len() / 4 {
            self.slots = vec![FREE; 4 * self.slots.len()];
            (0..number).for_each(|known| self.place(known));
        }
        self.place(number);
        number
    }

    fn place(&mut self, number: u32) {
        let name = self.name(number);
        if let Some(slot) = self.probes(name).find(|slot| self.slots[*slot] == FREE) {
            self.slots[slot] = number;
        } else {
            let name = name.to_owned();
            self.others.insert(name, number);
        }
    }

    fn probes(&self, text: &str) -> impl Iterator<Item = usize> + use<> {
        let (first, mask) = (hash(text.as_bytes()) as usize, self.slots.len() - 1);
        (first..first + PROBES).map(move |slot| slot & mask)
    }
}

/// Returns whether two texts are equal.
///
/// The short ones of most columns need no call.
#[inline]
fn are_equal(one: &[u8], other: &[u8]) -> bool {
    let words = |text: &[u8]| Some((*text.first_chunk::<8>()?, *text.last_chunk::<8>()?)).filter(|_| text.len() <= 16);
    match (words(one), words(other)) {
        (Some(words), Some(others)) => one.len() == other.len() && words == others,
        _ => one == other,
    }
}

fn hash(text: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let (words, rest) = text.as_chunks::<8>();
    let hash = words.iter().fold(0, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    let rest = rest.iter().fold(1, |word, byte| word << 8 | u64::from(*byte));
    mix(hash, rest) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_numbered_in_the_order_of_their_first_occurrence() {
        let mut names = DistinctNames::new();
        let found: Vec<u32> = ["B", "A", "B", "", "A", "B", "", ""].iter().map(|text| names.number(text)).collect();
        assert_eq!(found, [0, 1, 0, 2, 1, 0, 2, 2]);
        assert_eq!(names.into_names(), ["B", "A", ""]);
    }

    #[test]
    fn texts_of_any_length_are_equal_only_to_themselves() {
        for length in 0..20 {
            let text = "A".repeat(length);
            assert!(are_equal(text.as_bytes(), text.as_bytes()));
            assert!(!are_equal(text.as_bytes(), (text.clone() + "A").as_bytes()));
            for place in 0..length {
                let mut other = text.clone().into_bytes();
                other[place] = b'B';
                assert!(!are_equal(text.as_bytes(), &other) && !are_equal(&other, text.as_bytes()));
            }
        }
    }

    #[test]
    fn many_texts_keep_their_numbers() {
        let mut names = DistinctNames::new();
        let texts: Vec<String> = (0..20_000).map(|i| format!("2024-01-01T{i}")).collect();
        for (number, text) in texts.iter().enumerate().chain(texts.iter().enumerate().rev()) {
            assert_eq!(names.number(text) as usize, number);
        }
        assert_eq!(names.into_names(), texts);
    }

    #[test]
    fn texts_without_a_free_slot_keep_their_numbers() {
        let mut names = DistinctNames::new();
        let texts: Vec<String> = (0..100).map(|i| i.to_string()).collect();
        // As if each slot held a text of the same hash.
        names.number("");
        names.slots.fill(0);
        for (number, text) in texts.iter().enumerate().chain(texts.iter().enumerate().rev()) {
            assert_eq!(names.number(text) as usize, number + 1);
        }
        assert_eq!(names.others.len(), texts.len());
    }
}
