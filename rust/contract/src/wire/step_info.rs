use openoutcry_engine::{Event, StepCosts, Stepped};

use crate::wire::canonical_json;
use crate::wire::orders::Refusal;

/// The info of a step for the harness, not for the agent.
#[derive(Clone, Copy, Debug)]
pub struct StepInfo<'a> {
    /// Names of the symbols by index.
    pub symbols: &'a [String],
    /// The outcome of the step; absent after a reset.
    pub stepped: Option<&'a Stepped>,
    /// NAV at the close of the fill bar.
    pub nav: f64,
    /// Whether the market has funding.
    pub has_funding: bool,
    /// Orders with unknown names.
    pub refusals: &'a [Refusal],
    /// Events in the order of the timeline.
    pub events: &'a [Event],
}

impl StepInfo<'_> {
    /// Appends the canonical JSON of this info.
    ///
    /// # Panics
    ///
    /// Panics if a number is not finite. No engine creates one.
    pub fn write_json(&self, text: &mut String) {
        text.push('{');
        if let Some(stepped) = self.stepped {
            canonical_json::push_key(text, "costs");
            push_costs(text, &stepped.costs);
            push_field(text, "dividends", stepped.dividends);
        }
        canonical_json::push_key(text, "events");
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
            if self.has_funding {
                push_field(text, "funding", stepped.funding);
            }
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
    canonical_json::push_key(text, name);
    canonical_json::push_number(text, value);
}

fn push_costs(text: &mut String, costs: &StepCosts) {
    text.push('{');
    push_field(text, "borrow", costs.borrow);
    push_field(text, "fee", costs.fee);
    push_field(text, "financing", costs.financing);
    push_field(text, "impact", costs.impact);
    push_field(text, "liquidation", costs.liquidation);
    push_field(text, "slippage", costs.slippage);
    text.push('}');
}

fn push_event(
    text: &mut String,
    slug: &str,
    reason: Option<&str>,
    symbol: Option<&str>,
    mut numbers: [Option<(&'static str, f64)>; 2],
) {
    if text.ends_with('}') {
        text.push(',');
    }
    text.push('{');
    numbers.sort_by_key(|number| number.map(|(name, _)| name));
    let push_numbers = |text: &mut String, after: &str, before: &str| {
        for (name, value) in numbers.iter().flatten().filter(|(name, _)| *name > after && *name < before) {
            push_field(text, name, *value);
        }
    };
    push_numbers(text, "", "reason");
    if let Some(reason) = reason {
        canonical_json::push_key(text, "reason");
        canonical_json::push_string(text, reason);
    }
    push_numbers(text, "reason", "slug");
    canonical_json::push_key(text, "slug");
    canonical_json::push_string(text, slug);
    if let Some(symbol) = symbol {
        canonical_json::push_key(text, "symbol");
        canonical_json::push_string(text, symbol);
    }
    push_numbers(text, "symbol", "~");
    text.push('}');
}
