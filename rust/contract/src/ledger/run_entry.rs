//! The record of a run, as a ledger writes it.

use super::base64;
use crate::ledger::line_reader::{count, is_count, is_hash};
use crate::wire::canonicalization::{Tree, deepest};

/// What the members of a run may be, as the ledger names them.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// Numbers of `metrics` that a row has.
    pub numbers: Vec<String>,
    /// What a run may be, its `kind`.
    pub kinds: Vec<String>,
    /// How it may have ended, its `status`.
    pub states: Vec<String>,
}

/// What a row of the index says of a run.
#[derive(Debug)]
pub struct PlainRun {
    /// Its id, a UUID in lower case.
    pub run_id: String,
    /// The digest of its strategy.
    pub strategy_id: String,
    /// The strategy in canonical JSON.
    pub strategy: String,
    /// The source of it.
    pub source: Option<String>,
    /// The digest of that one.
    pub source_sha: Option<String>,
    /// What it is, in words.
    pub description: Option<String>,
    /// The fingerprint of its market.
    pub market: String,
    /// Who wrote it.
    pub session: String,
    /// When.
    pub ts: String,
    /// What it is.
    pub kind: String,
    /// How it ended.
    pub status: String,
    /// The length of a bar.
    pub interval: Option<String>,
    /// First and last date.
    pub window: [String; 2],
    /// The digest of its rules.
    pub rules_sha: Option<String>,
    /// The version of the engine.
    pub engine_version: Option<String>,
    /// Those of the vocabulary, in its order.
    pub numbers: Vec<Option<f64>>,
    /// Why some are missing, in canonical JSON.
    pub undefined: Option<String>,
    /// Returns of its track, a whole number, and the moments of them.
    pub track: [Option<f64>; 4],
    /// How its code was kept apart.
    pub isolation: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
    /// What the trial is known by.
    pub trial: [u8; 32],
    /// Configurations that were looked at for it.
    pub n_configs: u64,
    /// Whether it has seen a holdout.
    pub is_touched: bool,
    /// The date of the first return.
    pub first: Option<String>,
    /// Its returns.
    pub returns: Option<Vec<u8>>,
}

/// Says that another reader is to read the record.
pub(super) struct Left;

type Read<T> = Result<T, Left>;

/// What a strategy may nest.
const DEEPEST: usize = 64;
/// Sums of some numbers below it are finite.
const LARGEST: f64 = 1e300;

pub(super) fn read(
    payload: Vec<(String, Tree)>,
    session: String,
    ts: String,
    vocabulary: &Vocabulary,
) -> Read<PlainRun> {
    let mut told = Members(payload);
    let mut metrics = match told.take("metrics") {
        Some(Tree::Object(members)) => Members(members),
        _ => return Err(Left),
    };
    let interval = told.text("interval")?;
    let interval = if metrics.has("candle_interval") { metrics.text("candle_interval")? } else { interval };
    Ok(PlainRun {
        run_id: told.required("run_id").and_then(|text| is_uuid(&text).then_some(text).ok_or(Left))?,
        strategy_id: told.required("strategy_id")?,
        strategy: strategy(&told.take("strategy").ok_or(Left)?)?,
        source: told.text("source")?,
        source_sha: told.text("source_sha")?,
        description: told.text("description")?,
        market: told.required("market")?,
        session,
        ts,
        kind: if told.has("kind") { told.one_of("kind", &vocabulary.kinds)? } else { "run".to_owned() },
        status: metrics.one_of("status", &vocabulary.states)?,
        interval,
        window: window(told.take("window"))?,
        rules_sha: rules_sha(&mut told)?,
        engine_version: told.text("engine_version")?,
        numbers: vocabulary.numbers.iter().map(|name| number(metrics.take(name).as_ref())).collect::<Read<_>>()?,
        undefined: undefined(told.take("undefined"))?,
        track: track(told.take("track"))?,
        isolation: told.text("isolation")?,
        error: told.text("error")?,
        trial: trial(&told.required("trial")?)?,
        n_configs: match told.take("n_configs") {
            None => 1,
            Some(Tree::Number(value)) if is_count(value) => count(value),
            Some(_) => return Err(Left),
        },
        is_touched: match told.take("holdout_touched") {
            None => false,
            Some(Tree::Bool(value)) => value,
            Some(_) => return Err(Left),
        },
        first: told.text("first")?,
        returns: match told.text("returns")? {
            None => None,
            Some(text) => Some(base64::decode(&text).ok_or(Left)?),
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
            Some(_) => Err(Left),
        }
    }

    fn required(&mut self, name: &str) -> Read<String> {
        self.text(name)?.ok_or(Left)
    }

    fn one_of(&mut self, name: &str, known: &[String]) -> Read<String> {
        let text = self.required(name)?;
        if known.contains(&text) { Ok(text) } else { Err(Left) }
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}

fn strategy(told: &Tree) -> Read<String> {
    if deepest(told) > DEEPEST {
        return Err(Left);
    }
    let mut text = String::new();
    told.push(&mut text);
    Ok(text)
}

fn window(told: Option<Tree>) -> Read<[String; 2]> {
    let Some(Tree::List(dates)) = told else { return Err(Left) };
    match <[Tree; 2]>::try_from(dates) {
        Ok([Tree::Text(first), Tree::Text(last)]) => Ok([first, last]),
        _ => Err(Left),
    }
}

/// Returns the digest of the rules as it was written, or none without rules.
fn rules_sha(told: &mut Members) -> Read<Option<String>> {
    match told.text("rules_sha")? {
        Some(text) if text.is_empty() => Err(Left),
        Some(text) => Ok(Some(text)),
        None => match told.take("rules") {
            None | Some(Tree::Null) => Ok(None),
            Some(_) => Err(Left),
        },
    }
}

fn number(told: Option<&Tree>) -> Read<Option<f64>> {
    match told {
        None | Some(Tree::Null) => Ok(None),
        Some(Tree::Number(value)) if value.abs() < LARGEST => Ok(Some(*value)),
        Some(_) => Err(Left),
    }
}

fn undefined(told: Option<Tree>) -> Read<Option<String>> {
    let Some(told) = told else { return Ok(None) };
    match &told {
        Tree::Null => Ok(None),
        Tree::Object(reasons) if reasons.is_empty() => Ok(None),
        Tree::Object(reasons) if reasons.iter().all(|(_, why)| matches!(why, Tree::Text(_))) => {
            let mut text = String::new();
            told.push(&mut text);
            Ok(Some(text))
        }
        _ => Err(Left),
    }
}

fn track(told: Option<Tree>) -> Read<[Option<f64>; 4]> {
    let moments = match told {
        None | Some(Tree::Null) => return Ok([None; 4]),
        Some(Tree::List(moments)) => <[Tree; 4]>::try_from(moments).map_err(|_| Left)?,
        Some(_) => return Err(Left),
    };
    let mut found = [None; 4];
    for (place, moment) in found.iter_mut().zip(moments) {
        *place = number(Some(&moment))?;
    }
    if found[0].is_none_or(is_count) { Ok(found) } else { Err(Left) }
}

fn trial(text: &str) -> Read<[u8; 32]> {
    if !is_hash(text) {
        return Err(Left);
    }
    let value = |digit: u8| if digit <= b'9' { digit - b'0' } else { digit - b'a' + 10 };
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = value(pair[0]) << 4 | value(pair[1]);
    }
    Ok(bytes)
}
