//! Inputs: the corpus itself, then mutations of it.
//!
//! An input is a function of seed and index alone.

/// Longest input in bytes.
const LONGEST: usize = 16 << 10;
const MOST_CHANGES: usize = 6;
const INTERESTING: [u8; 16] =
    [0, 1, 0x7f, 0x80, 0xff, b'"', b'\\', b',', b'\n', b'\r', b'{', b'}', b'[', b']', b'-', b'e'];
const NUMBERS: [&str; 16] = [
    "0",
    "-0",
    "-1",
    "1e400",
    "-1e308",
    "5e-324",
    "1e-400",
    "NaN",
    "inf",
    "0.1",
    "9007199254740993",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775809",
    "00",
    "1.",
];
/// Brackets in a row, to nest values deeply.
const DEEP: usize = 2000;
/// Words of all formats, which change the types of values.
const WORDS: [&str; 24] = [
    "null",
    "true",
    "\"\"",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "{}",
    "[]",
    "[[[[[[[[[[[[[[[[",
    "{\"a\":{\"a\":{\"a\":{\"a\":",
    ",",
    ",,",
    ";",
    "\t",
    "\"",
    "\"\"\"",
    "\r",
    "\r\n",
    "\n\n",
    "\u{feff}",
    "\u{1f980}",
    "2020-02-30",
    "0000-00-00",
    "9999-12-31T23:59:60Z",
    "A",
];

/// A splitmix64 generator: small, seeded, and equal on every machine.
pub struct Random(u64);

impl Random {
    /// Returns the generator of an input.
    pub fn new(seed: u64, index: u64) -> Self {
        let mut random = Self(seed ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`; 0 if it is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.next() % bound as u64) as usize }
    }

    fn of<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.below(values.len())]
    }

    /// Returns a part of `bytes`, short ones more often.
    fn part<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let first = self.below(bytes.len());
        let most = if self.below(4) == 0 { bytes.len() } else { 32 };
        let size = self.below((bytes.len() - first).min(most) + 1);
        &bytes[first..first + size]
    }
}

/// Returns input `index`: an entry of the corpus as it is, then mutations.
pub fn input(corpus: &[Vec<u8>], seed: u64, index: u64) -> Vec<u8> {
    if let Some(entry) = usize::try_from(index).ok().and_then(|place| corpus.get(place)) {
        return entry.clone();
    }
    let mut random = Random::new(seed, index);
    let mut bytes = random.of(corpus).clone();
    // Mostly one or two changes: an input that stays valid reaches deeper code.
    for _ in 0..MOST_CHANGES {
        change(&mut bytes, corpus, &mut random);
        bytes.truncate(LONGEST);
        if random.below(2) == 0 {
            break;
        }
    }
    // The memory of an input counts as its reader's.
    bytes.shrink_to_fit();
    bytes
}

fn change(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    let place = random.below(bytes.len());
    match random.below(20) {
        0 if !bytes.is_empty() => bytes[place] ^= 1 << random.below(8),
        1 if !bytes.is_empty() => bytes[place] = *random.of(&INTERESTING),
        2 => bytes.insert(place, *random.of(&INTERESTING)),
        3 => drop(bytes.drain(place..place + random.below((bytes.len() - place).min(64) + 1))),
        4 => bytes.truncate(place),
        5 => {
            let part = random.part(bytes).to_vec();
            splice(bytes, place, 0, &part);
        }
        6 => {
            let other = random.of(corpus).clone();
            let part = random.part(&other).to_vec();
            splice(bytes, place, 0, &part);
        }
        7 => {
            let word = random.of(&WORDS).as_bytes();
            splice(bytes, place, 0, word);
            if random.below(32) == 0 {
                splice(bytes, place, 0, &word.repeat(DEEP));
            }
        }
        8..=11 => number(bytes, place, random),
        12..=14 => field(bytes, place, random),
        15 if !bytes.is_empty() => bytes[place] = bytes[place].wrapping_add(1),
        16 => {
            // Lengths and counts of binary formats.
            let width = [1, 2, 4, 8][random.below(4)];
            let value = *random.of(&[0, 1, u64::MAX, 1 << 31, 1 << 32, 1 << 62, 255, 65_536]);
            splice(bytes, place, width, &value.to_le_bytes()[..width]);
        }
        _ => {
            let part = random.part(bytes).to_vec();
            let many = part.repeat(1 + random.below(64));
            splice(bytes, place, 0, &many);
        }
    }
}

/// Replaces `size` bytes at `place`.
fn splice(bytes: &mut Vec<u8>, place: usize, size: usize, part: &[u8]) {
    let end = (place + size).min(bytes.len());
    bytes.splice(place..end, part.iter().copied());
}

/// Replaces the next number.
fn number(bytes: &mut Vec<u8>, place: usize, random: &mut Random) {
    let Some(first) = bytes[place..].iter().position(u8::is_ascii_digit).map(|at| place + at) else { return };
    let size = bytes[first..].iter().take_while(|byte| byte.is_ascii_digit() || b".eE+-".contains(byte)).count();
    let value = random.of(&NUMBERS).as_bytes();
    splice(bytes, first, size, value);
}

/// Replaces the next field, up to a separator, by a word.
fn field(bytes: &mut Vec<u8>, place: usize, random: &mut Random) {
    let is_separator = |byte: &u8| b",:;\n]}\t".contains(byte);
    let Some(first) = bytes[place..].iter().position(is_separator).map(|at| place + at + 1) else { return };
    let size = bytes[first..].iter().position(is_separator).unwrap_or(bytes.len() - first);
    let word = random.of(&WORDS).as_bytes();
    splice(bytes, first, size, word);
}
