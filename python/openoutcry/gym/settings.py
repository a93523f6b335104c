"""Settings of an environment: fixed attributes, and options of `reset`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from inspect import signature
from typing import Any, Generic, TypeVar, overload

from openoutcry.arguments import costs_and_limits, type_of
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.gym.episodes import RANDOM, Episodes
from openoutcry.openoutcry_py import CostModel, Limits

T = TypeVar("T")

TERMS = ("costs", "limits")
WINDOWS = ("window", "within", "episode_bars")
MARKET = ("n_symbols", "n_days", "dataset", "datasets")
OPTIONS = (*TERMS, *WINDOWS, "dataset")
"""Options of `reset`; they hold from that reset on."""

# Gymnasium passes options through all wrappers, and Minari's `DataCollector` reads this one.
_OF_WRAPPERS = ("minari_autoseed",)

_FIXED = (
    "observation", "reward", "reward_parameter", "lookback", "history", "mask", "features", "scale", "split", "action",
    "levels", "no_trade_band", "info", "on_invalid", "datasets", "seed", "num_envs", "copy", "threads",
    "autoreset_mode", "max_episode_steps", "render_lane",
)  # fmt: skip
_HINTS = {
    "max_weight": "options={'limits': Limits(max_weight=...)}",
    "allow_short": "options={'limits': Limits(allow_short=...)}",
    "n_symbols": "options={'dataset': Dataset.synthetic(n_symbols, n_days)}",
    "n_days": "options={'dataset': Dataset.synthetic(n_symbols, n_days)}",
}

INFOS = ("light", "full")
ON_INVALID = ("raise", "hold")


def option_hint(name: str) -> str:
    """Return the hint of a setting that `reset` can change."""
    return f"env.reset(options={{{name!r}: ...}}) changes it from that episode on"


def assignment_hint(name: str) -> str:
    """Return the hint for an assigned argument of the constructor."""
    if name in _HINTS:
        return f"env.reset({_HINTS[name]}) changes it from that episode on"
    return option_hint(name) if name in OPTIONS else f"create another environment with {name}=..."


class Setting(Generic[T]):
    """An attribute that cannot be assigned: an assignment would have no effect.

    Its value is that of the private attribute: `_costs` for `costs`.

    Args:
        hint: Way to change it.
    """

    def __init__(self, hint: str) -> None:
        self._hint = hint

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Setting[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> Setting[T] | T:
        if instance is None:
            return self
        value: T = getattr(instance, f"_{self._name}")
        return value

    def __set__(self, instance: object, value: Any) -> None:
        message = f"`{self._name}` must be an argument of the constructor; received an assignment"
        raise refusal("argument_invalid", f"{message}; hint: {self._hint}")


class _Argument(Setting[Any]):
    """An argument of the constructor that is not an attribute.

    Args:
        name: Its name.
    """

    def __init__(self, name: str) -> None:
        super().__init__(assignment_hint(name))
        self._name = name

    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is None:
            return self
        raise AttributeError(f"{type(instance).__name__!r} object has no attribute {self._name!r}")


def refuse_assignments(kind: type[T]) -> type[T]:
    """Refuse the assignment of every argument of the constructor of a class.

    An attribute of the name keeps its own rule. Libraries assign `render_mode`.
    """
    for name in signature(kind.__init__).parameters:
        if name not in ("self", "render_mode") and not hasattr(kind, name):
            setattr(kind, name, _Argument(name))
    return kind


class KnownArguments:
    """An environment that keeps the arguments of its constructor, but no market.

    `openoutcry.gym.evaluate` creates an equal environment from them. A sealed market could not be saved.
    """

    datasets = Setting[tuple[Dataset, ...]](option_hint("dataset"))
    reward_scheme = Setting[str](assignment_hint("reward"))
    _arguments: dict[str, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return an environment that its constructor initializes next."""
        created = super().__new__(cls)
        known = signature(cls.__init__)
        with suppress(TypeError):  # which the constructor raises
            given = dict(known.bind(created, *args, **kwargs).arguments)
            more = [name for name, each in known.parameters.items() if each.kind is each.VAR_KEYWORD]
            given |= given.pop(more[0], {}) if more else {}
            kept = {name: value for name, value in given.items() if name not in ("self", *MARKET)}
            # Not through `__dict__`: Python reads the attributes of objects without one faster.
            created._arguments = kept
        return created


def checked_options(options: Any, known: Sequence[str] = OPTIONS) -> dict[str, Any]:
    """Return the options of a `reset`.

    Raises:
        OpenOutcryError: `argument_invalid`: an option is unknown.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise refusal("argument_invalid", f"`options` must be a dict or None; received {type_of(options)}")
    for name in options:
        if name not in (*known, *_OF_WRAPPERS):
            message = f"`options` must be among {', '.join(known)}; received {name!r}"
            hint = _HINTS.get(name, "the constructor fixes it, so create another environment")
            raise refusal("argument_invalid", f"{message}; hint: {hint}" if name in (*_FIXED, *_HINTS) else message)
    return {name: options[name] for name in options if name in known}


def changed_settings(
    settings: tuple[CostModel, Limits, Episodes], options: Mapping[str, Any]
) -> tuple[CostModel, Limits, Episodes]:
    """Return costs, limits and windows after the options of a `reset`."""
    costs, limits = (options.get(name, old) for name, old in zip(TERMS, settings[:2], strict=True))
    return (*costs_and_limits(costs, limits), changed_episodes(settings[2], options))


def changed_episodes(episodes: Episodes, options: Mapping[str, Any]) -> Episodes:
    """Return the episodes after the window options of a `reset`."""
    changes = {name: options[name] for name in WINDOWS if name in options}
    window = changes.get("window", episodes.window)
    if not (isinstance(window, str) and window == RANDOM):
        # A fixed window has no range and no length.
        changes = {"within": None, "episode_bars": None} | changes
    return replace(episodes, **changes) if changes else episodes


__all__ = [
    "INFOS",
    "ON_INVALID",
    "OPTIONS",
    "TERMS",
    "WINDOWS",
    "Setting",
    "changed_episodes",
    "changed_settings",
    "checked_options",
    "option_hint",
]
