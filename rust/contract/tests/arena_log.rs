//! The audit of an arena log, on logs of a few lines.

use openoutcry_contract::arena_log::{Decided, Head, Log, record_fault, seal_submission};
use openoutcry_contract::canonicalize;
use openoutcry_contract::merkle::{Hash, hash_leaf};
use proptest::prelude::*;
use sha2::{Digest, Sha256};

const HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

fn hex(hash: &Hash) -> String {
    hash.map(|byte| format!("{byte:02x}")).concat()
}

/// Returns a log of records with these members and valid links.
fn log(records: &[String]) -> Vec<u8> {
    let mut content = Vec::new();
    for (seq, members) in records.iter().enumerate() {
        let before = Log::read(&content).digests.last().map_or(HASH.to_owned(), hex);
        let text = format!(r#"{{{members},"v":1,"seq":{seq},"prev_sha256":"{before}"}}"#);
        content.extend(canonicalize(&text).unwrap().into_bytes());
        content.push(b'\n');
    }
    content
}

fn first() -> String {
    r#""type":"log","origin":"a","vkey":"b","salt_of":"c","created_at":"2026-05-08T12:00:00Z""#.to_owned()
}

fn snapshot() -> String {
    let time = "2026-05-08T12:00:00Z";
    format!(r#""type":"snapshot","as_of":"{time}","at":"{time}","sha256":"{HASH}","size":1"#)
}

fn submission(id: u32, commitments: &str) -> String {
    let time = "2026-05-08T12:00:00Z";
    format!(
        r#""type":"submission","submission_id":"01{id:024}","agent_slug":"ada","received_at":"{time}","snapshot_as_of":"{time}","snapshot_sha256":"{HASH}","commitments":[{commitments}]"#
    )
}

fn faults(content: &[u8]) -> Vec<usize> {
    Log::read(content).faults.iter().map(|fault| fault.line).collect()
}

#[test]
fn a_log_that_was_written_has_no_fault_and_each_line_is_a_leaf() {
    let content = log(&[first(), snapshot(), submission(0, &format!("\"{HASH}\""))]);
    let found = Log::read(&content);
    assert_eq!((found.faults.len(), found.digests.len(), found.others.len()), (0, 3, 2));
    let lines: Vec<_> = content.split(|&byte| byte == b'\n').collect();
    assert_eq!(found.tree.inclusion(0, 1), Ok(Vec::new()));
    assert_eq!(found.tree.tile(0, 0, 3).unwrap(), [hash_leaf(lines[0]), hash_leaf(lines[1]), hash_leaf(lines[2])]);
    for line in &lines[..3] {
        assert_eq!(record_fault(str::from_utf8(line).unwrap()), None);
    }
}

#[test]
fn a_fault_is_of_its_line() {
    let one = format!("\"{HASH}\"");
    assert_eq!(faults(&log(&[snapshot()])), [0]);
    assert_eq!(faults(&log(&[first(), first()])), [1]);
    assert_eq!(faults(&log(&[first(), snapshot(), snapshot()])), [2]);
    assert_eq!(faults(&log(&[first(), submission(0, &one)])), [1]);
    assert_eq!(faults(&log(&[first(), snapshot(), submission(0, &one), submission(0, &one)])), [3]);
    assert_eq!(faults(&log(&[first(), snapshot(), submission(0, &format!("{one},{one}"))])), [2]);
    let mut cut = log(&[first(), snapshot()]);
    cut.pop();
    assert_eq!(faults(&cut), [1]);
    assert_eq!(faults(b"\xff\n"), [0]);
}

#[test]
fn a_reveal_opens_what_was_committed_to_and_nothing_else() {
    let body = r#"{"yes_probability":"0.5"}"#;
    let digest = "\"7fff\"";
    assert!(record_fault(&format!("{{{}}}", submission(0, digest))).is_some());
    // The SHA-256 of the body, as that of a log with one line.
    let hash = hex(&Log::read(format!("{body}\n").as_bytes()).digests[0]);
    let content = log(&[first(), snapshot(), submission(0, &format!("\"{hash}\""))]);
    let found = Log::read(&content);
    let reveal = |opened: &str| {
        let line = format!("{{\"opened\":[{opened}],\"submission_id\":\"01{:024}\"}}\n", 0);
        found.reveal(&content, line.as_bytes()).len()
    };
    assert_eq!((reveal(body), reveal("")), (0, 0));
    assert_eq!((reveal("{}"), reveal("1"), reveal(&format!("{body},{body}")), reveal(" ")), (1, 1, 1, 1));
    assert_eq!(found.reveal(&content, b"").len(), 1);
}

const HEAD: Head = Head {
    seq: 2,
    prev_sha256: HASH,
    submission_id: "01000000000000000000000000",
    agent_slug: "ada",
    received_at: "2026-05-08T12:00:00Z",
    snapshot_as_of: "2026-05-08T12:00:00Z",
    snapshot_sha256: HASH,
};

proptest! {
    #[test]
    fn a_submission_is_sealed_as_canonical_json_whatever_it_says(
        told in proptest::collection::vec((proptest::option::of("\\PC{0,8}|[\\x00-\\x7f]{0,8}"), any::<Hash>()), 1..5)
    ) {
        let decided: Vec<_> = told.iter().map(|(reasoning, salt)| Decided {
            market_id: "kalshi:A",
            yes_probability: "0.25",
            confidence: reasoning.as_ref().map(|_| "0.5"),
            reasoning: reasoning.as_deref(),
            salt: *salt,
        }).collect();
        let sealed = seal_submission(&HEAD, &decided).unwrap();
        for text in [&sealed.record, &sealed.opened] {
            prop_assert_eq!(&canonicalize(text).unwrap(), text);
        }
        prop_assert_eq!(sealed.sha256, hex(&Sha256::digest(&sealed.record).into()));
        let opened: Vec<serde_json::Value> = serde_json::from_str(&sealed.opened).unwrap();
        let digests: Vec<_> = opened.iter().map(|body| {
            hex(&Sha256::digest(canonicalize(&body.to_string()).unwrap()).into())
        }).collect();
        let record: serde_json::Value = serde_json::from_str(&sealed.record).unwrap();
        prop_assert_eq!(&record["commitments"], &serde_json::json!(digests));
        prop_assert_eq!(opened.len(), told.len());
    }
}

#[test]
fn a_submission_that_is_no_record_is_refused() {
    let one =
        Decided { market_id: "kalshi:A", yes_probability: "0.25", confidence: None, reasoning: None, salt: [0; 32] };
    assert!(seal_submission(&HEAD, &[]).unwrap_err().starts_with("`commitments`"));
    assert!(seal_submission(&HEAD, &[one, one]).unwrap_err().starts_with("`commitments`"));
    let unknown = Head { agent_slug: "Ada", ..HEAD };
    assert!(seal_submission(&unknown, &[one]).unwrap_err().starts_with("`agent_slug`"));
}
