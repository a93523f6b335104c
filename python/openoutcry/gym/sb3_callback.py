"""Callback of Stable-Baselines3 that evaluates the model during training."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from openoutcry.arguments import checked_integer, is_bool, path_of
from openoutcry.gym.evaluation import PolicyEvaluation, evaluate, metric_of
from openoutcry.report.charts.learning_curve import learning_curve
from openoutcry.report.charts.svg import standalone
from openoutcry.untrusted.counted_nouns import counted
from openoutcry.untrusted.terminal import echo

try:
    from stable_baselines3.common.callbacks import BaseCallback
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("openoutcry.sb3 needs `pip install openoutcry[train]`", name=error.name) from error


class EvaluationCallback(BaseCallback):  # type: ignore[misc]
    """Evaluate a model during training with `openoutcry.gym.evaluate`.

    It evaluates before the first step, then after every `every` steps, and after the last one. It prints a line, logs
    the mean as `evaluation/<metric>`, and draws the learning curve. The settings are those of the environment of the
    training. The training does not change: the results are those without the callback.

    Attributes:
        history: Steps and the metric of every window, in order.
        last: The last evaluation; None before the first one.

    Args:
        dataset: As in `evaluate`; None for the market of the training.
        windows: As in `evaluate`. Windows that select a model are no test of it: keep others for the score.
        every: Number of steps of the environment between evaluations.
        metric: Name of a metric of `Run.metrics`.
        picture: SVG file of the learning curve, rewritten after every evaluation; None for none. Folders are created. A
            picture that fails prints a line to standard error, and the training continues.
        verbose: 1 to print, 0 for silence.
        **settings: Other arguments of `evaluate`.

    Raises:
        OpenOutcryError: `argument_invalid`: there is no metric of this name, or `every` or `picture` is invalid.
    """

    def __init__(
        self,
        dataset: Any = None,
        windows: Any = None,
        *,
        every: int = 10_000,
        metric: str = "return",
        picture: str | os.PathLike[str] | None = None,
        verbose: int = 1,
        **settings: Any,
    ) -> None:
        super().__init__(verbose if is_bool(verbose) else checked_integer("verbose", verbose, 0, 2))
        self._source, self._windows, self._settings = dataset, windows, settings
        self._every = checked_integer("every", every, 1, 2**62)
        self._metric = metric_of(metric)
        self._picture = None if picture is None else path_of("picture", picture)
        self.history: list[tuple[int, tuple[float, ...]]] = []
        self.last: PolicyEvaluation | None = None

    def _on_training_start(self) -> None:
        self._evaluate()

    def _on_step(self) -> bool:
        if self.num_timesteps - self.history[-1][0] >= self._every:
            self._evaluate()
        return True

    def _on_training_end(self) -> None:
        # An evaluation at the last step was made before the last update of the model.
        if len(self.history) > 1 and self.history[-1][0] == self.num_timesteps:
            self.history.pop()
        self._evaluate()

    def _evaluate(self) -> None:
        """Evaluate the model, unless it was evaluated at this step."""
        steps = self.num_timesteps
        if self.history and self.history[-1][0] == steps:
            return
        # The market is opened once.
        dataset = self._source if self.last is None else self.last.dataset
        self.last = evaluate(self.model, dataset, self._windows, **{"env": self.training_env} | self._settings)
        values = self.last.values(self._metric)
        self.history.append((steps, tuple(values.tolist())))
        known = values[np.isfinite(values)]
        mean = f"{known.mean():+.4f}" if known.size else "undefined"
        if known.size:
            self.logger.record(f"evaluation/{self._metric}", float(known.mean()))
        if self.verbose:
            of = f", mean of {counted(known.size, 'window')}" if len(values) > 1 else ""
            echo(f"evaluation after {counted(steps, 'step')}: {self._metric} {mean}{of}")
        if self._picture is not None:
            self._draw(self._picture)

    def _draw(self, picture: Path) -> None:
        """Write the learning curve; an error must not end the training."""
        try:
            curve = standalone(learning_curve(self.history, self._metric), title="Learning curve")
            picture.parent.mkdir(parents=True, exist_ok=True)
            picture.write_text(curve, encoding="utf-8")
        except Exception as error:  # noqa: BLE001 an error of any kind is printed
            echo(f"the learning curve was not drawn: {type(error).__name__}: {error}", err=True)


__all__ = ["EvaluationCallback"]
