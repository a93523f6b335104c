use openoutcry_contract::record::DatasetName;
use openoutcry_engine::{CostModel, FillKey, Limits};

/// Settings that a replay requires of a run, in addition to the data.
///
/// Absent settings are taken from the record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms<'a> {
    /// Required costs.
    pub costs: Option<CostModel>,
    /// Required limits.
    pub limits: Option<Limits>,
    /// The key of the commitment of the slippage noise.
    pub fill_key: Option<FillKey>,
    /// Names of markets, and the commitments of their keys.
    ///
    /// The record is trusted for a market that is not listed.
    pub markets: &'a [DatasetName],
}
