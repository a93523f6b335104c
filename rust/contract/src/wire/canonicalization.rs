//! Canonicalization of any JSON text.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use thiserror::Error;

use crate::wire::canonical_json::{push_array, push_number, push_string};

/// A text that is not JSON, or an object with a duplicate field.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("a JSON text without duplicate fields is required; received {0}")]
pub struct NotJson(String);

/// Returns a JSON text in the canonical form of RFC 8785.
///
/// Fields are sorted by their UTF-16 code units, numbers are doubles in their shortest form, strings have only the
/// required escapes, and there is no white space.
///
/// # Errors
///
/// Returns the fault and its position: the text is not JSON, a number is beyond a double, a string has a lone
/// surrogate, or an object has a duplicate field.
pub fn canonicalize(text: &str) -> Result<String, NotJson> {
    let tree: Tree = serde_json::from_str(text).map_err(|error| NotJson(error.to_string()))?;
    let mut canonical = String::with_capacity(text.len());
    tree.push(&mut canonical);
    Ok(canonical)
}

/// Returns the value of a canonical text, else `None`.
///
/// `canonical` is scratch memory for the canonical form.
pub(crate) fn canonical_tree(text: &str, canonical: &mut String) -> Option<Tree> {
    let tree: Tree = serde_json::from_str(text).ok()?;
    canonical.clear();
    tree.push(canonical);
    (text == canonical).then_some(tree)
}

/// Returns the nesting depth of lists and objects.
pub(crate) fn deepest(tree: &Tree) -> usize {
    match tree {
        Tree::List(items) => 1 + items.iter().map(deepest).max().unwrap_or(0),
        Tree::Object(fields) => 1 + fields.iter().map(|(_, value)| deepest(value)).max().unwrap_or(0),
        _ => 0,
    }
}

/// A JSON value; fields are in canonical order.
pub(crate) enum Tree {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

impl Tree {
    pub(crate) fn push(&self, text: &mut String) {
        match self {
            Self::Null => text.push_str("null"),
            Self::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
            Self::Number(value) => push_number(text, *value),
            Self::Text(value) => push_string(text, value),
            Self::List(items) => push_array(text, items, |text, item| item.push(text)),
            Self::Object(fields) => {
                text.push('{');
                for (place, (name, value)) in fields.iter().enumerate() {
                    if place > 0 {
                        text.push(',');
                    }
                    push_string(text, name);
                    text.push(':');
                    value.push(text);
                }
                text.push('}');
            }
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Grow)
    }
}

struct Grow;

impl<'de> Visitor<'de> for Grow {
    type Value = Tree;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Number(value as f64))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Number(value as f64))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Number(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut fields: Vec<(String, Tree)> = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        fields.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
        match fields.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(A::Error::custom(format_args!("the field {:?} twice", pair[0].0))),
            None => Ok(Tree::Object(fields)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_ordered_by_utf_16_units_and_not_by_code_points() {
        // U+1F600 begins with the code unit D83D, below FB33, but is above it as a code point.
        let text =
            "{\"\u{fb33}\": 1, \"\u{1f600}\": 2, \"a\": {\"c\": null, \"b\": [true, false]}, \"\": \"\\u0061/\"}";
        let canonical = "{\"\":\"a/\",\"a\":{\"b\":[true,false],\"c\":null},\"\u{1f600}\":2,\"\u{fb33}\":1}";
        assert_eq!(canonicalize(text).unwrap(), canonical);
    }

    #[test]
    fn numbers_are_doubles_however_they_were_written() {
        let text = "[1.0, -0, 1E2, 9007199254740993, 18446744073709551615, 18446744073709551616, -9223372036854775809]";
        let canonical = "[1,0,100,9007199254740992,18446744073709552000,18446744073709552000,-9223372036854776000]";
        assert_eq!(canonicalize(text).unwrap(), canonical);
    }

    #[test]
    fn what_is_no_single_json_text_is_refused() {
        for text in ["", "{} {}", "[1e999]", "[NaN]", "{\"a\":1,\"\\u0061\":1}", "\"\\ud800\"", "[01]", "\u{feff}1"] {
            assert!(canonicalize(text).is_err(), "{text}");
        }
        let error = canonicalize("{\"a\": {\"b\": 1, \"b\": 2}}").unwrap_err();
        assert!(error.to_string().contains("received the field \"b\" twice at line 1 column"), "{error}");
    }

    proptest! {
        #[test]
        fn a_canonical_text_is_its_own_canonical_text(
            names in proptest::collection::btree_set("\\PC{0,4}", 0..6), bits in any::<u64>(), word in "\\PC*",
        ) {
            let number = f64::from_bits(bits);
            let number = if number.is_finite() { number } else { 0.5 };
            let fields: Vec<String> = names
                .iter()
                .map(|name| format!("{}: [{number:e}, {}]", serde_json::json!(name), serde_json::json!(word)))
                .collect();
            let canonical = canonicalize(&format!("{{{}}}", fields.join(" ,\n"))).unwrap();
            prop_assert_eq!(canonicalize(&canonical).unwrap(), canonical);
        }
    }
}
