//! The decisions of a recorded run, replayed.

use openoutcry_contract::record::{Fault, RunTrajectory, Seen};
use openoutcry_contract::{DAY_ORDERS_VERSION, Decision};
use openoutcry_engine::{Dataset, Detail, Rules, StepError, Stepped};

use crate::episode::single_episode::Episode;
use crate::replay::capture::ObservationViewer;

/// The observations and outcomes of a replayed run.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReplayTrace {
    /// The observation before each decision, and after the last one.
    pub(crate) seen: Vec<Seen>,
    pub(crate) terminated: bool,
    /// Whether the window or the account has ended.
    pub(crate) done: bool,
    /// The first step with a trade.
    pub(crate) first_trade: Option<usize>,
    /// The first answer with a recorded fault or version that does not fit its text.
    pub(crate) mismatch: Option<Mismatch>,
    /// The error of the next step, if the replay stopped.
    pub(crate) stopped: Option<StepError>,
}

/// A recorded field of an answer that does not fit its text.
#[derive(Clone, Debug)]
pub(crate) struct Mismatch {
    pub(crate) step: usize,
    pub(crate) field: &'static str,
    pub(crate) recorded: String,
    pub(crate) replayed: String,
}

/// Replays the decisions of a run.
///
/// `see` receives each step with its decision.
pub(crate) fn walk(
    data: &Dataset,
    run: &RunTrajectory,
    rules: Rules,
    mut see: impl FnMut(&Decision, &Episode, &Stepped),
) -> ReplayTrace {
    let window = run.header.window;
    let mut viewer = ObservationViewer::new(data, window, run.header.lookback);
    // Full detail in every case: observations have average prices.
    let mut episode = Episode::new(data, window, rules, Detail::Full);
    let mut walk = ReplayTrace { seen: Vec::with_capacity(run.steps.len() + 1), ..ReplayTrace::default() };
    let mut states_day_orders = run.header.contract_version == DAY_ORDERS_VERSION;
    for (index, step) in run.steps.iter().enumerate() {
        if episode.done() {
            break;
        }
        walk.seen.push(viewer.look(&episode));
        let decision = read(index, &step.decision, step.fault.as_ref(), &mut walk.mismatch);
        let wanted = (decision.has_day_orders() && !states_day_orders).then_some(DAY_ORDERS_VERSION);
        states_day_orders |= decision.has_day_orders();
        if step.contract_version.as_deref() != wanted {
            let text = |version: Option<&str>| version.unwrap_or("none").to_owned();
            let (recorded, replayed) = (text(step.contract_version.as_deref()), text(wanted));
            let field = "contract_version";
            walk.mismatch.get_or_insert(Mismatch { step: index, field, recorded, replayed });
        }
        match episode.decide(data, &decision) {
            Ok(stepped) => {
                if stepped.turnover != 0.0 {
                    walk.first_trade.get_or_insert(index);
                }
                see(&decision, &episode, &stepped);
            }
            Err(error) => {
                walk.stopped = Some(error);
                return walk;
            }
        }
    }
    walk.seen.push(viewer.look(&episode));
    (walk.terminated, walk.done) = (episode.terminated, episode.done());
    walk
}

/// Returns the decision of an answer: a hold for a recorded fault.
fn read(step: usize, text: &str, fault: Option<&Fault>, mismatch: &mut Option<Mismatch>) -> Decision {
    if fault.is_some_and(|fault| fault.slug() != Fault::MALFORMED) {
        return Decision::hold();
    }
    let (recorded, replayed) = match (Decision::from_json(text), fault) {
        (Ok(decision), None) => return decision,
        (Err(_), Some(_)) => return Decision::hold(),
        (Ok(_), Some(_)) => (Fault::MALFORMED.to_owned(), "a decision".to_owned()),
        (Err(error), None) => ("a decision".to_owned(), format!("{}: {error}", error.slug())),
    };
    mismatch.get_or_insert(Mismatch { step, field: "fault", recorded, replayed });
    Decision::hold()
}
