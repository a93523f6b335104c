//! A complete agent in Rust: one observation per line in, one decision per line out.
//!
//! `cargo build --release -p openoutcry-contract --example reference-agent`, and then
//! `openoutcry run --agent cmd:target/release/examples/reference-agent`.
//!
//! Replace `decide`; the rest is the protocol. In your own crate it needs only
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

/// Returns whether the last close is above the mean of the close history.
fn is_above(view: &View) -> Result<bool, String> {
    let closes = &view.close_history;
    let last = closes.last().ok_or(format!("`{}` must have a close; received none", view.symbol))?;
    Ok(*last > closes.iter().sum::<f64>() / closes.len() as f64)
}

/// Holds the symbols above their mean, each with the largest of 1/2, 1/4, 1/8, ... that fits; closes the others.
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

fn decide_line(line: &[u8]) -> Result<Value, String> {
    decide(&serde_json::from_slice(line).map_err(|error| error.to_string())?)
}

fn main() -> io::Result<()> {
    let mut decisions = io::stdout().lock();
    for line in io::stdin().lock().split(b'\n') {
        let decision = decide_line(&line?).unwrap_or_else(|error| {
            eprintln!("reference-agent: invalid observation, holds all positions: {error}");
            json!({"orders": []})
        });
        decisions.write_all(format!("{decision}\n").as_bytes())?;
        decisions.flush()?;
    }
    Ok(())
}
