use openoutcry_engine::{Event, StepCosts, Stepped};

use crate::json;
use crate::orders::Refusal;

/// What a step had to say beside the observation, for the harness and not for the agent.
#[derive(Clone, Copy, Debug)]
pub struct StepInfo<'a> {
    /// Names of the symbols by index.
    pub symbols: &'a [String],
    /// The numbers of the step; none after a reset.
    pub stepped: Option<&'a Stepped>,
    /// NAV at the close of the fill bar.
    pub nav: f64,
    /// Orders refused by name.
    pub refusals: &'a [Refusal],
    /// What happened, in the order of the timeline.
    pub events: &'a [Event],
}

impl StepInfo<'_> {
    /// Appends the canonical JSON of this info.
    ///
    /// # Panics
    ///
    /// Panics if a number is not finite, which no engine produces.
    pub fn write_json(&self, text: &mut String) {
        text.push('{');
        if let Some(stepped) = self.stepped {
            json::push_key(text, "costs");
            push_costs(text, &stepped.costs);
            push_field(text, "dividends", stepped.dividends);
        }
        json::push_key(text, "events");
        text.push('[');
        for refusal in self.refusals {
            let numbers = [Some(("weight", refusal.weight)), None];
            push_event(text, "refused", Some(refusal.reason.slug()), Some(&refusal.symbol), numbers);
        }
        for event in self.events {
            let symbol = event.symbol().map(|symbol| self.symbols[symbol].as_str());
            push_event(text, event.slug(), event.reason(), symbol, event.numbers());
        }
        text.push(']');
        if let Some(stepped) = self.stepped {
            push_field(text, "interest", stepped.interest);
        }
        push_field(text, "nav", self.nav);
        if let Some(stepped) = self.stepped {
            push_field(text, "settlement", stepped.settlement);
            push_field(text, "turnover", stepped.turnover);
        }
        text.push('}');
    }
}

fn push_field(text: &mut String, name: &str, value: f64) {
    json::push_key(text, name);
    json::push_number(text, value);
}

fn push_costs(text: &mut String, costs: &StepCosts) {
    let mut kinds: Vec<(&str, f64)> = StepCosts::KINDS.into_iter().zip(costs.by_kind()).collect();
    kinds.sort_by_key(|(name, _)| *name);
    text.push('{');
    for (name, value) in kinds {
        push_field(text, name, value);
    }
    text.push('}');
}

fn push_event(
    text: &mut String,
    slug: &str,
    reason: Option<&str>,
    symbol: Option<&str>,
    numbers: [Option<(&'static str, f64)>; 2],
) {
    if text.ends_with('}') {
        text.push(',');
    }
    text.push('{');
    let mut numbers: Vec<(&str, f64)> = numbers.into_iter().flatten().collect();
    numbers.sort_by_key(|(name, _)| *name);
    for (name, value) in numbers.iter().filter(|(name, _)| *name < "reason") {
        push_field(text, name, *value);
    }
    if let Some(reason) = reason {
        json::push_key(text, "reason");
        json::push_string(text, reason);
    }
    for (name, value) in numbers.iter().filter(|(name, _)| (*name > "reason") && (*name < "slug")) {
        push_field(text, name, *value);
    }
    json::push_key(text, "slug");
    json::push_string(text, slug);
    if let Some(symbol) = symbol {
        json::push_key(text, "symbol");
        json::push_string(text, symbol);
    }
    for (name, value) in numbers.iter().filter(|(name, _)| *name > "symbol") {
        push_field(text, name, *value);
    }
    text.push('}');
}
