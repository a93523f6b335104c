//! Record types: the members of each, and their value types.

/// The type of a value: a predicate on its text.
type Kind = fn(&str) -> bool;

/// The members of every record.
const LINKS: [(&str, Kind); 4] = [("prev_sha256", hex), ("seq", integer), ("type", text), ("v", version)];

const KINDS: [(&str, &[(&str, Kind)]); 9] = [
    ("agent", &[("agent_slug", slug), ("at", time), ("display_name", text), ("key_sha256", hex)]),
    ("day", &[("at", time), ("date", date), ("head_sha256", hex), ("root", digest), ("tree_size", integer)]),
    ("key", &[("agent_slug", slug), ("at", time), ("display_name", text), ("key_sha256", hex)]),
    ("log", &[("created_at", time), ("origin", text), ("salt_of", text), ("vkey", text)]),
    (
        "resolution",
        &[
            ("actual_close_time", |value| value == "null" || time(value)),
            ("at", time),
            ("market_id", market),
            ("outcome", |value| matches!(value, "null" | "\"yes\"" | "\"no\"")),
            ("source", text),
            ("status", status),
        ],
    ),
    (
        "scoring",
        &[
            ("at", time),
            ("base_rates", |value| value.starts_with('[')),
            ("base_rates_sha256", hex),
            ("parameters", parameters),
            ("scoring_version", text),
        ],
    ),
    ("snapshot", &[("as_of", time), ("at", time), ("sha256", hex), ("size", integer)]),
    (
        "submission",
        &[
            ("agent_slug", slug),
            ("commitments", commitments),
            ("received_at", time),
            ("snapshot_as_of", time),
            ("snapshot_sha256", hex),
            ("submission_id", ulid),
        ],
    ),
    ("suspension", &[("agent_slug", slug), ("at", time), ("reason", text), ("suspended", truth)]),
];

/// Returns the fault of the members of a record, which are in order.
pub(super) fn fault(members: &[(&str, &str)]) -> Option<String> {
    let Some(type_) = value(members, "type") else { return Some("`type` is required; received none".to_owned()) };
    match KINDS.iter().find(|(name, _)| unquoted(type_) == Some(name)) {
        None => Some(format!("`type` must be a record type of the log; received {type_}")),
        Some((_, kinds)) => {
            let mut required = [kinds, &LINKS[..]].concat();
            required.sort_unstable_by_key(|(name, _)| *name);
            member_fault(members, &required)
        }
    }
}

/// Returns the fault of members compared with the required ones.
fn member_fault(members: &[(&str, &str)], required: &[(&str, Kind)]) -> Option<String> {
    let names = members.iter().map(|(name, _)| name);
    if !names.eq(required.iter().map(|(name, _)| name)) {
        let required: Vec<_> = required.iter().map(|(name, _)| format!("`{name}`")).collect();
        return Some(format!("members must be {}; received other members", required.join(", ")));
    }
    let (name, value) = members.iter().zip(required).find(|((_, value), (_, is_kind))| !is_kind(value))?.0;
    Some(format!("`{name}` must have its type in the log format; received {value}"))
}

/// Returns the value of a member.
pub(super) fn value<'a>(members: &[(&str, &'a str)], name: &str) -> Option<&'a str> {
    members.iter().find(|member| member.0 == name).map(|member| member.1)
}

/// Returns the text between the quotes of a string.
pub(super) fn unquoted(value: &str) -> Option<&str> {
    value.strip_prefix('"')?.strip_suffix('"')
}

fn all(value: &str, is_kind: impl Fn(u8) -> bool) -> bool {
    unquoted(value).is_some_and(|text| text.bytes().all(is_kind))
}

pub(super) fn text(value: &str) -> bool {
    value.starts_with('"')
}

fn truth(value: &str) -> bool {
    matches!(value, "true" | "false")
}

fn version(value: &str) -> bool {
    value == "1"
}

fn integer(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit())
}

fn hex(value: &str) -> bool {
    // Without an early exit the loop is vectorized.
    let is_digit = |byte: u8| byte.is_ascii_digit() | (b'a'..=b'f').contains(&byte);
    value.len() == 66 && unquoted(value).is_some_and(|text| text.bytes().fold(true, |all, byte| all & is_digit(byte)))
}

/// A SHA-256 in base64: the last digit has two unused bits, which are 0.
fn digest(value: &str) -> bool {
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    unquoted(value).and_then(|text| text.strip_suffix('=')).is_some_and(|digits| {
        digits.len() == 43 && digits.bytes().all(is_base64) && b"AEIMQUYcgkosw048".contains(&digits.as_bytes()[42])
    })
}

/// Whether a text has the pattern; `d` is any digit, other characters are literal.
fn matches_pattern(text: &str, pattern: &str) -> bool {
    let fits = |(byte, matches_pattern): (u8, u8)| {
        if matches_pattern == b'd' { byte.is_ascii_digit() } else { byte == matches_pattern }
    };
    text.len() == pattern.len() && text.bytes().zip(pattern.bytes()).all(fits)
}

fn date(value: &str) -> bool {
    matches_pattern(value, "\"dddd-dd-dd\"")
}

fn time(value: &str) -> bool {
    matches_pattern(value, "\"dddd-dd-ddTdd:dd:ddZ\"") || matches_pattern(value, "\"dddd-dd-ddTdd:dd:dd.ddddddZ\"")
}

/// Returns a time in sortable form, without quotes and `Z`; `None` if invalid.
pub(super) fn sortable_time(value: &str) -> Option<&str> {
    time(value).then(|| &value[1..value.len() - 2])
}

fn slug(value: &str) -> bool {
    let is_mark = |byte: u8| matches!(byte, b'_' | b'-');
    (3..=42).contains(&value.len())
        && !is_mark(value.as_bytes()[1])
        && all(value, |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || is_mark(byte))
}

/// A ULID in Crockford base 32; the first digit has two unused bits.
fn ulid(value: &str) -> bool {
    let is_digit =
        |byte: u8| byte.is_ascii_digit() || (byte.is_ascii_uppercase() && !matches!(byte, b'I' | b'L' | b'O' | b'U'));
    value.len() == 28 && value.as_bytes()[1] <= b'7' && all(value, is_digit)
}

fn market(value: &str) -> bool {
    let is_mark = |byte: u8| matches!(byte, b'.' | b'-');
    let is_letter = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    unquoted(value).and_then(|text| text.strip_prefix("kalshi:")).is_some_and(|ticker| {
        (1..=128).contains(&ticker.len())
            && is_letter(ticker.as_bytes()[0])
            && ticker.bytes().all(|byte| is_letter(byte) || is_mark(byte))
    })
}

fn status(value: &str) -> bool {
    let known = ["determined", "disputed", "amended", "finalized", "void", "scalar"];
    unquoted(value).is_some_and(|status| known.contains(&status))
}

/// An object of strings or integers.
fn parameters(value: &str) -> bool {
    let mut members = Vec::new();
    super::json_scanner::members(value, &mut members).is_some()
        && members
            .iter()
            .all(|(_, value)| value.starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit()))
}

/// One or more SHA-256 in ascending order without duplicates.
pub(super) fn commitments(value: &str) -> bool {
    let digests = || value.as_bytes().chunks(67).map(|each| &each[1..]);
    value.len() > 67
        && value.len() % 67 == 1
        && value.starts_with('[')
        && (0..value.len() / 67).all(|place| value.get(67 * place + 1..67 * place + 67).is_some_and(hex))
        && digests().zip(digests().skip(1)).all(|(a, b)| b.is_empty() || a < b)
}
