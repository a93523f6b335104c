//! Passive portfolios: benchmarks that use no information on returns.

use std::fmt::Write;

use openoutcry::{Backtest, CostModel, Dataset, Limits, Window, agents};

fn free() -> CostModel {
    CostModel { fee_bps: 0.0, slippage_bps: 0.0, ..CostModel::default() }
}

/// Returns a market of independent symbols with these daily volatilities.
fn market(volatilities: &[f64], n_bars: usize) -> Dataset {
    let mut text = "date,symbol,close\n".to_owned();
    let mut state = 7_u64;
    let mut close = vec![100.0; volatilities.len()];
    for bar in 0..n_bars {
        let date = format!("{}-{:02}-{:02}", 2000 + bar / 336, 1 + bar / 28 % 12, 1 + bar % 28);
        for (symbol, volatility) in volatilities.iter().enumerate() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            close[symbol] *= 1.0 + if state >> 63 == 0 { *volatility } else { -volatility };
            writeln!(text, "{date},S{symbol},{}", close[symbol]).unwrap();
        }
    }
    Dataset::from_csv(&text, Some(252.0)).unwrap()
}

#[test]
fn the_first_is_the_run_of_equal_weight_and_the_second_the_same_without_costs() {
    let data = Dataset::synthetic(4, 200, 3).unwrap();
    let window = Window { start: 19, end: 200 };
    let costs = CostModel { slippage_jitter: 0.5, ..CostModel::default() };
    for limits in [Limits::default(), Limits { max_weight: 0.2, ..Limits::default() }] {
        let backtest = Backtest::new(&data, window, 5, costs).unwrap().with_limits(limits).unwrap();
        let without = Backtest::new(&data, window, 5, free()).unwrap().with_limits(limits).unwrap();
        let passive = backtest.passive().unwrap();
        assert_eq!(passive.len(), 6);
        assert_eq!(passive[0], backtest.run(&mut agents::EqualWeight).unwrap().returns());
        assert_eq!(passive[1], without.run(&mut agents::EqualWeight).unwrap().returns());
        assert!(passive.iter().all(|returns| returns.len() == window.n_decisions()));
    }
}

#[test]
fn risk_is_that_of_the_past_and_parts_are_its_inverse() {
    let (data, window) = (market(&[0.01, 0.02, 0.04], 400), Window { start: 300, end: 321 });
    let passive = Backtest::new(&data, window, 0, free()).unwrap().passive().unwrap();
    let close = |bar: usize, symbol| data.as_of(bar).close(symbol).unwrap();
    let first = |symbol: usize| close(301, symbol) / close(300, symbol) - 1.0;
    let variance = |symbol: usize| {
        let returns: Vec<f64> = (49..301).map(|bar| close(bar, symbol) / close(bar - 1, symbol) - 1.0).collect();
        let mean = returns.iter().sum::<f64>() / 252.0;
        returns.iter().map(|r| (r - mean) * (r - mean)).sum::<f64>() / 251.0
    };
    for portfolio in [3, 4] {
        let risk = |symbol| if portfolio == 3 { variance(symbol).sqrt() } else { variance(symbol) };
        let parts: Vec<f64> = (0..3).map(|symbol| 1.0 / risk(symbol)).collect();
        let total: f64 = parts.iter().sum();
        let expected: f64 = (0..3).map(|symbol| parts[symbol] / total * first(symbol)).sum();
        assert!((passive[portfolio][0] - expected).abs() < 1e-12, "{portfolio}");
    }
    // No later price changes the parts of the first day.
    let shorter = market(&[0.01, 0.02, 0.04], 330);
    assert_eq!(Backtest::new(&shorter, window, 0, free()).unwrap().passive().unwrap(), passive);
}

#[test]
fn minimum_variance_solves_its_equations() {
    // Two symbols that move alike, and one on its own, all of one volatility: the third has more than a third.
    let alone = market(&[0.02, 0.02], 300);
    let mut text = "date,symbol,close\n".to_owned();
    for bar in 0..300 {
        let as_of = alone.as_of(bar);
        for (name, symbol) in [("A", 0), ("B", 0), ("C", 1)] {
            writeln!(text, "{},{name},{}", as_of.date(), as_of.close(symbol).unwrap()).unwrap();
        }
    }
    let data = Dataset::from_csv(&text, Some(252.0)).unwrap();
    let window = Window { start: 270, end: 300 };
    let passive = Backtest::new(&data, window, 0, free()).unwrap().passive().unwrap();
    let returns = |symbol: usize| -> Vec<f64> {
        (18..271)
            .map(|bar| data.as_of(bar).close(symbol).unwrap())
            .collect::<Vec<_>>()
            .windows(2)
            .map(|pair| pair[1] / pair[0] - 1.0)
            .collect()
    };
    let (a, c) = (returns(0), returns(2));
    let mean = |x: &[f64]| x.iter().sum::<f64>() / 252.0;
    let covariance = |x: &[f64], y: &[f64]| {
        let (p, q) = (mean(x), mean(y));
        x.iter().zip(y).map(|(x, y)| (x - p) * (y - q)).sum::<f64>() / 251.0
    };
    let (va, vc, ac) = (covariance(&a, &a), covariance(&c, &c), covariance(&a, &c));
    // Covariances count half: with x for A and B, and y for C, (va + va / 2) x + ac / 2 y = ac x + vc y = 1.
    let determinant = 1.5 * va * vc - ac / 2.0 * ac;
    let (x, y) = ((vc - ac / 2.0) / determinant, (1.5 * va - ac) / determinant);
    let move_of = |symbol: usize| data.as_of(271).close(symbol).unwrap() / data.as_of(270).close(symbol).unwrap() - 1.0;
    let expected = (2.0 * x * move_of(0) + y * move_of(2)) / (2.0 * x + y);
    assert!((passive[5][0] - expected).abs() < 1e-9, "{} instead of {expected}", passive[5][0]);
}

#[test]
fn symbols_without_variance_or_history_have_the_mean_of_the_others() {
    let data = market(&[0.01, 0.0], 60);
    let window = Window { start: 19, end: 60 };
    let passive = Backtest::new(&data, window, 0, free()).unwrap().passive().unwrap();
    // One known symbol: each has half.
    for portfolio in 2..6 {
        assert_eq!(passive[portfolio][0], passive[1][0], "{portfolio}");
        assert!(passive[portfolio].iter().all(|r| r.is_finite()));
    }
    let data = market(&[0.01, 0.03], 30);
    let early = Backtest::new(&data, Window { start: 0, end: 20 }, 0, free()).unwrap();
    let passive = early.passive().unwrap();
    assert!((2..6).all(|portfolio| passive[portfolio] == passive[2]));
}
