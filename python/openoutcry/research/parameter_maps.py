"""Parameter maps of a session: configurations, the chosen one, its neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from openoutcry.report.views.search_view import MapPoint, ParameterMap
from openoutcry.research.trial import Result, Trial

MOST_MAPS = 3
"""Most maps of one strategy: pairs of parameters with the most distinct values."""
N_NEIGHBOURS = 4


def parameter_maps(result: Result) -> tuple[list[ParameterMap], list[str]]:
    """Return the maps of every strategy with two trials, and why others have none.

    Strategies are in the order of their best trial.
    """
    by_name: dict[str, list[Trial]] = {}
    for trial in sorted(result.trials, key=_rank):
        by_name.setdefault(trial.candidate.name, []).append(trial)
    places = {listed.key: place for place, listed in enumerate(result.shortlist, 1)}
    maps, not_drawn = [], []
    for name, trials in by_name.items():
        reason = _not_drawn(trials)
        if reason:
            not_drawn.append(f"{name}: {reason}")
        else:
            maps += _maps(name, sorted(trials, key=lambda each: each.round), places)
    return maps, not_drawn


def shown(params: Mapping[str, Any]) -> str:
    """Return params as text."""
    return ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}" for name, value in params.items()
    )


def neighbours_of(chosen: Trial, trials: Sequence[Trial], most: int = N_NEIGHBOURS) -> list[Trial]:
    """Return the trials of a strategy nearest to one of them, nearest first.

    The distance is the root of the sum of squared differences, each as a fraction of the parameter's range. A different
    category is a distance of 1.
    """
    others = [trial for trial in trials if trial.key != chosen.key]
    return sorted(others, key=lambda each: (_distance(chosen, each), each.round))[:most]


def _rank(trial: Trial) -> tuple[bool, float, int]:
    sharpe = trial.oos.sharpe
    return sharpe is None, -(sharpe or 0.0), trial.round


def _not_drawn(trials: Sequence[Trial]) -> str:
    if any(trial.candidate.proposal.kind == "code" for trial in trials):
        return "each proposal is another program, so that their parameters are not comparable"
    if len(trials) == 1:
        return "only one configuration was evaluated"
    return "" if _varying(trials) else "no parameter varies"


def _varying(trials: Sequence[Trial]) -> list[str]:
    """Return the parameters with several values, those with the most values first."""
    names = dict.fromkeys(name for trial in trials for name in trial.candidate.params)
    counts = {name: len({repr(trial.candidate.params.get(name)) for trial in trials}) for name in names}
    return sorted((name for name in names if counts[name] > 1), key=lambda name: -counts[name])


def _maps(name: str, trials: Sequence[Trial], places: Mapping[str, int]) -> list[ParameterMap]:
    listed = sorted((trial for trial in trials if trial.key in places), key=lambda each: places[each.key])
    chosen = listed[0] if listed else min(trials, key=_rank)
    status = f"place {places[chosen.key]} of the short list" if listed else "the best of its strategy, not in the list"
    near = {each.key for each in neighbours_of(chosen, trials)}
    varying = _varying(trials)
    # The varying parameters are sorted, so that the first pairs have the most values.
    pairs: list[tuple[str, ...]] = list(combinations(varying, 2)) or [(varying[0],)]
    maps = []
    for pair in sorted(pairs, key=lambda each: -_n_values(trials, each))[:MOST_MAPS]:
        points = [_point(trial, pair, _role(trial, chosen, near)) for trial in trials]
        others = [each for each in varying if each not in pair]
        maps.append(ParameterMap(name, pair[0], pair[1] if len(pair) > 1 else "", points, others, status))
    return maps


def _n_values(trials: Sequence[Trial], names: Sequence[str]) -> int:
    return len({tuple(repr(trial.candidate.params.get(name)) for name in names) for trial in trials})


def _role(trial: Trial, chosen: Trial, near: set[str]) -> str:
    return "chosen" if trial.key == chosen.key else "neighbour" if trial.key in near else ""


def _point(trial: Trial, names: Sequence[str], role: str) -> MapPoint:
    params = trial.candidate.params
    x, *rest = (_place(params.get(name)) for name in names)
    return MapPoint(trial.round + 1, x, rest[0] if rest else None, trial.oos.sharpe, shown(params), role)


def _place(value: Any) -> float | str:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number else str(value).lower() if isinstance(value, bool) else str(value)


def _distance(one: Trial, other: Trial) -> float:
    ranges = one.candidate.ranges
    names = dict.fromkeys([*one.candidate.params, *other.candidate.params])
    return sum(
        _gap(one.candidate.params.get(name), other.candidate.params.get(name), ranges.get(name, {})) ** 2
        for name in names
    )


def _gap(one: Any, other: Any, spec: Mapping[str, Any]) -> float:
    left, right = _place(one), _place(other)
    if isinstance(left, str) or isinstance(right, str):
        return float(left != right)
    span = float(spec["max"]) - float(spec["min"]) if "max" in spec and "min" in spec else 0.0
    return abs(left - right) / (span or max(abs(left), abs(right), 1.0))
