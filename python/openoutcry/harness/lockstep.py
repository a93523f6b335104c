"""A barrier that keeps concurrent runs at the same bar."""

from __future__ import annotations

import threading


class Stopped(Exception):  # noqa: N818 not an error of this run: another run failed
    """Another run of the same lockstep failed."""


class Lockstep:
    """A barrier that a number of runs pass together, bar by bar, until each leaves.

    Args:
        n_runs: Number of runs.
    """

    def __init__(self, n_runs: int) -> None:
        self._changed = threading.Condition()
        self._n_active = n_runs
        self._n_waiting = 0
        self._bar = 0
        self._is_stopped = False

    def wait(self) -> None:
        """Wait until every other active run has reached this bar.

        Raises:
            Stopped: another run has failed.
        """
        with self._changed:
            bar = self._bar
            self._n_waiting += 1
            self._advance_if_all_wait()
            while self._bar == bar and not self._is_stopped:
                self._changed.wait()
            if self._is_stopped:
                raise Stopped

    def leave(self) -> None:
        """Remove a run that has ended."""
        with self._changed:
            self._n_active -= 1
            self._advance_if_all_wait()

    def stop(self) -> None:
        """Stop all runs at the barrier."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()

    def _advance_if_all_wait(self) -> None:
        if self._n_waiting == self._n_active:
            self._n_waiting = 0
            self._bar += 1
            self._changed.notify_all()
