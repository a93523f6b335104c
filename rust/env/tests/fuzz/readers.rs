//! The readers of untrusted bytes.
//!
//! Each returns whether it accepts an input, and panics if a property fails.

use std::hint::black_box;
use std::str;
use std::sync::{Arc, OnceLock};

use openoutcry::arena_log::{Log, record_fault};
use openoutcry::ledger::{Vocabulary, read_runs};
use openoutcry::merkle::{is_consistent, is_included};
use openoutcry::record::AgentTrajectory;
use openoutcry::{
    CostModel, CsvReader, Dataset, Decision, MarketObservation, StatedPeriods, TradingEnv, Window, canonicalize,
    integrity_differences, spec_from_json, spec_to_json,
};

use crate::memory::MOST;

/// The metrics of an index row of a ledger.
const NUMBERS: &str = "total_positions win_rate profit_factor net_pnl sharpe_ratio sortino_ratio calmar_ratio \
                       max_drawdown pnl_return avg_win avg_loss max_win max_loss avg_hold_duration_secs";

static MARKET: OnceLock<Arc<Dataset>> = OnceLock::new();

/// A reader, and the folder of its corpus.
pub struct Reader {
    pub name: &'static str,
    pub corpus: &'static str,
    pub read: fn(&[u8]) -> bool,
}

/// Every reader of this crate and those below it.
pub const READERS: [Reader; 13] = [
    Reader { name: "csv", corpus: "csv", read: csv },
    Reader { name: "user_csv", corpus: "user_csv", read: user_csv },
    Reader { name: "market", corpus: "market", read: market },
    Reader { name: "decision", corpus: "decision", read: decision },
    Reader { name: "step", corpus: "step", read: step },
    Reader { name: "observation", corpus: "observation", read: observation },
    Reader { name: "canonical_json", corpus: "canonical_json", read: canonical_json },
    Reader { name: "scenario", corpus: "scenario", read: scenario },
    Reader { name: "record", corpus: "record", read: record },
    Reader { name: "record_lines", corpus: "record_lines", read: record_lines },
    Reader { name: "ledger", corpus: "ledger", read: ledger },
    Reader { name: "arena_log", corpus: "arena_log", read: arena_log },
    Reader { name: "merkle_proof", corpus: "merkle_proof", read: merkle_proof },
];

/// Faults that the harness must find, and survive.
pub const PLANTED: [Reader; 3] = [
    Reader { name: "planted_panic", corpus: "ledger", read: |bytes| bytes[bytes.len()] == 0 },
    Reader { name: "planted_recursion", corpus: "ledger", read: |bytes| recursion(bytes.len()) > 0 },
    Reader { name: "planted_memory", corpus: "ledger", read: |bytes| vec![1_u8; MOST].len() > bytes.len() },
];

#[expect(unconditional_recursion, reason = "planted: the stack must overflow")]
fn recursion(depth: usize) -> usize {
    black_box(depth + recursion(black_box(depth + 1)))
}

/// Calls `read` with the text of the bytes.
///
/// Other bytes are refused before any reader.
fn text(bytes: &[u8], read: impl Fn(&str) -> bool) -> bool {
    str::from_utf8(bytes).is_ok_and(read)
}

fn csv(bytes: &[u8]) -> bool {
    text(bytes, |text| {
        let whole = Dataset::from_csv(text, None);
        // Parts of odd sizes, at character boundaries.
        let mut reader = CsvReader::new(text.len());
        let mut rest = text;
        let mut size = 1;
        let mut pushed = Ok(());
        while !rest.is_empty() && pushed.is_ok() {
            let part = &rest[..(0..=rest.len().min(size)).rev().find(|end| rest.is_char_boundary(*end)).unwrap_or(0)];
            let part = if part.is_empty() { rest } else { part };
            pushed = reader.push(part);
            rest = &rest[part.len()..];
            size = 3 * size + 7;
        }
        let parts =
            pushed.and_then(|()| reader.columns()).and_then(|columns| Dataset::with_periods_per_year(columns, None));
        match (&whole, &parts) {
            (Ok(whole), Ok(parts)) => assert_eq!(whole.fingerprint(), parts.fingerprint(), "parts read another market"),
            (Err(_), Err(_)) => {}
            _ => panic!("parts: {:?}, whole: {:?}", parts.err(), whole.err()),
        }
        whole.is_ok()
    })
}

fn user_csv(bytes: &[u8]) -> bool {
    text(bytes, |text| {
        let stated = StatedPeriods { value: None, option: "periods_per_year" };
        Dataset::from_user_csv(text, stated).is_ok()
    })
}

fn market(bytes: &[u8]) -> bool {
    let Ok(data) = Dataset::from_bytes(bytes) else { return false };
    assert_eq!(data.to_bytes(), bytes, "a second encoding was accepted");
    true
}

fn decision(bytes: &[u8]) -> bool {
    text(bytes, |text| Decision::from_json(text).is_ok())
}

fn step(bytes: &[u8]) -> bool {
    text(bytes, |text| {
        let data = MARKET.get_or_init(|| Arc::new(Dataset::synthetic(3, 24, 7).expect("a market")));
        let window = Window { start: 9, end: 24 };
        let mut env = TradingEnv::new(Arc::clone(data), window, CostModel::default(), 1).expect("an environment");
        let (mut before, mut observation, mut info) = (String::new(), String::new(), String::new());
        env.write_observation(&mut before);
        if env.step_json(text, &mut observation, &mut info).is_ok() {
            assert!(env.book().nav().is_finite());
            return true;
        }
        env.write_observation(&mut observation);
        assert_eq!(before, observation, "a refused decision changed the state");
        false
    })
}

fn observation(bytes: &[u8]) -> bool {
    text(bytes, |text| MarketObservation::from_json(text).is_ok())
}

fn canonical_json(bytes: &[u8]) -> bool {
    text(bytes, |text| {
        let Ok(canonical) = canonicalize(text) else { return false };
        assert_eq!(canonicalize(&canonical).expect("canonical JSON is JSON"), canonical);
        true
    })
}

fn scenario(bytes: &[u8]) -> bool {
    text(bytes, |text| {
        let Ok(spec) = spec_from_json(text) else { return false };
        let written = spec_to_json(&spec);
        assert_eq!(spec_to_json(&spec_from_json(&written).expect("a written specification is read")), written);
        true
    })
}

fn checked(record: &AgentTrajectory) {
    let _ = integrity_differences(record, None);
    let _ = integrity_differences(record, Some(&[7; 32]));
}

fn record(bytes: &[u8]) -> bool {
    let Ok(record) = AgentTrajectory::from_bytes(bytes) else { return false };
    checked(&record);
    true
}

fn record_lines(bytes: &[u8]) -> bool {
    let Ok(lines) = AgentTrajectory::from_lines(bytes) else { return false };
    assert!(lines.torn_bytes <= bytes.len());
    checked(&lines.record);
    true
}

fn ledger(bytes: &[u8]) -> bool {
    let words = |words: &str| words.split(' ').map(str::to_owned).collect();
    let vocabulary =
        Vocabulary { numbers: words(NUMBERS), kinds: words("run trial holdout"), states: words("done failed") };
    let found = read_runs(bytes, 0, &vocabulary);
    assert!(found.end <= bytes.len());
    assert_eq!(found.runs.len(), found.starts.len());
    !found.runs.is_empty()
}

fn arena_log(bytes: &[u8]) -> bool {
    // A stored input may hold the reveals after the log.
    let end = bytes.windows(9).position(|part| part == b"{\"opened\"").unwrap_or(bytes.len());
    let (content, reveals) = bytes.split_at(end);
    let log = Log::read(content);
    let _ = log.reveal(content, reveals);
    text(content, |text| text.lines().all(|line| record_fault(line).is_none()))
}

/// Two sizes in eight bytes each, two roots, and the proof.
fn merkle_proof(bytes: &[u8]) -> bool {
    let number = |at: usize| bytes.get(at..at + 8).map_or(0, |part| part.iter().fold(0, |n, b| n << 8 | u64::from(*b)));
    let (first, size) = (number(0), number(8));
    let hashes: Vec<&[u8]> = bytes.get(16..).unwrap_or_default().chunks(32).collect();
    let [leaf, root, proof @ ..] = hashes.as_slice() else { return false };
    let included = is_included(first, size, leaf, proof, root);
    is_consistent(first, size, leaf, root, proof) || included
}
