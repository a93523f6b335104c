//! Commitments: the crates state the hashes of the vectors.
//!
//! `hashlib` alone wrote the bytes in `contract/vectors/commitments.json`.

use std::collections::BTreeMap;
use std::fmt::Write;

use openoutcry_contract::arena_log::{Decided, Head, seal_submission};
use openoutcry_contract::canonicalize;
use openoutcry_contract::merkle::{hash_children, hash_leaf};
use openoutcry_contract::record::{AgentTrajectory, Digest, public_key, sign_conformance};
use openoutcry_contract::{spec_digest, spec_from_json};
use openoutcry_engine::scenario::Key;
use openoutcry_engine::{Columns, Dataset, FillKey, Fundamental, NewsItem, Origin};
use serde_json::Value;

const TEXT: &str = include_str!("../../../contract/vectors/commitments.json");
const RECORDS: &str = include_str!("../../../contract/vectors/record.json");

struct Case {
    given: Value,
    expected: Value,
}

impl Case {
    fn text(&self, name: &str) -> &str {
        self.given[name].as_str().unwrap()
    }

    fn sha256(&self) -> &str {
        self.expected["sha256"].as_str().unwrap()
    }
}

fn cases() -> BTreeMap<String, Case> {
    let document: Value = serde_json::from_str(TEXT).unwrap();
    let each = document["cases"].as_array().unwrap().iter();
    each.map(|case| {
        let name = case["name"].as_str().unwrap().to_owned();
        (name, Case { given: case["given"].clone(), expected: case["expected"].clone() })
    })
    .collect()
}

fn bytes(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|place| u8::from_str_radix(&text[place..place + 2], 16).unwrap()).collect()
}

fn key(text: &str) -> [u8; 32] {
    bytes(text).try_into().unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn faulty() -> AgentTrajectory {
    let records: Value = serde_json::from_str(RECORDS).unwrap();
    AgentTrajectory::from_json(&canonicalize(&records["faulty"].to_string()).unwrap()).unwrap()
}

#[test]
fn every_hash_is_that_of_its_bytes() {
    for (name, case) in cases() {
        if let Some(content) = case.expected["bytes"].as_str() {
            assert_eq!(Digest::of(bytes(content)).to_string(), case.sha256(), "{name}");
        }
    }
}

#[test]
fn keys_of_scenarios_and_fills_commit_to_the_hashes_of_the_vectors() {
    let cases = cases();
    let spec = |case: &Case| spec_digest(&spec_from_json(case.text("spec")).unwrap());
    assert_eq!(hex(&spec(&cases["scenario_spec"])), cases["scenario_spec"].sha256());
    let sealed = &cases["scenario_commitment"];
    let commitment = Key::from_bytes(key(sealed.text("key"))).commitment(&spec(sealed));
    assert_eq!(hex(&commitment), sealed.sha256());
    let seeded = &cases["scenario_seed"];
    let derived = Key::from_seed(seeded.text("split"), seeded.text("seed").parse().unwrap());
    assert_eq!(hex(derived.bytes()), seeded.sha256());
    let fill = &cases["fill_commitment"];
    assert_eq!(hex(&FillKey::from_bytes(key(fill.text("key"))).commitment()), fill.sha256());
    let seeded = &cases["fill_seed"];
    let derived = FillKey::from_seed(seeded.text("seed").parse().unwrap());
    assert_eq!(derived, FillKey::from_bytes(key(seeded.sha256())));
}

#[test]
fn the_market_of_the_vectors_has_their_fingerprint_and_bytes() {
    let case = &cases()["market"];
    let data = &case.given["dataset"];
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let table = |name: &str| -> Vec<f64> {
        data[name].as_array().unwrap().iter().flat_map(|row| row.as_array().unwrap().iter().map(number)).collect()
    };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let texts = |name: &str| -> Vec<String> { data[name].as_array().unwrap().iter().map(text).collect() };
    let symbols = texts("symbols");
    let place = |item: &Value| symbols.iter().position(|symbol| item["symbol"] == symbol.as_str()).unwrap();
    let fundamental = |item: &Value| Fundamental {
        symbol: place(item),
        available_at: text(&item["available_at"]),
        name: text(&item["name"]),
        value: number(&item["value"]),
    };
    let headline = |item: &Value| NewsItem {
        symbol: place(item),
        available_at: text(&item["available_at"]),
        headline: text(&item["headline"]),
    };
    let dataset = Dataset::new(Columns {
        dates: texts("dates").into(),
        close: table("close"),
        open: Some(table("open")),
        high: Some(table("high")),
        low: Some(table("low")),
        volume: Some(table("volume")),
        dividends: Some(table("dividends")),
        splits: Some(table("splits")),
        tradable: Some(table("tradable").into_iter().map(|each| each == 1.0).collect()),
        delistings: Some(table("delistings")),
        risk_free: Some(data["risk_free"].as_array().unwrap().iter().map(number).collect()),
        periods_per_year: number(&data["periods_per_year"]),
        fundamentals: data["fundamentals"].as_array().unwrap().iter().map(fundamental).collect(),
        news: data["news"].as_array().unwrap().iter().map(headline).collect(),
        features: Vec::new(),
        charges: Default::default(),
        origin: Origin::default(),
        symbols: symbols.clone(),
    })
    .unwrap();
    assert_eq!(hex(&dataset.to_bytes()), case.expected["bytes"].as_str().unwrap());
    assert_eq!(hex(&dataset.fingerprint()), case.sha256());
}

#[test]
fn the_links_the_digest_and_the_signatures_are_those_of_the_vectors() {
    let (cases, record) = (cases(), faulty());
    let run = &record.runs[0];
    let end = run.end.as_ref().unwrap();
    let links = [
        ("record_header", run.link),
        ("record_step_0", run.steps[0].link),
        ("record_step_1", run.steps[1].link),
        ("record_end", end.link),
        ("record_digest", record.intact_digest().unwrap()),
    ];
    for (name, link) in links {
        assert_eq!(link.to_string(), cases[name].sha256(), "{name}");
    }
    let signed = &cases["record_signature"].expected;
    let signature = record.signature.as_ref().unwrap();
    assert_eq!(signed["signature"], hex(&signature.signature));
    let signer = key(signed["public_key"].as_str().unwrap());
    assert_eq!(record.verify_signature(Some(&signer)), Ok(true));
    let signed = &cases["conformance_signature"];
    let digest = cases["conformance_report"].sha256().parse().unwrap();
    let private = key(signed.text("private_key"));
    assert_eq!(signed.expected["signature"], hex(&sign_conformance(&digest, &private)));
    assert_eq!(signed.expected["public_key"], hex(&public_key(&private)));
}

#[test]
fn a_submission_of_the_arena_has_the_commitments_and_the_leaf_of_the_vectors() {
    let cases = cases();
    let case = &cases["arena_submission"];
    let decisions = case.given["decisions"].as_array().unwrap();
    let decided: Vec<Decided> = decisions
        .iter()
        .map(|each| Decided {
            market_id: each["market_id"].as_str().unwrap(),
            yes_probability: each["yes_probability"].as_str().unwrap(),
            confidence: each["confidence"].as_str(),
            reasoning: each["reasoning"].as_str(),
            salt: key(each["salt"].as_str().unwrap()),
        })
        .collect();
    let head = Head {
        seq: case.given["seq"].as_u64().unwrap(),
        prev_sha256: case.text("prev_sha256"),
        submission_id: case.text("submission_id"),
        agent_slug: case.text("agent_slug"),
        received_at: case.text("received_at"),
        snapshot_as_of: case.text("snapshot_as_of"),
        snapshot_sha256: case.text("snapshot_sha256"),
    };
    let sealed = seal_submission(&head, &decided).unwrap();
    assert_eq!(sealed.sha256, case.sha256());
    assert_eq!(hex(sealed.record.as_bytes()), case.expected["bytes"].as_str().unwrap());
    for name in ["arena_decision", "arena_decision_without_reason"] {
        assert!(sealed.record.contains(cases[name].sha256()), "{name}");
    }
    assert_eq!(hex(&hash_leaf(sealed.record.as_bytes())), cases["arena_leaf"].sha256());
    let node = &cases["arena_node"];
    assert_eq!(hex(&hash_children(&bytes(node.text("left")), &bytes(node.text("right")))), node.sha256());
}
