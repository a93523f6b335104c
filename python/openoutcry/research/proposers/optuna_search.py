"""Proposals of a search by scores, which a model must beat, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from openoutcry.errors import refusal
from openoutcry.research.proposal_requests import Ask, Reply, TokenMeter, TrialCard
from openoutcry.research.proposers.parameter_ranges import Range, ranges_of
from openoutcry.research.proposers.round_random import seed_for

_STRATEGY = "strategy"
_N_RANDOM = 5
_MOST_ASKED = 16


class OptunaProposer:
    """Propose what Optuna expects to score best.

    Its sampler is the tree-structured Parzen estimator.

    The study is made anew in each round, of the session's history: a proposal depends on the seed, the round and the
    history alone, and a session that goes on makes the same ones. A round without a score counts as a bad one. Of a
    strategy with more params than may be tuned, the first are.

    Args:
        score: Name of the out-of-sample score to raise.

    Raises:
        ModuleNotFoundError: Optuna is not installed.
    """

    name = "optuna"

    def __init__(self, score: str = "oos_sharpe") -> None:
        self._optuna = _optuna()
        self._score = score

    def reserve(self, ask: Ask) -> int:
        """Return 0: no model is asked."""
        return 0

    def propose(self, ask: Ask, meter: TokenMeter) -> Reply:
        """Return a proposal that has not been made.

        It is exhausted where the search finds none.

        Raises:
            OpenOutcryError: `argument_invalid`: the catalogue is empty.
        """
        if not ask.catalogue:
            raise refusal("argument_invalid", "a catalogue must have a strategy; received none")
        tuned = {name: ranges_of(entry)[: ask.max_tunable] for name, entry in sorted(ask.catalogue.items())}
        before = [card.proposal for card in ask.history if card.proposal is not None]
        made = [(each.get("strategy"), each.get("params")) for each in before]
        with self._quiet():
            study = self._study(ask, tuned)
            for _ in range(_MOST_ASKED):
                trial = study.ask()
                strategy, params = self._asked(trial, tuned)
                if (strategy, params) not in made:
                    rationale = f"Optuna expects the best {self._score} of it, from {len(made)} proposals before."
                    body = {"kind": "tune", "strategy": strategy, "params": params, "rationale": rationale}
                    return Reply(proposal=body)
                # It would propose the same again while it believes in it.
                study.tell(trial, state=self._optuna.trial.TrialState.PRUNED)
        return Reply(is_exhausted=True, detail=f"{_MOST_ASKED} asks found nothing that was not proposed before")

    def _study(self, ask: Ask, tuned: Mapping[str, tuple[Range, ...]]) -> Any:
        sampler = self._optuna.samplers.TPESampler(
            seed=seed_for("optuna", ask.seed, ask.round) % 2**32, n_startup_trials=_N_RANDOM
        )
        study = self._optuna.create_study(direction="maximize", sampler=sampler)
        for card in ask.history:
            if (trial := self._trial(card, tuned)) is not None:
                study.add_trial(trial)
        return study

    def _trial(self, card: TrialCard, tuned: Mapping[str, tuple[Range, ...]]) -> Any:
        """Return a round as the study knows it, None if it would not have asked for it."""
        body = card.proposal or {}
        strategy, params = body.get("strategy"), body.get("params")
        if not isinstance(strategy, str) or strategy not in tuned or not isinstance(params, Mapping):
            return None
        known = {each.name for each in tuned[strategy]}
        held: dict[str, Any] = {_STRATEGY: strategy}
        spread: dict[str, Any] = {_STRATEGY: self._strategies(tuned)}
        for each in tuned[strategy]:
            value = params.get(each.name, each.default)
            place = value if each.n_values is None else each.place(value)
            if not set(params) <= known or not _is_within(each, place):
                return None
            held[f"{strategy}.{each.name}"], spread[f"{strategy}.{each.name}"] = place, self._spread(each)
        score = card.scores.get(self._score)
        states = self._optuna.trial.TrialState
        state = states.PRUNED if score is None else states.COMPLETE
        return self._optuna.trial.create_trial(params=held, distributions=spread, value=score, state=state)

    def _asked(self, trial: Any, tuned: Mapping[str, tuple[Range, ...]]) -> tuple[str, dict[str, Any]]:
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

        It is of places of a list: steps of Optuna's own are not of decimals.
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
        """Keep Optuna from telling of each study on standard error."""
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
