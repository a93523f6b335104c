//! A scanner of canonical JSON (RFC 8785) without fractions.
//!
//! It validates in place, which is faster than writing the canonical form again.

use std::cmp::Ordering;

/// The largest nesting depth of a value.
const DEEPEST: usize = 64;

/// The largest absolute integer that every JSON reader supports.
const LARGEST: u64 = (1 << 53) - 1;

/// Returns the members of a canonical object, else `None`.
///
/// Names and values are as written.
pub(super) fn members<'a>(text: &'a str, found: &mut Vec<(&'a str, &'a str)>) -> Option<()> {
    found.clear();
    let mut scan = Scan { text, at: 0 };
    scan.object(0, |name, value| found.push((name, value)))?;
    (scan.at == text.len()).then_some(())
}

/// Returns the elements of a canonical list as written, else `None`.
pub(super) fn items(text: &str) -> Option<Vec<&str>> {
    let (mut scan, mut found) = (Scan { text, at: 0 }, Vec::new());
    scan.list(0, |item| found.push(item))?;
    (scan.at == text.len()).then_some(found)
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, required: u8) -> Option<()> {
        (self.peek()? == required).then(|| self.at += 1)
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.text.as_bytes()[self.at..].starts_with(word.as_bytes()).then(|| self.at += word.len())
    }

    /// Consumes one value and returns it as written.
    fn value(&mut self, depth: usize) -> Option<&'a str> {
        let first = self.at;
        match self.peek()? {
            b'"' => self.string().map(drop)?,
            b'{' => self.object(depth, |_, _| ())?,
            b'[' => self.list(depth, |_| ())?,
            b't' => self.word("true")?,
            b'f' => self.word("false")?,
            b'n' => self.word("null")?,
            _ => self.integer()?,
        }
        Some(&self.text[first..self.at])
    }

    fn object(&mut self, depth: usize, mut each: impl FnMut(&'a str, &'a str)) -> Option<()> {
        self.take(b'{')?;
        if depth == DEEPEST {
            return None;
        }
        let mut before = None;
        if self.take(b'}').is_some() {
            return Some(());
        }
        loop {
            let name = self.string()?;
            if before.is_some_and(|before| order(before, name) != Ordering::Less) {
                return None;
            }
            before = Some(name);
            self.take(b':')?;
            each(name, self.value(depth + 1)?);
            if self.take(b',').is_none() {
                return self.take(b'}');
            }
        }
    }

    fn list(&mut self, depth: usize, mut each: impl FnMut(&'a str)) -> Option<()> {
        self.take(b'[')?;
        if depth == DEEPEST {
            return None;
        }
        if self.take(b']').is_some() {
            return Some(());
        }
        loop {
            each(self.value(depth + 1)?);
            if self.take(b',').is_none() {
                return self.take(b']');
            }
        }
    }

    /// Consumes a string and returns the text between its quotes.
    fn string(&mut self) -> Option<&'a str> {
        self.take(b'"')?;
        let first = self.at;
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            // Whole chunks first: without an early exit, the test of a chunk is vectorized.
            let (chunks, _) = rest.as_chunks::<32>();
            let n_plain =
                32 * chunks.iter().take_while(|chunk| !chunk.iter().fold(false, |any, &byte| any | ends(byte))).count();
            self.at += n_plain + rest[n_plain..].iter().position(|&byte| ends(byte))?;
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(&self.text[first..self.at - 1]);
                }
                b'\\' => self.escape()?,
                _ => return None,
            }
        }
    }

    /// Consumes an escape if it is the canonical escape of its character.
    fn escape(&mut self) -> Option<()> {
        let rest = &self.text.as_bytes()[self.at + 1..];
        self.at += match rest {
            [b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 2,
            [b'u', b'0', b'0', b'0', b'0'..=b'7' | b'b' | b'e' | b'f', ..]
            | [b'u', b'0', b'0', b'1', b'0'..=b'9' | b'a'..=b'f', ..] => 6,
            _ => return None,
        };
        Some(())
    }

    fn integer(&mut self) -> Option<()> {
        let is_negative = self.take(b'-').is_some();
        let rest = &self.text[self.at..];
        let digits = &rest[..rest.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len())];
        let is_whole = !digits.starts_with('0') || (digits == "0" && !is_negative);
        (is_whole && digits.parse::<u64>().is_ok_and(|size| size <= LARGEST)).then(|| self.at += digits.len())
    }
}

/// Returns whether a byte ends a run of unescaped characters.
fn ends(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

/// Compares names by their UTF-16 code units.
fn order(a: &str, b: &str) -> Ordering {
    let is_plain = |name: &str| name.bytes().all(|byte| byte.is_ascii() && byte != b'\\');
    if is_plain(a) && is_plain(b) {
        return a.cmp(b);
    }
    let meant = |name: &str| serde_json::from_str::<String>(&format!("\"{name}\"")).unwrap_or_default();
    meant(a).encode_utf16().cmp(meant(b).encode_utf16())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonicalize;
    use proptest::prelude::*;

    fn is_exact(text: &str) -> bool {
        items(&format!("[{text}]")).is_some_and(|items| items == [text])
    }

    #[test]
    fn what_is_canonical_and_whole_is_taken() {
        for text in [
            r#"{"a":[1,-2,0,true,false,null],"b":{"":""}}"#,
            r#""\"\\\b\f\n\r\t\u0000\u0007\u000b\u000e\u001f/""#,
            "\"\u{7f}\u{e9}\u{1f600}\"",
            "{\"\u{1f600}\":1,\"\u{fb33}\":2}",
            "9007199254740991",
            "-9007199254740991",
        ] {
            assert!(is_exact(text), "{text}");
            assert_eq!(canonicalize(text).unwrap(), text);
        }
    }

    #[test]
    fn what_is_not_is_refused() {
        for text in [
            "",
            " 1",
            "1 ",
            "-0",
            "01",
            "+1",
            "1.0",
            "1e3",
            "9007199254740992",
            "tru",
            "nul",
            "\"",
            "\"\n\"",
            "[1,]",
            "[,1]",
            "{\"a\":1,}",
            "{\"b\":1,\"a\":2}",
            "{\"a\":1,\"a\":1}",
            "{\"a\" :1}",
            "{a:1}",
            "\"\\/\"",
            "\"\\u0041\"",
            "\"\\u000a\"",
            "\"\\u001F\"",
            "\"\\u007f\"",
            "\"\\ud800\"",
            "\"\\u0008\"",
            "1,1",
            "{\"\u{fb33}\":2,\"\u{1f600}\":1}",
            "{\"\\\\\":1,\"a\":2,\"\\\\\":1}",
        ] {
            assert!(!is_exact(text), "{text}");
        }
        assert!(!is_exact(&"[".repeat(1_000_000)));
        assert!(is_exact(&format!("{}{}", "[".repeat(63), "]".repeat(63))));
        assert!(!is_exact(&format!("{}{}", "[".repeat(64), "]".repeat(64))));
    }

    proptest! {
        #[test]
        fn it_agrees_with_what_writes_the_canonical_form(text in "[\\[\\]{}\":,\\\\a-bu01é\u{1f600}\u{fb33}-]{0,12}") {
            prop_assert_eq!(is_exact(&text), canonicalize(&text).is_ok_and(|canonical| canonical == text));
        }

        #[test]
        fn a_string_is_exact_as_it_is_written_and_in_no_other_way(value in "\\PC{0,8}|[\\x00-\\x7f]{0,8}") {
            let text = canonicalize(&serde_json::to_string(&value).unwrap()).unwrap();
            prop_assert!(is_exact(&text));
        }
    }
}
