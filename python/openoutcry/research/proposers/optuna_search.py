"""Proposer that searches with Optuna, a baseline for language models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from openoutcry.errors import refusal
from openoutcry.research.proposal_requests import ProposalReply, ProposalRequest, TokenMeter, TrialCard
from openoutcry.research.proposers.parameter_ranges import Range, ranges_of
from openoutcry.research.proposers.round_random import seed_for

_STRATEGY = "strategy"
_N_RANDOM = 5
_MAX_SUGGESTIONS = 16


class OptunaProposer:
    """Propose the params with the highest expected score under Optuna's TPE sampler.

    The study is rebuilt in each round from the history of the session: a proposal depends on seed, round and history
    alone, so a resumed session makes the same proposals. A round without a score counts as a bad one. Of a strategy
    with more params than may be tuned, the first ones are tuned.

    Args:
        score: Name of the out-of-sample score to maximise.

    Raises:
        ModuleNotFoundError: Optuna is not installed.
    """

    name = "optuna"

    def __init__(self, score: str = "oos_sharpe") -> None:
        self._optuna = _optuna()
        self._score = score

    def reserve(self, request: ProposalRequest) -> int:
        """Return 0: it calls no model."""
        return 0

    def propose(self, request: ProposalRequest, meter: TokenMeter) -> ProposalReply:
        """Return a proposal that is not in the history.

        Exhausted if the search finds none.

        Raises:
            OpenOutcryError: `argument_invalid`: the catalogue is empty.
        """
        if not request.catalogue:
            raise refusal("argument_invalid", "a catalogue must have a strategy; received none")
        tuned = {name: ranges_of(entry)[: request.max_tunable] for name, entry in sorted(request.catalogue.items())}
        before = [card.proposal for card in request.history if card.proposal is not None]
        proposed = [(each.get("strategy"), each.get("params")) for each in before]
        with self._quiet():
            study = self._study(request, tuned)
            for _ in range(_MAX_SUGGESTIONS):
                trial = study.ask()
                strategy, params = self._suggest(trial, tuned)
                if (strategy, params) not in proposed:
                    rationale = (
                        f"Optuna expects the best {self._score} from it, after {len(proposed)} earlier proposals."
                    )
                    body = {"kind": "tune", "strategy": strategy, "params": params, "rationale": rationale}
                    return ProposalReply(proposal=body)
                # Without this the sampler would return the same params again.
                study.tell(trial, state=self._optuna.trial.TrialState.PRUNED)
        return ProposalReply(is_exhausted=True, detail=f"{_MAX_SUGGESTIONS} suggestions were all proposed before")

    def _study(self, request: ProposalRequest, tuned: Mapping[str, tuple[Range, ...]]) -> Any:
        sampler = self._optuna.samplers.TPESampler(
            seed=seed_for("optuna", request.seed, request.round) % 2**32, n_startup_trials=_N_RANDOM
        )
        study = self._optuna.create_study(direction="maximize", sampler=sampler)
        for card in request.history:
            if (trial := self._trial(card, tuned)) is not None:
                study.add_trial(trial)
        return study

    def _trial(self, card: TrialCard, tuned: Mapping[str, tuple[Range, ...]]) -> Any:
        """Return a round as a trial of the study, None if it is outside the search space."""
        body = card.proposal or {}
        strategy, params = body.get("strategy"), body.get("params")
        if not isinstance(strategy, str) or strategy not in tuned or not isinstance(params, Mapping):
            return None
        known = {each.name for each in tuned[strategy]}
        values: dict[str, Any] = {_STRATEGY: strategy}
        spread: dict[str, Any] = {_STRATEGY: self._strategies(tuned)}
        for each in tuned[strategy]:
            value = params.get(each.name, each.default)
            place = value if each.n_values is None else each.place(value)
            if not set(params) <= known or not _is_within(each, place):
                return None
            values[f"{strategy}.{each.name}"], spread[f"{strategy}.{each.name}"] = place, self._spread(each)
        score = card.scores.get(self._score)
        states = self._optuna.trial.TrialState
        state = states.PRUNED if score is None else states.COMPLETE
        return self._optuna.trial.create_trial(params=values, distributions=spread, value=score, state=state)

    def _suggest(self, trial: Any, tuned: Mapping[str, tuple[Range, ...]]) -> tuple[str, dict[str, Any]]:
        strategy: str = trial.suggest_categorical(_STRATEGY, tuple(tuned))
        params = {}
        for each in tuned[strategy]:
            value = _suggested(trial, f"{strategy}.{each.name}", each)
            if value != each.default:
                params[each.name] = value
        return strategy, params

    def _strategies(self, tuned: Mapping[str, tuple[Range, ...]]) -> Any:
        return self._optuna.distributions.CategoricalDistribution(tuple(tuned))

    def _spread(self, each: Range) -> Any:
        """Return the distribution of `_suggested`.

        It is over list indices: Optuna's own steps are not exact for decimals.
        """
        distributions = self._optuna.distributions
        n = each.n_values
        if n is None:
            return distributions.FloatDistribution(float(each.least), float(each.most))
        if each.kind == "categorical":
            return distributions.CategoricalDistribution(tuple(range(n)))
        return distributions.IntDistribution(0, n - 1)

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """Silence Optuna's log of new studies on standard error."""
        logging = self._optuna.logging
        before = logging.get_verbosity()
        logging.set_verbosity(logging.WARNING)
        try:
            yield
        finally:
            logging.set_verbosity(before)


def _suggested(trial: Any, name: str, each: Range) -> Any:
    n = each.n_values
    if n is None:
        return trial.suggest_float(name, float(each.least), float(each.most))
    if each.kind == "categorical":
        return each.value(trial.suggest_categorical(name, tuple(range(n))))
    return each.value(trial.suggest_int(name, 0, n - 1))


def _is_within(each: Range, place: Any) -> bool:
    if each.n_values is not None:
        return place is not None
    is_number = isinstance(place, (int, float)) and not isinstance(place, bool)
    return is_number and each.least <= place <= each.most


def _optuna() -> ModuleType:
    try:
        import optuna
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{__name__} needs `pip install openoutcry[research]`", name=error.name) from error
    found: ModuleType = optuna
    return found
