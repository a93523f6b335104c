"""Contamination test: detect memorized markets and measure the effect on returns.

`check` runs an agent on windows of a market, on masked copies, and on permuted twins with the bars of the window in
another order. The command is `openoutcry contamination`. Imports the core, `harness`, `scoring` and the charts of
`report`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from openoutcry.agents import Agent, Baseline
from openoutcry.arguments import checked_integer
from openoutcry.audits.contamination.arm_runs import Trial
from openoutcry.audits.contamination.arms import WindowMarket
from openoutcry.audits.contamination.experiment_design import Design, resolve_windows, spread_windows
from openoutcry.audits.contamination.findings import Verdict, evaluate
from openoutcry.audits.contamination.paired_differences import Difference
from openoutcry.backtest.strategies import Strategy
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.harness import HttpAgent, Launcher
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.scoring.started_agents import started_agent, warn_of_read_holdout

__all__ = ["Design", "Difference", "Verdict", "check", "spread_windows"]

_SERVER = "a server is not restarted between runs: it may carry state from one run to the next"


def check(
    agent: Agent | Launcher | Strategy | str,
    market: Dataset,
    windows: Iterable[Any],
    design: Design | None = None,
    *,
    rules: tuple[CostModel | None, Limits | None] = (None, None),
    n_jobs: int = 1,
    on_run: Callable[[], object] = lambda: None,
) -> Verdict:
    """Test whether an agent has memorized a market.

    Args:
        agent: Name of a baseline, a strategy or a candidate's file, a name for `harness.connect` such as
            `module:function`, or a launcher. These start a new agent for each run, and after a fault the decision
            defaults to hold. A callable or a server makes all runs and may carry state between them.
        market: The market that the agent may have memorized.
        windows: Windows in bars or dates, as in `run_backtest`; see `spread_windows`.
        design: Design of the experiment; the defaults of `Design`, and a single named run per window for a server.
        rules: Costs and limits; None for the defaults.
        n_jobs: Number of parallel runs; above 1 only for agents that are started for each run.
        on_run: Called after each of `len(windows) * design.runs_a_window` runs, from any thread.

    Raises:
        OpenOutcryError: `window_invalid`: windows overlap, or a symbol lacks a close within a window. Also raised if
            the agent is unknown or cannot start.
        Exception: an error of a callable.
    """
    given, agent = agent, started_agent(agent)
    assert not isinstance(agent, Strategy), "a strategy has a launcher"
    is_server = isinstance(agent, HttpAgent)
    design = design or Design(n_repeats=1 if is_server else 2)
    spans = resolve_windows(market, windows, design.lookback)
    warn_of_read_holdout(given, ((market, span) for span in spans))
    if checked_integer("n_jobs", n_jobs, 1, 256) > 1 and not isinstance(agent, Launcher):
        raise refusal("argument_invalid", f"`n_jobs` must be 1 for an in-process agent; received {n_jobs}")
    trial = Trial([WindowMarket.cut(market, span, design.lookback) for span in spans], design, rules, n_jobs, on_run)
    return evaluate(_name_of(agent), market, trial, trial.run(agent), [_SERVER] if is_server else [])


def _name_of(agent: Agent | Launcher | str) -> str:
    if isinstance(agent, str):
        return agent
    if isinstance(agent, (Launcher, Baseline)):
        return agent.name
    return str(getattr(agent, "__name__", type(agent).__name__))
