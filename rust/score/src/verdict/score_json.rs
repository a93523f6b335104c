//! Scores as JSON.
//!
//! A missing number is null, and the field `undefined` of the object has its reason.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde_json::{Map, Value, json};

use super::diagnostics::Diagnostics;
use super::{
    CompositeScore, Edition, ExecutionDelay, Field, Gate, LuckFloor, LuckFloorAgent, Market, Process, Reason, Sealed,
    Separation, Side, WindowScore,
};
use crate::FieldTests;
use crate::skill::power::Power;
use crate::skill::{Calibration, Decay, Deflated, Selection};

/// A JSON object in progress.
#[derive(Default)]
struct Object {
    fields: Map<String, Value>,
    undefined: Map<String, Value>,
}

impl Object {
    fn set(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    /// Sets a field of later editions, which older ones do not have.
    fn set_some(self, name: &str, value: Option<Value>) -> Self {
        match value {
            Some(value) => self.set(name, value),
            None => self,
        }
    }

    fn number<E: Display>(self, name: &str, number: Result<f64, E>) -> Self {
        self.maybe(name, number, Value::from)
    }

    fn maybe<T, E: Display>(mut self, name: &str, found: Result<T, E>, of: impl FnOnce(T) -> Value) -> Self {
        match found {
            Ok(value) => self.set(name, of(value)),
            Err(why) => {
                self.undefined.insert(name.to_owned(), why.to_string().into());
                self.set(name, Value::Null)
            }
        }
    }

    /// Returns the object, with `undefined` if a number is missing.
    fn done(mut self) -> Value {
        if !self.undefined.is_empty() {
            self.fields.insert("undefined".to_owned(), Value::Object(self.undefined));
        }
        Value::Object(self.fields)
    }
}

fn list<T>(each: &[T], of: impl Fn(&T) -> Value) -> Value {
    Value::Array(each.iter().map(of).collect())
}

fn counts<K: ToString>(counts: &BTreeMap<K, u64>) -> Value {
    Value::Object(counts.iter().map(|(key, n)| (key.to_string(), Value::from(*n))).collect())
}

impl Field {
    /// Returns the field as a JSON object.
    #[must_use]
    pub fn to_json(&self) -> String {
        let object = Object::default().set("scores", list(&self.scores, score)).set("bands", json!(self.bands));
        let object = self.tests.iter().fold(object, |object, (name, tested)| {
            object.maybe(&format!("tests_{}", key(name)), tested.as_ref(), tests)
        });
        let object = object
            .number("overfit", self.overfit.as_ref().map(|found| found.probability))
            .maybe("power", self.power, |power| of_power(&power))
            .set("separation", self.separation.as_ref().map_or(Value::Null, separation))
            .set("luck_floor", self.luck_floor.as_ref().map_or(Value::Null, luck_floor));
        // Boards of the first edition are older than its name.
        let object = match self.edition {
            Edition::First => object,
            edition @ (Edition::Second | Edition::Third) => object.set("edition", edition.number()),
        };
        object.done().to_string()
    }
}

impl CompositeScore {
    /// Returns the score as a JSON object.
    #[must_use]
    pub fn to_json(&self) -> String {
        score(self).to_string()
    }
}

fn score(of: &CompositeScore) -> Value {
    let metrics = of.metrics.iter().fold(Object::default(), |object, (name, value)| object.number(name, *value));
    let (slugs, because) = reasons(&of.reasons);
    let pass_k = json!({"rates": of.pass_k.rates, "passed": of.pass_k.passed});
    let object = Object::default()
        .set("agent_id", of.agent_id.as_str())
        .set("digest", of.digest.map_or(Value::Null, |digest| digest.to_string().into()))
        .set("verdict", of.verdict.slug())
        .set("reasons", slugs)
        .set("because", because)
        .set("gates", list(&of.gates, gate))
        .set("sealed", of.sealed.as_ref().map_or(Value::Null, sealed))
        .set("copy_of", of.copy_of.clone().map_or(Value::Null, Value::from))
        .set("rank", of.rank.map_or(Value::Null, Value::from))
        .number("z", of.z)
        .set("seed_z", list(&of.seed_z, |z| z.map_or(Value::Null, Value::from)))
        .number("above_luck", of.above_luck)
        .set("n_days", of.n_days)
        .set("n_returns", of.n_returns)
        .set("n_windows", of.windows.len())
        .set("n_seeds", of.n_seeds)
        .set("periods_per_year", of.periods_per_year)
        .set("declared", of.declared)
        .set("trials", selection(&of.selection))
        .set("metrics", metrics.done())
        .set("sides", list(&of.sides, side))
        .set("markets", list(&of.markets, market))
        .set("windows", list(&of.windows, |each| window(each, &of.sides)))
        .set("n_won", of.n_won)
        .set("pass_k", pass_k)
        .set("process", process(&of.process))
        .set("diagnostics", diagnostics(&of.diagnostics));
    object.done()
}

/// Returns reasons as slugs and phrases.
fn reasons(of: &[Reason]) -> (Vec<&'static str>, Vec<&'static str>) {
    of.iter().map(|reason| (reason.slug(), reason.description())).unzip()
}

fn sealed(of: &Sealed) -> Value {
    let (slugs, because) = reasons(&of.reasons);
    let object = Object::default()
        .set("verdict", of.verdict.slug())
        .set("reasons", slugs)
        .set("because", because)
        .set("gates", list(&of.gates, gate))
        .number("z", of.z)
        .set("n_windows", of.n_windows)
        .set("n_days", of.n_days);
    object.done()
}

fn gate(gate: &Gate) -> Value {
    let object = Object::default()
        .set("slug", gate.slug)
        .set("passed", gate.passed.map_or(Value::Null, Value::from))
        .number("value", gate.value)
        .set("bound", gate.bound.map_or(Value::Null, Value::from))
        .set("reason", gate.reason.map_or(Value::Null, |reason| reason.slug().into()));
    object.done()
}

fn selection(of: &Selection) -> Value {
    json!({"n_trials": of.n_trials, "n_returns": of.n_returns, "spread": of.spread, "n_eff": of.n_eff})
}

fn deflated(of: &Deflated) -> Value {
    json!({
        "n_trials": of.n_trials, "n_eff": of.n_eff, "sigma": of.sigma, "sr0": of.sr0, "psr": of.psr, "dsr": of.dsr,
        "z": of.z, "sharpe": of.moments.sharpe, "skew": of.moments.skew, "kurtosis": of.moments.kurtosis,
        "n_returns": of.moments.n_returns,
    })
}

fn side(of: &Side) -> Value {
    let hac = |hac: crate::Hac| json!({"standard_error": hac.standard_error, "lags": hac.lags, "autocorrelation": hac.autocorrelation});
    let object = Object::default()
        .set("name", of.name)
        .number("mean", of.mean)
        .number("sharpe", of.sharpe)
        .number("standard_error", of.standard_error)
        .maybe("deflated", of.deflated.as_ref(), deflated)
        .maybe("hac", of.hac, hac)
        .number("min_track_record", of.min_track_record)
        .number("p_value", of.alone)
        .set("sign_flip", of.sign_flip.map_or(Value::Null, Value::from))
        .number("romano_wolf", of.romano_wolf)
        .number("false_discovery", of.false_discovery);
    object.done()
}

fn market(of: &Market) -> Value {
    let object = Object::default()
        .set("dataset", of.dataset.map_or(Value::Null, |digest| digest.to_string().into()))
        .set("name", of.name.as_str())
        .set("n_days", of.n_days)
        .set("alpha", of.alpha)
        .number("alpha_error", of.alpha_error)
        .number("beta", of.beta);
    object.done()
}

/// Returns the name of a benchmark as part of a field.
fn key(name: &str) -> String {
    name.replace('-', "_")
}

fn window(of: &WindowScore, sides: &[Side]) -> Value {
    let (first, last) = of.dates.clone().unzip();
    let object = Object::default()
        .set("dataset", of.key.dataset.map_or(Value::Null, |digest| digest.to_string().into()))
        .set("name", of.name.as_str())
        .set("start", of.key.start)
        .set("end", of.key.end)
        .set("first", first)
        .set("last", last)
        .set("n_days", of.n_days)
        .set("n_returns", of.n_returns)
        .set("n_seeds", of.n_seeds)
        .set("n_passed", of.n_passed)
        .number("return", of.return_)
        .number("vol", of.volatility);
    let by_name = sides.iter().map(|side| key(side.name)).zip(of.z.iter().zip(&of.p_below));
    let object = by_name.fold(object, |object, (name, (z, p_below))| {
        object.number(&format!("z_{name}"), *z).number(&format!("p_below_{name}"), *p_below)
    });
    object.done()
}

fn process(of: &Process) -> Value {
    let object = Object::default()
        .set("n_decisions", of.n_decisions)
        .maybe("isolation", of.isolation, |isolation| isolation.name().into())
        .maybe("network", of.network, Value::from)
        .maybe("faults", of.faults.as_ref(), counts)
        .maybe("infrastructure_faults", of.infrastructure_faults.as_ref(), counts)
        .maybe("events", of.events.as_ref(), counts)
        .set("n_terminated", of.n_terminated)
        .number("worst_drawdown", of.worst_drawdown)
        .number("largest_gross", of.largest_gross);
    object.done()
}

fn diagnostics(of: &Diagnostics) -> Value {
    let object = Object::default()
        .number("delayed_sharpe", of.delayed_sharpe)
        .set_some("delay", of.delay.map(|found| delay(&found)))
        .number("dsr_at_common_cost", of.dsr_at_common_cost)
        .number("break_even_bps", of.break_even_bps)
        .number("capacity", of.capacity)
        .number("worst_rolling_sharpe", of.worst_rolling_sharpe)
        .maybe("decay", of.decay, |found| decay(&found))
        .maybe("calibration", of.calibration.as_ref(), calibration);
    object.done()
}

fn delay(of: &ExecutionDelay) -> Value {
    let object = Object::default()
        .number("sharpe", of.sharpe)
        .number("delayed", of.delayed)
        .number("lost", of.lost)
        .set("is_sensitive", of.is_sensitive);
    object.done()
}

fn decay(of: &Decay) -> Value {
    let object = Object::default()
        .set("in_sample", of.in_sample)
        .set("out_of_sample", of.out_of_sample)
        .number("decay", of.decay)
        .number("z", of.z);
    object.done()
}

fn calibration(of: &Calibration) -> Value {
    let bin = |bin: &crate::skill::Bin| {
        let object = Object::default()
            .set("low", bin.low)
            .set("high", bin.high)
            .set("n_orders", bin.n_orders)
            .number("confidence", bin.confidence)
            .number("hit_rate", bin.hit_rate);
        object.done()
    };
    let object = Object::default()
        .set("n_stated", of.n_stated)
        .set("n_absent", of.n_absent)
        .set("n_flat", of.n_flat)
        .set("confidence", of.confidence)
        .set("hit_rate", of.hit_rate)
        .set("brier", of.brier)
        .number("brier_skill", of.brier_skill)
        .set("expected_error", of.expected_error)
        .set("bins", list(&of.bins, bin));
    object.done()
}

fn tests(of: &FieldTests) -> Value {
    json!({
        "reality_check": of.reality_check, "spa_lower": of.spa_lower, "spa_consistent": of.spa_consistent,
        "spa_upper": of.spa_upper, "n_agents": of.romano_wolf.len(), "block_length": of.block_length,
    })
}

fn of_power(of: &Power) -> Value {
    let object = Object::default()
        .set("n_returns", of.board.n_returns)
        .set("n_agents", of.board.n_agents)
        .set("sharpe", of.board.sharpe)
        .set("standard_error", of.standard_error)
        .set("best_expected", of.best_expected)
        .set("best_quantile", of.best_quantile)
        .number("min_sharpe", of.min_sharpe)
        .set("min_gap", of.min_gap)
        .set("n_needed", of.n_needed)
        .set("years_needed", of.years_needed)
        .set("tracks_needed", of.tracks_needed)
        .set("sentence", of.sentence());
    object.done()
}

fn separation(of: &Separation) -> Value {
    let object = Object::default()
        .set("first", of.first.as_str())
        .set("second", of.second.as_str())
        .number("difference", of.difference)
        .number("standard_error", of.standard_error)
        .number("n_needed", of.n_needed)
        .set("n_days", of.n_days);
    object.done()
}

fn luck_floor(of: &LuckFloor) -> Value {
    let five = |[least, low, middle, high, most]: [f64; 5]| json!({"min": least, "p5": low, "p50": middle, "p95": high, "max": most});
    let object = Object::default()
        .set("n_agents", of.n_agents)
        .set("n_defined", of.n_defined)
        .maybe("sharpe", of.sharpe, five)
        .number("best_z", of.best_z)
        .set("each", list(&of.each, lucky));
    object.done()
}

fn lucky(of: &LuckFloorAgent) -> Value {
    let object = Object::default().set("agent_id", of.agent_id.as_str()).number("sharpe", of.sharpe).number("z", of.z);
    object.done()
}
