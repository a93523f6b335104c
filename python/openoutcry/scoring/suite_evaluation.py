"""Suites with their markets at hand: agents run under them, and luck."""

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
from openoutcry.arguments import whole
from openoutcry.backtest.run import name_of
from openoutcry.backtest.settings import settings_of
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.harness import Launcher, connect
from openoutcry.harness.process_privacy import closed_to_others
from openoutcry.openoutcry_py import CostModel, Limits, Submission
from openoutcry.records.run_record import RunRecord
from openoutcry.scenarios.scenario import Scenario
from openoutcry.scoring.evaluation_journal import Journal, journal_of
from openoutcry.scoring.suite import IMPLIED, Market, Suite
from openoutcry.scoring.suite_runner import OnFault, Order, Place

_BARS_HELD = 21.0
_TABLES = 25


class Evaluation:
    """A suite with its markets at hand.

    Args:
        suite: The protocol. Its scenarios must be sealed: else nobody could tell which markets a board is of.
        keys: Keys of its scenarios by commitment, in hexadecimal, as `Suite.seal` returned them.
        datasets: Real markets that do not ship with the package.

    Raises:
        OpenOutcryError: a market or a key is missing or is another one, or windows share a return.
    """

    def __init__(self, suite: Suite, keys: Mapping[str, str] | None = None, datasets: Iterable[Dataset] = ()) -> None:
        self.suite = suite
        given = {dataset.fingerprint: dataset for dataset in datasets}
        self._places: list[Place] = []
        for market in suite.markets:
            dataset = _opened(market, keys or {}, given)
            # Else a run under one name would have seen what comes under the other.
            if same := [place.market for place in self._places if place.dataset.fingerprint == dataset.fingerprint]:
                message = f"markets of a suite must be different; received `{market.name}`, which is `{same[0]}`"
                raise refusal("argument_invalid", message)
            places = []
            for window in market.windows:
                start, end = window.resolve(dataset, suite.lookback)
                places.append(Place(market.name, dataset, start, end, market.scenario is not None))
            for before, after in pairwise(places):
                if after.start < before.end - 1:
                    message = f"windows of `{market.name}` must follow each other and share no return"
                    raise refusal("window_invalid", f"{message}; received bars {before.bars} and {after.bars}")
            self._places += places

    @property
    def places(self) -> tuple[Place, ...]:
        """The windows, in the order of the suite."""
        return tuple(self._places)

    @property
    def n_runs(self) -> int:
        """Runs of an agent: every window under every seed."""
        return len(self._places) * len(self.suite.seeds)

    def config(self) -> dict[str, Any]:
        """Return what of the scorer's configuration the suite sets.

        A suite that records imply asks for no windows: they are of the agents' own choice.
        """
        config: dict[str, Any] = {"seeds": [str(seed) for seed in self.suite.seeds]}
        if self.suite.edition != IMPLIED:
            windows = [
                {"dataset": at.dataset.fingerprint, "start": at.start, "end": at.end, "sealed": at.sealed}
                for at in self._places
            ]
            config["windows"] = sorted(windows, key=lambda each: (each["dataset"], each["start"], each["end"]))
        if self.suite.gates:
            config["gates"] = dict(self.suite.gates)
        if self.suite.draws:
            config["draws"] = dict(self.suite.draws)
        return config

    def markets(self) -> list[Dataset]:
        """Return the markets that records are replayed on."""
        return list({place.dataset.fingerprint: place.dataset for place in self._places}.values())

    def rules(self) -> tuple[CostModel, Limits]:
        """Return the costs and limits that agents are judged by."""
        return self.suite.costs, self.suite.limits

    def lookback(self) -> int:
        """Return how many closes an agent may be shown."""
        return self.suite.lookback

    def run(
        self,
        agent: Agent | Launcher | str,
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

        The seeds of a window are the same prices. An agent that is named, `module:function`, `cmd:PROGRAM` or
        `http://HOST:PORT`, is begun anew for each run, and all runs of a window are made at the same time, bar by bar:
        none can learn from another what comes. Whatever it does that is no answer is a hold, which the record names. A
        callable is trusted: the same object makes all runs, one after the other, what it raises passes, and what it
        keeps between runs is its own to forget.

        Args:
            agent: The name of a baseline, or one as above, outside the sandbox; or a launcher such as `PythonAgent`; or a
                callable from observation to decision.
            name: What the agent is called; by default as it is.
            in_sample_trials: Trials made before that its maker declares.
            record: File that the record is written to at the end; until then all runs are kept, answer by answer, in a
                folder beside it, of its name and `.parts`.
            resume: Go on with the evaluation that was cut and left such a folder. Answers that were given stand.
            jobs: Sealed markets that are run at the same time. The windows of a market, and real markets, are not: a
                later one tells of those before.
            on_run: Called after each run, from any thread.
            on_fault: Called at each fault of an agent that is begun for a run, from any thread.

        Raises:
            AgentError: agents could not be begun.
            OpenOutcryError: there is no such agent, or a decision of a callable cannot be used.
            Exception: what a callable raises.
        """
        if isinstance(agent, str) and ":" in agent:
            agent = connect(agent)
        if isinstance(agent, Launcher):
            name, harness = name or agent.name, agent.harness
        else:
            name, harness = name or name_of(agent), None
        about = {"suite": self.suite.digest, "agent": name, "in_sample_trials": in_sample_trials, "harness": harness}
        about["agent_seed"] = agent.seed if isinstance(agent, Baseline) else 0
        seeds, rules, lookback = self.suite.seeds, self.rules(), self.suite.lookback
        jobs = whole("jobs", jobs, 1, 256)
        journal = nullcontext() if record is None else Journal(journal_of(record), about, resume=resume)
        with journal as kept:
            order = Order(self._places, seeds, rules, lookback, name, kept, jobs, on_run, on_fault)
            if isinstance(agent, Launcher):
                with closed_to_others():
                    records = order.side_by_side(agent)
            else:
                records = order.one_by_one(agent)
            made = RunRecord.join(name, records, in_sample_trials)
            if kept is not None and record is not None:
                made.save(record)
                kept.remove()
        return made

    def luck_floor(self, beside: Iterable[str] = ()) -> list[Submission]:
        """Return the agents without skill that are drawn on every board.

        Each holds long-only weights drawn at random, for 21 bars on average, under the suite's rules and its first
        seed.

        Args:
            beside: Names of the agents of the board, none of which is given to one without skill.
        """
        runs: list[list[Submission]] = [[] for _ in range(self.suite.n_luck)]
        for index, place in enumerate(self._places):
            told = self._told(place)
            for first in range(0, self.suite.n_luck, _TABLES):
                members = range(first, min(first + _TABLES, self.suite.n_luck))
                tables = [_draw(place, (self.suite.luck_seed, index, member)) for member in members]
                done, fault = native.run_tables(place.dataset._core, tables, self._settings(place))
                if fault is not None:
                    raise fault
                for member, run in zip(members, done, strict=True):
                    runs[member].append(told(np.asarray(run.returns)))
        names = _lucky_names(len(runs), set(beside))
        return [Submission.join(name, each) for name, each in zip(names, runs, strict=True)]

    def _settings(self, place: Place) -> native.Settings:
        window, seed = (place.start, place.end), self.suite.seeds[0]
        return settings_of(place.dataset, window, self.rules(), seed, self.suite.lookback)

    def _told(self, place: Place) -> Callable[[npt.NDArray[np.float64]], Submission]:
        """Return what makes a submission of returns in a window."""
        held, idle = (
            native.run_agent(place.dataset._core, native.Baseline(name), self._settings(place)).returns
            for name in ("buy-and-hold", "hold-cash")
        )
        days = slice(place.start + 1, place.end)
        rates = place.dataset.risk_free
        free = None if rates is None else rates[days]
        dates = place.dataset.dates[days]

        def of(returns: npt.NDArray[np.float64]) -> Submission:
            run = (place.start, place.end, self.suite.seeds[0], returns, (held, idle), free, dates)
            return Submission.of_returns(
                "luck",
                [run],
                periods_per_year=place.dataset.periods_per_year,
                dataset=place.dataset.fingerprint,
                dataset_name=place.dataset.name,
            )

        return of

    def __repr__(self) -> str:
        return f"Evaluation({self.suite!r}, {self.n_runs} runs an agent)"


def suite_of(records: Sequence[RunRecord]) -> Suite:
    """Return the suite that records imply: their markets, windows, seeds and rules.

    Raises:
        OpenOutcryError: there are no runs, their rules differ, or a fill key is sealed.
    """
    headers = [header for record in records for header in record.headers]
    if not headers:
        raise refusal("argument_invalid", "records with runs are required; received none")
    told = {name: value for name, value in headers[0].items() if name.startswith(("costs.", "limits.", "lookback"))}
    for header in headers:
        if other := [name for name, value in told.items() if header.get(name) != value]:
            wanted = f"records must be made under the same rules, `{other[0]}` being {told[other[0]]}"
            raise refusal("argument_invalid", f"{wanted}; received {header.get(other[0])}")
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
    for path, value in told.items():
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
    }
    read = Suite.from_json(json.dumps(fields | rules | {"lookback": int(told["lookback"])}))
    # No suite that is read may have this edition.
    return replace(read, edition=IMPLIED)


def _opened(market: Market, keys: Mapping[str, str], given: Mapping[str, Dataset]) -> Dataset:
    if market.scenario is None:
        return _real(market, given)
    if market.commitment is None:
        hint = "hint: `openoutcry suite seal` draws its key"
        raise refusal("argument_invalid", f"`{market.name}` must be sealed; received it without a commitment; {hint}")
    if market.commitment not in keys:
        wanted = f"`keys` must have the key of `{market.name}`, by its commitment {market.commitment}"
        raise refusal("argument_invalid", f"{wanted}; received {len(keys)} others")
    scenario = Scenario.revealed(market.scenario, keys[market.commitment])
    if scenario.commitment != market.commitment:
        wanted = f"the key of `{market.name}` must be the one behind the commitment {market.commitment}"
        raise refusal("argument_invalid", f"{wanted}; received that of {scenario.commitment}")
    return scenario.dataset()


def _real(market: Market, given: Mapping[str, Dataset]) -> Dataset:
    assert market.fingerprint is not None, "a market is real or a scenario"
    if market.fingerprint in given:
        return given[market.fingerprint]
    name, _, universe = market.name.partition(":")
    if name not in data.names():
        others = ", ".join(given) or "none"
        wanted = f"`datasets` must hold `{market.name}`, of fingerprint {market.fingerprint}"
        raise refusal("unknown_dataset", f"{wanted}; received {others}")
    dataset = data.load(name, "all" if universe == "all" else universe.split(",") if universe else None)
    if dataset.fingerprint != market.fingerprint:
        wanted = f"`{market.name}` of the suite must be data of fingerprint {market.fingerprint}"
        raise refusal("unknown_dataset", f"{wanted}; received {dataset.fingerprint}, of another version of the package")
    return dataset


def _draw(place: Place, seeds: tuple[int, int, int]) -> npt.NDArray[np.float64]:
    """Return target weights of an agent without skill.

    Shape `(n_bars, n_symbols)`; NaN is a hold."""
    # Raw words and divisions alone: what numpy draws from a distribution may change from version to version.
    words = np.random.Philox(np.random.SeedSequence(seeds))
    n_bars, n_symbols = place.dataset.n_bars, place.dataset.n_symbols
    uniform = (words.random_raw((place.end - place.start) * (n_symbols + 1)) >> np.uint64(11)) * 2.0**-53
    uniform = uniform.reshape(-1, n_symbols + 1)
    changes = uniform[:, 0] < 1.0 / _BARS_HELD
    changes[0] = True
    parts = uniform[:, 1:] / np.cumsum(uniform[:, 1:], axis=1)[:, -1:]
    table = np.full((n_bars, n_symbols), np.nan)
    table[place.start : place.end][changes] = parts[changes]
    return table


def _lucky_names(n_agents: int, taken: Set[str]) -> list[str]:
    """Return names for agents without skill that nobody else has."""
    for prefix in chain(["luck"], (f"luck.{number}" for number in count(2))):
        names = [f"{prefix}-{member:03}" for member in range(n_agents)]
        if taken.isdisjoint(names):
            return names
    raise AssertionError("there are more prefixes than names that are taken")
