use std::ops::Range;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::edges;

/// The purpose of draws: each purpose has its own stream.
#[derive(Clone, Copy)]
enum Purpose {
    Stationary,
    Fixed,
    Sign,
    Cluster,
}

/// Random numbers of a seed.
pub(crate) struct Stream(ChaCha8Rng);

impl Stream {
    fn new(seed: u64, purpose: Purpose) -> Self {
        let mut key = *b"........openoutcry/score/draws/1";
        key[..8].copy_from_slice(&seed.to_le_bytes());
        let mut random = ChaCha8Rng::from_seed(key);
        random.set_stream(purpose as u64);
        Self(random)
    }

    /// Returns the stream of random signs.
    pub(crate) fn signs(seed: u64) -> Self {
        Self::new(seed, Purpose::Sign)
    }

    /// Returns the stream of the cluster bootstrap.
    pub(crate) fn clusters(seed: u64) -> Self {
        Self::new(seed, Purpose::Cluster)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a whole number below `n`, for `n` far below 2^32.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        // The high half of a product: the numbers are equally likely to 2^-32.
        ((u128::from(self.0.next_u64()) * n as u128) >> 64) as usize
    }
}

/// Resamples of the stationary bootstrap, each as long as the sample.
///
/// The first day of a block is uniform, and its length is geometric. A block stays in its window and wraps around from
/// the last day to the first, so that every day is equally likely.
///
/// Source: Politis and Romano (1994).
pub(crate) struct Stationary {
    stream: Stream,
    /// First day, and day after the last, of the window of each day.
    windows: Vec<(u32, u32)>,
    /// Probability of more days than the index, times 2^32, until it is 0.
    longer: Vec<u32>,
}

impl Stationary {
    pub(crate) fn new(windows: &[usize], mean_length: f64, seed: u64) -> Self {
        let of_day = edges(windows).flat_map(|(from, to)| std::iter::repeat_n((from as u32, to as u32), to - from));
        let stay = 1.0 - 1.0 / mean_length;
        let powers = std::iter::successors(Some(stay), |power| Some(power * stay));
        #[expect(clippy::cast_sign_loss, reason = "powers of a number from 0 to 1")]
        let longer = powers.map(|power| (power * 4_294_967_296.0).round() as u32).take_while(|longer| *longer > 0);
        Self { stream: Stream::new(seed, Purpose::Stationary), windows: of_day.collect(), longer: longer.collect() }
    }

    /// Calls `days` with the ranges of consecutive days of one resample.
    pub(crate) fn draw(&mut self, mut days: impl FnMut(Range<usize>)) {
        let n_days = self.windows.len() as u32;
        let mut missing = n_days;
        while missing > 0 {
            let bits = self.stream.bits();
            // The high half of a product: the days are equally likely to 2^-32 of all draws.
            let mut from = (((bits >> 32) * u64::from(n_days)) >> 32) as u32;
            let mut length = self.length(bits as u32).min(missing);
            missing -= length;
            let (start, end) = self.windows[from as usize];
            while length > 0 {
                let to = end.min(from + length);
                days(from as usize..to as usize);
                length -= to - from;
                from = start;
            }
        }
    }

    /// Returns the length of a block from a draw of 32 bits.
    fn length(&self, draw: u32) -> u32 {
        1 + self.longer.iter().take_while(|longer| draw < **longer).count() as u32
    }
}

/// Uniform first days of blocks of one length.
pub(crate) struct Starts {
    stream: Stream,
    n_days: usize,
}

impl Starts {
    pub(crate) fn new(n_days: usize, seed: u64) -> Self {
        Self { stream: Stream::new(seed, Purpose::Fixed), n_days }
    }

    /// Replaces each of `starts` by a draw.
    pub(crate) fn draw(&mut self, starts: &mut [u32]) {
        starts.fill_with(|| self.stream.below(self.n_days) as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resample_has_as_many_days_and_no_stretch_crosses_the_edge_of_a_window() {
        let ends = [7, 8, 38, 50];
        let window = |day: usize| ends.iter().position(|end| day < *end);
        let mut blocks = Stationary::new(&[7, 1, 30, 12], 6.0, 3);
        for _ in 0..500 {
            let mut n_days = 0;
            blocks.draw(|days| {
                assert!(!days.is_empty());
                assert_eq!(window(days.start), window(days.end - 1));
                n_days += days.len();
            });
            assert_eq!(n_days, 50);
        }
    }

    #[test]
    fn every_day_is_drawn_as_often_as_any_other_also_at_the_edge_of_a_window() {
        let mut counts = [0_u32; 20];
        let mut blocks = Stationary::new(&[15, 5], 4.0, 1);
        for _ in 0..20_000 {
            blocks.draw(|days| counts[days].iter_mut().for_each(|count| *count += 1));
        }
        assert!(counts.iter().all(|count| (19_400..20_600).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_block_goes_on_with_the_probability_of_its_mean_length() {
        let mut blocks = Stationary::new(&[1_000], 5.0, 9);
        let draws: Vec<u32> = (0..50_000).map(|_| blocks.stream.bits() as u32).collect();
        let lengths: Vec<u32> = draws.into_iter().map(|draw| blocks.length(draw)).collect();
        let mean = f64::from(lengths.iter().sum::<u32>()) / 50_000.0;
        assert!((mean - 5.0).abs() < 0.08, "{mean}");
        let ones = lengths.iter().filter(|length| **length == 1).count() as f64 / 50_000.0;
        assert!((ones - 0.2).abs() < 0.01, "{ones}");
    }

    fn drawn(mean_length: f64, seed: u64) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        Stationary::new(&[40], mean_length, seed).draw(|days| found.push(days));
        found
    }

    #[test]
    fn blocks_of_a_day_are_days() {
        assert_eq!(drawn(1.0, 0).len(), 40);
    }

    #[test]
    fn a_seed_gives_the_same_draws_and_another_seed_others() {
        assert_eq!(drawn(3.0, 4), drawn(3.0, 4));
        assert_ne!(drawn(3.0, 4), drawn(3.0, 5));
    }
}
