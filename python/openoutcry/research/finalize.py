"""End of a session: freeze the short list and open the holdout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.research.acceptance_gates import Evidence, failed, is_promotable, judge
from openoutcry.research.evaluation import gates_of
from openoutcry.research.loop import ResearchLoop
from openoutcry.research.sealed_holdout import HoldoutVault, Seal, failed_verdict
from openoutcry.research.session_context import SessionContext
from openoutcry.research.session_journal import SESSION_END, STOPPED, Journal
from openoutcry.research.short_list import Dropped, select_shortlist
from openoutcry.research.strategy_faults import described
from openoutcry.research.trial import Result, ShortlistEntry, Trial
from openoutcry.research.trial_advice import Advice, advice_of
from openoutcry.untrusted.counted_nouns import counted


def finalize_session(
    context: SessionContext, journal: Journal, loop: ResearchLoop, vault: HoldoutVault, start: Mapping[str, Any]
) -> Result:
    """Run a session to its end and return the result.

    Args:
        context: Configuration and collaborators of the session.
        journal: Records events, or supplies recorded ones.
        loop: Its research loop.
        vault: Loads the holdout.
        start: Payload of the first event.
    """
    reason = loop.run()
    context.trial_store.check(loop.tried)
    # Other sessions may have added trials on the same markets in the meantime.
    recorded = journal.peek(STOPPED)
    loop.counter.raise_prior_count(context.trial_store.count(None if recorded is None else int(recorded["n_before"])))
    payload = {"reason": reason, "tokens": loop.tokens, "n_before": loop.counter.n_before}
    journal.record(STOPPED, payload | {"n_trials": loop.counter.n_trials})
    context.trial_store.anchor(STOPPED, journal.head)
    advice = advice_of([trial.oos for trial in loop.trials], context.config.seed)
    listed, dropped = _frozen(context, loop, advice)
    frozen = [each.to_json() for each in listed]
    payload = {"candidates": frozen, "dropped": [vars(each) for each in dropped], "advice": advice.to_json()}
    journal.record("shortlist_frozen", {**payload, "n_trials": loop.counter.n_trials})
    seal, reuse, note = _unsealed(context, journal, vault, frozen)
    if seal is not None and reuse is not None:
        listed = _judged(context, journal, vault, seal, listed, reuse)
    # The anchor covers all events that a replay cannot recompute.
    context.trial_store.anchor(SESSION_END, journal.head)
    journal.record(SESSION_END, {"reason": reason, "n_listed": len(listed), "n_rounds": len(loop.history)})
    return Result(
        session_id=context.session_id,
        start=start,
        trials=tuple(loop.trials),
        history=tuple(loop.history),
        shortlist=tuple(listed),
        dropped=tuple(dropped),
        n_trials=loop.counter.n_trials,
        n_session=loop.counter.n_session,
        advice=advice,
        tokens=loop.tokens,
        stopped_reason=reason,
        prior_trials=context.prior_trials,
        seal=seal,
        holdout_reuse=reuse,
        holdout_note=note,
    )


def _frozen(context: SessionContext, loop: ResearchLoop, advice: Advice) -> tuple[list[ShortlistEntry], list[Dropped]]:
    """Return the short list and the dropped candidates at the final trial count."""
    config = context.config
    wanted = ("advanced",) if config.guard.advanced_only else ("advanced", "kept")
    dropped, eligible = [], []
    for trial in loop.trials:
        if trial.outcome not in wanted:
            if trial.outcome == "kept":
                dropped.append(
                    Dropped(
                        trial.key,
                        "it passed the gates, and did not become the incumbent; `--all-kept` lists such trials",
                    )
                )
            continue
        listed = _rejudged(context, loop, trial, advice)
        if is_promotable(listed.gates):
            eligible.append(listed)
        else:
            detail = f"at the final {counted(loop.counter.n_trials, 'trial')}: {'; '.join(failed(listed.gates))}"
            dropped.append(Dropped(trial.key, detail))
    kept, more = select_shortlist(eligible, config.guard, config.shortlist)
    return kept, [*dropped, *more]


def _rejudged(context: SessionContext, loop: ResearchLoop, trial: Trial, advice: Advice) -> ShortlistEntry:
    luck = loop.counter.luck_of(trial.oos, advice.n_eff)
    found = {gate.name: gate for gate in trial.gates}
    names = ("perturbation", "causality", "disguise", "constants")
    measured = {name: found[name].value if name in found else None for name in names}
    probe = measured["causality"]
    evidence = Evidence(
        trial.oos,
        trial.validation.in_sample,
        luck.dsr,
        luck.dsr_alpha,
        measured["perturbation"],
        None if probe is None else int(probe),
        disguise_loss=measured["disguise"],
        disguise_remark=found["disguise"].reason if "disguise" in found else "",
        constants_loss=measured["constants"],
        constants_remark=found["constants"].reason if "constants" in found else "",
        dsr_undefined=luck.undefined,
        alpha_undefined=luck.alpha_undefined,
    )
    return ShortlistEntry(trial, luck, judge(evidence, gates_of(trial.candidate, context.config.gates)))


def _unsealed(
    context: SessionContext, journal: Journal, vault: HoldoutVault, frozen: Sequence[Mapping[str, Any]]
) -> tuple[Seal | None, int | None, str]:
    """Return the seal and the earlier openings of the holdout, or why it stays closed."""
    if vault.window is None:
        return None, None, "the session has no holdout"
    if not frozen:
        return None, None, "not opened, because the short list is empty"
    seal = vault.seal(frozen)
    journal.record("holdout_seal", seal.to_json())
    recorded, refused = journal.peek("holdout_opened"), journal.peek("holdout_refused")
    # A changed market is an error, and no refusal that the journal records.
    held = vault.markets() if recorded is None and refused is None else ()
    try:
        if recorded is not None:
            reuse = int(recorded["holdout_reuse"])
        elif refused is not None:
            journal.record("holdout_refused", {"why": refused["why"]})
            return seal, None, str(refused["why"])
        else:
            reuse = context.trial_store.open_holdout(seal, held)
    except OpenOutcryError as error:
        # The report shows the reason, which is not an error of its reader.
        why = str(error).removeprefix(f"{error.slug}: ")
        journal.record("holdout_refused", {"why": why})
        return seal, None, why
    journal.record("holdout_opened", {"window": list(seal.window), "commit": seal.commit, "holdout_reuse": reuse})
    return seal, reuse, ""


def _judged(
    context: SessionContext,
    journal: Journal,
    vault: HoldoutVault,
    seal: Seal,
    listed: Sequence[ShortlistEntry],
    reuse: int,
) -> list[ShortlistEntry]:
    """Return the short list, in its order, with holdout results."""
    opened = vault.open(seal)
    judged = []
    for each in listed:
        candidate = each.trial.candidate
        params = dict(each.trial.validation.params[-1])
        try:
            strategy = context.builder.validator(candidate, 1).build(params)
            verdict = opened.judge(each.key, strategy, each.oos, (context.setup.costs, context.setup.limits))
        except Exception as error:  # noqa: BLE001 the holdout is spent, so a verdict is required
            verdict = failed_verdict(each.key, each.oos, opened.n_returns, described(error))
        journal.record("holdout_score", {**verdict.to_json(), "params": params, "holdout_reuse": reuse})
        judged.append(replace(each, verdict=verdict))
        context.trial_store.add_holdout_result(judged[-1], seal)
    return judged
