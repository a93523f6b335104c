use openoutcry_contract::{Decision, MarketObservation};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::Agent;
use crate::agents::agent::weigh;

/// Draws new long-only weights on every bar: the baseline of luck.
#[derive(Clone, Debug)]
pub struct RandomWeights {
    random: ChaCha8Rng,
}

impl RandomWeights {
    /// Returns a random agent; equal seeds give equal decisions.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { random: ChaCha8Rng::seed_from_u64(seed) }
    }

    fn uniform(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / 9_007_199_254_740_992.0
    }
}

impl Agent for RandomWeights {
    fn decide(&mut self, observation: &MarketObservation) -> Decision {
        let draws: Vec<f64> = observation.symbols.iter().map(|_| self.uniform()).collect();
        let total: f64 = draws.iter().sum();
        let mut draws = draws.iter();
        weigh(observation, |_| draws.next().map_or(0.0, |draw| if total > 0.0 { draw / total } else { 0.0 }))
    }
}
