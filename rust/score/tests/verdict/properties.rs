use std::collections::BTreeSet;

use openoutcry_contract::Submission;
use openoutcry_score::verdict::{Field, Reason, ScoreConfig, Verdict, score_field};
use proptest::prelude::*;

use crate::random_agents::{Market, Noise, held_to, n_undefined};

/// Returns a track: noise, skill, nothing, a ruin, twice the market, or a sliver.
fn track(market: &Market, kind: u8, seed: u64) -> Vec<f64> {
    let n = market.n_days();
    let mut noise = Noise::new(seed);
    match kind {
        0 => noise.normal(n, 0.0, 0.01),
        1 => noise.normal(n, 0.002, 0.01),
        2 => vec![0.0; n],
        3 => {
            let mut gone = noise.normal(n, 0.0, 0.02);
            gone[n / 2] = -1.0;
            gone[n / 2 + 1..].fill(0.0);
            gone
        }
        4 => market.held.iter().map(|r| 2.0 * r).collect(),
        _ => noise.normal(n, 1e-4, 1e-9),
    }
}

fn field(lengths: &[usize], kinds: &[u8], seed: u64) -> (Vec<Submission>, Field) {
    let market = Market::new(lengths, seed);
    let of =
        |(place, kind): (usize, &u8)| market.agent(&place.to_string(), &[track(&market, *kind, seed + place as u64)]);
    let agents: Vec<_> = kinds.iter().enumerate().map(of).collect();
    let scored = score_field(&agents, &held_to(&agents)).unwrap();
    (agents, scored)
}

/// Returns the agents of each band.
fn members(field: &Field) -> Vec<BTreeSet<String>> {
    field.bands.iter().map(|band| band.iter().cloned().collect()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_field_has_a_verdict_on_everyone_and_every_number_is_there_or_says_why(
        lengths in prop::collection::vec(60..130_usize, 1..5),
        kinds in prop::collection::vec(0..6_u8, 1..5),
        seed in 0..1_000_u64,
    ) {
        let (agents, scored) = field(&lengths, &kinds, seed);
        prop_assert_eq!(scored.scores.len(), agents.len());
        for score in &scored.scores {
            let all = score.gates.iter().all(|gate| gate.passed == Some(true));
            prop_assert_eq!(score.verdict == Verdict::Eligible, all);
            prop_assert_eq!(score.reasons.is_empty(), all);
            prop_assert!(score.gates.iter().all(|gate| gate.reason.is_none() == (gate.passed == Some(true))));
            let kind = kinds[score.agent_id.parse::<usize>().unwrap()];
            prop_assert!(kind <= 1 || (score.verdict != Verdict::Eligible));
            prop_assert!(kind <= 1 || kind == 3 || score.rank.is_none(), "{} of kind {kind}", score.agent_id);
        }
        let ranked: usize = scored.bands.iter().map(Vec::len).sum();
        prop_assert_eq!(ranked, scored.scores.iter().filter(|score| score.rank.is_some()).count());
        let value = serde_json::from_str(&scored.to_json()).unwrap();
        prop_assert!(n_undefined(&value) > 0);
    }

    #[test]
    fn copies_lift_nobody(n_copies in 1..4_usize, seed in prop_oneof![Just(797), 0..1_000_u64]) {
        let (agents, alone) = field(&[130, 130], &[1, 0], seed);
        let mut more = agents.clone();
        for copy in 0..n_copies {
            more.push(Submission { agent_id: format!("copy-{copy}"), ..agents[0].clone() });
        }
        let config = ScoreConfig { originals: [agents[0].agent_id.clone()].into(), ..held_to(&more) };
        let padded = score_field(&more, &config).unwrap();
        // Agents of a band do not differ, and the higher hurdle may change the order within it (seed 797).
        prop_assert_eq!(&members(&padded), &members(&alone));
        for score in &alone.scores {
            let same = padded.scores.iter().find(|each| each.agent_id == score.agent_id).unwrap();
            prop_assert!(same.z.unwrap() < score.z.unwrap());
            prop_assert_eq!(same.sides[0].romano_wolf, score.sides[0].romano_wolf);
        }
        let copies = padded.scores.iter().filter(|score| score.reasons.contains(&Reason::Copy));
        prop_assert_eq!(copies.count(), n_copies);
    }
}
