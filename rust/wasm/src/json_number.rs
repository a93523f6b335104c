use serde::de::{Deserialize, Deserializer, Error, MapAccess, Unexpected, Visitor};
use std::fmt;

/// A JavaScript number.
///
/// JSON has no form for numbers that are not finite: they are `{"number": "NaN"}`, which no text is mistaken for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number(pub(crate) f64);

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Number;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Number, E> {
        Ok(Number(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Number, E> {
        Ok(Number(value as f64))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Number, E> {
        Ok(Number(value as f64))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Number, A::Error> {
        let named: Option<(String, String)> = map.next_entry()?;
        match named.as_ref().map(|(key, word)| (key.as_str(), word.as_str())) {
            Some(("number", "NaN")) => Ok(Number(f64::NAN)),
            Some(("number", "Infinity")) => Ok(Number(f64::INFINITY)),
            Some(("number", "-Infinity")) => Ok(Number(f64::NEG_INFINITY)),
            _ => Err(A::Error::invalid_type(Unexpected::Map, &self)),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

/// Reads a present value, also `null`: only an absent field has a default.
pub(crate) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
