//! Reading of object fields with the faults of the contract.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use crate::wire::decision_error::WRONG_TYPE;

/// A text borrowed from the input unless it has an escape.
///
/// The `Cow` of serde always copies.
pub(crate) struct Name<'de>(pub(crate) Cow<'de, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// Reads one field of an object into `slot`; refuses a duplicate.
pub(crate) fn read<'de, A: MapAccess<'de>, T: Deserialize<'de>>(
    map: &mut A,
    name: &str,
    slot: &mut Option<T>,
) -> Result<(), A::Error> {
    if slot.is_some() {
        return Err(A::Error::custom(format_args!("duplicate_field: `{name}` must be given once; received it twice")));
    }
    *slot = Some(map.next_value().map_err(|error| in_field(name, error))?);
    Ok(())
}

/// Adds the name of the innermost field to a wrong type, and to no other fault.
fn in_field<E: Error>(name: &str, error: E) -> E {
    // Only type faults of serde begin so. The position at the end of the text is parsed from it later.
    if error.to_string().starts_with(WRONG_TYPE) { E::custom(format_args!("`{name}`: {error}")) } else { error }
}

pub(crate) fn required<T, E: Error>(name: &str, slot: Option<T>) -> Result<T, E> {
    slot.ok_or_else(|| E::custom(format_args!("missing_field: `{name}` is required; received an object without it")))
}

pub(crate) fn unknown<E: Error>(name: &str, known: &str) -> E {
    E::custom(format_args!("unknown_field: fields must be among {known}; received `{}`", name.escape_debug()))
}
