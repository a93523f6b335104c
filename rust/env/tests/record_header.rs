//! Checks of versions and markets in record headers.

mod shared;

use openoutcry::record::{AgentTrajectory, DatasetName, Digest, Place, RunTrajectory};
use openoutcry::{Backtest, Cause, CostModel, Dataset, Terms, Window, agents, replay_run, submit};
use shared::forged;

fn captured(data: &Dataset) -> RunTrajectory {
    let window = Window { start: 19, end: 50 };
    let backtest = Backtest::new(data, window, 0, CostModel::default()).unwrap().with_name("a market");
    backtest.capture(&mut agents::Momentum).unwrap().1
}

type Change = fn(&mut RunTrajectory);

#[test]
fn a_header_that_says_what_cannot_be_is_no_record_of_a_run() {
    let data = Dataset::synthetic(4, 60, 1).unwrap();
    let known = |commitment| DatasetName {
        commitment,
        fingerprint: captured(&data).header.dataset.fingerprint,
        name: captured(&data).header.dataset.name,
    };
    let (open, sealed) = (known(None), known(Some(Digest([7; 32]))));
    let lies: [(Change, &DatasetName, &str, Cause); 6] = [
        (|run| run.header.engine_version = "0.0.9".into(), &open, "engine_version", Cause::VersionUnknown),
        (|run| run.header.engine_version = "99.0.0".into(), &open, "engine_version", Cause::VersionUnknown),
        (|run| run.header.contract_version = "7.3".into(), &open, "contract_version", Cause::VersionUnknown),
        (|run| run.header.dataset.name.push('!'), &open, "dataset.name", Cause::MarketName),
        (|run| run.header.dataset.commitment = Some(Digest([9; 32])), &open, "dataset.commitment", Cause::MarketName),
        (|run| run.header.dataset.commitment = Some(Digest([9; 32])), &sealed, "dataset.commitment", Cause::Data),
    ];
    for (lie, market, field, cause) in lies {
        let mut run = captured(&data);
        lie(&mut run);
        let run = forged(&run);
        let terms = Terms { markets: std::slice::from_ref(market), ..Terms::default() };
        let found: Vec<_> = replay_run(&data, &run, &terms).unwrap().differences;
        let told: Vec<_> = found.iter().map(|each| (each.place, each.field, each.cause)).collect();
        assert_eq!(told, [(Place::Header, field, cause)]);
        let error = submit(&[&data], &AgentTrajectory::new("x", vec![run], 0), &terms).unwrap_err();
        assert_eq!(error.slug(), "record_differs");
        assert!(error.to_string().contains(field), "{error}");
    }
    // Omissions are valid, and the record is trusted for an unknown market.
    let run = captured(&data);
    for market in [&open, &sealed] {
        let terms = Terms { markets: std::slice::from_ref(market), ..Terms::default() };
        assert!(replay_run(&data, &run, &terms).unwrap().is_verified());
    }
    let mut named = run;
    named.header.dataset.name.push('!');
    assert!(replay_run(&data, &forged(&named), &Terms::default()).unwrap().is_verified());
}
