use crate::bootstrap::error::BadSetup;
use crate::error::Undefined;
use crate::is_riskless;

/// The fewest days of a test in this crate.
pub(crate) const MIN_DAYS: usize = 250;

/// Returns per day of agents on common dates, in consecutive windows.
#[derive(Clone, Copy, Debug)]
pub struct Panel<'a> {
    returns: &'a [f64],
    n_agents: usize,
    windows: &'a [usize],
}

impl<'a> Panel<'a> {
    /// Returns a panel of `returns`, day by day, in windows of the given lengths.
    ///
    /// # Errors
    ///
    /// Returns an error if the shapes do not match, or a return is not finite.
    pub fn new(returns: &'a [f64], n_agents: usize, windows: &'a [usize]) -> Result<Self, BadSetup> {
        if n_agents == 0 || !returns.len().is_multiple_of(n_agents) {
            return Err(BadSetup::Shape { n_agents, n_returns: returns.len() });
        }
        let n_days = returns.len() / n_agents;
        let total = windows.iter().try_fold(0_usize, |sum, length| sum.checked_add(*length));
        if total != Some(n_days) || windows.contains(&0) {
            return Err(BadSetup::Windows { n_days, received: windows.to_vec() });
        }
        if let Some(place) = returns.iter().position(|r| !r.is_finite()) {
            let (day, agent) = (place / n_agents, place % n_agents);
            return Err(BadSetup::NotFinite { day, agent, value: returns[place] });
        }
        Ok(Self { returns, n_agents, windows })
    }

    /// Returns the number of days.
    #[must_use]
    pub fn n_days(&self) -> usize {
        self.returns.len() / self.n_agents
    }

    /// Returns the number of agents.
    #[must_use]
    pub fn n_agents(&self) -> usize {
        self.n_agents
    }

    pub(crate) fn windows(&self) -> &'a [usize] {
        self.windows
    }

    pub(crate) fn rows(&self) -> std::slice::ChunksExact<'a, f64> {
        self.returns.chunks_exact(self.n_agents)
    }

    pub(crate) fn column(&self, agent: usize) -> Vec<f64> {
        self.rows().map(|row| row[agent]).collect()
    }

    /// Returns the first day of each window, and the day after its last.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (usize, usize)> + use<'a> {
        edges(self.windows)
    }
}

pub(crate) fn edges(windows: &[usize]) -> impl Iterator<Item = (usize, usize)> + use<'_> {
    windows.iter().scan(0, |end, length| {
        let start = *end;
        *end += length;
        Some((start, *end))
    })
}

/// Checks the numbers of windows and days, and that no agent is constant.
pub(crate) fn sufficient(panel: &Panel<'_>, required: usize) -> Result<(), Undefined> {
    let (windows, received) = (panel.windows.len(), panel.n_days());
    if windows < required || received < MIN_DAYS {
        return Err(Undefined::Insufficient { required, days: MIN_DAYS, windows, received });
    }
    match (0..panel.n_agents).find(|agent| is_riskless(&panel.column(*agent))) {
        Some(agent) => Err(Undefined::ConstantAgent { agent }),
        None => Ok(()),
    }
}
