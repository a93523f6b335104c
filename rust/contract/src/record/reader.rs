//! The reader of records. It repairs nothing and accepts the canonical bytes only.

use openoutcry_engine::{CostModel, Limits, Window};
use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::agent_fault::Fault;
use super::digest::Digest;
use super::error::RecordError;
use super::harness::Harness;
use super::header::{DatasetName, Fill, Header};
use super::signature::Signature;
use super::trajectory::{AgentTrajectory, End, RunTrajectory, Step, check_agent_id};
use super::{MAX_INTEGER, RECORD_VERSION};

impl AgentTrajectory {
    /// Returns the record in the bytes of a JSON text.
    ///
    /// # Errors
    ///
    /// As [`AgentTrajectory::from_json`], and for bytes that are not UTF-8.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RecordError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| RecordError::invalid(format!("invalid UTF-8 at byte {}", error.valid_up_to())))?;
        Self::from_json(text)
    }

    /// Returns the record in a JSON text, which must be canonical.
    ///
    /// The hash chain is not checked: [`AgentTrajectory::intact_digest`] and a replay check it.
    ///
    /// # Errors
    ///
    /// Returns the missing or extra field with its position, or the first byte that is not canonical.
    pub fn from_json(text: &str) -> Result<Self, RecordError> {
        let read: AgentText = serde_json::from_str(text).map_err(|error| RecordError::invalid(error.to_string()))?;
        let record = read.record()?;
        check_canonical(text, &record.to_json(), "the text")?;
        Ok(record)
    }
}

/// Refuses a text whose bytes differ from `canonical`.
pub(super) fn check_canonical(text: &str, canonical: &str, place: &str) -> Result<(), RecordError> {
    if text == canonical {
        return Ok(());
    }
    let byte = text.bytes().zip(canonical.bytes()).position(|(a, b)| a != b);
    let byte = byte.unwrap_or_else(|| text.len().min(canonical.len()));
    Err(RecordError::NotCanonical { byte, place: place.to_owned() })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentText {
    agent_id: String,
    digest: Option<Digest>,
    #[serde(deserialize_with = "integer")]
    in_sample_trials: u64,
    record_version: String,
    runs: Vec<RunText>,
    signature: Option<Signature>,
}

impl AgentText {
    fn record(self) -> Result<AgentTrajectory, RecordError> {
        check_version(self.record_version)?;
        check_agent_id(&self.agent_id)?;
        let Self { agent_id, digest, in_sample_trials, signature, .. } = self;
        let runs = self.runs.into_iter().map(RunText::run).collect();
        Ok(AgentTrajectory { agent_id, in_sample_trials, runs, digest, signature })
    }
}

pub(super) fn check_version(received: String) -> Result<(), RecordError> {
    if received == RECORD_VERSION { Ok(()) } else { Err(RecordError::Version { received }) }
}

/// The first line of a record.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FirstLine {
    pub(super) agent_id: String,
    #[serde(deserialize_with = "integer")]
    pub(super) in_sample_trials: u64,
    pub(super) record_version: String,
}

/// The first line of a run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HeaderLine {
    harness: Option<Harness>,
    header: HeaderText,
    link: Digest,
}

impl HeaderLine {
    pub(super) fn run(self) -> RunTrajectory {
        let Self { harness, header, link } = self;
        RunTrajectory { harness, header: header.header(), link, steps: Vec::new(), end: None }
    }
}

/// The last line of a run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndLine {
    pub(super) end: End,
}

/// The last line of a record.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LastLine {
    pub(super) digest: Digest,
    pub(super) signature: Option<Signature>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunText {
    end: Option<End>,
    harness: Option<Harness>,
    header: HeaderText,
    link: Digest,
    steps: Vec<Step>,
}

impl RunText {
    fn run(self) -> RunTrajectory {
        let Self { end, harness, header, link, steps } = self;
        RunTrajectory { harness, header: header.header(), link, steps, end }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderText {
    contract_version: String,
    #[serde(with = "CostsText")]
    costs: CostModel,
    dataset: DatasetName,
    engine_version: String,
    fill: Fill,
    limits: LimitsText,
    #[serde(deserialize_with = "integer")]
    lookback: u64,
    window: WindowText,
}

impl HeaderText {
    fn header(self) -> Header {
        let Self { contract_version, costs, dataset, engine_version, fill, limits, lookback, window } = self;
        let window = Window { start: as_size(window.start), end: as_size(window.end) };
        let limits = Limits {
            max_weight: limits.max_weight.unwrap_or(f64::INFINITY),
            max_gross: limits.max_gross.unwrap_or(f64::INFINITY),
            allow_short: limits.allow_short,
            max_participation: limits.max_participation,
            maintenance_margin: limits.maintenance_margin,
            cash_account: limits.cash_account,
        };
        let lookback = as_size(lookback);
        Header { contract_version, costs, dataset, engine_version, fill, limits, lookback, window }
    }
}

/// Returns an integer as a size; a larger one is the largest size.
fn as_size(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

#[derive(Deserialize)]
#[serde(remote = "CostModel", deny_unknown_fields)]
struct CostsText {
    fee_bps: f64,
    slippage_bps: f64,
    slippage_jitter: f64,
    impact_bps: f64,
    financing_bps: f64,
    cash_bps: f64,
    borrow_bps: f64,
    capital: f64,
    #[serde(default)]
    stop_gap: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitsText {
    allow_short: bool,
    #[serde(default)]
    cash_account: bool,
    maintenance_margin: f64,
    max_gross: Option<f64>,
    max_participation: Option<f64>,
    max_weight: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WindowText {
    #[serde(deserialize_with = "integer")]
    end: u64,
    #[serde(deserialize_with = "integer")]
    start: u64,
}

impl<'de> Deserialize<'de> for Fill {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Text {
            Seed(String),
            Commitment(Digest),
        }
        Ok(match Text::deserialize(deserializer)? {
            Text::Commitment(digest) => Self::Commitment(digest),
            Text::Seed(text) => match text.parse::<u64>() {
                Ok(seed) if seed.to_string() == text => Self::Seed(seed),
                _ => {
                    let wanted = "the decimal text of an integer from 0 to 18446744073709551615";
                    return Err(D::Error::custom(format_args!("{text:?}, expected {wanted}")));
                }
            },
        })
    }
}

impl<'de> Deserialize<'de> for Fault {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let slug = String::deserialize(deserializer)?;
        Self::new(&slug).map_err(|_| D::Error::custom(format_args!("{slug:?}, expected a slug")))
    }
}

/// Reads an integer that every JSON reader represents exactly.
fn integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let value = u64::deserialize(deserializer)?;
    if value <= MAX_INTEGER {
        return Ok(value);
    }
    Err(D::Error::custom(format_args!("{value}, expected an integer of at most {MAX_INTEGER}")))
}
