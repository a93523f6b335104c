"""Ray as an executor of sweeps."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

_OBJECT_STORE = 256 * 2**20


class RayExecutor:
    """Run functions on the connected Ray cluster, or on a local one.

    A local cluster is started here and stopped on exit.

    Args:
        n_jobs: Number of CPUs of a local cluster.
    """

    def __init__(self, n_jobs: int) -> None:
        try:
            import ray
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("needs `pip install openoutcry[ray]`", name=error.name) from error
        self._ray = ray
        self._owns_cluster = not ray.is_initialized()
        if self._owns_cluster:
            # Read when Ray starts; `ray.init` has no argument for it.
            os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
            ray.init(
                address="local",
                num_cpus=n_jobs,
                object_store_memory=_OBJECT_STORE,
                include_dashboard=False,
                log_to_driver=False,
            )
        self._shared: dict[int, tuple[Any, Any]] = {}
        self._remote_functions: dict[Callable[..., Any], Any] = {}

    def __enter__(self) -> RayExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        if self._owns_cluster:
            self._ray.shutdown()

    def submit(self, work: Callable[..., Any], shared: Any, *args: Any) -> RayFuture:
        """Schedule `work(shared, *args)`; an object shared by many calls is sent once."""
        if id(shared) not in self._shared:
            # A reference to the object itself, so that no other object takes its id.
            self._shared[id(shared)] = shared, self._ray.put(shared)
        if work not in self._remote_functions:
            self._remote_functions[work] = self._ray.remote(work)
        return RayFuture(self._ray, self._remote_functions[work].remote(self._shared[id(shared)][1], *args))


class RayFuture:
    """The pending result of a remote call."""

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
        """Cancel the call if it has not started."""
        self._ray.cancel(self._reference)
