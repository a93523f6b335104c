"""The environment of an evaluation: that of the training, on fixed windows."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any, NamedTuple

import gymnasium
from gymnasium.vector import VectorEnv, VectorWrapper

from openoutcry.data.dataset import Dataset
from openoutcry.data.padding import padded
from openoutcry.errors import refusal
from openoutcry.gym.environment import OpenOutcryEnv
from openoutcry.gym.market_arguments import Market, is_split, limits_of
from openoutcry.gym.observed_columns import LISTED
from openoutcry.gym.settings import WINDOWS
from openoutcry.gym.vector import OpenOutcryVectorEnv

_TERMS = ("costs", "limits", "max_weight", "allow_short")
# Wrappers of environments and of vector environments that change neither observations nor actions.
_NEUTRAL = {
    *("HumanRendering", "Monitor", "OrderEnforcing", "PassiveEnvChecker", "RecordEpisodeStatistics", "RecordVideo"),
    *("TimeLimit", "VecCheckNan", "VecMonitor"),
}
_HINT = "hint: pass `env=OpenOutcryEnv(...)` with the settings and wrappers of the training"


class Stage(NamedTuple):
    """What a policy is evaluated on.

    Attributes:
        env: The environment with its wrappers.
        base: The environment without wrappers.
        market: The market of the runs. That of `base` may be padded with symbols that are never listed.
        options: Costs and limits of every reset.
        normalize: Function from the observations of `env` to those of the policy; None for the same.
    """

    env: gymnasium.Env[Any, Any]
    base: OpenOutcryEnv
    market: Dataset
    options: Mapping[str, Any]
    normalize: Any


def stage_of(source: Any, dataset: Market | None, settings: Mapping[str, Any]) -> Stage:
    """Return an environment with the settings of another one.

    The other one is not stepped.

    Args:
        source: An environment, a vector environment or a `VecEnv` of Stable-Baselines3; None for the defaults.
        dataset: The market; None for that of the environment.
        settings: Arguments of `OpenOutcryEnv` that replace those of the environment.

    Raises:
        OpenOutcryError: the settings of the environment are not known, or no market is given.
    """
    for name in (*WINDOWS, "n_symbols", "n_days", "datasets"):
        if name in settings:
            message = f"settings of an evaluation must be without `{name}`; received {settings[name]!r}"
            raise refusal("argument_invalid", f"{message}; hint: pass `dataset` and `windows`")
    if source is None:
        if dataset is None:
            raise refusal("argument_invalid", "`dataset` must be a market, as there is no `env`; received None")
        alone = OpenOutcryEnv(dataset=dataset, **settings)
        return Stage(alone, alone, alone.dataset, {}, None)
    inner, normalize = _of_sb3(source)
    while isinstance(inner, VectorWrapper) and type(inner).__name__ in _NEUTRAL:
        inner = inner.env
    # A wrapper has the attributes of its environment.
    if isinstance(inner, VectorEnv) and not isinstance(inner, VectorWrapper) and hasattr(inner, "envs"):
        inner = inner.envs[0]
    is_batch = isinstance(inner, OpenOutcryVectorEnv)
    base = inner if is_batch else inner.unwrapped if isinstance(inner, gymnasium.Env) else None
    if not isinstance(base, (OpenOutcryEnv, OpenOutcryVectorEnv)):
        wanted = "`env` must be an OpenOutcryEnv or an OpenOutcryVectorEnv, with wrappers of single environments"
        raise refusal("argument_invalid", f"{wanted}; received {type(inner).__name__}; {_HINT}")
    created = _rebuilt(base, dataset, settings)
    market, n_symbols = created.dataset, base._markets.n_symbols
    if base._markets.is_padded and market.n_symbols < n_symbols:
        created = _rebuilt(base, padded(market, n_symbols), settings)
    return Stage(_wrapped(inner, base, created), created, market, _terms(base, settings), normalize)


def _of_sb3(source: Any) -> tuple[Any, Any]:
    """Return the environment within a `VecEnv`, and its normalization."""
    normalize = None
    while hasattr(source, "venv"):
        if callable(getattr(source, "normalize_obs", None)) and normalize is None:
            normalize = source.normalize_obs
        elif type(source).__name__ not in _NEUTRAL:
            wanted = "wrappers of a `VecEnv` must be VecNormalize, VecMonitor or VecCheckNan"
            raise refusal("argument_invalid", f"{wanted}; received {type(source).__name__}; {_HINT}")
        source = source.venv
    if isinstance(source, (gymnasium.Env, VectorEnv)):
        return source, normalize
    if envs := getattr(source, "envs", None):
        return envs[0], normalize
    return getattr(source, "env", source), normalize


def _rebuilt(env: Any, dataset: Market | None, settings: Mapping[str, Any]) -> OpenOutcryEnv:
    """Return an environment of the arguments of another one, with other settings.

    Its action space is that of the training: other limits cut actions.
    """
    kind: type[OpenOutcryEnv] = type(env)
    kept = {name: value for name, value in env._arguments.items() if name not in ("costs", *WINDOWS)}
    if isinstance(env, OpenOutcryVectorEnv):
        kind, known = OpenOutcryEnv, signature(OpenOutcryEnv.__init__).parameters
        kept = {name: value for name, value in kept.items() if name in known}
    if isinstance(kept.get("limits"), Sequence):
        kept["limits"] = _common("limits", kept["limits"])
    # By name: another market may have other features and listings.
    observed = env._observed
    kept["mask"] = observed.mask
    if kept.get("features") is None:
        names = (*observed.symbol_names, *observed.market_names)
        kept["features"] = [name for name in names if not (observed.mask and name == LISTED)]
    if dataset is None and len(env.datasets) > 1:
        raise refusal("argument_invalid", "`dataset` must be a market, as `env` has several; received None")
    if not is_split(dataset):
        # Of the windows or the market of the training.
        kept.pop("split", None)
    changed = {name: value for name, value in settings.items() if name not in _TERMS}
    return kind(**kept | changed | {"dataset": env.dataset if dataset is None else dataset})


def _terms(env: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the costs and limits of an evaluation, as options of a reset."""
    costs = settings.get("costs")
    limits = limits_of(*(settings.get(name) for name in _TERMS[1:]))
    return {
        "costs": _common("costs", env.costs) if costs is None else costs,
        "limits": limits if set(settings) & set(_TERMS[1:]) else _common("limits", env.limits),
    }


def _common(name: str, value: Any) -> Any:
    """Return the costs or limits of all lanes."""
    lanes = value if isinstance(value, Sequence) else [value]
    if any(each != lanes[0] for each in lanes):
        message = f"`{name}` must be equal in all lanes of `env`; received several"
        raise refusal("argument_invalid", f"{message}; hint: pass `{name}`, or `env=OpenOutcryEnv(...)`")
    return lanes[0]


def _wrapped(env: Any, base: Any, created: OpenOutcryEnv) -> gymnasium.Env[Any, Any]:
    """Return an environment in copies of the wrappers of another one."""
    chain = []
    while env is not base:
        chain.append(env)
        env = env.env
    copied: gymnasium.Env[Any, Any] = created
    memo: dict[int, Any] = {id(base): created}
    for wrapper in reversed(chain):
        if type(wrapper).__name__ not in _NEUTRAL:
            copied = copy.deepcopy(wrapper, memo)
            # Running statistics of observations stay those of the training.
            if getattr(copied, "update_running_mean", False):
                copied.update_running_mean = False  # type: ignore[attr-defined]
        memo[id(wrapper)] = copied
    return copied


__all__ = ["Stage", "stage_of"]
