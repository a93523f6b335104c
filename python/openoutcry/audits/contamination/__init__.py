"""Contamination: whether an agent remembers a market, and what that is worth.

One agent in three arms, begun anew for every run: windows of a market as they are, the same in disguise, and twins of
them, their own bars in another order under the same names and dates. `docs/contamination.md` says who is caught where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from openoutcry.agents import Agent, Baseline
from openoutcry.arguments import whole
from openoutcry.audits.contamination.arm_runs import Trial
from openoutcry.audits.contamination.arms import Place
from openoutcry.audits.contamination.experiment_design import Design, resolved, spread
from openoutcry.audits.contamination.findings import Verdict, judged
from openoutcry.audits.contamination.paired_differences import Difference
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.harness import HttpAgent, Launcher, connect
from openoutcry.openoutcry_py import CostModel, Limits

__all__ = ["Design", "Difference", "Verdict", "check", "spread"]

_SERVER = "a server is not begun anew: what it learns in one run it has in the next"


def check(
    agent: Agent | Launcher | str,
    market: Dataset,
    windows: Iterable[Any],
    design: Design | None = None,
    *,
    rules: tuple[CostModel | None, Limits | None] = (None, None),
    n_jobs: int = 1,
    on_run: Callable[[], object] = lambda: None,
) -> Verdict:
    """Return whether an agent remembers a market.

    Args:
        agent: The name of a baseline, what `harness.connect` takes, such as `module:function`, or a launcher: each run
            is by one that was begun for it, and a fault of it is a hold. A callable is trusted: the same object makes
            all runs, one after the other, and what it keeps between them is its own to forget, as it is a
            server's.
        market: The market that it may remember.
        windows: Bars or dates, as of `run_backtest`; `spread` makes some.
        design: How it is tried; by default as `Design` says, a server with one run of a window as it is.
        rules: Costs and limits; None for the defaults.
        n_jobs: Runs at the same time, of agents that are begun for each.
        on_run: Called after each of `len(windows) * design.runs_a_window` runs, from any thread.

    Raises:
        OpenOutcryError: `window_invalid`: windows share a return, or a symbol does not close in every bar of one;
            or there is no such agent, or it cannot be begun.
        Exception: what a callable raises.
    """
    if isinstance(agent, str) and ":" in agent:
        agent = connect(agent)
    is_server = isinstance(agent, HttpAgent)
    design = design or Design(n_repeats=1 if is_server else 2)
    spans = resolved(market, windows, design.lookback)
    if whole("n_jobs", n_jobs, 1, 256) > 1 and not isinstance(agent, Launcher):
        raise refusal("argument_invalid", f"`n_jobs` must be 1 for an agent of this process; received {n_jobs}")
    trial = Trial([Place.of(market, span, design.lookback) for span in spans], design, rules, n_jobs, on_run)
    return judged(_name_of(agent), market, trial, trial.tracks(agent), [_SERVER] if is_server else [])


def _name_of(agent: Agent | Launcher | str) -> str:
    if isinstance(agent, str):
        return agent
    if isinstance(agent, (Launcher, Baseline)):
        return agent.name
    return str(getattr(agent, "__name__", type(agent).__name__))
