"""Gymnasium environments, driven by one fixed sequence of actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from openoutcry.audits.leakcheck.episode_trace import Episode, Layout, layout_of, trace_of
from openoutcry.audits.leakcheck.frame_columns import Source
from openoutcry.audits.leakcheck.leak_search import RAISED
from openoutcry.audits.leakcheck.perturbation import garbage
from openoutcry.audits.leakcheck.target_trace import Trace
from openoutcry.errors import refusal

SEED = 0

_RESET = ("observation", "info")
_STEP = ("observation", "reward", "terminated", "truncated", "info")

# Actions that are changed to see which reward they move first, and how many steps they are given to do so.
_TRIALS = 6
_PATIENCE = 40


@dataclass(frozen=True)
class Clock:
    """Which bar an observation is of.

    Attributes:
        start: Bar of the first observation.
        told_by: `start` where the caller said so, else the `date` of the infos, the `reward`, or both; where neither
            tells, the `length` of an episode, which says the latest bar that it can be.
    """

    start: int
    told_by: str


@dataclass(frozen=True)
class Span:
    """How far the episode on the data as it is went.

    Attributes:
        n_steps: Actions that it took.
        last: Bar of its last observation.
        ended_by: `terminated`, `truncated` or both; nothing where it outlived the actions.
    """

    n_steps: int
    last: int
    ended_by: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the span as values that JSON can carry."""
        return {"n_steps": self.n_steps, "last_bar": self.last, "ended_by": list(self.ended_by)}


class EnvTarget:
    """An environment that `make` builds from a frame.

    An observation may know the bar it is of. That is the bar before the one that the first reward moved by its action
    is made of: what an action earns must not be known when it is chosen. Where infos name dates, an observation must
    not know more than its date either. Where all rewards depend on all bars, nothing but the end of the data bounds it.
    """

    kind = "env"

    def __init__(self, make: Callable[[Any], Any], start: int | None = None) -> None:
        self._make = make
        self._actions: list[Any] = []
        self.clock = None if start is None else Clock(start, "start")
        self.span: Span | None = None
        self.unread: tuple[str, ...] = ()
        self._begins: str | None = None
        self._layout: Layout | None = None

    def of(self, make: Callable[[Any], Any]) -> EnvTarget:
        """Return a target of another environment, as this one but for what it shows."""
        other = EnvTarget(make)
        other.clock, other._actions, other._layout = self.clock, self._actions, self._layout
        return other

    def run(self, source: Source, original: Source, cut: int | None) -> Trace:
        """Return what observations, infos and rewards showed, by the bar they are of."""
        if self.clock is None:
            self.clock = self._clock(original)
        limit = None if cut is None else cut - self.clock.start + 1
        episode = self._drive(source, original.n_bars, limit)
        if cut is None:
            self._begins = episode.dates[0]
        elif episode.dates[0] != self._begins:
            message = f"an episode that begins at {self._begins} is required; received one from {episode.dates[0]}"
            raise refusal("shape_mismatch", message)
        if self._layout is None:
            self._layout = layout_of(episode)
            self.span = Span(len(episode.rewards), self.clock.start + len(episode.rewards), episode.ended_by)
            self.unread = tuple(f"{name} ({kind})" for name, kind in episode.unread.items())
        return trace_of(episode, self._layout, self.clock.start, original.n_bars)

    def begins(self, source: Source) -> int | None:
        """Return the bar of the first observation by rewards, None if untold."""
        if self.clock is None or "reward" not in self.clock.told_by:
            return None
        try:
            return self._by_rewards(self._drive(source, len(self._actions)), source)
        except RAISED:
            return None

    def _drive(
        self, source: Source, n_bars: int, limit: int | None = None, actions: Sequence[Any] | None = None
    ) -> Episode:
        """Return an episode, of `limit` steps at most."""
        env, episode = self._make(source.frame()), Episode()
        lacking = [f"method `{name}`" for name in ("reset", "step", "close") if not callable(getattr(env, name, None))]
        lacking += [] if hasattr(env, "action_space") else ["`action_space`"]
        if lacking:
            wanted = f"`target` must return a gymnasium.Env, which has a {lacking[0]}"
            raise refusal("argument_invalid", f"{wanted}; received {type(env).__name__}")
        try:
            # Of the first environment: what another future does to a space must not change what is done.
            if not self._actions:
                env.action_space.seed(SEED)
                self._actions = [env.action_space.sample() for _ in range(n_bars)]
            chosen = self._actions if actions is None else actions
            episode.add(*_told("reset", env.reset(seed=SEED), _RESET))
            episode.add_spaces(env)
            for action in chosen[: None if limit is None else max(limit, 0)]:
                observation, reward, terminated, truncated, info = _told("step", env.step(action), _STEP)
                episode.rewards.append(_reward(reward))
                episode.add(observation, info)
                flags = {"terminated": bool(terminated), "truncated": bool(truncated)}
                episode.ended_by = tuple(name for name, flag in flags.items() if flag)
                if episode.is_over:
                    break
        finally:
            env.close()
        return episode

    def _clock(self, source: Source) -> Clock:
        base = self._drive(source, source.n_bars)
        told = {"date": _by_dates(base, source), "reward": self._by_rewards(base, source)}
        known = {name: start for name, start in told.items() if start is not None}
        if not known and base.is_over:
            return Clock(source.n_bars - 1 - len(base.rewards), "length")
        if not known:
            wanted = "an environment must name a `date` in its info, or reward actions by the bars after them"
            hint = "hint: say the bar of its first observation with `--start`"
            raise refusal("argument_invalid", f"{wanted}; received neither; {hint}")
        start = min(known.values())
        return Clock(start, " and ".join(name for name in known if known[name] == start))

    def _by_rewards(self, base: Episode, source: Source) -> int | None:
        """Return the bar of the first observation by what rewards are made of.

        The earliest that any of a few actions tells: one that moves nothing before a later one does tells a later bar.
        """
        starts = []
        for k in sorted({int(len(base.rewards) * (trial + 1) / (_TRIALS + 2)) for trial in range(_TRIALS)}):
            turned = self._turned(k)
            moved = None if turned is None else self._tried(source, source.n_bars, k + _PATIENCE, turned)
            place = None if moved is None else _parting(base.rewards, moved.rewards)
            if place is None:
                continue
            last = max(self._last_bar(place, source, actions) for actions in (self._actions, turned))
            # Made of the last bar of all: of everything, perhaps, and then it tells nothing.
            starts += [last - 1 - k] if 0 < last < source.n_bars - 1 else []
        return min(starts, default=None)

    def _turned(self, k: int) -> list[Any] | None:
        """Return the actions with another one in the place of action k."""
        others = (action for action in self._actions if not np.array_equal(action, self._actions[k]))
        other = next(others, None)
        return None if other is None else [*self._actions[:k], other, *self._actions[k + 1 :]]

    def _tried(self, source: Source, n_bars: int, limit: int, actions: Sequence[Any] | None) -> Episode | None:
        try:
            return self._drive(source, n_bars, limit, actions)
        except RAISED:  # an environment may not survive another action or future
            return None

    def _last_bar(self, place: int, source: Source, actions: Sequence[Any] | None) -> int:
        """Return the last bar that a reward depends on, 0 for none after the first."""
        as_is = self._drive(source, source.n_bars, place + 1, actions)

        def depends(bar: int) -> bool:
            other = self._tried(garbage(source, bar - 1), source.n_bars, place + 1, actions)
            # An episode that garbage cuts short depends on it too.
            if other is None or len(other.rewards) <= place:
                return True
            return _parting(as_is.rewards[place : place + 1], other.rewards[place : place + 1]) is not None

        low, high = 0, source.n_bars
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if depends(middle) else (low, middle)
        return low


def _told(method: str, returned: Any, names: tuple[str, ...]) -> Any:
    """Return what a method returned, once it is sure that it is Gymnasium's."""
    wanted = f"`{method}` of an environment must return ({', '.join(names)})"
    if not isinstance(returned, tuple) or len(returned) != len(names):
        received = f"{len(returned)} values" if isinstance(returned, tuple) else type(returned).__name__
        raise refusal("shape_mismatch", f"{wanted}; received {received}")
    if not isinstance(returned[-1], Mapping):
        raise refusal("shape_mismatch", f"{wanted}, info being a dict; received {type(returned[-1]).__name__}")
    return returned


def _reward(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        message = f"a reward must be a number; received {type(value).__name__}"
        raise refusal("argument_invalid", message) from None


def _parting(a: Sequence[float], b: Sequence[float]) -> int | None:
    """Return where two lists of rewards first differ by more than rounding."""
    n = min(len(a), len(b))
    x, y = np.array(a[:n]), np.array(b[:n])
    with np.errstate(all="ignore"):
        apart = np.abs(x - y) > 1e-9 * np.maximum(np.abs(x), np.abs(y))
    places = np.flatnonzero(apart | (np.isnan(x) != np.isnan(y)))
    return int(places[0]) if len(places) else None


def _by_dates(episode: Episode, source: Source) -> int | None:
    """Return the bar of the first observation by the dates of the infos."""
    bar_of = {date: bar for bar, date in enumerate(source.dates or ())}
    starts = [bar_of[date] - k for k, date in enumerate(episode.dates) if date is not None and date in bar_of]
    # Over several files or at irregular steps, a date says nothing of the next.
    return starts[0] if starts and len(set(starts)) == 1 else None
