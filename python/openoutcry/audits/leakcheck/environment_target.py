"""Gymnasium environments as leak check targets, with a fixed action sequence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from openoutcry.audits.leakcheck.episode_trace import Episode, Layout, layout_of, trace_of
from openoutcry.audits.leakcheck.frame_columns import Source
from openoutcry.audits.leakcheck.leak_search import TARGET_ERRORS, error_text
from openoutcry.audits.leakcheck.perturbation import garbage, permutation
from openoutcry.audits.leakcheck.target_trace import Trace
from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted

SEED = 0

_RESET = ("observation", "info")
_STEP = ("observation", "reward", "terminated", "truncated", "info")

# Perturbations that determine which bars a reward depends on: the first one that the environment runs on.
_PROBES = (garbage, permutation)

# Number of actions to change to see which reward they affect first, and the number of steps to wait for it.
_TRIALS = 6
_PATIENCE = 40


@dataclass(frozen=True)
class Clock:
    """Mapping from observations to bars.

    Attributes:
        start: Bar of the first observation.
        known_from: `start` if the caller passed it, else `date` (of the infos), `reward` or both. `length` if neither
            determines it: then `start` is an upper bound from the length of the episode.
    """

    start: int
    known_from: str


@dataclass(frozen=True)
class Span:
    """Extent of the episode on the unchanged data.

    Attributes:
        n_steps: Number of actions.
        last: Bar of the last observation.
        ended_by: `terminated`, `truncated` or both; empty if the actions ran out first.
    """

    n_steps: int
    last: int
    ended_by: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the span as JSON types."""
        return {"n_steps": self.n_steps, "last_bar": self.last, "ended_by": list(self.ended_by)}


class _Undetermined(Exception):  # noqa: N818 not an error of the caller
    """The bars that a reward depends on cannot be determined."""


class EnvTarget:
    """An environment that `make` builds from a frame.

    An observation may contain data up to its own bar: the bar before the last one that enters the first reward which
    the next action affects, because the profit of an action must be unknown when it is chosen. Dates in infos are a
    second bound. If every reward depends on all bars, only the end of the data is a bound.
    """

    kind = "env"

    def __init__(self, make: Callable[[Any], Any], start: int | None = None) -> None:
        self._make = make
        self._actions: list[Any] = []
        self.clock = None if start is None else Clock(start, "start")
        self.span: Span | None = None
        self.not_compared: tuple[str, ...] = ()
        self._first_date: str | None = None
        self._layout: Layout | None = None
        self._error: str | None = None
        # Error of a run, if it leaves a bound of the clock unknown.
        self._undetermined: str | None = None

    def with_factory(self, make: Callable[[Any], Any]) -> EnvTarget:
        """Return a target for another factory with the same clock, actions and layout."""
        other = EnvTarget(make)
        other.clock, other._actions, other._layout = self.clock, self._actions, self._layout
        return other

    def run(self, source: Source, original: Source, cut: int | None) -> Trace:
        """Return observations, infos and rewards by bar."""
        if self.clock is None:
            self.clock = self._clock(original)
        limit = None if cut is None else cut - self.clock.start + 1
        episode = self._drive(source, original.n_bars, limit)
        if cut is None:
            self._first_date = episode.dates[0]
        elif episode.dates[0] != self._first_date:
            message = f"an episode must start at {self._first_date}; received a start at {episode.dates[0]}"
            raise refusal("shape_mismatch", message)
        if self._layout is None:
            self._layout = layout_of(episode)
            self.span = Span(len(episode.rewards), self.clock.start + len(episode.rewards), episode.ended_by)
            self.not_compared = tuple(f"{name} ({kind})" for name, kind in episode.not_compared.items())
        return trace_of(episode, self._layout, self.clock.start, original.n_bars)

    def start_bar(self, source: Source) -> int | None:
        """Return the bar of the first observation inferred from rewards, or None."""
        if self.clock is None or "reward" not in self.clock.known_from:
            return None
        try:
            return self._by_rewards(self._drive(source, len(self._actions)), source)
        except TARGET_ERRORS:
            return None

    def _drive(
        self, source: Source, n_bars: int, limit: int | None = None, actions: Sequence[Any] | None = None
    ) -> Episode:
        """Run an episode of at most `limit` steps."""
        env, episode = self._make(source.frame()), Episode()
        missing = [f"method `{name}`" for name in ("reset", "step", "close") if not callable(getattr(env, name, None))]
        missing += [] if hasattr(env, "action_space") else ["`action_space`"]
        if missing:
            required = f"`target` must return a gymnasium.Env, which has a {missing[0]}"
            raise refusal("argument_invalid", f"{required}; received {type(env).__name__}")
        try:
            # Sampled from the first environment, so that a perturbed space does not change the actions.
            if not self._actions:
                env.action_space.seed(SEED)
                self._actions = [env.action_space.sample() for _ in range(n_bars)]
            chosen = self._actions if actions is None else actions
            observation, info = _validated("reset", env.reset(seed=SEED), _RESET)
            episode.add(observation, info, _date_of(env))
            episode.add_spaces(env)
            episode.add_labels(env)
            for action in chosen[: None if limit is None else max(limit, 0)]:
                observation, reward, terminated, truncated, info = _validated("step", env.step(action), _STEP)
                episode.rewards.append(_reward(reward))
                episode.add(observation, info, _date_of(env))
                flags = {"terminated": bool(terminated), "truncated": bool(truncated)}
                episode.ended_by = tuple(name for name, flag in flags.items() if flag)
                if episode.is_over:
                    break
        finally:
            env.close()
        return episode

    def _clock(self, source: Source) -> Clock:
        base = self._drive(source, source.n_bars)
        starts = {"date": _by_dates(base, source), "reward": self._by_rewards(base, source)}
        known = {name: start for name, start in starts.items() if start is not None}
        hint = "hint: pass the bar of its first observation with `--start`"
        if not known and self._undetermined is not None:
            required = "an environment must have a `date` in its info, or run on other actions and on perturbed data"
            raise refusal("argument_invalid", f"{required}; received {self._undetermined}; {hint}")
        if not known and base.is_over:
            return Clock(source.n_bars - 1 - len(base.rewards), "length")
        if not known:
            required = (
                "an environment must have a `date` in its info, or rewards that depend on the bars after an action"
            )
            raise refusal("argument_invalid", f"{required}; received neither; {hint}")
        start = min(known.values())
        return Clock(start, " and ".join(name for name in known if known[name] == start))

    def _by_rewards(self, base: Episode, source: Source) -> int | None:
        """Infer the bar of the first observation from the bars that rewards depend on.

        Returns the minimum over a few actions, because an action whose effect is delayed implies a later bar.
        """
        starts = []
        for k in sorted({int(len(base.rewards) * (trial + 1) / (_TRIALS + 2)) for trial in range(_TRIALS)}):
            changed = self._with_other_action(k)
            other = None if changed is None else self._run_or_none(source, source.n_bars, k + _PATIENCE, changed)
            place = None if other is None else _first_difference(base.rewards, other.rewards)
            if place is None:
                self._undetermined = self._error if changed is not None and other is None else self._undetermined
                continue
            try:
                last = max(self._last_bar(place, source, actions) for actions in (self._actions, changed))
            except _Undetermined:
                self._undetermined = self._error
                continue
            # A reward that depends on the last bar may depend on every bar, so it gives no bound.
            starts += [last - 1 - k] if 0 < last < source.n_bars - 1 else []
        return min(starts, default=None)

    def _with_other_action(self, k: int) -> list[Any] | None:
        """Return the actions with action k replaced by a different one."""
        others = (action for action in self._actions if not np.array_equal(action, self._actions[k]))
        other = next(others, None)
        return None if other is None else [*self._actions[:k], other, *self._actions[k + 1 :]]

    def _run_or_none(self, source: Source, n_bars: int, limit: int, actions: Sequence[Any] | None) -> Episode | None:
        try:
            return self._drive(source, n_bars, limit, actions)
        except TARGET_ERRORS as error:  # an environment may raise on another action or on perturbed data
            self._error = error_text(error)
            return None

    def _last_bar(self, place: int, source: Source, actions: Sequence[Any] | None) -> int:
        """Return the last bar that a reward depends on; 0 if none after the first.

        Raises:
            _Undetermined: the environment raises on perturbed data, which says nothing about the reward.
        """
        unchanged = self._drive(source, source.n_bars, place + 1, actions)

        def depends(bar: int) -> bool:
            probes = (probe(source, bar - 1) for probe in _PROBES)
            runs = (self._run_or_none(probe, source.n_bars, place + 1, actions) for probe in probes)
            other = next((run for run in runs if run is not None), None)
            if other is None:
                raise _Undetermined
            # An episode that a perturbation shortens depends on it too.
            if len(other.rewards) <= place:
                return True
            return _first_difference(unchanged.rewards[place : place + 1], other.rewards[place : place + 1]) is not None

        low, high = 0, source.n_bars
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if depends(middle) else (low, middle)
        return low


def _validated(method: str, returned: Any, names: tuple[str, ...]) -> Any:
    """Validate the return value of a method against the Gymnasium API."""
    required = f"`{method}` of an environment must return ({', '.join(names)})"
    if not isinstance(returned, tuple) or len(returned) != len(names):
        received = counted(len(returned), "value") if isinstance(returned, tuple) else type(returned).__name__
        raise refusal("shape_mismatch", f"{required}; received {received}")
    if not isinstance(returned[-1], Mapping):
        raise refusal("shape_mismatch", f"{required}, where info is a dict; received {type(returned[-1]).__name__}")
    return returned


def _reward(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        message = f"a reward must be a number; received {type(value).__name__}"
        raise refusal("argument_invalid", message) from None


def _first_difference(a: Sequence[float], b: Sequence[float]) -> int | None:
    """Return the first index at which rewards differ by more than rounding."""
    n = min(len(a), len(b))
    x, y = np.array(a[:n]), np.array(b[:n])
    with np.errstate(all="ignore"):
        apart = np.abs(x - y) > 1e-9 * np.maximum(np.abs(x), np.abs(y))
    places = np.flatnonzero(apart | (np.isnan(x) != np.isnan(y)))
    return int(places[0]) if len(places) else None


def _date_of(env: Any) -> Any:
    """Return the date of the last observation, if the environment states it."""
    return getattr(getattr(env, "unwrapped", env), "date", None)


def _by_dates(episode: Episode, source: Source) -> int | None:
    """Return the bar of the first observation from the dates in infos."""
    bar_of = {date: bar for bar, date in enumerate(source.dates or ())}
    starts = [bar_of[date] - k for k, date in enumerate(episode.dates) if date is not None and date in bar_of]
    # Irregular steps do not determine the bar.
    return starts[0] if starts and len(set(starts)) == 1 else None
