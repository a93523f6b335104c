"""Ray as an executor of sweeps."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

_OBJECT_STORE = 256 * 2**20


class RayExecutor:
    """Runs functions on the Ray that is connected, or on a local one.

    A local one is stopped on leaving.

    Args:
        n_jobs: Processors of a local Ray.
    """

    def __init__(self, n_jobs: int) -> None:
        try:
            import ray
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("needs `pip install openoutcry[ray]`", name=error.name) from error
        self._ray = ray
        self._is_mine = not ray.is_initialized()
        if self._is_mine:
            # Read when Ray starts; it has no argument for it.
            os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
            ray.init(
                address="local",
                num_cpus=n_jobs,
                object_store_memory=_OBJECT_STORE,
                include_dashboard=False,
                log_to_driver=False,
            )
        self._shared: dict[int, tuple[Any, Any]] = {}
        self._works: dict[Callable[..., Any], Any] = {}

    def __enter__(self) -> RayExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_mine:
            self._ray.shutdown()

    def submit(self, work: Callable[..., Any], shared: Any, *args: Any) -> RayFuture:
        """Run `work(shared, *args)`; what is shared by many calls is sent once."""
        if id(shared) not in self._shared:
            # Kept, so that no other object takes its id.
            self._shared[id(shared)] = shared, self._ray.put(shared)
        if work not in self._works:
            self._works[work] = self._ray.remote(work)
        return RayFuture(self._ray, self._works[work].remote(self._shared[id(shared)][1], *args))


class RayFuture:
    """The result of a call to come."""

    def __init__(self, ray: Any, reference: Any) -> None:
        self._ray = ray
        self._reference = reference

    def result(self) -> Any:
        """Wait for the result and return it."""
        try:
            return self._ray.get(self._reference)
        except self._ray.exceptions.RayTaskError as error:
            cause = getattr(error, "cause", None)
            raise (error if cause is None else cause) from error

    def cancel(self) -> None:
        """Forget the call if it has not begun."""
        self._ray.cancel(self._reference)
