//! Conversion of Python arguments. Errors name the argument.
//!
//! No argument is coerced from another kind of value.

use openoutcry::AgentAnswer;
use openoutcry::record::{Fault, Harness, Tier, Transport};
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::error::raise;

/// Defines one reader per argument: pyo3 does not pass the name to a reader.
macro_rules! readers {
    ($read:ident($slug:literal) -> $type:ty: $($name:ident),+) => {
        $(pub(crate) fn $name(value: &Bound<'_, PyAny>) -> PyResult<$type> { $read($slug, stringify!($name), value) })+
    };
}

readers!(whole("argument_invalid") -> u64: seed);
readers!(size("argument_invalid") -> usize: bar, lookback, n_bars, n_days, n_draws, n_symbols);
readers!(edge("window_invalid") -> Option<usize>: end, start, window_end, window_start);
readers!(rate("cost_invalid") -> Option<f64>:
    borrow_bps, capital, cash_bps, fee_bps, financing_bps, impact_bps, slippage_bps, slippage_jitter, stop_gap);
readers!(rate("limit_invalid") -> Option<f64>: maintenance_margin, max_gross, max_participation, max_weight);
readers!(truth("limit_invalid") -> Option<bool>: allow_short, cash_account);
readers!(number("value_invalid") -> f64: periods_per_year);

/// Refuses a name that is too long for a record.
pub(crate) fn check_agent_id(agent_id: &str) -> PyResult<()> {
    openoutcry::record::check_agent_id(agent_id).map_err(|error| raise("argument_invalid", &error.to_string()))
}

fn refused(slug: &'static str, name: &str, range: &str, value: &Bound<'_, PyAny>) -> PyErr {
    match value.repr() {
        Ok(received) => raise(slug, &format!("`{name}` must be {range}; received {received}")),
        Err(error) => error,
    }
}

/// Returns whether a value is a boolean of Python or numpy.
///
/// Python also accepts those as 0 or 1.
fn is_truth(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(["bool", "bool_"].contains(&&*value.get_type().name()?.to_cow()?))
}

fn whole(slug: &'static str, name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    let whole = if is_truth(value)? { None } else { value.extract().ok() };
    whole.ok_or_else(|| refused(slug, name, "an integer from 0 to 18446744073709551615", value))
}

fn size(slug: &'static str, name: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    let size = if is_truth(value)? { None } else { value.extract::<u64>().ok().and_then(|size| size.try_into().ok()) };
    size.ok_or_else(|| refused(slug, name, &format!("an integer of at least {}", least(name)), value))
}

/// Returns the smallest value that is passed to the core.
///
/// The core refuses smaller ones with a specific error.
fn least(name: &str) -> u8 {
    match name {
        "n_bars" | "n_days" => 2,
        "lookback" | "n_draws" | "n_symbols" => 1,
        _ => 0,
    }
}

fn edge(slug: &'static str, name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    if value.is_none() { Ok(None) } else { size(slug, name, value).map(Some) }
}

fn number(slug: &'static str, name: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    let number = if is_truth(value)? { None } else { value.extract().ok() };
    number.ok_or_else(|| refused(slug, name, "a number", value))
}

fn rate(slug: &'static str, name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    if value.is_none() { Ok(None) } else { number(slug, name, value).map(Some) }
}

fn truth(slug: &'static str, name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
    if value.is_none() {
        return Ok(None);
    }
    value.extract().map(Some).map_err(|_| refused(slug, name, "True or False", value))
}

/// Defines a text of an argument, with its refusal of a lone surrogate.
macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident($slug:literal, $wanted:literal);)+) => { $(
        $(#[$doc])*
        pub(crate) struct $name(pub(crate) String);

        impl<'py> FromPyObject<'_, 'py> for $name {
            type Error = PyErr;

            fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                text(&value, $slug, $wanted).map(|text| Self(text.to_owned()))
            }
        }

        impl std::ops::Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }
    )+ };
}

texts! {
    /// A name, a date or another text.
    Text("argument_invalid", "a text without lone surrogates is required; received one");
    /// A text of JSON.
    JsonText("bad_json", "JSON is required; received text that is not JSON: lone surrogate");
}

/// Returns texts as strings.
pub(crate) fn strings(texts: Vec<Text>) -> Vec<String> {
    texts.into_iter().map(|text| text.0).collect()
}

fn text<'a>(value: &'a Bound<'_, PyAny>, slug: &'static str, wanted: &str) -> PyResult<&'a str> {
    let text = value.cast::<PyString>()?;
    text.to_str().or_else(|_| Err(raise(slug, &format!("{wanted} at {}", place_of_surrogate(value)?))))
}

/// Returns the text of a decision.
pub(crate) fn decision<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    let Ok(text) = value.cast::<PyString>() else {
        let message = format!("expected a text; received {} at line 1 column 1", value.get_type().name()?);
        return Err(raise("wrong_type", &message));
    };
    self::text(text, "bad_json", "a decision must be one JSON object; received text that is not JSON: lone surrogate")
}

/// Returns an answer: the text of a decision, optionally with its fault.
pub(crate) fn answer(value: &Bound<'_, PyAny>) -> PyResult<AgentAnswer> {
    let Ok(pair) = value.cast::<PyTuple>() else { return Ok(AgentAnswer::strict(decision(value)?.to_owned())) };
    let (text, fault): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
    let text = decision(&text)?.to_owned();
    if fault.is_none() {
        return Ok(AgentAnswer::lenient(text));
    }
    let named = fault.extract().ok().and_then(|slug: String| Fault::new(&slug).ok());
    named.and_then(|fault| AgentAnswer::held(text, fault)).ok_or_else(|| {
        refused(
            "argument_invalid",
            "fault",
            "None or a slug (`malformed` only for a text that is not a decision)",
            &fault,
        )
    })
}

/// Returns the harness of an agent, unless it runs in this process.
pub(crate) fn harness(value: &Bound<'_, PyAny>) -> PyResult<Option<Harness>> {
    if value.is_none() {
        return Ok(None);
    }
    let field = |name: &str| value.get_item(name).ok();
    let made = || {
        let name = field("tier")?.extract::<String>().ok()?;
        let tier = Tier::ALL.into_iter().find(|tier| tier.name() == name)?;
        let name = field("transport")?.extract::<String>().ok()?;
        let transport = Transport::ALL.into_iter().find(|transport| transport.name() == name)?;
        Some(Harness { allow_net: field("allow_net")?.extract().ok()?, tier, transport })
    };
    let wanted = "None or `allow_net`, `tier` (T0 to T3) and `transport` (stdio or http)";
    made().map(Some).ok_or_else(|| refused("argument_invalid", "harness", wanted, value))
}

/// Returns the text of a CSV file.
pub(crate) fn csv_text<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    let text = value.cast::<PyString>().map_err(|_| refused("argument_invalid", "csv_text", "a text", value))?;
    text.to_str().or_else(|_| {
        let place = place_of_surrogate(value)?;
        Err(raise("field_unparsable", &format!("a file must be text; received a lone surrogate at {place}")))
    })
}

/// Returns the position of a lone surrogate.
///
/// UTF-8 cannot encode it.
fn place_of_surrogate(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let bytes: Vec<u8> = value.call_method1("encode", ("utf-8", "surrogatepass"))?.extract()?;
    let good = std::str::from_utf8(&bytes).err().map_or(bytes.len(), |error| error.valid_up_to());
    let before = &bytes[..good];
    let line = before.split(|byte| *byte == b'\n').count();
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    Ok(format!("line {line} column {column}"))
}
