//! Tests of the text that is shown of unknown origin.

use openoutcry_contract::readable_text::{MAX_MESSAGE_BYTES, readable_message, readable_text, shortened_text};

#[test]
fn characters_that_control_a_terminal_or_are_invisible_become_escapes() {
    let cases = [
        ("\u{1b}]0;PWNED\u{7}\u{1b}[8m", "\\x1b]0;PWNED\\x07\\x1b[8m"),
        ("a\nb\rc\td\0\u{7f}\u{9b}", "a\\nb\\rc\\td\\x00\\x7f\\x9b"),
        ("\u{202e}\u{2066}\u{200f}\u{61c}", "\\u202e\\u2066\\u200f\\u061c"),
        ("\u{2028}\u{2029}\u{85}", "\\u2028\\u2029\\x85"),
        (
            "\u{200b}\u{200d}\u{2060}\u{feff}\u{ad}\u{34f}\u{3164}\u{fe0f}",
            "\\u200b\\u200d\\u2060\\ufeff\\xad\\u034f\\u3164\\ufe0f",
        ),
        ("\u{e0041}\u{e0100}", "\\U000e0041\\U000e0100"),
        ("\u{a0}\u{3000}", "\\xa0\\u3000"),
    ];
    for (text, shown) in cases {
        assert_eq!(readable_text(text, ""), shown);
    }
}

#[test]
fn visible_text_and_kept_characters_remain() {
    for text in ["a \"quoted\" \\ [red]", "Ünïcödé 日本 € – …", "e\u{301}", "😀"] {
        assert_eq!(readable_text(text, ""), text);
    }
    assert_eq!(readable_text("a\tb\n", "\t\n"), "a\tb\n");
}

#[test]
fn a_long_text_is_cut_in_its_middle_between_characters() {
    assert_eq!(shortened_text("abc", 3), "abc");
    for most in 100..120 {
        let short = shortened_text(&format!("{}{}end", "start", "€".repeat(100)), most);
        assert!(short.len() <= most && short.len() > most - 8, "{most}");
        assert!(short.starts_with("start€") && short.contains(" … [cut] … ") && short.ends_with("€end"));
    }
}

#[test]
fn a_message_is_cut_after_its_characters_are_escaped() {
    let message = readable_message(&format!("slug: {}; hint: end\u{1b}", "\u{1b}".repeat(4_000_000)));
    assert!(message.len() <= MAX_MESSAGE_BYTES);
    assert!(message.starts_with("slug: \\x1b") && message.ends_with("; hint: end\\x1b"));
    assert_eq!(readable_message("slug: two\nlines"), "slug: two\nlines");
}
