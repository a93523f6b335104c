//! Records as texts: one canonical form, exact round trips, and detected changes.

use std::collections::BTreeMap;

use openoutcry_contract::canonicalize;
use openoutcry_contract::record::{
    AgentTrajectory, DatasetName, Digest, Fault, FaultKind, Fill, Harness, Header, Place, Recorder, RunTrajectory,
    Seen, Tier, Transport, compare_runs, public_key,
};
use openoutcry_engine::{CostModel, Limits, Window};
use proptest::prelude::*;
use serde_json::{Value, json};

const KEY: [u8; 32] = [7; 32];

fn header(seed: u64) -> Header {
    Header {
        contract_version: "1.0".into(),
        costs: CostModel { fee_bps: 0.1, ..CostModel::default() },
        dataset: DatasetName { commitment: None, fingerprint: Digest::of("market"), name: "a \"market\"".into() },
        engine_version: "0.1.0".into(),
        fill: Fill::Seed(seed),
        limits: Limits { max_weight: f64::INFINITY, max_participation: Some(0.25), ..Limits::default() },
        lookback: 20,
        window: Window { start: 19, end: 24 },
    }
}

fn seen(nav: f64) -> Seen {
    Seen { cash: -0.0, nav, observation: Digest::of(nav.to_string()) }
}

fn run(seed: u64) -> RunTrajectory {
    let jailed = Harness { allow_net: false, tier: Tier::T2, transport: Transport::Stdio };
    let mut recorder = Recorder::new(header(seed)).harnessed((seed > 0).then_some(jailed));
    recorder.step(seen(1.0), "{\"orders\":[]}\n".into(), None);
    recorder.step(seen(1.1), "I would rather \u{1f600} not".into(), Some(Fault::new("malformed").unwrap()));
    recorder.step(seen(0.1 + 0.2), String::new(), Some(Fault::new("timeout").unwrap()));
    recorder.step(seen(1e-7), "{ \"orders\": [] }".into(), None);
    recorder.end(seen(1e21), false)
}

fn record() -> AgentTrajectory {
    AgentTrajectory::new("an agent", vec![run(0), run(u64::MAX)], 3).signed(&KEY).unwrap()
}

#[test]
fn a_record_reads_back_from_both_of_its_forms() {
    let record = record();
    let text = record.to_json();
    assert_eq!(canonicalize(&text).unwrap(), text);
    assert_eq!(AgentTrajectory::from_json(&text).unwrap(), record);
    let lines = record.to_lines();
    assert_eq!(lines.lines().count(), 1 + 2 * 6 + 1);
    assert!(lines.lines().all(|line| canonicalize(line).unwrap() == line));
    let read = AgentTrajectory::from_lines(lines.as_bytes()).unwrap();
    assert_eq!((read.record, read.torn_bytes), (record, 0));
}

/// The hashes in `contract/README.md`, recomputed from values of serde.
#[test]
fn every_link_and_digest_is_what_the_page_says() {
    let digest = |value: Value| Digest::of(canonicalize(&value.to_string()).unwrap()).to_string();
    let record: Value = serde_json::from_str(&record().to_json()).unwrap();
    let mut ends = Vec::new();
    for run in record["runs"].as_array().unwrap() {
        let mut previous = digest(json!({"domain": "openoutcry/record/1", "header": run["header"]}));
        assert_eq!(run["link"], previous.as_str());
        for link in run["steps"].as_array().unwrap().iter().chain([&run["end"]]) {
            let mut fields = link.as_object().unwrap().clone();
            let recorded = fields.remove("link").unwrap();
            fields.insert("previous".into(), previous.into());
            previous = digest(Value::Object(fields));
            assert_eq!(recorded, previous.as_str());
        }
        ends.push(previous);
    }
    let mut fields = json!({
        "agent_id": "an agent", "domain": "openoutcry/record/1/agent", "in_sample_trials": 3, "record_version": "1.0",
        "runs": ends, "harness": [null, {"allow_net": false, "tier": "T2", "transport": "stdio"}],
    });
    assert_eq!(record["digest"], digest(fields.clone()).as_str());
    // Without a harness the field is absent.
    fields["runs"] = json!([ends[0]]);
    fields.as_object_mut().unwrap().remove("harness");
    let inside = AgentTrajectory::new("an agent", vec![run(0)], 3);
    assert_eq!(inside.digest.unwrap().to_string(), digest(fields));
}

#[test]
fn no_flipped_byte_goes_unseen() {
    let whole = AgentTrajectory::new("an agent", vec![run(1)], 3).signed(&KEY).unwrap();
    let text = whole.to_json();
    let is_seen = |record: &AgentTrajectory| {
        // An intact record can only have another signature.
        let is_changed = record.intact_digest().is_none() || record.signature != whole.signature;
        is_changed && record.verify_signature(None) != Ok(true)
    };
    assert!(!is_seen(&whole));
    let mut unseen = Vec::new();
    let mut kinds = [0; 3];
    for place in 0..text.len() {
        for mask in [1, 128] {
            let mut bytes = text.clone().into_bytes();
            bytes[place] ^= mask;
            match std::str::from_utf8(&bytes).map(AgentTrajectory::from_json) {
                Err(_) => kinds[0] += 1,
                Ok(Err(_)) => kinds[1] += 1,
                Ok(Ok(record)) if is_seen(&record) => kinds[2] += 1,
                Ok(Ok(_)) => unseen.push((place, mask)),
            }
        }
    }
    assert_eq!(unseen, []);
    assert!(kinds.iter().all(|count| *count > 100), "{kinds:?}");
}

#[test]
fn lines_cut_at_any_byte_read_back_as_far_as_they_are_whole() {
    let whole = record();
    let lines = whole.to_lines();
    let first = lines.find('\n').unwrap() + 1;
    for cut in 0..lines.len() {
        let read = AgentTrajectory::from_lines(&lines.as_bytes()[..cut]);
        if cut < first {
            assert_eq!(read.unwrap_err().slug(), "record_invalid");
            continue;
        }
        let read = read.unwrap();
        let kept = lines.as_bytes()[..cut].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        assert_eq!((read.record.to_lines().as_str(), read.torn_bytes), (&lines[..kept], cut - kept));
        assert!(read.record.unfinished().is_some());
        assert_eq!(read.record.signature, None);
    }
}

#[test]
fn a_line_that_does_not_belong_where_it_stands_is_refused_with_its_number() {
    let lines = record().to_lines();
    let lines: Vec<&str> = lines.lines().collect();
    let refused = |order: &[usize]| {
        let text = order.iter().fold(String::new(), |text, index| text + lines[*index] + "\n");
        AgentTrajectory::from_lines(text.as_bytes()).unwrap_err().to_string()
    };
    let wanted = "a record must be the JSON of `record.schema.json`; received";
    assert_eq!(refused(&[0, 2]), format!("{wanted} a line other than a header or digest between runs, in line 2"));
    assert_eq!(refused(&[0, 1, 7]), format!("{wanted} a line other than a step or end inside a run, in line 3"));
    assert_eq!(refused(&[0, 1, 13]), format!("{wanted} a line other than a step or end inside a run, in line 3"));
    assert_eq!(refused(&[0, 13, 13]), format!("{wanted} a line after the digest line, in line 3"));
    let more = AgentTrajectory::from_lines((record().to_lines() + "{").as_bytes()).unwrap_err().to_string();
    assert_eq!(more, format!("{wanted} text after the digest line"));
    assert!(refused(&[1]).ends_with("column 9, in line 1"), "{}", refused(&[1]));
}

#[test]
fn a_text_of_another_form_is_refused_with_its_slug() {
    let text = record().to_json();
    let slug = |from: &str, to: &str| {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        AgentTrajectory::from_json(&changed).unwrap_err().slug()
    };
    for (from, to, expected) in [
        ("{\"agent_id\"", "{ \"agent_id\"", "record_not_canonical"),
        ("\"nav\":1,", "\"nav\":1.0,", "record_not_canonical"),
        ("\"max_gross\":1,", "\"max_gross\":1,\"max_weight\":null,", "record_not_canonical"),
        ("an agent", "\\u0061n agent", "record_not_canonical"),
        ("\"record_version\":\"1.0\"", "\"record_version\":\"1.1\"", "record_version_unknown"),
        ("\"nav\":1,", "\"nav\":1,\"nav\":1,", "record_invalid"),
        ("\"nav\":1,", "\"nav\":NaN,", "record_invalid"),
        ("\"nav\":1,", "\"nav\":1e999,", "record_invalid"),
        ("\"nav\":1,", "\"nav\":\"1\",", "record_invalid"),
        ("\"nav\":1,", "", "record_invalid"),
        ("\"nav\":1,", "\"nav\":1,\"sharpe\":9,", "record_invalid"),
        ("\"fault\":\"timeout\"", "\"fault\":\"Time out\"", "record_invalid"),
        ("{\"seed\":\"0\"}", "{\"seed\":\"00\"}", "record_invalid"),
        ("{\"seed\":\"0\"}", "{\"seed\":0}", "record_invalid"),
        ("{\"seed\":\"0\"}", "{}", "record_invalid"),
        ("\"in_sample_trials\":3", "\"in_sample_trials\":9007199254740992", "record_invalid"),
        ("\"algorithm\":\"ed25519\"", "\"algorithm\":\"none\"", "record_invalid"),
        ("\"lookback\":20", "\"lookback\":20.0", "record_invalid"),
        ("\"tier\":\"T2\"", "\"tier\":\"T9\"", "record_invalid"),
        ("\"transport\":\"stdio\"", "\"transport\":\"pigeon\"", "record_invalid"),
        ("\"transport\":\"stdio\"", "\"transport\":\"stdio\",\"via\":\"a proxy\"", "record_invalid"),
        ("\"allow_net\":false,", "", "record_invalid"),
        ("\"allow_net\":false", "\"allow_net\":null", "record_invalid"),
        ("{\"end\":{", "{\"harness\":null,\"end\":{", "record_not_canonical"),
    ] {
        assert_eq!(slug(from, to), expected, "{to}");
    }
    let upper = text.replacen(&Digest::of("market").to_string(), &Digest::of("market").to_string().to_uppercase(), 1);
    assert_eq!(AgentTrajectory::from_json(&upper).unwrap_err().slug(), "record_invalid");
}

#[test]
fn whose_fault_a_slug_names_is_what_the_contract_says() {
    let document: Value = serde_json::from_str(include_str!("../../../contract/errors.json")).unwrap();
    let errors = document["errors"].as_array().unwrap();
    let of_agents =
        errors.iter().filter(|error| ["agent", "infrastructure"].contains(&error["kind"].as_str().unwrap()));
    let told: BTreeMap<_, _> =
        of_agents.map(|error| (error["slug"].as_str().unwrap(), error["kind"].as_str().unwrap())).collect();
    let known: BTreeMap<_, _> = Fault::KNOWN.into_iter().map(|(slug, kind)| (slug, kind.name())).collect();
    assert_eq!(known, told);
    assert!(known.iter().all(|(slug, kind)| Fault::new(slug).is_ok() && FaultKind::of(slug).name() == *kind));
    for slug in [Fault::MALFORMED, "timeout", "bad_json"] {
        assert_eq!(FaultKind::of(slug), FaultKind::Agent);
    }
}

#[test]
fn a_break_names_its_place() {
    let places = |change: &dyn Fn(&mut RunTrajectory)| {
        let mut run = run(0);
        change(&mut run);
        run.breaks().iter().map(|each| each.place).collect::<Vec<_>>()
    };
    let other = run(u64::MAX);
    assert_eq!(places(&|_| ()), []);
    assert_eq!(places(&|run| run.header.lookback = 21), [Place::Header]);
    assert_eq!(places(&|run| run.harness = other.harness), []);
    assert_eq!(places(&|run| run.steps[1].decision.push(' ')), [Place::Step(1)]);
    assert_eq!(places(&|run| run.steps[1].fault = None), [Place::Step(1)]);
    assert_eq!(places(&|run| run.steps[2].link.0[0] ^= 1), [Place::Step(2), Place::Step(3)]);
    assert_eq!(places(&|run| drop(run.steps.remove(1))), [Place::Step(1)]);
    assert_eq!(places(&|run| drop(run.steps.pop())), [Place::End]);
    assert_eq!(places(&|run| run.steps.swap(1, 2)), [Place::Step(1), Place::Step(2), Place::Step(3)]);
    assert_eq!(places(&|run| run.end.as_mut().unwrap().terminated = true), [Place::End]);
    assert_eq!(places(&|run| run.steps[0] = other.steps[0].clone()), [Place::Step(0), Place::Step(1)]);
}

#[test]
fn a_signature_is_of_one_record_by_one_key() {
    let record = record();
    let key = public_key(&KEY);
    assert_eq!(record.verify_signature(None), Ok(true));
    assert_eq!(record.verify_signature(Some(&key)), Ok(true));
    assert_eq!(record.verify_signature(Some(&public_key(&[8; 32]))), Ok(false));
    let renamed = AgentTrajectory { agent_id: "another agent".into(), ..record.clone() };
    assert_eq!(renamed.verify_signature(None), Ok(false));
    let unsigned = AgentTrajectory { signature: None, ..record.clone() };
    assert_eq!(unsigned.verify_signature(None).unwrap_err().slug(), "record_unsigned");
    let no_point = std::array::from_fn(|index| if index == 0 { 2 } else { 0 });
    assert_eq!(record.verify_signature(Some(&no_point)).unwrap_err().slug(), "key_invalid");
    let mut edited = record.clone();
    edited.signature.as_mut().unwrap().public_key = no_point;
    assert_eq!(edited.verify_signature(None), Ok(false));
    let unfinished = AgentTrajectory { digest: None, signature: None, ..record.clone() };
    assert_eq!(unfinished.signed(&KEY).unwrap_err().slug(), "record_unfinished");
}

#[test]
fn a_signature_is_of_the_contents_and_not_of_their_links() {
    let record = record();
    assert_eq!(record.intact_digest(), record.digest);
    let edited = |change: &dyn Fn(&mut AgentTrajectory)| {
        let mut edited = record.clone();
        change(&mut edited);
        assert_eq!((edited.intact_digest(), edited.verify_signature(None)), (None, Ok(false)));
        let refused = edited.signed(&KEY).unwrap_err();
        assert_eq!(refused.slug(), "record_unfinished");
        refused.to_string()
    };
    let wanted = "received one with a digest or a link that does not follow from its contents";
    for change in [
        &(|record: &mut AgentTrajectory| record.runs[0].steps[1].nav = 9.0) as &dyn Fn(&mut AgentTrajectory),
        &|record| record.runs[1].steps[0].decision.push(' '),
        &|record| record.runs[0].header.lookback = 21,
        &|record| record.runs[1].end.as_mut().unwrap().cash = 9.0,
        &|record| record.runs[0].link.0[0] ^= 1,
        &|record| record.runs[1].harness = None,
        &|record| record.runs.swap(0, 1),
        &|record| record.digest = Some(Digest::of("other")),
        &|record| record.in_sample_trials = 0,
    ] {
        let refused = edited(change);
        assert!(refused.ends_with(wanted), "{refused}");
    }
    let refused = edited(&|record| record.digest = None);
    assert!(refused.ends_with("received one without a digest"), "{refused}");
}

/// RFC 8032, section 7.1, test 1: the key of a private key.
#[test]
fn a_public_key_is_that_of_the_rfc() {
    let hex = |text: &str| text.parse::<Digest>().unwrap().0;
    let private = hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
    assert_eq!(public_key(&private), hex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"));
}

#[test]
fn two_runs_are_compared_by_their_knobs_and_their_first_difference() {
    let (left, mut right) = (run(0), run(0));
    assert_eq!(compare_runs(&left, &right), (vec![], None));
    right.harness = run(1).harness;
    let (settings, divergence) = compare_runs(&left, &right);
    let fields: Vec<&str> = settings.iter().map(|knob| knob.field).collect();
    assert_eq!(fields, ["harness.allow_net", "harness.tier", "harness.transport"]);
    assert_eq!((settings[1].left.as_str(), settings[1].right.as_str(), divergence), ("absent", "T2", None));
    right.harness = None;
    right.header.fill = Fill::Commitment(Digest::of("key"));
    right.header.costs.fee_bps = 0.2;
    right.steps[2].nav = f64::from_bits(right.steps[2].nav.to_bits() + 3);
    right.steps[1].decision.push('!');
    let (settings, divergence) = compare_runs(&left, &right);
    let fields: Vec<&str> = settings.iter().map(|knob| knob.field).collect();
    assert_eq!(fields, ["costs.fee_bps", "fill.seed", "fill.commitment"]);
    assert_eq!((settings[0].left.as_str(), settings[0].right.as_str()), ("0.1", "0.2"));
    assert_eq!((settings[1].left.as_str(), settings[1].right.as_str()), ("0", "absent"));
    let found = divergence.unwrap();
    assert_eq!((found.place, found.bar, found.field), (Place::Step(1), 20, "decision"));
    right.steps[1].decision.pop();
    let found = compare_runs(&left, &right).1.unwrap();
    assert_eq!((found.place, found.bar, found.field, found.ulps), (Place::Step(2), 21, "nav", Some(3)));
    right.steps.truncate(2);
    let found = compare_runs(&left, &right).1.unwrap();
    assert_eq!((found.place, found.field), (Place::Step(2), "length"));
}

proptest! {
    #[test]
    fn any_text_and_number_reads_back(decision in any::<String>(), agent in any::<String>(), bits in any::<u64>()) {
        let nav = Some(f64::from_bits(bits)).filter(|nav| nav.is_finite()).unwrap_or(1.0);
        let mut recorder = Recorder::new(header(bits));
        recorder.step(seen(nav), decision, None);
        let record = AgentTrajectory::new(&agent, vec![recorder.end(seen(nav), true)], bits >> 11);
        prop_assert_eq!(AgentTrajectory::from_json(&record.to_json()).unwrap(), record.clone());
        let read = AgentTrajectory::from_lines(record.to_lines().as_bytes()).unwrap();
        prop_assert_eq!(read.record, record);
    }
}
