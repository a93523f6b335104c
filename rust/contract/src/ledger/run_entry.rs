//! The payload of a run record in the log of a ledger.

use super::base64;
use crate::ledger::line_values::{count, is_count, is_hash};
use crate::wire::canonicalization::{Tree, deepest};

/// Names and enumerations of the ledger.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// Names of the metrics in an index row.
    pub numbers: Vec<String>,
    /// Values of `kind`.
    pub kinds: Vec<String>,
    /// Values of `status`.
    pub states: Vec<String>,
}

/// The index row of a run.
#[derive(Debug)]
pub struct PlainRun {
    /// Its id, a UUID in lower case.
    pub run_id: String,
    /// The digest of its strategy.
    pub strategy_id: String,
    /// The strategy in canonical JSON.
    pub strategy: String,
    /// The source code of the strategy.
    pub source: Option<String>,
    /// The digest of the source code.
    pub source_sha: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// The fingerprint of its market.
    pub market: String,
    /// Session that wrote the record.
    pub session: String,
    /// Time of the record.
    pub ts: String,
    /// Kind of the run.
    pub kind: String,
    /// Status of the run.
    pub status: String,
    /// The length of a bar.
    pub interval: Option<String>,
    /// First and last date.
    pub window: [String; 2],
    /// The digest of its rules.
    pub rules_sha: Option<String>,
    /// The version of the engine.
    pub engine_version: Option<String>,
    /// Metrics in the order of the vocabulary.
    pub numbers: Vec<Option<f64>>,
    /// Reasons of missing metrics, in canonical JSON.
    pub undefined: Option<String>,
    /// Number of returns of the track, and their moments.
    pub track: [Option<f64>; 4],
    /// Isolation of the code.
    pub isolation: Option<String>,
    /// Error of the run.
    pub error: Option<String>,
    /// Digest of the trial.
    pub trial: [u8; 32],
    /// Number of configurations that were searched.
    pub n_configs: u64,
    /// Whether the run has used a holdout.
    pub is_touched: bool,
    /// The date of the first return.
    pub first: Option<String>,
    /// The returns.
    pub returns: Option<Vec<u8>>,
}

/// The record is left to the general reader.
pub(super) struct Unusual;

type Read<T> = Result<T, Unusual>;

/// The largest nesting depth of a strategy.
const DEEPEST: usize = 64;
/// Bound of numbers whose sums stay finite.
const LARGEST: f64 = 1e300;

pub(super) fn read(
    payload: Vec<(String, Tree)>,
    session: String,
    ts: String,
    vocabulary: &Vocabulary,
) -> Read<PlainRun> {
    let mut value = Members(payload);
    let mut metrics = match value.take("metrics") {
        Some(Tree::Object(members)) => Members(members),
        _ => return Err(Unusual),
    };
    let interval = value.text("interval")?;
    let interval = if metrics.has("candle_interval") { metrics.text("candle_interval")? } else { interval };
    Ok(PlainRun {
        run_id: value.required("run_id").and_then(|text| is_uuid(&text).then_some(text).ok_or(Unusual))?,
        strategy_id: value.required("strategy_id")?,
        strategy: strategy(&value.take("strategy").ok_or(Unusual)?)?,
        source: value.text("source")?,
        source_sha: value.text("source_sha")?,
        description: value.text("description")?,
        market: value.required("market")?,
        session,
        ts,
        kind: if value.has("kind") { value.one_of("kind", &vocabulary.kinds)? } else { "run".to_owned() },
        status: metrics.one_of("status", &vocabulary.states)?,
        interval,
        window: window(value.take("window"))?,
        rules_sha: rules_sha(&mut value)?,
        engine_version: value.text("engine_version")?,
        numbers: vocabulary.numbers.iter().map(|name| number(metrics.take(name).as_ref())).collect::<Read<_>>()?,
        undefined: undefined(value.take("undefined"))?,
        track: track(value.take("track"))?,
        isolation: value.text("isolation")?,
        error: value.text("error")?,
        trial: trial(&value.required("trial")?)?,
        n_configs: match value.take("n_configs") {
            None => 1,
            Some(Tree::Number(value)) if is_count(value) => count(value),
            Some(_) => return Err(Unusual),
        },
        is_touched: match value.take("holdout_touched") {
            None => false,
            Some(Tree::Bool(value)) => value,
            Some(_) => return Err(Unusual),
        },
        first: value.text("first")?,
        returns: match value.text("returns")? {
            None => None,
            Some(text) => Some(base64::decode(&text).ok_or(Unusual)?),
        },
    })
}

struct Members(Vec<(String, Tree)>);

impl Members {
    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(each, _)| each == name)
    }

    fn take(&mut self, name: &str) -> Option<Tree> {
        let (_, value) = self.0.iter_mut().find(|(each, _)| each == name)?;
        Some(std::mem::replace(value, Tree::Null))
    }

    fn text(&mut self, name: &str) -> Read<Option<String>> {
        match self.take(name) {
            None | Some(Tree::Null) => Ok(None),
            Some(Tree::Text(text)) => Ok(Some(text)),
            Some(_) => Err(Unusual),
        }
    }

    fn required(&mut self, name: &str) -> Read<String> {
        self.text(name)?.ok_or(Unusual)
    }

    fn one_of(&mut self, name: &str, known: &[String]) -> Read<String> {
        let text = self.required(name)?;
        if known.contains(&text) { Ok(text) } else { Err(Unusual) }
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}

fn strategy(value: &Tree) -> Read<String> {
    if deepest(value) > DEEPEST {
        return Err(Unusual);
    }
    let mut text = String::new();
    value.push(&mut text);
    Ok(text)
}

fn window(value: Option<Tree>) -> Read<[String; 2]> {
    let Some(Tree::List(dates)) = value else { return Err(Unusual) };
    match <[Tree; 2]>::try_from(dates) {
        Ok([Tree::Text(first), Tree::Text(last)]) => Ok([first, last]),
        _ => Err(Unusual),
    }
}

/// Returns the digest of the rules as written, if there are rules.
fn rules_sha(value: &mut Members) -> Read<Option<String>> {
    match value.text("rules_sha")? {
        Some(text) if text.is_empty() => Err(Unusual),
        Some(text) => Ok(Some(text)),
        None => match value.take("rules") {
            None | Some(Tree::Null) => Ok(None),
            Some(_) => Err(Unusual),
        },
    }
}

fn number(value: Option<&Tree>) -> Read<Option<f64>> {
    match value {
        None | Some(Tree::Null) => Ok(None),
        Some(Tree::Number(value)) if value.abs() < LARGEST => Ok(Some(*value)),
        Some(_) => Err(Unusual),
    }
}

fn undefined(value: Option<Tree>) -> Read<Option<String>> {
    let Some(value) = value else { return Ok(None) };
    match &value {
        Tree::Null => Ok(None),
        Tree::Object(reasons) if reasons.is_empty() => Ok(None),
        Tree::Object(reasons) if reasons.iter().all(|(_, why)| matches!(why, Tree::Text(_))) => {
            let mut text = String::new();
            value.push(&mut text);
            Ok(Some(text))
        }
        _ => Err(Unusual),
    }
}

fn track(value: Option<Tree>) -> Read<[Option<f64>; 4]> {
    let moments = match value {
        None | Some(Tree::Null) => return Ok([None; 4]),
        Some(Tree::List(moments)) => <[Tree; 4]>::try_from(moments).map_err(|_| Unusual)?,
        Some(_) => return Err(Unusual),
    };
    let mut found = [None; 4];
    for (place, moment) in found.iter_mut().zip(moments) {
        *place = number(Some(&moment))?;
    }
    if found[0].is_none_or(is_count) { Ok(found) } else { Err(Unusual) }
}

fn trial(text: &str) -> Read<[u8; 32]> {
    if !is_hash(text) {
        return Err(Unusual);
    }
    let value = |digit: u8| if digit <= b'9' { digit - b'0' } else { digit - b'a' + 10 };
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = value(pair[0]) << 4 | value(pair[1]);
    }
    Ok(bytes)
}
