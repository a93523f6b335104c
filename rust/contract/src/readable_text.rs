//! Text of unknown origin in a form that is safe to print.

use std::fmt::Write;

/// Longest message of an error in bytes, its slug included.
pub const MAX_MESSAGE_BYTES: usize = 2000;

/// Stands for what was cut from a text.
const CUT: &str = " … [cut] … ";

/// Returns a text on one line, in a form that is safe to print.
///
/// Controls, line and paragraph separators, bidirectional and zero-width characters, and spaces other than U+0020 become
/// escapes such as `\x1b` and `\u202e`, except for the characters of `kept`.
#[must_use]
pub fn readable_text(text: &str, kept: &str) -> String {
    let mut readable = String::with_capacity(text.len());
    for each in text.chars() {
        let code = u32::from(each);
        // Writing to a string never fails.
        let _ = match each {
            _ if is_visible(each) || kept.contains(each) => write!(readable, "{each}"),
            '\n' => write!(readable, "\\n"),
            '\r' => write!(readable, "\\r"),
            '\t' => write!(readable, "\\t"),
            _ if code < 0x100 => write!(readable, "\\x{code:02x}"),
            _ if code < 0x1_0000 => write!(readable, "\\u{code:04x}"),
            _ => write!(readable, "\\U{code:08x}"),
        };
    }
    readable
}

/// Returns a text, or the start and the end of one of more than `most` bytes.
#[must_use]
pub fn shortened_text(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let rest = most.saturating_sub(CUT.len());
    // The end of a message is its hint.
    let (mut start, mut end) = (rest - rest / 3, text.len() - rest / 3);
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    format!("{}{CUT}{}", &text[..start], &text[end..])
}

/// Returns the message of an error, safe to print and cut to `MAX_MESSAGE_BYTES`.
///
/// Tabs and line breaks remain.
#[must_use]
pub fn readable_message(text: &str) -> String {
    // Escapes only lengthen a text, so nothing of the middle of a longer one is shown.
    let text = shortened_text(text, MAX_MESSAGE_BYTES);
    shortened_text(&readable_text(&text, "\n\t"), MAX_MESSAGE_BYTES)
}

/// Returns whether a character is graphic, and not ignored by default.
fn is_visible(character: char) -> bool {
    match character {
        ' '..='~' => true,
        // Controls, the no-break space and the soft hyphen; then letters and marks that are ignored by default, and the
        // braille pattern without dots.
        '\0'..='\u{a0}'
        | '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{ffa0}'
        | '\u{e0000}'..='\u{e0fff}' => false,
        // After a letter, `escape_debug` escapes what Unicode does not count as graphic, but not combining marks.
        _ => String::from_iter(['a', character]).escape_debug().count() == 2,
    }
}
