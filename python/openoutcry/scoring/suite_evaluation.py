"""Evaluation of agents under a suite: markets, runs and null agents."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain, count, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry import data
from openoutcry import openoutcry_py as native
from openoutcry.agents import Agent, Baseline
from openoutcry.arguments import checked_integer
from openoutcry.backtest.decision_makers import name_of
from openoutcry.backtest.settings import settings_of
from openoutcry.backtest.strategies import Strategy
from openoutcry.data.columns import known_periods
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.harness import Launcher
from openoutcry.harness.process_privacy import private_process
from openoutcry.openoutcry_py import CostModel, Limits, Submission
from openoutcry.records.run_record import RunRecord
from openoutcry.scenarios.scenario import Scenario
from openoutcry.scoring.evaluation_journal import Journal, journal_of
from openoutcry.scoring.started_agents import started_agent, warn_of_read_holdout
from openoutcry.scoring.suite import IMPLIED, Market, Suite
from openoutcry.scoring.suite_runner import OnFault, SuiteRunner, SuiteWindow
from openoutcry.scoring.verdict import BENCHMARKS
from openoutcry.untrusted.counted_nouns import counted

# Mean holding period of a null agent, in bars.
_BARS_HELD = 21.0
# Null agents per native call; bounds the memory of their weights.
_BATCH = 25


class Evaluation:
    """A suite with its markets loaded.

    Args:
        suite: The protocol. Its scenarios must be sealed, because only a commitment fixes their prices.
        keys: Scenario keys by commitment, in hexadecimal, as returned by `Suite.seal`.
        datasets: Real markets that are not bundled with the package.

    Raises:
        OpenOutcryError: a market or a key is missing or does not match, or windows share a return.
    """

    def __init__(self, suite: Suite, keys: Mapping[str, str] | None = None, datasets: Iterable[Dataset] = ()) -> None:
        self.suite = suite
        given = {dataset.fingerprint: dataset for dataset in datasets}
        self._windows: list[SuiteWindow] = []
        for market in suite.markets:
            dataset = _open_market(market, keys or {}, given)
            # A run under one name would reveal the prices of the other.
            if same := [window.market for window in self._windows if window.dataset.fingerprint == dataset.fingerprint]:
                message = f"markets of a suite must be distinct; received `{market.name}`, the same as `{same[0]}`"
                raise refusal("argument_invalid", message)
            market_windows = []
            for span in market.windows:
                start, end = span.resolve(dataset, suite.lookback)
                market_windows.append(SuiteWindow(market.name, dataset, start, end, market.scenario is not None))
            for before, after in pairwise(market_windows):
                if after.start < before.end - 1:
                    message = f"windows of `{market.name}` must be in chronological order and share no return"
                    raise refusal("window_invalid", f"{message}; received bars {before.bars} and {after.bars}")
            self._windows += market_windows

    @property
    def windows(self) -> tuple[SuiteWindow, ...]:
        """The windows, in the order of the suite."""
        return tuple(self._windows)

    @property
    def n_runs(self) -> int:
        """Runs per agent: every window under every seed."""
        return len(self._windows) * len(self.suite.seeds)

    def config(self) -> dict[str, Any]:
        """Return the scorer settings of the suite.

        A suite inferred from records requires no windows, because the agents chose them.
        """
        config: dict[str, Any] = {"seeds": [str(seed) for seed in self.suite.seeds]}
        config["edition"] = self.suite.scorer_edition
        if self.suite.edition != IMPLIED:
            windows = [
                {"dataset": at.dataset.fingerprint, "start": at.start, "end": at.end, "sealed": at.sealed}
                for at in self._windows
            ]
            config["windows"] = sorted(windows, key=lambda each: (each["dataset"], each["start"], each["end"]))
        if self.suite.gates:
            config["gates"] = dict(self.suite.gates)
        if self.suite.draws:
            config["draws"] = dict(self.suite.draws)
        return config

    def markets(self) -> list[Dataset]:
        """Return the markets that records are replayed on."""
        return list({window.dataset.fingerprint: window.dataset for window in self._windows}.values())

    def rules(self) -> tuple[CostModel, Limits]:
        """Return the required costs and limits."""
        return self.suite.costs, self.suite.limits

    def lookback(self) -> int:
        """Return the required lookback."""
        return self.suite.lookback

    def run(
        self,
        agent: Agent | Launcher | Strategy | str,
        name: str = "",
        *,
        in_sample_trials: int = 0,
        record: str | os.PathLike[str] | None = None,
        resume: bool = False,
        jobs: int = 1,
        on_run: Callable[[], object] = lambda: None,
        on_fault: OnFault = lambda fault: None,
    ) -> RunRecord:
        """Run an agent over every window under every seed, and return its record.

        All seeds of a window share the same prices. An agent named `module:function`, `cmd:PROGRAM` or
        `http://HOST:PORT` starts again for each run, and all runs of a window advance in lockstep, bar by bar, so no
        run can pass future prices to another. On a fault the decision defaults to hold, and the record names the fault.
        A callable is trusted: the same object serves all runs in sequence, its exceptions propagate, and it is
        responsible for its own state between runs.

        Args:
            agent: Name of a baseline; a strategy or a candidate's file, as `run_backtest` takes them; a name as above,
                which runs outside the sandbox; a launcher such as `PythonAgent`; or a callable.
            name: Display name of the agent; default: derived from `agent`.
            in_sample_trials: Earlier trials declared by the author of the agent.
            record: File that the record is written to at the end. Until then a folder next to it, with `.parts`
                appended to the name, logs every decision.
            resume: Continue an interrupted evaluation from that folder. Logged decisions stand.
            jobs: Number of sealed markets that run in parallel. Windows of one market and real markets run in sequence,
                because a later one reveals earlier prices.
            on_run: Called after each run, from any thread.
            on_fault: Called at each fault of an agent that is not a callable, from any thread.

        Raises:
            AgentError: the agent cannot be started.
            OpenOutcryError: the agent does not exist, or a decision of a callable is invalid.
            Exception: any exception of a callable.
        """
        warn_of_read_holdout(agent, ((window.dataset, (window.start, window.end)) for window in self._windows))
        agent = started_agent(agent)
        assert not isinstance(agent, Strategy), "a strategy has a launcher"
        if isinstance(agent, Launcher):
            name, harness = name or agent.name, agent.harness
        else:
            name, harness = name or name_of(agent), None
        about = {"suite": self.suite.digest, "agent": name, "in_sample_trials": in_sample_trials, "harness": harness}
        about["agent_seed"] = agent.seed if isinstance(agent, Baseline) else 0
        seeds, rules, lookback = self.suite.seeds, self.rules(), self.suite.lookback
        jobs = checked_integer("jobs", jobs, 1, 256)
        optional_journal = nullcontext() if record is None else Journal(journal_of(record), about, resume=resume)
        with optional_journal as journal:
            runner = SuiteRunner(self._windows, seeds, rules, lookback, name, journal, jobs, on_run, on_fault)
            if isinstance(agent, Launcher):
                with private_process():
                    records = runner.run_in_parallel(agent)
            else:
                records = runner.run_sequentially(agent)
            joined = RunRecord.join(name, records, in_sample_trials)
            if journal is not None and record is not None:
                joined.save(record)
                journal.remove()
        return joined

    def luck_floor(self, reserved_names: Iterable[str] = ()) -> list[Submission]:
        """Return the random agents of the suite (null agents).

        Each holds random long-only weights, for 21 bars on average, under the suite's rules and its first seed.

        Args:
            reserved_names: Names of the agents of the board; no null agent gets one of them.
        """
        runs: list[list[Submission]] = [[] for _ in range(self.suite.n_luck)]
        for index, window in enumerate(self._windows):
            submission_of = self._submission_factory(window)
            for first in range(0, self.suite.n_luck, _BATCH):
                members = range(first, min(first + _BATCH, self.suite.n_luck))
                tables = [_random_weights(window, (self.suite.luck_seed, index, member)) for member in members]
                done, fault = native.run_tables(window.dataset._core, tables, self._settings(window))
                if fault is not None:
                    raise fault
                for member, run in zip(members, done, strict=True):
                    runs[member].append(submission_of(np.asarray(run.returns)))
        names = _null_agent_names(len(runs), set(reserved_names))
        return [Submission.join(name, windows) for name, windows in zip(names, runs, strict=True)]

    def _settings(self, window: SuiteWindow) -> native.Settings:
        span, seed = (window.start, window.end), self.suite.seeds[0]
        return settings_of(window.dataset, span, self.rules(), seed, self.suite.lookback)

    def _submission_factory(self, window: SuiteWindow) -> Callable[[npt.NDArray[np.float64]], Submission]:
        """Return a function from returns in a window to a submission."""
        held, idle = (
            native.run_agent(window.dataset._core, native.Baseline(name), self._settings(window)).returns
            for name in ("buy-and-hold", "hold-cash")
        )
        passive = native.passive_returns(window.dataset._core, self._settings(window))
        days = slice(window.start + 1, window.end)
        rates = window.dataset.risk_free
        free = None if rates is None else rates[days]
        dates = window.dataset.dates[days]

        def of(returns: npt.NDArray[np.float64]) -> Submission:
            run = (window.start, window.end, self.suite.seeds[0], returns, (held, idle, passive), free, dates)
            return Submission.of_returns(
                "luck",
                [run],
                periods_per_year=known_periods(window.dataset, "a score"),
                dataset=window.dataset.fingerprint,
                dataset_name=window.dataset.name,
            )

        return of

    def __repr__(self) -> str:
        return f"Evaluation({self.suite!r}, {counted(self.n_runs, 'run')} per agent)"


def suite_of(records: Sequence[RunRecord]) -> Suite:
    """Infer a suite from records: their markets, windows, seeds and rules.

    Raises:
        OpenOutcryError: the records have no runs, their rules differ, or a fill key is sealed.
    """
    headers = [header for record in records for header in record.headers]
    if not headers:
        raise refusal("argument_invalid", "records with runs are required; received none")
    terms = {name: value for name, value in headers[0].items() if name.startswith(("costs.", "limits.", "lookback"))}
    for header in headers:
        if other := [name for name, value in terms.items() if header.get(name) != value]:
            wanted = f"records must share costs, limits and lookback, with `{other[0]}` {terms[other[0]]}"
            hint = _shared_hint(other[0], headers)
            raise refusal("argument_invalid", f"{wanted}; received {header.get(other[0])}; {hint}")
        if "fill.seed" not in header:
            raise refusal("argument_invalid", "a suite is required for records of sealed fill keys; received none")
    windows: dict[tuple[str, str], set[tuple[int, int]]] = {}
    for header in headers:
        at = windows.setdefault((header["dataset.name"], header["dataset.fingerprint"]), set())
        at.add((int(header["window.start"]), int(header["window.end"])))
    names = Counter(name for name, _ in windows)
    markets = [
        {
            "name": name if names[name] == 1 else f"{name} {fingerprint[:8]}",
            "fingerprint": fingerprint,
            "windows": [list(window) for window in sorted(edges)],
        }
        for (name, fingerprint), edges in sorted(windows.items())
    ]
    rules: dict[str, dict[str, Any]] = {"costs": {}, "limits": {}}
    for path, value in terms.items():
        group, _, name = path.partition(".")
        if name:
            rules[group][name] = None if value == "none" else json.loads(value)
    seeds = sorted({int(header["fill.seed"]) for header in headers})
    fields = {
        "suite_version": "1.0",
        "name": "implied",
        "edition": "1",
        "markets": markets,
        "seeds": seeds,
        "benchmarks": list(BENCHMARKS),
    }
    inferred = Suite.from_json(json.dumps(fields | rules | {"lookback": int(terms["lookback"])}))
    # `Suite.from_json` refuses this edition.
    return replace(inferred, edition=IMPLIED)


def _shared_hint(term: str, headers: Sequence[Mapping[str, str]]) -> str:
    # The longest lookback has the closes that every agent needs; of other terms, the first value.
    name, values = term.rpartition(".")[2], [header[term] for header in headers if header[term] != "none"]
    value = max(values, key=int) if name == "lookback" else values[0]
    option, stated = f"--{name.replace('_', '-')} {value}", f"{name}={value}"
    if name == "allow_short":
        option, stated = "--long-only", f"{name}=False"
    return f"hint: record each with the same, such as `openoutcry run {option}` or `{stated}` in Python"


def _open_market(market: Market, keys: Mapping[str, str], given: Mapping[str, Dataset]) -> Dataset:
    if market.scenario is None:
        return _real_market(market, given)
    if market.commitment is None:
        hint = "hint: seal the suite with `openoutcry suite seal`"
        raise refusal("argument_invalid", f"`{market.name}` must be sealed; received it without a commitment; {hint}")
    if market.commitment not in keys:
        wanted = f"`keys` must have the key of `{market.name}`, under its commitment {market.commitment}"
        raise refusal("argument_invalid", f"{wanted}; received {counted(len(keys), 'other')}")
    scenario = Scenario.revealed(market.scenario, keys[market.commitment])
    if scenario.commitment != market.commitment:
        wanted = f"the key of `{market.name}` must match its commitment {market.commitment}"
        raise refusal("argument_invalid", f"{wanted}; received the key of {scenario.commitment}")
    return scenario.dataset()


def _real_market(market: Market, given: Mapping[str, Dataset]) -> Dataset:
    assert market.fingerprint is not None, "a market is real or a scenario"
    if market.fingerprint in given:
        return given[market.fingerprint]
    name, _, universe = market.name.partition(":")
    if name not in data.names():
        others = ", ".join(given) or "none"
        wanted = f"`datasets` must contain `{market.name}`, fingerprint {market.fingerprint}"
        raise refusal("unknown_dataset", f"{wanted}; received {others}")
    dataset = data.load(name, "all" if universe == "all" else universe.split(",") if universe else None)
    if dataset.fingerprint != market.fingerprint:
        wanted = f"`{market.name}` of the suite must have fingerprint {market.fingerprint}"
        raise refusal("unknown_dataset", f"{wanted}; received {dataset.fingerprint}, of another version of the package")
    return dataset


def _random_weights(window: SuiteWindow, seeds: tuple[int, int, int]) -> npt.NDArray[np.float64]:
    """Return the target weights of a null agent.

    Shape `(n_bars, n_symbols)`, float64, fraction of NAV; NaN is a hold.
    """
    # Only raw words and divisions: NumPy's distributions may change between versions.
    words = np.random.Philox(np.random.SeedSequence(seeds))
    n_bars, n_symbols = window.dataset.n_bars, window.dataset.n_symbols
    uniform = (words.random_raw((window.end - window.start) * (n_symbols + 1)) >> np.uint64(11)) * 2.0**-53
    uniform = uniform.reshape(-1, n_symbols + 1)
    changes = uniform[:, 0] < 1.0 / _BARS_HELD
    changes[0] = True
    parts = uniform[:, 1:] / np.cumsum(uniform[:, 1:], axis=1)[:, -1:]
    table = np.full((n_bars, n_symbols), np.nan)
    table[window.start : window.end][changes] = parts[changes]
    return table


def _null_agent_names(n_agents: int, taken: Set[str]) -> list[str]:
    """Return names for null agents, none of them in `taken`."""
    for prefix in chain(["luck"], (f"luck.{number}" for number in count(2))):
        names = [f"{prefix}-{member:03}" for member in range(n_agents)]
        if taken.isdisjoint(names):
            return names
    raise AssertionError("unreachable: `taken` is finite")
