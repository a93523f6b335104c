use super::Forecasts;

/// Relative residual at which the solver stops.
const TOLERANCE: f64 = 1e-13;

/// Returns the mean loss of each agent, adjusted for the markets of its forecasts.
///
/// It is the least-squares fit of `loss = agent + market`, shifted so that its mean over all forecasts is the mean
/// loss. Effects compare only agents that are connected by markets: agents outside of the largest connected group, by
/// forecasts, are NaN. All are NaN if the solver does not converge.
///
/// Source: Abowd, Creecy and Kramarz (2002), for groups and conjugate gradients.
#[must_use]
pub fn agent_effects(forecasts: &Forecasts<'_>) -> Vec<f64> {
    let system = System::new(forecasts);
    match system.solve() {
        Some(effects) => system.moved(effects),
        None => vec![f64::NAN; forecasts.n_agents()],
    }
}

/// The normal equations of agents after eliminating markets.
struct System<'a> {
    forecasts: &'a Forecasts<'a>,
    /// Agents of the largest group.
    inside: Vec<bool>,
    /// Forecasts per market by agents of the group.
    n_of_market: Vec<f64>,
}

impl<'a> System<'a> {
    fn new(forecasts: &'a Forecasts<'a>) -> Self {
        let inside = largest_group(forecasts);
        let mut system = Self { forecasts, inside, n_of_market: Vec::new() };
        system.n_of_market = system.per_market(|_, _| 1.0);
        system
    }

    /// Returns the sum over agents of the group of a value per forecast, by market.
    fn per_market(&self, of: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.forecasts.n_markets];
        for (agent, own) in self.forecasts.agents().enumerate().filter(|(agent, _)| self.inside[*agent]) {
            own.for_each(|place| sums[self.forecasts.markets[place] as usize] += of(agent, place));
        }
        sums
    }

    /// Returns the sum per agent of a value per forecast less its market mean.
    fn apply(&self, of: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let mut means = self.per_market(&of);
        means.iter_mut().zip(&self.n_of_market).for_each(|(mean, n)| *mean /= n.max(1.0));
        let mut sums = vec![0.0; self.forecasts.n_agents()];
        for (agent, own) in self.forecasts.agents().enumerate().filter(|(agent, _)| self.inside[*agent]) {
            sums[agent] = own.map(|place| of(agent, place) - means[self.forecasts.markets[place] as usize]).sum();
        }
        sums
    }

    /// Returns effects of agents up to a constant, by conjugate gradients.
    fn solve(&self) -> Option<Vec<f64>> {
        let n = self.forecasts.n_agents();
        let counts: Vec<f64> = self.forecasts.agents().map(|own| own.len().max(1) as f64).collect();
        let scaled = |r: &[f64]| r.iter().zip(&counts).map(|(r, n)| r / n).collect::<Vec<f64>>();
        let mut effects = vec![0.0; n];
        let mut residual = self.apply(|_, place| self.forecasts.losses[place]);
        let mut step = scaled(&residual);
        let mut size = dot(&residual, &step);
        let scale = dot(self.forecasts.losses, self.forecasts.losses);
        let enough = TOLERANCE * TOLERANCE * scale;
        // Exact after as many steps as agents, except for rounding.
        for _ in 0..10 * n + 100 {
            if size <= enough {
                return Some(effects);
            }
            let moved = self.apply(|agent, _| step[agent]);
            let length = size / dot(&step, &moved);
            effects.iter_mut().zip(&step).for_each(|(effect, step)| *effect += length * step);
            residual.iter_mut().zip(&moved).for_each(|(residual, moved)| *residual -= length * moved);
            let next = scaled(&residual);
            let grown = dot(&residual, &next);
            step.iter_mut().zip(&next).for_each(|(step, next)| *step = next + grown / size * *step);
            size = grown;
        }
        None
    }

    /// Returns effects shifted to the mean loss, and NaN outside of the group.
    fn moved(&self, effects: Vec<f64>) -> Vec<f64> {
        let (mut sum, mut n) = (0.0, 0.0);
        for (agent, own) in self.forecasts.agents().enumerate().filter(|(agent, _)| self.inside[*agent]) {
            n += own.len() as f64;
            sum += own.map(|place| self.forecasts.losses[place] - effects[agent]).sum::<f64>();
        }
        let inside = effects.into_iter().zip(&self.inside);
        inside.map(|(effect, inside)| if *inside { effect + sum / n } else { f64::NAN }).collect()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns the membership in the first group with the most forecasts.
fn largest_group(forecasts: &Forecasts<'_>) -> Vec<bool> {
    let n_agents = forecasts.n_agents();
    // Nodes: agents first, then markets.
    let mut parent: Vec<usize> = (0..n_agents + forecasts.n_markets).collect();
    for (agent, own) in forecasts.agents().enumerate() {
        for place in own {
            let (a, b) = (root(&mut parent, agent), root(&mut parent, n_agents + forecasts.markets[place] as usize));
            // The smaller index is the root: an agent, if there is one.
            parent[a.max(b)] = a.min(b);
        }
    }
    let roots: Vec<usize> = (0..n_agents).map(|agent| root(&mut parent, agent)).collect();
    let mut sizes = vec![0; n_agents];
    forecasts.agents().zip(&roots).for_each(|(own, root)| sizes[*root] += own.len());
    let most = sizes.iter().copied().max().unwrap_or(0);
    let largest = sizes.iter().position(|size| *size == most && *size > 0);
    roots.into_iter().map(|root| Some(root) == largest).collect()
}

fn root(parent: &mut [usize], mut node: usize) -> usize {
    while parent[node] != node {
        parent[node] = parent[parent[node]];
        node = parent[node];
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_that_are_an_agent_and_a_market_give_both_back() {
        let (agents, markets) = ([0.1, 0.3, 0.2], [0.0, 0.5, 0.25, 0.125]);
        let of_agent: [&[u32]; 3] = [&[0, 1], &[1, 2, 3], &[0, 3]];
        let starts = [0, 2, 5, 7];
        let places: Vec<u32> = of_agent.concat();
        let losses: Vec<f64> =
            (0..3).flat_map(|a| of_agent[a].iter().map(move |m| agents[a] + markets[*m as usize])).collect();
        let found = agent_effects(&Forecasts::new(&starts, &places, &losses, 4).unwrap());
        assert!((found[1] - found[0] - 0.2).abs() < 1e-12);
        assert!((found[2] - found[0] - 0.1).abs() < 1e-12);
        let mean: f64 = (2.0 * found[0] + 3.0 * found[1] + 2.0 * found[2]) / 7.0;
        assert!((mean - losses.iter().sum::<f64>() / 7.0).abs() < 1e-12);
    }

    #[test]
    fn agents_that_no_market_connects_are_not_compared() {
        let forecasts = Forecasts::new(&[0, 1, 3, 5, 5], &[0, 1, 2, 1, 2], &[0.1, 0.2, 0.3, 0.4, 0.5], 3).unwrap();
        let found = agent_effects(&forecasts);
        assert!(found[0].is_nan() && found[3].is_nan());
        assert!((found[1] - 0.25).abs() < 1e-12 && (found[2] - 0.45).abs() < 1e-12);
    }

    #[test]
    fn one_agent_alone_has_its_mean() {
        let found = agent_effects(&Forecasts::new(&[0, 2], &[0, 1], &[0.1, 0.4], 2).unwrap());
        assert!((found[0] - 0.25).abs() < 1e-12);
        assert!(agent_effects(&Forecasts::new(&[0, 0], &[], &[], 0).unwrap())[0].is_nan());
    }

    #[test]
    fn a_long_chain_of_agents_is_solved() {
        let n = 300_usize;
        let starts: Vec<usize> = (0..=n).map(|agent| 2 * agent).collect();
        let markets: Vec<u32> = (0..n as u32).flat_map(|agent| [agent, agent + 1]).collect();
        let effect = |agent: usize| libm::sin(agent as f64);
        let losses: Vec<f64> = (0..2 * n).map(|place| effect(place / 2) + f64::from(markets[place] % 7)).collect();
        let found = agent_effects(&Forecasts::new(&starts, &markets, &losses, n + 1).unwrap());
        let far = (0..n).map(|agent| (found[agent] - found[0] - effect(agent) + effect(0)).abs()).fold(0.0, f64::max);
        assert!(far < 1e-8, "{far}");
    }
}
