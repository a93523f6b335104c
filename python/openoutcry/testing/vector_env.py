"""`check_vector_env`: check a vector environment against Gymnasium's conventions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from gymnasium.vector import AutoresetMode, VectorEnv

from openoutcry.testing import vector_env_checks
from openoutcry.testing.autoreset import check_autoreset
from openoutcry.testing.fixed_rollout import Scalar, Subject, Vector, VectorEnvError

# In the order in which they run: a check may rely on those before it.
_CHECKS: dict[str, Callable[[Subject], None]] = {
    "spaces": vector_env_checks.check_spaces,
    "reset": vector_env_checks.check_reset,
    "step": vector_env_checks.check_step,
    "infos": vector_env_checks.check_infos,
    "seeding": vector_env_checks.check_seeding,
    "copies": vector_env_checks.check_copies,
    "autoreset": check_autoreset,
    "lane_seeds": vector_env_checks.check_lane_seeds,
    "wrong_actions": vector_env_checks.check_wrong_actions,
    "unmoved": vector_env_checks.check_unmoved,
    "scalar": vector_env_checks.check_scalar,
}
CHECKS = tuple(_CHECKS)


def check_vector_env(
    make: Callable[..., VectorEnv[Any, Any, Any]] | VectorEnv[Any, Any, Any],
    scalar: Callable[[int], Scalar] | None = None,
    *,
    modes: Sequence[AutoresetMode] | None = None,
    n_steps: int = 200,
    skip: Collection[str] = (),
) -> list[str]:
    """Check a vector environment against Gymnasium's conventions.

    A lane is one sub-environment. All rollouts use the same random actions. The checks, by name:

    - `spaces`: the class, `num_envs`, `metadata["autoreset_mode"]`; a batched space is the batch of the single space.
    - `reset`, `step`: structure, shapes and dtypes of the results; numbers are within their space.
    - `infos`: a value is an array with one row per lane, or a dict of such arrays, and has a mask `_key`.
    - `seeding`: the same seed and actions give the same results, also in another instance.
    - `copies`: returned arrays never change, share no memory with later results, and are never read back.
    - `autoreset`: rules of the mode at the end of an episode: the step that only resets (NEXT_STEP), `final_obs` and
      `final_info` with their masks (SAME_STEP), an error until `reset_mask` (DISABLED).
    - `lane_seeds`: lane i of `reset(seed=s)` equals lane 0 of `reset(seed=s + i)`.
    - `wrong_actions`: `step` raises for actions of a wrong shape and, if actions are real numbers, for NaN.
    - `unmoved`: invalid actions change no lane, and no step writes to its actions.
    - `scalar`: the first, a middle and the last lane equal scalar environments, to the bit.

    Args:
        make: A function that creates a vector environment, which is closed after its checks; or an existing one.
        scalar: A function from the index of a lane to its scalar environment; None skips the check `scalar`.
        modes: Autoreset modes to check with `make(autoreset_mode=mode)`; None for the mode of `make()`.
        n_steps: Number of steps of a rollout; at least one episode must end within them, better several.
        skip: Names of checks to skip.

    Returns:
        The checks that ran, as `mode.name`.

    Raises:
        VectorEnvError: a check failed; the message states the required and the received value.
        ValueError: an argument is invalid.
    """
    if unknown := sorted(set(skip) - set(CHECKS)):
        raise ValueError(f"`skip` must name checks, of {', '.join(CHECKS)}; received {', '.join(unknown)}")
    if isinstance(make, VectorEnv) or not callable(make):
        if modes is not None:
            raise ValueError("`modes` must be None for an existing environment; received modes")
        return _check(make, None, scalar, n_steps, skip)
    ran = []
    for mode in [None] if modes is None else modes:
        factory = make if mode is None else partial(make, autoreset_mode=mode)
        env = factory()
        if mode is not None and (actual := env.metadata.get("autoreset_mode")) is not mode:
            wanted = f"metadata['autoreset_mode'] must be {mode}, the argument of `make`"
            raise VectorEnvError("spaces", f"{wanted}; received {actual!r}")
        try:
            ran += _check(env, factory, scalar, n_steps, skip)
        finally:
            env.close()
    return ran


def _check(
    env: Vector,
    make: Callable[[], Vector] | None,
    scalar: Callable[[int], Scalar] | None,
    n_steps: int,
    skip: Collection[str],
) -> list[str]:
    vector_env_checks.check_attributes(env)
    subject = Subject(env, n_steps, make, scalar)
    chosen = [name for name in _CHECKS if name not in skip and (name != "scalar" or scalar is not None)]
    for name in chosen:
        _CHECKS[name](subject)
    return [f"{subject.mode.name}.{name}" for name in chosen]


__all__ = ["CHECKS", "VectorEnvError", "check_vector_env"]
