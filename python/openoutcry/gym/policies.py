"""Policies of several libraries as functions from observation to action."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from inspect import signature
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces

from openoutcry.errors import refusal

Masks: TypeAlias = "Callable[[], Any]"
Decide: TypeAlias = "Callable[[Any, Masks], Any]"
"""Returns the action of an observation; the second argument returns the valid choices of discrete actions."""

_KINDS = "a model with `predict`, a torch module, or a function from observation to action"


def decider_of(policy: Any) -> Callable[[], Decide]:
    """Return a function that starts the policy on a window, without a state.

    Args:
        policy: A model of Stable-Baselines3 or sb3-contrib, an algorithm of RLlib with `compute_single_action`, a torch
            module, also one of TorchRL, or a function from observation to action.

    Raises:
        OpenOutcryError: `argument_invalid`: the policy is none of these.
    """
    if callable(getattr(policy, "predict", None)):
        return partial(_predicting, policy.predict)
    if callable(getattr(policy, "compute_single_action", None)):
        named = _accepted(policy.compute_single_action, {"explore": False})
        return lambda: lambda observation, masks: _first(policy.compute_single_action(observation, **named))
    if is_module(policy):
        return lambda: _module_decider(policy)
    if callable(policy):
        return lambda: lambda observation, masks: _array(policy(observation))
    raise refusal("argument_invalid", f"`policy` must be {_KINDS}; received {type(policy).__name__}")


def is_module(policy: Any) -> bool:
    """Return whether a policy is a torch module that is not a model with `predict`."""
    names = ("forward", "parameters", "modules")
    return callable(policy) and all(callable(getattr(policy, name, None)) for name in names)


@contextmanager
def evaluation_mode(policy: Any) -> Iterator[None]:
    """Set the parts of a torch module to evaluation mode, and restore their modes."""
    parts = list(policy.modules()) if is_module(policy) and not hasattr(policy, "predict") else []
    modes = [part.training for part in parts]
    try:
        for part in parts:
            part.training = False
        yield
    finally:
        for part, mode in zip(parts, modes, strict=True):
            part.training = mode


def check_spaces(policy: Any, env: gymnasium.Env[Any, Any], n_symbols: int) -> None:
    """Check that a model was trained with the spaces of an environment.

    Raises:
        OpenOutcryError: `shape_mismatch`: they differ; a model without spaces is not checked.
    """
    acts, sees = (getattr(policy, f"{name}_space", None) for name in ("action", "observation"))
    if isinstance(acts, spaces.Space) and acts != env.action_space:
        wanted = f"the actions of the environment must be those of the model, {_shown(acts, bounds=True)}"
        received = _shown(env.action_space, bounds=True)
        hint = (
            f"the number of symbols is {n_symbols}; pass `limits`, `action` and `levels` of the training, or its `env`"
        )
        raise refusal("shape_mismatch", f"{wanted}; received {received}; hint: {hint}")
    if isinstance(sees, spaces.Space) and _shown(sees) != _shown(env.observation_space):
        wanted = f"the observations of the environment must be those of the model, {_shown(sees)}"
        # The size of a flat observation does not determine its lookback: features and a mask have columns too.
        hint = "pass the `env` of the training, or its `observation`, `lookback`, `features`, `history` and `mask`"
        raise refusal("shape_mismatch", f"{wanted}; received {_shown(env.observation_space)}; hint: {hint}")


def _shown(space: spaces.Space[Any], *, bounds: bool = False) -> str:
    """Return kind and shape of a space, with the bounds of actions."""
    if isinstance(space, spaces.Dict):
        return ", ".join(f"{name} {_shown(each)}" for name, each in sorted(space.items()))
    kind = type(space).__name__
    if isinstance(space, spaces.Box):
        span = f" from {space.low.min():g} to {space.high.max():g}" if bounds else ""
        return f"{kind} {space.shape}{span}"
    # The number of bars of a cursor is that of the market.
    return f"{space}" if bounds else kind


def _predicting(predict: Callable[..., Any]) -> Decide:
    """Return the decisions of `predict`, as Stable-Baselines3 defines it.

    They have a state of their own.
    """
    state: Any = None
    is_first = True
    named = _accepted(predict, {"deterministic": True, "state": None, "episode_start": None, "action_masks": None})

    def decide(observation: Any, masks: Masks) -> Any:
        nonlocal state, is_first
        values = {"state": state, "episode_start": np.array([is_first])}
        if "action_masks" in named:
            values["action_masks"] = masks()
        found = predict(observation, **{name: values.get(name, value) for name, value in named.items()})
        is_first = False
        if not isinstance(found, tuple):
            return _array(found)
        action, state = found
        return _array(action)

    return decide


def _accepted(function: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that a function accepts by name."""
    known = signature(function).parameters
    takes_all = any(each.kind is each.VAR_KEYWORD for each in known.values())
    return {name: value for name, value in values.items() if name in known or (takes_all and name == "deterministic")}


def _first(found: Any) -> Any:
    """Return the action of RLlib, which may be followed by states and extras."""
    return _array(found[0] if isinstance(found, tuple) else found)


def _array(action: Any) -> Any:
    """Return an action of torch as a NumPy array, and another one as it is."""
    return action.detach().cpu().numpy() if hasattr(action, "detach") else action


def _module_decider(module: Any) -> Decide:
    """Return the decisions of a torch module, called with a batch of one observation."""
    import torch

    known = next(iter(module.parameters()), torch.zeros(()))
    names = [_key(name) for name in getattr(module, "in_keys", ())]

    def tensor_of(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: tensor_of(each) for name, each in value.items()}
        tensor = torch.as_tensor(np.asarray(value), device=known.device).unsqueeze(0)
        return tensor.to(known.dtype) if tensor.is_floating_point() else tensor

    def decide(observation: Any, masks: Masks) -> Any:
        tensors = tensor_of(observation)
        arguments = [tensors]
        if names:
            arguments = [tensors[name] for name in names] if isinstance(tensors, dict) else [tensors]
        with torch.no_grad(), _deterministic(is_needed=bool(names)):
            found = module(*arguments)
        if names and isinstance(found, tuple):
            found = found[[_key(name) for name in module.out_keys].index("action")]
        if not isinstance(found, torch.Tensor) or found.shape[:1] != (1,):
            message = "`policy` must return a tensor with one action for a batch of one observation"
            hint = "hint: pass a function from observation to action"
            received = tuple(found.shape) if isinstance(found, torch.Tensor) else type(found).__name__
            raise refusal("argument_invalid", f"{message}; received {received}; {hint}")
        return _array(found[0])

    return decide


@contextmanager
def _deterministic(*, is_needed: bool) -> Iterator[None]:
    """Make the distributions of TorchRL return their deterministic action."""
    if not is_needed:
        yield
        return
    from tensordict.nn import InteractionType, set_interaction_type

    with set_interaction_type(InteractionType.DETERMINISTIC):
        yield


def _key(name: Any) -> str:
    """Return the last part of a key of a tensordict."""
    return str(name[-1] if isinstance(name, tuple) else name)


__all__ = ["Decide", "check_spaces", "decider_of", "evaluation_mode", "is_module"]
