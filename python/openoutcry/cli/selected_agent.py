"""The agent that `--agent` selects, the same for every command."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import typer

from openoutcry import agents
from openoutcry.agents import Baseline, TextAgent
from openoutcry.arguments import rule_fields
from openoutcry.backtest.decision_makers import NamedAgent, candidate_name, definition_of, is_named_agent, named_agent
from openoutcry.backtest.strategies import LIBRARY, Strategy
from openoutcry.backtest.strategies.candidate_file import CandidateFile
from openoutcry.backtest.strategies.strategy_text import text_of_strategy
from openoutcry.cli.agent_options import AgentOptions, AgentValues, exit_on_agent_fault, show_first_faults
from openoutcry.cli.market_options import load_agent, working_directory_modules
from openoutcry.cli.name_suggestions import suggesting_names
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.harness import CallableAgent, Launcher, SupervisedAgent
from openoutcry.harness.agent_lookup import is_program_or_server, public_name
from openoutcry.harness.process_privacy import private_process
from openoutcry.openoutcry_py import DEFAULT_LOOKBACK, CostModel, Limits
from openoutcry.scoring.started_agents import strategy_launcher
from openoutcry.untrusted.terminal import echo_lines


@dataclass(frozen=True)
class SelectedAgent:
    """An agent selected by the value of `--agent`.

    Attributes:
        text: The value.
        options: Options of agents.
        named: A baseline, strategy or candidate; None for `module:function`, a program or a server.
        seed: Seed of the baseline `random`.
        stated_lookback: Value of `--lookback`.
    """

    text: str
    options: AgentOptions
    named: NamedAgent | None
    seed: int = 0
    stated_lookback: int | None = None

    @property
    def name(self) -> str:
        """Its name in records and messages, without secrets."""
        if self.named is None:
            return public_name(self.text)
        if self.candidate is not None and self.is_code:
            # The loaded code has the parameters that the file omits.
            return candidate_name(self.candidate, self.strategy)
        return self.named.name

    @property
    def candidate(self) -> CandidateFile | None:
        """The candidate's file, if the agent is one."""
        return None if self.named is None else self.named.candidate

    @property
    def is_code(self) -> bool:
        """Whether the agent is a candidate that is code."""
        return self.candidate is not None and self.candidate.source is not None

    @cached_property
    def strategy(self) -> Strategy | None:
        """The strategy, if the agent is one; code is constructed in the sandbox."""
        if not self.is_code:
            return self.named.agent if self.named is not None and isinstance(self.named.agent, Strategy) else None
        from openoutcry.research.candidate_agents import load_candidate

        assert self.candidate is not None, "it is code"
        allow, unsafe = self.options.allow_code, self.options.unsafe_no_isolation
        return load_candidate(self.candidate, allow_code=allow, unsafe_no_isolation=unsafe)

    @property
    def lookback(self) -> int:
        """Closes that an observation should show."""
        needed = 1 if self.strategy is None else self.strategy.checked_lookback()
        if self.stated_lookback is None:
            return max(DEFAULT_LOOKBACK, needed)
        if self.stated_lookback < needed:
            wanted = f"`--lookback` must be at least {needed}, the closes that {self.name} needs"
            raise refusal("argument_invalid", f"{wanted}; received {self.stated_lookback}")
        return self.stated_lookback

    @property
    def definition(self) -> dict[str, Any]:
        """Its identity in the ledger: a strategy with all parameters, else the name."""
        found = definition_of(self.strategy)
        if found is not None:
            return dict(found)
        return {"name": self.name} | ({"seed": str(self.seed)} if self.name == "random" else {})

    @property
    def text_of_strategy(self) -> str:
        """Its strategy with all parameters, as a value of `--agent`."""
        return self.name if self.strategy is None else text_of_strategy(self.strategy)

    @property
    def is_outside(self) -> bool:
        """Whether it decides outside this process in `run`: a program, a server or code."""
        return self.is_code or is_program_or_server(self.text)

    @property
    def is_own(self) -> bool:
        """Whether it is an agent of the user: a function, a program, a server or code."""
        return self.named is None or self.is_code

    @property
    def baseline(self) -> Baseline | None:
        """The baseline, if the agent is one."""
        return self.named.agent if self.named is not None and isinstance(self.named.agent, Baseline) else None

    def launcher(self, symbols: Sequence[str] = ()) -> Launcher:
        """Return what starts the agent for each run, after a test start.

        Args:
            symbols: All symbols of the market, if there is one market.

        Raises:
            OpenOutcryError: the agent does not exist, or is not allowed.
            AgentError: it does not start.
        """
        if self.named is None:
            return self.options.launcher(self.text)
        strategy, name = self.strategy, self.name
        if strategy is None:
            return CallableAgent(lambda: Baseline(name, self.seed), name)
        if not self.is_code:
            return strategy_launcher(strategy, name, symbols)
        from openoutcry.research.candidate_agents import CodeCandidate
        from openoutcry.research.code_loader import CodeStrategy

        assert isinstance(strategy, CodeStrategy), "code is loaded as such"
        return CodeCandidate(strategy, name, tuple(symbols))

    def in_process(self) -> agents.Agent | Strategy:
        """Return a baseline, a strategy or the callable at `module:function`."""
        if self.named is None or self.named.agent is None:
            return load_agent(self.text, self.seed)
        return self.named.agent

    def rules(self, costs: dict[str, Any], limits: dict[str, Any]) -> tuple[CostModel, Limits]:
        """Return costs and limits: as stated, else as in research, else the defaults."""
        if self.candidate is None:
            return CostModel(**costs), Limits(**limits)
        allow_short = limits.pop("allow_short")
        known = self.candidate.rules("limits", limits, rule_fields(Limits))
        known["allow_short"] = allow_short and bool(known["allow_short"])
        return CostModel(**self.candidate.rules("costs", costs, rule_fields(CostModel))), Limits(**known)

    def notices(self, dataset: Dataset) -> list[str]:
        """Return what a person should know about a run of a candidate."""
        if self.candidate is None:
            return []
        costs, limits = rule_fields(CostModel), rule_fields(Limits)
        defaults = costs | limits
        own = self.candidate.rules("costs", {}, costs) | self.candidate.rules("limits", {}, limits)
        changed = ", ".join(f"{name} {value}" for name, value in own.items() if value != defaults[name])
        rules = [f"unless stated otherwise, costs and limits are those of the research: {changed}"] if changed else []
        return rules + self.candidate.market_notices(dataset)


def select_agent(text: str, seed: int, options: AgentOptions) -> SelectedAgent:
    """Return the agent of a value of `--agent`.

    Raises:
        OpenOutcryError: the baseline, strategy, parameter or candidate does not exist, or a candidate is code and code
            is not allowed.
    """
    if not text or is_program_or_server(text) or not is_named_agent(text) or "@" in text:
        selected = SelectedAgent(text, options, None, seed)
    else:
        with suggesting_names(text):
            selected = SelectedAgent(text, options, named_agent(text, seed), seed)
    if selected.is_code:
        _check_options(options)
        assert selected.strategy is not None, "code is loaded or refused"
    elif options.allow_code or options.unsafe_no_isolation:
        wanted = "`--allow-code-gen` and `--unsafe-no-isolation` are for a candidate that is code"
        raise refusal("argument_invalid", f"{wanted}; received {selected.name!r}")
    return selected


def optional_agent(text: str | None, seed: int, values: AgentValues, context: typer.Context) -> SelectedAgent | None:
    """Return the agent of `--agent`; None without it.

    Raises:
        OpenOutcryError: as `select_agent`; or an option of agents was given without one.
    """
    if text is None:
        values.refuse_alone()
        return None
    return select_agent(text, seed, values.options(context, _on_stderr))


def _on_stderr(text: str) -> None:
    echo_lines(text, err=True)


@contextmanager
def opened_agent(chosen: SelectedAgent, symbols: Sequence[str]) -> Iterator[agents.Agent | TextAgent | Strategy]:
    """Yield an agent for one run, for which a program, a server or code starts.

    Args:
        chosen: The agent.
        symbols: All symbols of the market.
    """
    if not chosen.is_outside:
        # Only for these: nothing is imported from the working directory for an untrusted agent.
        with working_directory_modules():
            agent = chosen.in_process()
        yield agent
        return
    show = show_first_faults(chosen.options.show)

    def on_fault(fault: object, step: int) -> None:
        show(f"held: {fault}; in decision {step}")

    with exit_on_agent_fault(), private_process(), SupervisedAgent(chosen.launcher(symbols), on_fault) as session:
        yield session


def shared_name_remarks(name: str) -> list[str]:
    """Return a remark on a baseline that has the name of a strategy."""
    if not (name in agents.NAMES and name in LIBRARY):
        return []
    text = f"`{text_of_strategy(LIBRARY[name]())}`, in short `{name}:`"
    return [f"`{name}` is the baseline; the strategy of this name, which research tunes, is {text}"]


def _check_options(options: AgentOptions) -> None:
    """Refuse options of programs: the sandbox of code has no files and no network."""
    if options.sandbox != "auto" or options.allow_net or options.pass_on:
        wanted = "`--sandbox`, `--allow-net` and `--env` must be left out for a candidate"
        raise refusal("argument_invalid", f"{wanted}, which runs in the sandbox of generated code; received one")
