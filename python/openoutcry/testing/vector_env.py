"""`check_vector_env`: check a vector environment against Gymnasium's conventions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from gymnasium.vector import AutoresetMode, VectorEnv

from openoutcry.testing import vector_env_checks
from openoutcry.testing.autoreset import check_autoreset
from openoutcry.testing.fixed_rollout import Scalar, Subject, Vector, VectorEnvError

# In the order in which they run: each may rely on those before it.
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

    It takes random actions, the same in every run. The checks, by name:

    - `spaces`: the class, `num_envs`, `metadata["autoreset_mode"]`, each batched space the batch of the single one.
    - `reset`, `step`: structure, shapes and dtypes of what is returned, numbers in the bounds of their space.
    - `infos`: every key an array of a row per lane, or a dict of them, beside a mask `_key`.
    - `seeding`: a seed and actions give one run, again and in another instance.
    - `copies`: what was handed out never changes, shares no memory with what follows, and is never read back.
    - `autoreset`: what its mode asks at the end of an episode: the step that only resets (NEXT_STEP), `final_obs` and
      `final_info` with their masks (SAME_STEP), a refusal until `reset_mask` (DISABLED).
    - `lane_seeds`: lane i of `reset(seed=s)` is lane 0 of `reset(seed=s + i)`.
    - `wrong_actions`: `step` refuses actions of a wrong shape and, where they are real numbers, NaN.
    - `unmoved`: refused actions move no lane, and no step writes to its actions.
    - `scalar`: the first, a middle and the last lane are scalar environments, to the bit.

    Args:
        make: Makes a vector environment, which is closed after its checks; or one that is there already.
        scalar: Makes the scalar environment of a lane, given its number; None checks no equality.
        modes: Autoreset modes to check, each in `make(autoreset_mode=mode)`; None for the one that `make()` has.
        n_steps: Steps of a run: an episode must end within them, better several.
        skip: Names of checks to leave out.

    Returns:
        The checks that ran, as `mode.name`.

    Raises:
        VectorEnvError: a check found a fault: what it wanted, and what it received.
        ValueError: an argument cannot be used.
    """
    if unknown := sorted(set(skip) - set(CHECKS)):
        raise ValueError(f"`skip` must name checks, of {', '.join(CHECKS)}; received {', '.join(unknown)}")
    if isinstance(make, VectorEnv) or not callable(make):
        if modes is not None:
            raise ValueError("`modes` must be None for an environment that is made already; received modes")
        return _check(make, None, scalar, n_steps, skip)
    ran = []
    for mode in [None] if modes is None else modes:
        made = make if mode is None else partial(make, autoreset_mode=mode)
        env = made()
        if mode is not None and (named := env.metadata.get("autoreset_mode")) is not mode:
            wanted = f"metadata['autoreset_mode'] must be {mode}, which `make` was given"
            raise VectorEnvError("spaces", f"{wanted}; received {named!r}")
        try:
            ran += _check(env, made, scalar, n_steps, skip)
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
