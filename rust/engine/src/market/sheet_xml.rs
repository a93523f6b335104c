//! Tags and texts of the XML of a workbook, which arrives in parts.

use std::error::Error;
use std::fmt;
use std::mem;
use std::str;

/// Longest tag or text. A cell of Excel holds 32,767 characters.
const LONGEST: usize = 1 << 20;

/// Says what is wrong with the XML of a workbook.
#[derive(Debug, PartialEq, Eq)]
pub struct SheetFault(pub(crate) &'static str);

impl fmt::Display for SheetFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for SheetFault {}

/// One part of an XML text. Names are local: without the prefix of their namespace.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// Start of an element, with its attributes.
    Start(&'a [u8], &'a [u8]),
    End(&'a [u8]),
    Text(&'a [u8]),
    /// Text without references to characters.
    Verbatim(&'a [u8]),
}

/// Reader of an XML text that arrives in parts.
#[derive(Debug, Default)]
pub(crate) struct XmlParts {
    /// The start of a tag or text that the next part completes.
    pending: Vec<u8>,
    open: OpenNames,
    is_closed: bool,
}

/// Names of the elements that have not ended.
#[derive(Debug, Default)]
struct OpenNames {
    names: Vec<u8>,
    starts: Vec<usize>,
}

impl OpenNames {
    fn push(&mut self, name: &[u8]) {
        self.starts.push(self.names.len());
        self.names.extend_from_slice(name);
    }

    /// Removes the last name, and returns whether it is `name`.
    fn pop(&mut self, name: &[u8]) -> bool {
        let Some(start) = self.starts.pop() else { return false };
        let is_last = self.names[start..] == *name;
        self.names.truncate(start);
        is_last
    }
}

impl XmlParts {
    /// Hands the tokens that the next part completes to `take`.
    pub(crate) fn push(
        &mut self,
        part: &[u8],
        mut take: impl FnMut(Token<'_>) -> Result<(), SheetFault>,
    ) -> Result<(), SheetFault> {
        self.pending.extend_from_slice(part);
        let pending = mem::take(&mut self.pending);
        let mut bytes = pending.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&pending);
        while let Some(length) = length_of(bytes)? {
            let (token, rest) = bytes.split_at(length);
            bytes = rest;
            self.hand_over(token, &mut take)?;
        }
        if bytes.len() > LONGEST {
            return Err(SheetFault("a tag or text of at most 1 MB is required"));
        }
        self.pending.extend_from_slice(bytes);
        Ok(())
    }

    /// Hands a whole tag or text to `take`.
    fn hand_over(
        &mut self,
        token: &[u8],
        take: &mut impl FnMut(Token<'_>) -> Result<(), SheetFault>,
    ) -> Result<(), SheetFault> {
        match token {
            [b'<', b'?', ..] | [b'<', b'!', b'-', ..] => Ok(()),
            [b'<', b'!', b'[', b'C', b'D', b'A', b'T', b'A', b'[', text @ .., b']', b']', b'>'] => {
                take(Token::Verbatim(text))
            }
            [b'<', b'!', ..] => Err(SheetFault("XML without a document type is required")),
            [b'<', b'/', name @ .., b'>'] => {
                if !self.open.pop(name.trim_ascii_end()) {
                    return Err(SheetFault("elements that end in the order of their starts are required"));
                }
                self.is_closed = self.open.starts.is_empty();
                take(Token::End(local(name.trim_ascii_end())))
            }
            [b'<', tag @ .., b'>'] => {
                if self.is_closed {
                    return Err(SheetFault("one root element is required"));
                }
                let is_empty = tag.ends_with(b"/");
                let tag = tag.strip_suffix(b"/").unwrap_or(tag);
                let end = tag.iter().position(u8::is_ascii_whitespace).unwrap_or(tag.len());
                let (name, attributes) = tag.split_at(end);
                take(Token::Start(local(name), attributes))?;
                if is_empty {
                    self.is_closed = self.open.starts.is_empty();
                    return take(Token::End(local(name)));
                }
                self.open.push(name);
                Ok(())
            }
            text if self.open.starts.is_empty() && !text.trim_ascii().is_empty() => {
                Err(SheetFault("text within the root element is required"))
            }
            text => take(Token::Text(text)),
        }
    }

    /// Returns an error unless the root element has ended.
    pub(crate) fn finish(&self) -> Result<(), SheetFault> {
        if self.is_closed && self.pending.trim_ascii().is_empty() {
            return Ok(());
        }
        Err(SheetFault("an XML text that ends with its root element is required"))
    }
}

/// Returns the length of the first tag or text; `None` if it is not complete.
fn length_of(bytes: &[u8]) -> Result<Option<usize>, SheetFault> {
    let after = |end: &[u8]| Ok(bytes.windows(end.len()).position(|window| window == end).map(|at| at + end.len()));
    match bytes {
        [b'<', b'?', ..] => after(b"?>"),
        [b'<', b'!', b'-', ..] => after(b"-->"),
        [b'<', b'!', b'[', ..] => after(b"]]>"),
        [b'<', b'!', _, ..] => Err(SheetFault("XML without a document type is required")),
        [b'<', b'!'] => Ok(None),
        [b'<', ..] => Ok(tag_length(bytes)),
        _ => Ok(bytes.iter().position(|byte| *byte == b'<')),
    }
}

/// Returns the length of a tag; its attributes may hold `>`.
fn tag_length(bytes: &[u8]) -> Option<usize> {
    let mut quote = 0;
    for (place, byte) in bytes.iter().enumerate() {
        match *byte {
            b'>' if quote == 0 => return Some(place + 1),
            b'"' | b'\'' if quote == 0 => quote = *byte,
            byte if byte == quote => quote = 0,
            _ => {}
        }
    }
    None
}

fn local(name: &[u8]) -> &[u8] {
    name.iter().position(|byte| *byte == b':').map_or(name, |colon| &name[colon + 1..])
}

/// Name and value of an attribute.
type Attribute<'a> = (&'a [u8], &'a [u8]);

/// Removes the first attribute; `None` if there is none.
pub(crate) fn next_attribute<'a>(attributes: &mut &'a [u8]) -> Result<Option<Attribute<'a>>, SheetFault> {
    let rest = attributes.trim_ascii_start();
    if rest.is_empty() {
        return Ok(None);
    }
    let split = || {
        let equals = rest.iter().position(|byte| *byte == b'=')?;
        let (quote, value) = rest[equals + 1..].trim_ascii_start().split_first()?;
        let end = value.iter().position(|byte| byte == quote).filter(|_| matches!(quote, b'"' | b'\''))?;
        Some((rest[..equals].trim_ascii_end(), &value[..end], &value[end + 1..]))
    };
    let (name, value, rest) = split().ok_or(SheetFault("attributes in quotes are required"))?;
    *attributes = rest;
    Ok(Some((name, value)))
}

/// Adds a text, with the characters that its references stand for.
pub(crate) fn unescape(bytes: &[u8], found: &mut String) -> Result<(), SheetFault> {
    let mut text = verbatim(bytes)?;
    while let Some((before, after)) = text.split_once('&') {
        found.push_str(before);
        let (name, rest) = after.split_once(';').ok_or(SheetFault("a reference to a character must end"))?;
        found.push(character(name).ok_or(SheetFault("a known reference to a character is required"))?);
        text = rest;
    }
    found.push_str(text);
    Ok(())
}

/// Returns bytes as text.
pub(crate) fn verbatim(bytes: &[u8]) -> Result<&str, SheetFault> {
    str::from_utf8(bytes).map_err(|_| SheetFault("XML in UTF-8 is required"))
}

fn character(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let hexadecimal = number.strip_prefix('x').map(|digits| u32::from_str_radix(digits, 16));
            char::from_u32(hexadecimal.unwrap_or_else(|| number.parse()).ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the tokens of a text that arrives in parts of a size.
    fn tokens(text: &str, size: usize) -> Result<Vec<String>, SheetFault> {
        let (mut xml, mut found) = (XmlParts::default(), Vec::new());
        for part in text.as_bytes().chunks(size) {
            xml.push(part, |token| {
                found.push(match token {
                    Token::Start(name, attributes) => format!("+{}{}", verbatim(name)?, verbatim(attributes)?),
                    Token::End(name) => format!("-{}", verbatim(name)?),
                    Token::Text(text) | Token::Verbatim(text) => verbatim(text)?.to_owned(),
                });
                Ok(())
            })?;
        }
        xml.finish().map(|()| found)
    }

    #[test]
    fn the_tokens_of_a_text_do_not_depend_on_its_parts() {
        let text = "\u{feff}<?xml version='1.0'?><!-- <a> --><x:a b=\"1>2\"><c/>3<![CDATA[<&]]></x:a>\n";
        for size in 4..text.len() {
            let found = tokens(text, size).unwrap();
            assert_eq!(found, ["+a b=\"1>2\"", "+c", "-c", "3", "<&", "-a"], "{size}");
        }
    }

    #[test]
    fn what_is_no_whole_document_is_refused() {
        for text in
            ["", "<a>", "<a></b>", "<a></a></b>", "<a/><b/>", "<a/>b", "<!DOCTYPE a []><a/>", "<a", "<a><!--</a>"]
        {
            assert!(tokens(text, 64).is_err(), "{text}");
        }
        assert!(tokens(&format!("<a>{}</a>", "b".repeat(3 * LONGEST)), LONGEST).is_err());
    }

    #[test]
    fn references_are_characters() {
        let mut found = String::new();
        unescape("a&amp;&lt;&#66;&#x43;&quot;".as_bytes(), &mut found).unwrap();
        assert_eq!(found, "a&<BC\"");
        for text in ["&amp", "&other;", "&#x110000;", "&#;"] {
            assert!(unescape(text.as_bytes(), &mut found).is_err(), "{text}");
        }
        let mut attributes = &b" r='A1' s = \"2\" t=x"[..];
        assert_eq!(next_attribute(&mut attributes), Ok(Some((&b"r"[..], &b"A1"[..]))));
        assert_eq!(next_attribute(&mut attributes), Ok(Some((&b"s"[..], &b"2"[..]))));
        assert!(next_attribute(&mut attributes).is_err());
    }
}
