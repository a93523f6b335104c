//! Probability of backtest overfitting (PBO), by cross-validation (CSCV).

use crate::error::Undefined;
use crate::metrics::moments::mean;
use crate::{BadSetup, Panel, TestError};

/// The most blocks: more have too many halves to enumerate.
pub(crate) const MAX_BLOCKS: usize = 24;

/// The probability of backtest overfitting.
#[derive(Clone, Debug, PartialEq)]
pub struct Overfit {
    /// Share of halves whose best agent is at most median in the other half.
    pub probability: f64,
    /// For each half, the logit of the rank of its best agent in the other half.
    pub logits: Vec<f64>,
}

/// Returns the probability of backtest overfitting.
///
/// The method is combinatorially symmetric cross-validation. The days are cut into `n_blocks` blocks of equal length,
/// to a day. For every half of the blocks, the agent with the best Sharpe ratio is ranked among `N` agents in the other
/// half: `w = rank / (N + 1)`, with the middle rank for a tie. The logit is `ln(w / (1 - w))`. Windows are ignored.
///
/// # Errors
///
/// Returns an error for fewer than two agents, an odd number of blocks, or an agent that is constant in some half.
///
/// Source: Bailey, Borwein, Lopez de Prado and Zhu (2017).
pub fn overfit(panel: &Panel<'_>, n_blocks: usize) -> Result<Overfit, TestError> {
    let (n_days, n_agents) = (panel.n_days(), panel.n_agents());
    if n_agents < 2 {
        return Err(BadSetup::Agents { required: "2 or more", received: n_agents }.into());
    }
    if !n_blocks.is_multiple_of(2) || !(2..=MAX_BLOCKS).contains(&n_blocks) || n_days < 2 * n_blocks {
        return Err(BadSetup::Blocks { n_days, received: n_blocks }.into());
    }
    let blocks = Block::all(panel, n_blocks)?;
    let halves = (0_u32..1 << n_blocks).filter(|half| half.count_ones() as usize == n_blocks / 2);
    let logits = halves.map(|half| logit(&blocks, half, n_agents)).collect::<Result<Vec<f64>, _>>()?;
    let below = logits.iter().filter(|logit| **logit <= 0.0).count();
    Ok(Overfit { probability: below as f64 / logits.len() as f64, logits })
}

/// Days of a block, and the sum and sum of squares of each agent about a centre.
///
/// The centre is the mean of all days.
struct Block {
    n_days: f64,
    sums: Vec<f64>,
    squares: Vec<f64>,
    centres: Vec<f64>,
}

impl Block {
    fn all(panel: &Panel<'_>, n_blocks: usize) -> Result<Vec<Self>, Undefined> {
        let (n_days, n_agents) = (panel.n_days(), panel.n_agents());
        let centres = (0..n_agents).map(|agent| mean(&panel.column(agent))).collect::<Result<Vec<f64>, _>>()?;
        let rows: Vec<&[f64]> = panel.rows().collect();
        let block = |place: usize| {
            let rows = &rows[place * n_days / n_blocks..(place + 1) * n_days / n_blocks];
            let mut block = Self::empty(&centres);
            block.n_days = rows.len() as f64;
            for row in rows {
                for agent in 0..n_agents {
                    let deviation = row[agent] - centres[agent];
                    block.sums[agent] += deviation;
                    block.squares[agent] += deviation * deviation;
                }
            }
            block
        };
        Ok((0..n_blocks).map(block).collect())
    }

    fn empty(centres: &[f64]) -> Self {
        let zeros = vec![0.0; centres.len()];
        Self { n_days: 0.0, sums: zeros.clone(), squares: zeros, centres: centres.to_vec() }
    }

    fn join(&mut self, other: &Self) {
        self.n_days += other.n_days;
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, more)| *sum += more);
        self.squares.iter_mut().zip(&other.squares).for_each(|(sum, more)| *sum += more);
    }

    /// Returns the Sharpe ratio per day of each agent.
    fn ratios(&self) -> Result<Vec<f64>, Undefined> {
        let each = self.sums.iter().zip(&self.squares).zip(&self.centres).enumerate();
        each.map(|(agent, ((sum, squares), centre))| {
            let shift = sum / self.n_days;
            let deviation = (squares / self.n_days - shift * shift).sqrt();
            if deviation > MIN_DEVIATION {
                Ok((centre + shift) / deviation)
            } else {
                Err(Undefined::ConstantAgent { agent })
            }
        })
        .collect()
    }
}

/// A standard deviation per day below it is only rounding.
const MIN_DEVIATION: f64 = 1e-8;

fn logit(blocks: &[Block], half: u32, n_agents: usize) -> Result<f64, Undefined> {
    let (mut inside, mut outside) = (Block::empty(&blocks[0].centres), Block::empty(&blocks[0].centres));
    for (place, block) in blocks.iter().enumerate() {
        if half >> place & 1 == 1 { inside.join(block) } else { outside.join(block) }
    }
    let (seen, unseen) = (inside.ratios()?, outside.ratios()?);
    let best = (1..n_agents).fold(0, |best, agent| if seen[agent] > seen[best] { agent } else { best });
    let count = |of: fn(&f64, &f64) -> bool| unseen.iter().filter(|ratio| of(ratio, &unseen[best])).count() as f64;
    let rank = count(|a, b| a < b) + 0.5 * (count(|a, b| a == b) + 1.0);
    let relative = rank / (n_agents as f64 + 1.0);
    Ok(libm::log(relative / (1.0 - relative)))
}
