use openoutcry_contract::record::{Harness, Tier, Transport};
use openoutcry_score::verdict::{CompositeScore, PassMode, Reason, Unknown, Verdict, score_agent};
use openoutcry_score::{Undefined, normal_distribution};

use crate::random_agents::{Market, Noise, YEAR, held_to, quick, skilled};

const WINDOWS: [usize; 4] = [252; 4];

fn judged(agent: &openoutcry_contract::Submission) -> CompositeScore {
    score_agent(agent, &held_to(std::slice::from_ref(agent))).unwrap()
}

fn passed(score: &CompositeScore, slug: &str) -> Option<bool> {
    score.gates.iter().find(|gate| gate.slug == slug).unwrap().passed
}

#[test]
fn an_agent_of_great_skill_passes_every_gate() {
    let score = judged(&skilled(&Market::new(&WINDOWS, 0), "a", 3.0, 0.4, 1));
    assert_eq!((score.verdict, score.reasons.len(), score.rank), (Verdict::Eligible, 0, Some(1)));
    assert!(score.gates.iter().all(|gate| gate.passed == Some(true)), "{:?}", score.gates);
    assert!((score.markets[0].beta.unwrap() - 0.4).abs() < 0.1);
    let year = score.markets[0].alpha / (0.01 * YEAR.sqrt());
    assert!((year - 3.0).abs() < 1.2, "{year}");
}

#[test]
fn the_deflated_ratio_that_gates_is_that_of_what_ranks() {
    let score = judged(&skilled(&Market::new(&WINDOWS, 0), "a", 1.0, 0.0, 3));
    let dsr = score.gates.iter().find(|gate| gate.slug == "dsr").unwrap().value.unwrap();
    assert_eq!(dsr, normal_distribution::cdf(score.z.unwrap()));
    let least = score.sides.iter().map(|side| side.deflated.unwrap().z).fold(f64::INFINITY, f64::min);
    assert_eq!(score.z, Ok(least));
}

#[test]
fn levered_buy_and_hold_has_no_alpha() {
    let market = Market::new(&WINDOWS, 3);
    let mut lifted = market.held.clone();
    for r in &mut lifted {
        *r = 2.0 * (*r + 0.002);
    }
    let market = Market { held: lifted.iter().map(|r| r / 2.0).collect(), ..market };
    let score = judged(&market.agent("a", &[lifted]));
    assert_eq!(score.verdict, Verdict::NotEligible);
    assert_eq!((passed(&score, "alpha"), score.rank), (Some(false), None));
    // Over cash it looks like certain skill.
    assert!(score.sides[1].deflated.unwrap().dsr > 0.99);
}

#[test]
fn what_earns_as_much_as_cash_does_has_no_skill_over_cash() {
    let market = Market::new(&WINDOWS, 0);
    let rates = Noise::new(8).normal(market.n_days(), 0.0002, 1e-6);
    let mut agent = market.agent("a", &[Noise::new(9).normal(market.n_days(), 0.0, 0.001)]);
    let mut day = 0;
    for run in &mut agent.runs {
        let n = run.returns.len();
        run.returns.iter_mut().zip(&rates[day..]).for_each(|(r, rate)| *r += rate);
        run.risk_free = Some(rates[day..day + n].to_vec());
        day += n;
    }
    let score = judged(&agent);
    assert!(score.metrics.iter().any(|(name, value)| *name == "cagr" && value.unwrap() > 0.04));
    assert!(score.sides[1].deflated.unwrap().dsr < 0.9);
    // The same returns, with no interest on cash.
    for run in &mut agent.runs {
        run.risk_free = None;
    }
    assert!(judged(&agent).sides[1].deflated.unwrap().dsr > 0.99);
}

#[test]
fn a_track_that_hardly_moves_is_degenerate() {
    let market = Market::new(&WINDOWS, 0);
    let n = market.n_days();
    let smooth = judged(&market.agent("a", &[Noise::new(1).normal(n, 0.0001, 1e-9)]));
    assert!(smooth.reasons.contains(&Reason::LowVolatility), "{:?}", smooth.reasons);
    assert_eq!((smooth.verdict, smooth.rank), (Verdict::NotEligible, None));
    let idle = judged(&market.agent("a", &[vec![0.0; n]]));
    assert_eq!(idle.verdict, Verdict::NotEligible);
    assert!(idle.z.is_err() && passed(&idle, "dsr").is_none());
    assert!(idle.reasons.contains(&Reason::LowVolatility) && idle.reasons.contains(&Reason::LowAlpha));
}

#[test]
fn one_window_or_too_few_days_are_insufficient() {
    let one = Market::new(&[1_000], 0);
    let few = Market::new(&[120, 120], 0);
    for market in [one, few] {
        let score = judged(&skilled(&market, "a", 5.0, 0.0, 1));
        assert_eq!(score.verdict, Verdict::Insufficient);
        assert_eq!(score.reasons[0], Reason::Insufficient);
    }
}

#[test]
fn returns_without_decisions_or_without_a_benchmark_are_unknown() {
    let market = Market::new(&WINDOWS, 0);
    let mut agent = skilled(&market, "a", 3.0, 0.0, 1);
    agent.runs[2].trace = None;
    let score = judged(&agent);
    assert_eq!((score.verdict, score.reasons), (Verdict::Unknown, vec![Reason::NoTrace]));
    assert_eq!(score.rank, Some(1));
    assert!(score.diagnostics.delayed_sharpe.is_err());
    for run in &mut agent.runs {
        run.benchmarks = None;
    }
    let score = judged(&agent);
    assert_eq!(score.verdict, Verdict::Unknown);
    assert!(score.reasons.contains(&Reason::NoBenchmark));
    assert!(score.z.is_ok());
}

#[test]
fn faults_above_the_budget_block_and_events_do_not() {
    let market = Market::new(&WINDOWS, 0);
    let mut agent = skilled(&market, "a", 3.0, 0.0, 1);
    let counts = |agent: &mut openoutcry_contract::Submission, n: u64| {
        let trace = agent.runs[0].trace.as_mut().unwrap();
        trace.faults = [("timeout".to_owned(), n)].into();
        trace.events = [("limited", 500), ("refused", 500), ("unfilled", 500)].into();
    };
    counts(&mut agent, 10);
    let score = judged(&agent);
    assert_eq!(score.verdict, Verdict::Eligible);
    assert_eq!(score.process.events.unwrap()["refused"], 500);
    counts(&mut agent, 11);
    let score = judged(&agent);
    assert_eq!((score.verdict, score.reasons, score.rank), (Verdict::NotEligible, vec![Reason::Faults], None));
}

#[test]
fn faults_of_infrastructure_above_the_budget_leave_the_gate_unknown() {
    let market = Market::new(&WINDOWS, 0);
    let mut agent = skilled(&market, "a", 3.0, 0.0, 1);
    let counts = |agent: &mut openoutcry_contract::Submission, own: u64, other: u64| {
        let told = [("agent_late".to_owned(), own), ("agent_unreachable".to_owned(), other)];
        agent.runs[0].trace.as_mut().unwrap().faults = told.into();
        judged(agent)
    };
    let gate_of = |score: &CompositeScore| *score.gates.iter().find(|gate| gate.slug == "process").unwrap();
    let score = counts(&mut agent, 10, 10);
    assert_eq!(score.verdict, Verdict::Eligible);
    assert_eq!(gate_of(&score).value.unwrap().to_bits(), (10.0_f64 / 1008.0).to_bits());
    assert_eq!(score.process.faults, Ok([("agent_late".to_owned(), 10)].into()));
    assert_eq!(score.process.infrastructure_faults, Ok([("agent_unreachable".to_owned(), 10)].into()));
    let score = counts(&mut agent, 10, 11);
    assert_eq!((score.verdict, &score.reasons), (Verdict::Unknown, &vec![Reason::Infrastructure]));
    let gate = gate_of(&score);
    assert_eq!((gate.passed, gate.value.unwrap().to_bits()), (None, (11.0_f64 / 1008.0).to_bits()));
    let score = counts(&mut agent, 11, 500);
    assert_eq!((score.verdict, score.reasons), (Verdict::NotEligible, vec![Reason::Faults]));
}

#[test]
fn a_board_shows_the_least_tier_of_all_runs_and_any_network() {
    let market = Market::new(&WINDOWS, 0);
    let mut agent = skilled(&market, "a", 3.0, 0.0, 1);
    let shown = |agent: &mut openoutcry_contract::Submission, harnesses: &[Option<Harness>]| {
        for (run, harness) in agent.runs.iter_mut().zip(harnesses.iter().cycle()) {
            run.trace.as_mut().unwrap().harness = *harness;
        }
        let process = judged(agent).process;
        (process.isolation.unwrap().name(), process.network)
    };
    let of = |tier, allow_net| Some(Harness { allow_net, tier, transport: Transport::Stdio });
    assert_eq!(shown(&mut agent, &[of(Tier::T3, false)]), ("T3", Ok(false)));
    assert_eq!(shown(&mut agent, &[of(Tier::T3, false), of(Tier::T1, true)]), ("T1", Ok(true)));
    assert_eq!(shown(&mut agent, &[of(Tier::T0, true), None]), ("in process", Ok(true)));
    assert_eq!(shown(&mut agent, &[of(Tier::T2, false), None]), ("in process", Err(Unknown::InProcess)));
    agent.runs[1].trace = None;
    let process = judged(&agent).process;
    assert_eq!((process.isolation, process.network), (Err(Unknown::NoTrace), Err(Unknown::NoTrace)));
    assert_eq!(process.infrastructure_faults, Err(Unknown::NoTrace));
}

#[test]
fn a_mandate_holds_for_every_run() {
    let market = Market::new(&WINDOWS, 0);
    let good = skilled(&market, "a", 3.0, 0.0, 1);
    let mut bold = good.clone();
    bold.runs[3].trace.as_mut().unwrap().gross[17] = 2.5;
    assert_eq!(judged(&bold).reasons, [Reason::Exposure]);
    let mut gone = good.clone();
    gone.runs[1].terminated_at = Some(251);
    assert_eq!(judged(&gone).reasons, [Reason::Terminated]);
    let mut config = held_to(std::slice::from_ref(&good));
    config.gates.max_drawdown = 0.01;
    let score = score_agent(&good, &config).unwrap();
    assert_eq!(score.reasons, [Reason::Drawdown]);
}

#[test]
fn trials_that_are_declared_or_counted_deflate() {
    let market = Market::new(&WINDOWS, 0);
    let mut agent = skilled(&market, "a", 2.0, 0.0, 2);
    let alone = judged(&agent);
    let mut config = quick();
    config.trials.n_trials = 1_000;
    let counted = score_agent(&agent, &config).unwrap();
    agent.in_sample_trials = 500;
    let both = score_agent(&agent, &config).unwrap();
    assert_eq!((counted.selection.n_trials, both.selection.n_trials), (1_000, 1_500));
    assert!(alone.z.unwrap() > counted.z.unwrap() && counted.z.unwrap() > both.z.unwrap());
    config.trials.n_trials = 0;
    assert_eq!(score_agent(&agent, &config).unwrap().selection.n_trials, 501);
}

#[test]
fn a_window_far_below_the_benchmark_blocks_and_so_do_too_few_wins() {
    let market = Market::new(&WINDOWS, 0);
    let mut returns = Noise::new(1).normal(market.n_days(), 0.006, 0.01);
    returns[..252].iter_mut().for_each(|r| *r -= 0.010);
    let agent = market.agent("a", &[returns]);
    let mut config = held_to(std::slice::from_ref(&agent));
    config.gates.max_drawdown = 1.0;
    let score = score_agent(&agent, &config).unwrap();
    assert_eq!(score.reasons, [Reason::WindowBelow]);
    // Of 6 windows all must be wins.
    let market = Market::new(&[100; 6], 0);
    let mut returns = Noise::new(2).normal(600, 0.006, 0.01);
    returns[..100].iter_mut().for_each(|r| *r -= 0.0065);
    let agent = market.agent("a", &[returns]);
    config.windows = held_to(std::slice::from_ref(&agent)).windows;
    let score = score_agent(&agent, &config).unwrap();
    assert_eq!((score.reasons, score.n_won), (vec![Reason::TooFewWins], 5));
}

#[test]
fn the_rank_is_of_the_seed_in_the_middle_and_not_of_the_mean() {
    let market = Market::new(&WINDOWS, 0);
    let seeds: Vec<Vec<f64>> = (0..5).map(|seed| Noise::new(seed).normal(market.n_days(), 0.0004, 0.01)).collect();
    let together = judged(&market.agent("a", &seeds));
    let mut alone: Vec<f64> =
        seeds.iter().map(|seed| judged(&market.agent("a", std::slice::from_ref(seed))).z.unwrap()).collect();
    alone.sort_by(f64::total_cmp);
    assert_eq!(together.z, Ok(alone[2]));
    let n = market.n_days();
    let mean: Vec<f64> = (0..n).map(|day| seeds.iter().map(|seed| seed[day]).sum::<f64>() / 5.0).collect();
    assert!(judged(&market.agent("a", &[mean])).z.unwrap() > together.z.unwrap());
}

#[test]
fn passing_every_seed_of_every_window_is_reported_or_a_gate() {
    let market = Market::new(&WINDOWS, 0);
    let seeds: Vec<Vec<f64>> = (0..3).map(|seed| Noise::new(seed).normal(market.n_days(), 0.0015, 0.01)).collect();
    let agent = market.agent("a", &seeds);
    let score = judged(&agent);
    let clear: Vec<usize> = score.windows.iter().map(|window| window.n_passed).collect();
    assert!(clear.iter().any(|n| *n < 3) && clear.iter().any(|n| *n > 1), "{clear:?}");
    assert_eq!(score.pass_k.rates.len(), 3);
    assert!((score.pass_k.rates[0] - clear.iter().sum::<usize>() as f64 / 12.0).abs() < 1e-15);
    assert!(!score.pass_k.passed && score.gates.iter().all(|gate| gate.slug != "pass_k"));
    let mut config = quick();
    config.gates.pass_mode = PassMode::All;
    assert!(score_agent(&agent, &config).unwrap().reasons.contains(&Reason::NotAllPass));
}

#[test]
fn what_decides_nothing_stands_beside_or_says_why_not() {
    let market = Market::new(&WINDOWS, 0);
    let mut agent = skilled(&market, "a", 2.0, 0.0, 2);
    for run in &mut agent.runs {
        run.trace.as_mut().unwrap().delayed.iter_mut().for_each(|r| *r -= 0.002);
    }
    let score = judged(&agent);
    let diagnostics = &score.diagnostics;
    assert!(diagnostics.delayed_sharpe.unwrap() < score.sides[1].sharpe.unwrap() - 2.0);
    assert!(diagnostics.worst_rolling_sharpe.unwrap() < score.sides[0].sharpe.unwrap());
    assert_eq!(diagnostics.capacity.unwrap_err().slug(), "not_measured");
    assert_eq!(diagnostics.decay.unwrap_err().slug(), "no_sample");
    assert_eq!(
        diagnostics.calibration.as_ref().unwrap_err().slug(),
        Undefined::TooShort { required: 1, received: 0 }.slug()
    );
    // 10 bps of a daily turnover of a tenth of NAV are ten times the paid costs.
    assert!(diagnostics.dsr_at_common_cost.unwrap() < score.sides[0].deflated.unwrap().dsr);
    let mut config = quick();
    config.gates.n_in_sample = 2;
    agent.capacity = Some(1e7);
    let score = score_agent(&agent, &config).unwrap();
    assert!(score.diagnostics.decay.is_ok());
    assert_eq!(score.diagnostics.capacity, Ok(1e7));
}
