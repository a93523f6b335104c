//! Comparison of two runs on one market: settings and first divergence.

use openoutcry_engine::counted;

use super::hash_chain::Place;
use super::trajectory::RunTrajectory;

/// A setting with different values in two runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingDifference {
    /// Path of the field.
    pub field: &'static str,
    /// Its value in the first run; `absent` if it has none.
    pub left: String,
    /// Its value in the second run.
    pub right: String,
}

/// The first place at which two runs differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Divergence {
    /// The place in the first run.
    pub place: Place,
    /// The bar of that place in the first run.
    pub bar: usize,
    /// The field that differs.
    ///
    /// One of `cash`, `nav`, `observation`, `decision`, `fault`, `terminated` and `length`.
    pub field: &'static str,
    /// Its value in the first run.
    pub left: String,
    /// Its value in the second run.
    pub right: String,
    /// Distance of two numbers in doubles (units in the last place).
    pub ulps: Option<u64>,
}

/// Returns the settings in which two runs differ, and their first divergence.
#[must_use]
pub fn compare_runs(left: &RunTrajectory, right: &RunTrajectory) -> (Vec<SettingDifference>, Option<Divergence>) {
    (settings(left, right), first_divergence(left, right))
}

fn settings(left: &RunTrajectory, right: &RunTrajectory) -> Vec<SettingDifference> {
    let (ours, theirs) = (left.fields(), right.fields());
    let value = |fields: &[(&str, String)], name: &str| {
        fields.iter().find(|(field, _)| *field == name).map_or("absent".to_owned(), |(_, value)| value.clone())
    };
    let only_theirs = theirs.iter().filter(|(name, _)| ours.iter().all(|(other, _)| other != name));
    let fields = ours.iter().chain(only_theirs).map(|(field, _)| *field);
    let pairs =
        fields.map(|field| SettingDifference { field, left: value(&ours, field), right: value(&theirs, field) });
    pairs.filter(|setting| setting.left != setting.right).collect()
}

/// A place of a run with its observation and answer.
struct Row<'a> {
    numbers: [(&'static str, f64); 2],
    texts: Vec<(&'static str, &'a str)>,
    observation: String,
}

fn row(run: &RunTrajectory, place: Place) -> Option<Row<'_>> {
    match place {
        Place::Record | Place::Header => None,
        Place::Step(index) => run.steps.get(index).map(|step| Row {
            numbers: [("nav", step.nav), ("cash", step.cash)],
            texts: vec![
                ("fault", step.fault.as_ref().map_or("none", super::Fault::slug)),
                ("decision", &step.decision),
            ],
            observation: step.observation.to_string(),
        }),
        Place::End => run.end.as_ref().map(|end| Row {
            numbers: [("nav", end.nav), ("cash", end.cash)],
            texts: vec![("terminated", if end.terminated { "true" } else { "false" })],
            observation: end.observation.to_string(),
        }),
    }
}

fn first_divergence(left: &RunTrajectory, right: &RunTrajectory) -> Option<Divergence> {
    let shared = left.steps.len().min(right.steps.len());
    let mut steps = (0..shared).map(Place::Step);
    let found = steps.find_map(|place| differing(left, right, place));
    if found.is_some() {
        return found;
    }
    let length = |run: &RunTrajectory| {
        let end = if run.end.is_some() { "finished" } else { "unfinished" };
        format!("{}, {end}", counted(run.steps.len(), "step"))
    };
    if left.steps.len() != right.steps.len() || left.end.is_some() != right.end.is_some() {
        let (place, bar) = (Place::Step(shared), left.bar_of(shared));
        return Some(Divergence { place, bar, field: "length", left: length(left), right: length(right), ulps: None });
    }
    differing(left, right, Place::End)
}

fn differing(left: &RunTrajectory, right: &RunTrajectory, place: Place) -> Option<Divergence> {
    let (ours, theirs) = (row(left, place)?, row(right, place)?);
    let index = if let Place::Step(index) = place { index } else { left.steps.len() };
    let bar = left.bar_of(index);
    for ((field, a), (_, b)) in ours.numbers.into_iter().zip(theirs.numbers) {
        if a != b {
            let ulps = Some(ulps_between(a, b));
            return Some(Divergence { place, bar, field, left: a.to_string(), right: b.to_string(), ulps });
        }
    }
    let observations = [("observation", ours.observation.as_str(), theirs.observation.as_str())];
    let texts = ours.texts.iter().zip(&theirs.texts).map(|((field, a), (_, b))| (*field, *a, *b));
    let (field, a, b) = observations.into_iter().chain(texts).find(|(_, a, b)| a != b)?;
    Some(Divergence { place, bar, field, left: a.to_owned(), right: b.to_owned(), ulps: None })
}

/// Returns the distance of two numbers in doubles, 0 for equal ones.
#[must_use]
pub fn ulps_between(a: f64, b: f64) -> u64 {
    // In this order doubles ascend by 1, and both zeros are equal.
    let place = |value: f64| {
        let bits = value.to_bits().cast_signed();
        if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
    };
    place(a).abs_diff(place(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_of_two_numbers_counts_the_doubles_between_them() {
        let next = f64::from_bits(1.0_f64.to_bits() + 1);
        assert_eq!(ulps_between(1.0, next), 1);
        assert_eq!(ulps_between(next, 1.0), 1);
        assert_eq!(ulps_between(0.0, -0.0), 0);
        assert_eq!(ulps_between(-5e-324, 5e-324), 2);
        assert_eq!(ulps_between(-1.0, -next), 1);
        assert_eq!(ulps_between(f64::MIN, f64::MAX), 2 * f64::MAX.to_bits());
    }
}
