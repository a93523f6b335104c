"""End of a session: freeze the short list and open the holdout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from openoutcry.openoutcry_py import OpenOutcryError
from openoutcry.research.acceptance_gates import Evidence, failed, is_promotable, judge
from openoutcry.research.loop import Rounds
from openoutcry.research.sealed_holdout import HoldoutVault, Seal, broken
from openoutcry.research.session_context import Setting
from openoutcry.research.session_journal import SESSION_END, STOPPED, Journal
from openoutcry.research.short_list import Dropped, shorten
from openoutcry.research.trial import Listed, Result, Trial
from openoutcry.research.trial_advice import Advice, advice_of


def close(setting: Setting, journal: Journal, rounds: Rounds, vault: HoldoutVault, start: Mapping[str, Any]) -> Result:
    """Run a session to its end and return the result.

    Args:
        setting: Configuration and collaborators of the session.
        journal: Records events, or supplies recorded ones.
        rounds: Its research loop.
        vault: Loads the holdout.
        start: Payload of the first event.
    """
    reason = rounds.run()
    setting.recall.check(rounds.tried)
    # Other sessions may have added trials on the same markets in the meantime.
    stood = journal.peek(STOPPED)
    rounds.counter.go_on_from(setting.recall.count(None if stood is None else int(stood["n_before"])))
    told = {"reason": reason, "tokens": rounds.tokens, "n_before": rounds.counter.n_before}
    journal.tell(STOPPED, told | {"n_trials": rounds.counter.n_trials})
    setting.recall.anchor(STOPPED, journal.head)
    advice = advice_of([trial.oos for trial in rounds.trials], setting.config.seed)
    listed, dropped = _frozen(setting, rounds, advice)
    frozen = [each.to_json() for each in listed]
    told = {"candidates": frozen, "dropped": [vars(each) for each in dropped], "advice": advice.to_json()}
    journal.tell("shortlist_frozen", {**told, "n_trials": rounds.counter.n_trials})
    seal, reuse, note = _unsealed(setting, journal, vault, frozen)
    if seal is not None and reuse is not None:
        listed = _judged(setting, journal, vault, seal, listed, reuse)
    # The anchor covers all events that a replay cannot recompute.
    setting.recall.anchor(SESSION_END, journal.head)
    journal.tell(SESSION_END, {"reason": reason, "n_listed": len(listed), "n_rounds": len(rounds.history)})
    return Result(
        session_id=setting.session_id,
        start=start,
        trials=tuple(rounds.trials),
        history=tuple(rounds.history),
        shortlist=tuple(listed),
        dropped=tuple(dropped),
        n_trials=rounds.counter.n_trials,
        n_session=rounds.counter.n_session,
        advice=advice,
        tokens=rounds.tokens,
        stopped_reason=reason,
        memory=setting.memory,
        seal=seal,
        holdout_reuse=reuse,
        holdout_note=note,
    )


def _frozen(setting: Setting, rounds: Rounds, advice: Advice) -> tuple[list[Listed], list[Dropped]]:
    """Return the short list and the dropped candidates, judged at the final number of trials."""
    config = setting.config
    wanted = ("advanced",) if config.guard.advanced_only else ("advanced", "kept")
    dropped, eligible = [], []
    for trial in rounds.trials:
        if trial.outcome not in wanted:
            if trial.outcome == "kept":
                dropped.append(Dropped(trial.key, "it did not improve on the incumbent"))
            continue
        listed = _rejudged(setting, rounds, trial, advice)
        if is_promotable(listed.gates):
            eligible.append(listed)
        else:
            told = f"at the final {rounds.counter.n_trials} trials: {'; '.join(failed(listed.gates))}"
            dropped.append(Dropped(trial.key, told))
    kept, more = shorten(eligible, config.guard, config.shortlist)
    return kept, [*dropped, *more]


def _rejudged(setting: Setting, rounds: Rounds, trial: Trial, advice: Advice) -> Listed:
    luck = rounds.counter.luck_of(trial.oos, advice.n_eff)
    found = {gate.name: gate for gate in trial.gates}
    measured = {name: found[name].value if name in found else None for name in ("perturbation", "causality")}
    probe = measured["causality"]
    evidence = Evidence(
        trial.oos,
        trial.validated.in_sample,
        luck.dsr,
        luck.dsr_alpha,
        measured["perturbation"],
        None if probe is None else int(probe),
    )
    return Listed(trial, luck, judge(evidence, setting.config.gates))


def _unsealed(
    setting: Setting, journal: Journal, vault: HoldoutVault, frozen: Sequence[Mapping[str, Any]]
) -> tuple[Seal | None, int | None, str]:
    """Return the seal and the earlier openings of the holdout, or why it stays closed."""
    if vault.window is None:
        return None, None, "the session has no holdout"
    if not frozen:
        return None, None, "it stays closed because the short list is empty"
    seal = vault.seal(frozen)
    journal.tell("holdout_seal", seal.to_json())
    try:
        if (stood := journal.peek("holdout_opened")) is not None:
            reuse = int(stood["holdout_reuse"])
        elif (refused := journal.peek("holdout_refused")) is not None:
            journal.tell("holdout_refused", {"why": refused["why"]})
            return seal, None, str(refused["why"])
        else:
            reuse = setting.recall.open_holdout(seal)
    except OpenOutcryError as error:
        # The report shows the reason, which is not an error of its reader.
        why = str(error).removeprefix(f"{error.slug}: ")
        journal.tell("holdout_refused", {"why": why})
        return seal, None, why
    journal.tell("holdout_opened", {"window": list(seal.window), "commit": seal.commit, "holdout_reuse": reuse})
    return seal, reuse, ""


def _judged(
    setting: Setting, journal: Journal, vault: HoldoutVault, seal: Seal, listed: Sequence[Listed], reuse: int
) -> list[Listed]:
    """Return the short list, in its order, with holdout results."""
    opened = vault.open(seal)
    judged = []
    for each in listed:
        candidate = each.trial.candidate
        params = dict(each.trial.validated.params[-1])
        try:
            strategy = setting.workshop.bench(candidate, 1).made(params)
            verdict = opened.judge(each.key, strategy, each.oos, (setting.ground.costs, setting.ground.limits))
        except Exception as error:  # noqa: BLE001 the holdout is spent, so a verdict is required
            verdict = broken(each.key, each.oos, opened.n_returns, f"{type(error).__name__}: {error}")
        journal.tell("holdout_score", {**verdict.to_json(), "params": params, "holdout_reuse": reuse})
        judged.append(replace(each, verdict=verdict))
        setting.recall.remember_holdout(judged[-1], seal)
    return judged
