//! A whole agent in Rust: an observation a line in, a decision a line out.
//!
//! `cargo build --release -p openoutcry-contract --example reference-agent`, and then
//! `openoutcry run --agent cmd:target/release/examples/reference-agent`.
//!
//! Fork it: `decide` is yours, the rest is the protocol. In a crate of your own it needs nothing of ours, but
//! `serde = { version = "1", features = ["derive"] }` and `serde_json = { version = "1", features = ["float_roundtrip"] }`.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Write};

use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Observation {
    symbols: Vec<View>,
    portfolio: Vec<Position>,
}

#[derive(Deserialize)]
struct View {
    symbol: String,
    close_history: Vec<f64>,
}

#[derive(Deserialize)]
struct Position {
    symbol: String,
}

/// Returns whether the last close is above the mean of those shown.
fn is_above(view: &View) -> Result<bool, String> {
    let closes = &view.close_history;
    let last = closes.last().ok_or(format!("`{}` must have a close; received none", view.symbol))?;
    Ok(*last > closes.iter().sum::<f64>() / closes.len() as f64)
}

/// Holds what is above its mean, in parts of 1/2, 1/4, 1/8 ..., as large as fit; closes the rest.
fn decide(observation: &Observation) -> Result<Value, String> {
    let held: BTreeSet<&str> = observation.portfolio.iter().map(|position| position.symbol.as_str()).collect();
    let above = observation.symbols.iter().map(is_above).collect::<Result<Vec<bool>, String>>()?;
    let n_above = above.iter().filter(|is_above| **is_above).count();
    let mut weight = 0.5;
    while weight * n_above as f64 > 1.0 {
        weight /= 2.0;
    }
    let mut orders = Vec::new();
    for (View { symbol, .. }, is_above) in observation.symbols.iter().zip(above) {
        if is_above {
            orders.push(json!({"action": "buy", "symbol": symbol, "target_weight": weight}));
        } else if held.contains(symbol.as_str()) {
            orders.push(json!({"action": "close", "symbol": symbol, "target_weight": 0}));
        }
    }
    Ok(json!({"orders": orders}))
}

fn answer(line: &[u8]) -> Result<Value, String> {
    decide(&serde_json::from_slice(line).map_err(|error| error.to_string())?)
}

fn main() -> io::Result<()> {
    let mut decisions = io::stdout().lock();
    for line in io::stdin().lock().split(b'\n') {
        let decision = answer(&line?).unwrap_or_else(|error| {
            eprintln!("reference-agent: holds all, for this is no observation: {error}");
            json!({"orders": []})
        });
        decisions.write_all(format!("{decision}\n").as_bytes())?;
        decisions.flush()?;
    }
    Ok(())
}
