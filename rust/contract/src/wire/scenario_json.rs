//! Scenario specs as canonical JSON, and their digests.

use openoutcry_engine::scenario::{Family, Jumps, ScenarioSpec, SpecError, Swing};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::wire::canonical_json::{push_array, push_number, push_string};

/// A text that is not a valid spec.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SpecTextError {
    /// The text is not the JSON object of a spec.
    #[error("a scenario spec must be a JSON object of its fields; received {0}")]
    Text(String),
    /// The version of the spec is unknown to this engine.
    #[error("`version` must be {known}; received {received}")]
    Version {
        /// The version of this engine.
        known: u32,
        /// The version of the text.
        received: u32,
    },
    /// A field is out of range.
    #[error(transparent)]
    Spec(#[from] SpecError),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Family", rename_all = "kebab-case")]
enum FamilyText {
    Factor,
    Pairs,
    RegimeShift,
    Crisis,
    Martingale,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SwingText {
    half_life: f64,
    sd: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JumpsText {
    rate: f64,
    mean: f64,
    sd: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SpecText {
    version: u32,
    #[serde(with = "FamilyText")]
    family: Family,
    n_symbols: usize,
    n_days: usize,
    n_sectors: usize,
    market_vol: f64,
    sector_vol: f64,
    own_vol: f64,
    own_vol_spread: f64,
    beta_spread: f64,
    risk_price: f64,
    swings: [SwingText; 2],
    own_swings: [SwingText; 2],
    leverage: f64,
    degrees: u32,
    own_degrees: u32,
    market_jumps: JumpsText,
    own_jumps: JumpsText,
    overnight: f64,
    has_bars: bool,
    volume_slope: f64,
    volume_reaction: f64,
    volume_noise: f64,
    dividend_yield: f64,
    split_above: f64,
    late_listings: f64,
    delisting_rate: f64,
    halt_rate: f64,
    tick: f64,
}

/// Copies the fields with the same name on both sides.
macro_rules! copied {
    ($into:ident, $from:expr, { $($given:tt)* }) => {
        $into {
            family: $from.family, n_symbols: $from.n_symbols, n_days: $from.n_days, n_sectors: $from.n_sectors,
            market_vol: $from.market_vol, sector_vol: $from.sector_vol, own_vol: $from.own_vol,
            own_vol_spread: $from.own_vol_spread, beta_spread: $from.beta_spread, risk_price: $from.risk_price,
            leverage: $from.leverage, degrees: $from.degrees, own_degrees: $from.own_degrees,
            overnight: $from.overnight, has_bars: $from.has_bars, volume_slope: $from.volume_slope,
            volume_reaction: $from.volume_reaction, volume_noise: $from.volume_noise,
            dividend_yield: $from.dividend_yield, split_above: $from.split_above,
            late_listings: $from.late_listings, delisting_rate: $from.delisting_rate, halt_rate: $from.halt_rate,
            tick: $from.tick,
            $($given)*
        }
    };
}

/// Returns the spec as canonical JSON.
///
/// # Panics
///
/// Panics if a number of the spec is not finite, which [`ScenarioSpec::validate`] refuses.
#[must_use]
pub fn spec_to_json(spec: &ScenarioSpec) -> String {
    let swing = |swing: Swing| SwingText { half_life: swing.half_life, sd: swing.sd };
    let jumps = |jumps: Jumps| JumpsText { rate: jumps.rate, mean: jumps.mean, sd: jumps.sd };
    let text = copied!(SpecText, spec, {
        version: ScenarioSpec::VERSION,
        swings: spec.swings.map(swing),
        own_swings: spec.own_swings.map(swing),
        market_jumps: jumps(spec.market_jumps),
        own_jumps: jumps(spec.own_jumps),
    });
    let mut canonical = String::new();
    push_value(&mut canonical, &serde_json::to_value(&text).expect("a spec is plain data"));
    canonical
}

/// Returns the spec of a JSON text with all fields.
///
/// # Errors
///
/// Returns an error if a field is missing, unknown or out of range, or the version is unknown.
pub fn spec_from_json(text: &str) -> Result<ScenarioSpec, SpecTextError> {
    let given: SpecText = serde_json::from_str(text).map_err(|error| SpecTextError::Text(error.to_string()))?;
    if given.version != ScenarioSpec::VERSION {
        return Err(SpecTextError::Version { known: ScenarioSpec::VERSION, received: given.version });
    }
    let swing = |swing: &SwingText| Swing { half_life: swing.half_life, sd: swing.sd };
    let jumps = |jumps: &JumpsText| Jumps { rate: jumps.rate, mean: jumps.mean, sd: jumps.sd };
    let spec = copied!(ScenarioSpec, given, {
        swings: [swing(&given.swings[0]), swing(&given.swings[1])],
        own_swings: [swing(&given.own_swings[0]), swing(&given.own_swings[1])],
        market_jumps: jumps(&given.market_jumps),
        own_jumps: jumps(&given.own_jumps),
    });
    spec.validate()?;
    Ok(spec)
}

/// Returns the SHA-256 of the canonical JSON of the spec.
#[must_use]
pub fn spec_digest(spec: &ScenarioSpec) -> [u8; 32] {
    Sha256::digest(spec_to_json(spec)).into()
}

/// Appends a value of finite numbers, with fields in order.
fn push_value(text: &mut String, value: &Value) {
    match value {
        Value::Number(number) => push_number(text, number.as_f64().unwrap_or_default()),
        Value::String(string) => push_string(text, string),
        Value::Array(items) => push_array(text, items, push_value),
        Value::Object(fields) => {
            text.push('{');
            for (i, (name, value)) in fields.iter().enumerate() {
                if i > 0 {
                    text.push(',');
                }
                push_string(text, name);
                text.push(':');
                push_value(text, value);
            }
            text.push('}');
        }
        Value::Bool(flag) => text.push_str(if *flag { "true" } else { "false" }),
        Value::Null => text.push_str("null"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_spec_reads_back_as_it_was_printed() {
        for name in ScenarioSpec::NAMES {
            let spec = ScenarioSpec::named(name).unwrap();
            spec.validate().unwrap();
            assert_eq!(spec_from_json(&spec_to_json(&spec)).unwrap(), spec);
        }
    }

    #[test]
    fn what_is_no_spec_is_refused_by_name() {
        let text = spec_to_json(&ScenarioSpec::named("hard").unwrap());
        for (from, to, message_part) in [
            ("\"degrees\":12,", "\"degrees\":7,", "`degrees` must be even"),
            ("\"version\":1", "\"version\":2", "`version` must be 1; received 2"),
            ("\"tick\":0.01", "\"tick\":0", "`tick` must be"),
            ("\"tick\":0.01", "\"tock\":0.01", "unknown field `tock`"),
            (",\"tick\":0.01", "", "missing field `tick`"),
            ("\"n_days\":2521", "\"n_days\":-1", "invalid value"),
        ] {
            let changed = text.replace(from, to);
            assert_ne!(changed, text, "{from}");
            let message = spec_from_json(&changed).unwrap_err().to_string();
            assert!(message.contains(message_part), "{message}");
        }
    }
}
