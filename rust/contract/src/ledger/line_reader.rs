use sha2::{Digest as _, Sha256};

use crate::ledger::line_values::{MOST, count, is_count, is_hash};
use crate::ledger::run_entry::{PlainRun, Vocabulary};
use crate::wire::canonical_json::push_hex;
use crate::wire::canonicalization::{Tree, canonical_tree};

/// A link of the hash chain: a sequence number and the hash of the previous record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The sequence number of the next record.
    pub seq: u64,
    /// The hash of the previous record.
    pub hash: String,
}

/// Consecutive runs of a ledger log.
#[derive(Debug, Default)]
pub struct LedgerSegment {
    /// The runs, one per line.
    pub runs: Vec<PlainRun>,
    /// The position of each line.
    pub starts: Vec<usize>,
    /// The position of the first line that was not read, or the end.
    pub end: usize,
    /// The link that the first line continues.
    pub first: Option<Link>,
    /// The link that continues the last line.
    pub last: Option<Link>,
    /// Number of lines that do not continue the line before.
    pub n_broken: usize,
}

/// Returns the runs of the lines from byte `start` on, to the first unusual one.
///
/// A line is unusual if it has no line end, is not the canonical JSON of a run record with its hash, or has members of
/// other types than a ledger writes.
#[must_use]
pub fn read_runs(content: &[u8], start: usize, vocabulary: &Vocabulary) -> LedgerSegment {
    let mut found = LedgerSegment { end: start, ..LedgerSegment::default() };
    let mut canonical = String::new();
    while let Some(rest) = content.get(found.end..)
        && let Some(size) = rest.iter().position(|byte| *byte == b'\n')
        && let Some(line) = record(&rest[..size], vocabulary, &mut canonical)
    {
        let before = Link { seq: line.seq, hash: line.prev_hash };
        match &found.last {
            None => found.first = Some(before),
            Some(last) => found.n_broken += usize::from(*last != before),
        }
        found.last = Some(Link { seq: line.seq + 1, hash: line.hash });
        found.runs.push(line.run);
        found.starts.push(found.end);
        found.end += size + 1;
    }
    found
}

struct Record {
    run: PlainRun,
    seq: u64,
    prev_hash: String,
    hash: String,
}

const HEAD: &str = "{\"event\":\"run\"";
const HASH: &str = ",\"hash\":\"";
const MEMBERS: [&str; 8] = ["event", "hash", "payload", "prev_hash", "seq", "session_id", "ts", "v"];

fn record(line: &[u8], vocabulary: &Vocabulary, canonical: &mut String) -> Option<Record> {
    let line = std::str::from_utf8(line).ok()?;
    let rest = line.strip_prefix(HEAD)?.strip_prefix(HASH)?;
    let (hash, rest) = (rest.get(..64)?, rest.get(64..)?.strip_prefix('"')?);
    let mut found = String::with_capacity(64);
    push_hex(&mut found, &Sha256::new().chain_update(HEAD).chain_update(rest).finalize());
    if found != hash {
        return None;
    }
    let Tree::Object(members) = canonical_tree(line, canonical)? else { return None };
    if !members.iter().map(|(name, _)| name.as_str()).eq(MEMBERS) {
        return None;
    }
    let members: [Tree; 8] = members.into_iter().map(|(_, value)| value).collect::<Vec<_>>().try_into().ok()?;
    let [_, _, Tree::Object(payload), Tree::Text(prev_hash), Tree::Number(seq), session, ts, Tree::Number(1.0)] =
        members
    else {
        return None;
    };
    let (Tree::Text(session), Tree::Text(ts)) = (session, ts) else { return None };
    let is_plain = is_hash(&prev_hash) && is_count(seq) && seq < MOST && is_session(&session) && is_time(&ts);
    let run = is_plain.then(|| crate::ledger::run_entry::read(payload, session, ts, vocabulary).ok())??;
    Some(Record { run, seq: count(seq), prev_hash, hash: found })
}

fn is_session(text: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
    text.len() <= 128 && text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.bytes().all(is_known)
}

/// Returns whether a text is an RFC 3339 time in UTC, to nanoseconds at most.
fn is_time(text: &str) -> bool {
    let Some((whole, parts)) = text.strip_suffix('Z').and_then(|text| text.split_at_checked(19)) else { return false };
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    whole.bytes().zip(*b"0000-00-00T00:00:00").all(|(byte, wanted)| match wanted {
        b'0' => byte.is_ascii_digit(),
        _ => byte == wanted,
    }) && (parts.is_empty()
        || parts.strip_prefix('.').is_some_and(|digits| (1..=9).contains(&digits.len()) && is_digits(digits)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sessions_are_those_of_the_log() {
        for (text, is) in [
            ("2024-01-01T00:00:00Z", true),
            ("2024-01-01T00:00:00.123456789Z", true),
            ("2024-01-01T00:00:00.Z", false),
            ("2024-01-01T00:00:00.1234567890Z", false),
            ("2024-01-01T00:00:00", false),
            ("2024-01-01 00:00:00Z", false),
            ("2024-01-01T00:00:0éZ", false),
            ("Z", false),
        ] {
            assert_eq!(is_time(text), is, "{text}");
        }
        for (text, is) in [("a", true), ("1._:-", true), ("", false), ("-a", false), ("a b", false), ("é", false)] {
            assert_eq!(is_session(text), is, "{text}");
        }
        assert!(is_session(&"a".repeat(128)) && !is_session(&"a".repeat(129)));
    }

    #[test]
    fn what_is_no_run_is_left_where_it_begins() {
        let vocabulary = Vocabulary { numbers: vec![], kinds: vec![], states: vec![] };
        for content in [&b""[..], b"\n", b"{}\n", b"\xff\n", b"{\"event\":\"run\",\"hash\":\"\n", b"{\"event\":\"run\""]
        {
            let found = read_runs(content, 0, &vocabulary);
            assert_eq!((found.runs.len(), found.end, found.first), (0, 0, None));
        }
        assert_eq!(read_runs(b"abc", 9, &vocabulary).end, 9);
    }
}
