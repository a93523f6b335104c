"""Evaluation of a policy: its runs over fixed windows, record, score and report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from openoutcry import openoutcry_py as native
from openoutcry.arguments import checked_integer, checked_text, is_integer, path_of, type_of
from openoutcry.backtest.run import Run, run_backtest
from openoutcry.data.dataset import Dataset
from openoutcry.data.window import Edge, Window, as_window
from openoutcry.errors import add_note, refusal
from openoutcry.gym.evaluation_environment import Stage, stage_of
from openoutcry.gym.market_arguments import Market
from openoutcry.gym.policies import Decide, check_spaces, decider_of, evaluation_mode
from openoutcry.records.run_record import SUFFIXES, RunRecord
from openoutcry.report.score_report import write_score_report
from openoutcry.scoring.scorer import score
from openoutcry.scoring.verdict import Board

AnyWindow: TypeAlias = "Window | tuple[Edge, Edge] | str | None"
YEARLY = "yearly"


@dataclass(frozen=True)
class PolicyEvaluation:
    """The runs of a policy over the windows of an evaluation.

    Attributes:
        runs: One run per window, in order; each has a record.
        record: The record of all runs.
        path: File of the record; None if it was not written.
    """

    runs: tuple[Run, ...]
    record: RunRecord
    path: Path | None = None

    @property
    def dataset(self) -> Dataset:
        """The market."""
        return self.runs[0].dataset

    def values(self, metric: str) -> npt.NDArray[np.float64]:
        """Return a metric of every run, shape `(n_windows,)`; NaN if undefined.

        Raises:
            OpenOutcryError: `argument_invalid`: there is no metric of this name.
        """
        name = metric_of(metric)
        found = [run.metrics[name] for run in self.runs]
        return np.array([np.nan if value is None else value for value in found])

    def score(self, **options: Any) -> Board:
        """Return the board of the record; `options` are those of `openoutcry.score`."""
        return score(self.record, **{"dataset": self.dataset} | options)

    def report(self, path: str | os.PathLike[str]) -> str:
        """Write a report to one HTML file and return its path.

        It is the report of the run, or for several windows the page of the board.
        """
        if len(self.runs) == 1:
            return self.runs[0].report(path, record=self.path)
        return write_score_report(self.score(), path, records=[self.record])


def evaluate(
    policy: Any,
    dataset: Market | None = None,
    windows: AnyWindow | Sequence[AnyWindow] | int = None,
    *,
    env: Any = None,
    normalize: Any = None,
    record: str | os.PathLike[str] | None = None,
    name: str | None = None,
    **settings: Any,
) -> PolicyEvaluation:
    """Run a policy without exploration over windows of a market, in order.

    Args:
        policy: A model of Stable-Baselines3 or sb3-contrib, also a recurrent or a maskable one; an algorithm of RLlib
            with `compute_single_action`; a torch module, also one of TorchRL; or a function from observation to action.
        dataset: The market, as in `OpenOutcryEnv`; None for that of `env`.
        windows: A window, or a list of them; None for all bars; an integer for so many windows of equal length; or
            `yearly`. Windows of a split share one bar, so that every return is in one window.
        env: The environment of the training: an `OpenOutcryEnv`, in any wrappers; an `OpenOutcryVectorEnv`; or a
            `VecEnv` of either, also in `VecNormalize`. Its settings are used; it is not stepped. None for that of
            the model, or for the defaults of `OpenOutcryEnv`. Wrappers are copied, and running statistics do not
            change.
        normalize: Function on observations before the policy sees them, such as `vec_normalize.normalize_obs`; None
            for that of the `VecNormalize` of `env` or of the model.
        record: File to write the record to, or a folder for `record.json` in it; folders are created.
        name: Name of the policy in records and reports; None for that of its class.
        **settings: Arguments of `OpenOutcryEnv` that replace those of `env`, such as `costs`.

    Returns:
        The runs, equal to the bit to those of `run_backtest` with the same target weights.

    Raises:
        OpenOutcryError: a window or a setting is invalid, the policy was trained on other observations or actions, or a
            wrapper does not advance one bar per step.
        Exception: an exception of the policy passes unchanged, with a note of the bar and date of the decision.
    """
    if not (normalize is None or callable(normalize)):
        message = f"`normalize` must be a function on observations or None; received {type_of(normalize)}"
        raise refusal("argument_invalid", f"{message}; hint: vec_normalize.normalize_obs")
    start = decider_of(policy)
    source = _called(policy, "get_env") if env is None else env
    stage = stage_of(source, dataset, settings)
    normalize = normalize or stage.normalize or getattr(_called(policy, "get_vec_normalize_env"), "normalize_obs", None)
    check_spaces(policy, stage.env, stage.base.dataset.n_symbols)
    class_name = getattr(policy, "__name__", type(policy).__name__)
    title = checked_text("name", class_name if name in (None, "") else name)
    path = None if record is None else _record_path(record)
    spans = windows_of(windows, stage.base)
    with evaluation_mode(policy):
        runs = tuple(_run(stage, span, start(), normalize, title) for span in spans)
    joined = RunRecord.join(title, [run.record for run in runs])
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        joined.save(path)
    return PolicyEvaluation(runs, joined, path)


def metric_of(metric: Any) -> str:
    """Return the name of a metric of `Run.metrics`.

    Raises:
        OpenOutcryError: `argument_invalid`: there is no metric of this name.
    """
    known, _ = native.summarize(np.zeros(2), periods_per_year=None)
    if not isinstance(metric, str) or metric not in known:
        raise refusal("argument_invalid", f"`metric` must be one of {', '.join(known)}; received {metric!r}")
    return metric


def windows_of(windows: Any, env: Any) -> list[tuple[int, int]]:
    """Return the windows of an evaluation as bars `[start, end)`."""
    market, lookback = env.dataset, env._shown
    is_yearly = isinstance(windows, str) and windows == YEARLY
    if is_integer(windows) or is_yearly:
        first, end = Window().resolve(market, lookback)
        if is_yearly:
            years = [date[:4] for date in market.dates]
            edges = [bar for bar in range(first, end - 1) if bar == first or years[bar] != years[bar + 1]] + [end - 1]
        else:
            n = checked_integer("windows", windows, 1, end - 1 - first)
            edges = [first + (end - 1 - first) * k // n for k in range(n + 1)]
        return [(start, last + 1) for start, last in pairwise(edges)]
    if windows is not None and not isinstance(windows, (list, tuple, str, Window)):
        wanted = f"`windows` must be a window, a list of windows, an integer, {YEARLY} or None"
        hint = "hint: write an array as `[tuple(each) for each in windows.tolist()]`"
        raise refusal("window_invalid", f"{wanted}; received {type(windows).__name__}; {hint}")
    given = windows if isinstance(windows, list) else [windows]
    if not given:
        raise refusal("window_invalid", "`windows` must be at least one window; received an empty list")
    return [as_window(each).resolve(market, lookback) for each in given]


def _run(stage: Stage, window: tuple[int, int], decide: Decide, normalize: Any, name: str) -> Run:
    """Return the run of a policy over a window.

    It has no symbols of a padding: orders in them are refused, so that they do not change the account.
    """
    base, market = stage.base, stage.market
    decisions, navs = _stepped(stage, window, decide, normalize)
    run = run_backtest(
        market,
        decisions[:, : market.n_symbols],
        window,
        base.costs,
        base.limits,
        base._seed,
        lookback=base._shown,
        name=name,
        capture=True,
    )
    if run.nav[: len(navs)].tobytes() != np.array(navs).tobytes():
        wanted = "the NAV of the environment must follow from its decisions"
        raise refusal("record_differs", f"{wanted}; received another NAV; hint: a wrapper changed the account")
    return run


def _stepped(
    stage: Stage, window: tuple[int, int], decide: Decide, normalize: Any
) -> tuple[npt.NDArray[np.float64], list[float]]:
    """Step the environment through a window; return decisions by bar, and NAVs."""
    env = stage.env
    dates, options = stage.base.dataset.dates, {**stage.options, "window": window}
    # The seed is that of random wrappers: the window is fixed.
    observation, _ = env.reset(seed=0, options=options)
    core = stage.base._core
    decisions = np.full((stage.base.dataset.n_bars, stage.base.dataset.n_symbols), np.nan)
    navs, is_done = [core.nav], False
    while not is_done:
        bar = core.bar
        try:
            shown = observation if normalize is None else normalize(observation)
            action = decide(shown, lambda: env.get_wrapper_attr("action_masks")())
            observation, _, terminated, truncated, _ = env.step(action)
        except Exception as error:
            add_note(error, f"in the decision at the close of bar {bar} ({dates[bar]})")
            raise
        is_done = core.terminated or core.truncated
        if core.bar != bar + 1 or is_done != (terminated or truncated):
            wanted = "a step of `env` must advance one bar, to the end of the window"
            raise refusal(
                "argument_invalid", f"{wanted}; received bar {core.bar} after {bar}; hint: check its wrappers"
            )
        # Absent if a wrapper has restored a state.
        decisions[bar] = native.last_decision(core)
        navs.append(core.nav)
    return decisions, navs


def _called(policy: Any, method: str) -> Any:
    """Return the result of a method of a model; None if it has no such method."""
    found = getattr(policy, method, None)
    return found() if callable(found) else None


def _record_path(record: str | os.PathLike[str]) -> Path:
    path = path_of("record", record)
    return path if path.name.endswith(SUFFIXES) else path / "record.json"


__all__ = ["PolicyEvaluation", "evaluate", "metric_of"]
