//! Divergences of a record from its replay, and their likely causes.

use openoutcry_contract::CONTRACT_VERSIONS;
use openoutcry_contract::record::{Digest, Header, Place, RunTrajectory, Seen, ulps_between};
use openoutcry_engine::{ConfigError, Dataset, counted};

use crate::replay::capture::ENGINE_VERSION;
use crate::replay::divergence::{Cause, Difference};
use crate::replay::record_header::header_differences;
use crate::replay::replay_terms::Terms;
use crate::replay::replay_trace::ReplayTrace;

/// Recorded and replayed fields of a place.
struct Witness {
    place: Place,
    fields: Vec<(&'static str, String, String, Option<u64>)>,
    recorded: Seen,
}

/// Returns the divergences: those of the header, then the first ones of the run.
///
/// `walk` is an error if the header is invalid for these data.
pub(crate) fn differences(
    data: &Dataset,
    run: &RunTrajectory,
    terms: &Terms<'_>,
    walk: Result<&ReplayTrace, &ConfigError>,
) -> Vec<Difference> {
    let breaks: Vec<(Place, Digest, Digest)> =
        run.breaks().into_iter().map(|each| (each.place, each.recorded, each.computed)).collect();
    let mut found = header_differences(data, &run.header, terms);
    if let Some((place, recorded, computed)) = breaks.first().filter(|(place, ..)| *place == Place::Header) {
        found.push(link(run, *place, recorded, computed, Cause::HeaderEdited));
    }
    // The name of a market changes no number.
    let moves = |cause: &Cause| *cause != Cause::MarketName;
    let world = found.iter().map(|difference| difference.cause).find(moves).or_else(|| {
        let header = &run.header;
        let is_other =
            header.engine_version != ENGINE_VERSION || !CONTRACT_VERSIONS.contains(&header.contract_version.as_str());
        is_other.then_some(Cause::EngineVersion)
    });
    let walk = match walk {
        Ok(walk) => walk,
        Err(error) => {
            let (recorded, replayed) = (window_text(&run.header), error.to_string());
            let cause = world.unwrap_or(Cause::HeaderEdited);
            found.push(Difference {
                place: Place::Header,
                bar: None,
                field: "header",
                recorded,
                replayed,
                ulps: None,
                cause,
            });
            return found;
        }
    };
    let case = Case { run, walk, world, witnesses: witnesses(run, walk) };
    let broken: Vec<&(Place, Digest, Digest)> = breaks.iter().filter(|(place, ..)| *place != Place::Header).collect();
    let mut steps = Vec::new();
    if let Some((place, recorded, computed)) = broken.first() {
        let next = broken.get(1).is_some_and(|(other, ..)| is_next(run, *place, *other));
        steps.push(case.of_break(*place, recorded, computed, next));
    }
    steps.extend(case.of_witness(broken.first().map(|(place, ..)| *place)));
    steps.extend(case.of_reading());
    steps.extend(case.of_length());
    steps.sort_by_key(|difference| difference.place);
    steps.dedup_by(|second, first| (second.place, second.field) == (first.place, first.field));
    found.extend(steps);
    found
}

fn window_text(header: &Header) -> String {
    format!("{}:{} with lookback {}", header.window.start, header.window.end, header.lookback)
}

fn is_next(run: &RunTrajectory, place: Place, other: Place) -> bool {
    match (place, other) {
        (Place::Step(a), Place::Step(b)) => b == a + 1,
        (Place::Step(a), Place::End) => a + 1 == run.steps.len(),
        _ => false,
    }
}

/// Returns the divergence of a link that does not follow from its predecessor.
fn link(run: &RunTrajectory, place: Place, recorded: &Digest, computed: &Digest, cause: Cause) -> Difference {
    let (recorded, replayed) = (recorded.to_string(), computed.to_string());
    Difference { place, bar: bar_of(run, place), field: "link", recorded, replayed, ulps: None, cause }
}

fn bar_of(run: &RunTrajectory, place: Place) -> Option<usize> {
    match place {
        Place::Record | Place::Header => None,
        Place::Step(index) => Some(run.bar_of(index)),
        Place::End => Some(run.bar_of(run.steps.len())),
    }
}

/// Returns every place at which record and replay have different observations.
fn witnesses(run: &RunTrajectory, walk: &ReplayTrace) -> Vec<Witness> {
    let mut found = Vec::new();
    for (index, (step, shown)) in run.steps.iter().zip(&walk.seen).enumerate() {
        if step.observation != shown.observation || step.cash != shown.cash || step.nav != shown.nav {
            let recorded = Seen { cash: step.cash, nav: step.nav, observation: step.observation };
            found.push(Witness { place: Place::Step(index), fields: fields(&recorded, shown), recorded });
        }
    }
    if let (Some(end), Some(shown)) = (&run.end, walk.seen.get(run.steps.len())) {
        let recorded = Seen { cash: end.cash, nav: end.nav, observation: end.observation };
        let mut fields = fields(&recorded, shown);
        if end.terminated != walk.terminated {
            fields.push(("terminated", end.terminated.to_string(), walk.terminated.to_string(), None));
        }
        if !fields.is_empty() {
            found.push(Witness { place: Place::End, fields, recorded });
        }
    }
    found
}

fn fields(recorded: &Seen, shown: &Seen) -> Vec<(&'static str, String, String, Option<u64>)> {
    let mut fields = Vec::new();
    for (name, a, b) in [("nav", recorded.nav, shown.nav), ("cash", recorded.cash, shown.cash)] {
        if a != b {
            fields.push((name, a.to_string(), b.to_string(), Some(ulps_between(a, b))));
        }
    }
    if recorded.observation != shown.observation {
        fields.push(("observation", recorded.observation.to_string(), shown.observation.to_string(), None));
    }
    fields
}

/// A run, its replay, and the evidence for the cause of a divergence.
struct Case<'a> {
    run: &'a RunTrajectory,
    walk: &'a ReplayTrace,
    /// Setting of the replay that is known to differ from the run.
    world: Option<Cause>,
    witnesses: Vec<Witness>,
}

impl Case<'_> {
    fn at(&self, place: Place) -> Option<&Witness> {
        self.witnesses.iter().find(|witness| witness.place == place)
    }

    fn after(&self, place: Place) -> Option<&Witness> {
        let Place::Step(index) = place else { return None };
        let next = if index + 1 < self.run.steps.len() { Place::Step(index + 1) } else { Place::End };
        self.at(next)
    }

    /// Returns whether the observation of a witness is the replay of another place.
    fn is_of_another_place(&self, witness: &Witness) -> bool {
        let differs = witness.fields.iter().any(|(field, ..)| *field == "observation");
        differs && self.walk.seen.iter().any(|shown| shown.observation == witness.recorded.observation)
    }

    fn difference(&self, witness: &Witness, cause: Cause) -> Difference {
        let (field, recorded, replayed, ulps) = witness.fields[0].clone();
        Difference {
            place: witness.place,
            bar: bar_of(self.run, witness.place),
            field,
            recorded,
            replayed,
            ulps,
            cause,
        }
    }

    /// Returns the divergence of a broken link.
    ///
    /// `next` is whether the next link is broken too.
    fn of_break(&self, place: Place, recorded: &Digest, computed: &Digest, next: bool) -> Difference {
        let first = self.witnesses.first().map(|witness| witness.place);
        if let Some(world) = self.world.filter(|_| first.is_some_and(|first| first < place)) {
            return link(self.run, place, recorded, computed, world);
        }
        if let Some(witness) = self.at(place) {
            let is_alone =
                witness.fields.len() == 1 && self.after(place).is_none() && !self.is_of_another_place(witness);
            if is_alone {
                return self.difference(witness, Cause::WitnessEdited);
            }
            return link(self.run, place, recorded, computed, Cause::StepsMoved);
        }
        if place == Place::End || next && self.after(place).is_none() {
            return link(self.run, place, recorded, computed, Cause::LinkEdited);
        }
        // The observation is right. The answer leads to another state, or was changed without effect on its orders.
        Difference { field: "decision", ..link(self.run, place, recorded, computed, Cause::DecisionEdited) }
    }

    /// Returns the divergence of the first place with a different observation.
    ///
    /// `None` if an earlier broken link explains it.
    fn of_witness(&self, broken: Option<Place>) -> Option<Difference> {
        let witness = self.witnesses.first()?;
        if let Some(place) = broken.filter(|place| *place <= witness.place) {
            let cause = if place == witness.place { Cause::StepsMoved } else { Cause::DecisionEdited };
            return Some(self.difference(witness, self.world.unwrap_or(cause)));
        }
        if let Some(world) = self.world {
            return Some(self.difference(witness, world));
        }
        Some(self.difference(witness, self.cause_in_whole_chain(witness)))
    }

    /// Returns the cause of a divergence in a run with a valid chain.
    ///
    /// The chain was then recomputed.
    fn cause_in_whole_chain(&self, witness: &Witness) -> Cause {
        // The observation holds cash and the parts of NAV: all three differ, or they were edited.
        if witness.fields.len() < 3 && self.witnesses.len() == 1 {
            return Cause::WitnessEdited;
        }
        let index = match witness.place {
            Place::Step(index) => index,
            _ => self.run.steps.len(),
        };
        if index == 0 {
            return Cause::HeaderEdited;
        }
        // The first trade pays the first costs. At a later trade, the costs of earlier trades were right.
        if self.walk.first_trade == Some(index - 1) { Cause::Rules } else { Cause::DecisionEdited }
    }

    /// Returns the divergence of the first answer that the record misreads.
    fn of_reading(&self) -> Option<Difference> {
        let mismatch = self.walk.mismatch.as_ref()?;
        let place = Place::Step(mismatch.step);
        Some(Difference {
            place,
            bar: bar_of(self.run, place),
            field: mismatch.field,
            recorded: mismatch.recorded.clone(),
            replayed: mismatch.replayed.clone(),
            ulps: None,
            cause: Cause::DecisionEdited,
        })
    }

    /// Returns the divergence in the number of steps.
    fn of_length(&self) -> Option<Difference> {
        let (n_steps, replayed) = (self.run.steps.len(), self.walk.seen.len().saturating_sub(1));
        let difference = |place, recorded, replayed, cause| {
            Some(Difference {
                place,
                bar: bar_of(self.run, place),
                field: "steps",
                recorded,
                replayed,
                ulps: None,
                cause,
            })
        };
        if let Some(error) = &self.walk.stopped {
            let place = Place::Step(self.walk.seen.len() - 1);
            let cause = self.world.unwrap_or(Cause::StepRefused);
            return difference(place, "a step".to_owned(), format!("{}: {error}", error.slug()), cause);
        }
        if n_steps > replayed {
            let cause = self.world.unwrap_or(Cause::StepsMoved);
            return difference(Place::Step(replayed), n_steps.to_string(), format!("{replayed}, then the end"), cause);
        }
        if self.run.end.is_some() && !self.walk.done {
            let wanted = counted(self.run.header.window.n_decisions(), "decision");
            return difference(Place::End, n_steps.to_string(), wanted, self.world.unwrap_or(Cause::StepsMoved));
        }
        None
    }
}
