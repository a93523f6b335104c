"""Runs side by side: none is asked again before all have answered."""

from __future__ import annotations

import threading


class Stopped(Exception):  # noqa: N818 no error of this run: another one has failed
    """Another run of the same lockstep has failed."""


class Lockstep:
    """A gate that runs pass together, bar by bar, until each leaves.

    Args:
        n_runs: Runs that will pass.
    """

    def __init__(self, n_runs: int) -> None:
        self._changed = threading.Condition()
        self._live = n_runs
        self._waiting = 0
        self._bar = 0
        self._is_stopped = False

    def wait(self) -> None:
        """Wait until every other run that is still live is here, too.

        Raises:
            Stopped: a run has failed.
        """
        with self._changed:
            bar = self._bar
            self._waiting += 1
            self._open_if_all_are_here()
            while self._bar == bar and not self._is_stopped:
                self._changed.wait()
            if self._is_stopped:
                raise Stopped

    def leave(self) -> None:
        """Take out a run that has ended."""
        with self._changed:
            self._live -= 1
            self._open_if_all_are_here()

    def stop(self) -> None:
        """Let nobody pass any more."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()

    def _open_if_all_are_here(self) -> None:
        if self._waiting == self._live:
            self._waiting = 0
            self._bar += 1
            self._changed.notify_all()
