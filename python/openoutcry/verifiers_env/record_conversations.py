"""Rebuild the conversation of a record: prompts, answers and results of a rollout.

A record holds decisions, but no messages. Its decisions are executed again on a rollout state, which returns the
messages of a rollout. The digest of each observation is checked against the record, bar by bar.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import CONTRACT_VERSION, CostModel, Limits
from openoutcry.records.run_record import RunRecord
from openoutcry.verifiers_env.episode_outcome import Outcome, outcome_of
from openoutcry.verifiers_env.parser import respond
from openoutcry.verifiers_env.prompts import prompt
from openoutcry.verifiers_env.rewards import RewardTerms
from openoutcry.verifiers_env.rollout_state import HOLD, RolloutState
from openoutcry.verifiers_env.task_rows import Row

Message = dict[str, Any]


@dataclass(frozen=True)
class EpisodeSpec:
    """Inputs of the first message of an episode.

    Args:
        row: Its task row.
        style: How decisions are made, one of `task_rows.STYLES`.
        terms: Reward terms.
        system: System message, if any.
    """

    row: Row
    style: str = "text"
    terms: RewardTerms = field(default_factory=RewardTerms)
    system: str | None = None

    @classmethod
    def from_json(cls, text: str) -> EpisodeSpec:
        """Return the object that `to_json` wrote.

        Raises:
            OpenOutcryError: `value_invalid`: the text is anything else.
        """
        try:
            read = json.loads(text)
            return cls(Row(**read["row"]), read["style"], RewardTerms(**read["terms"]), read["system"])
        except (KeyError, TypeError, ValueError) as error:
            wanted = "an episode specification with row, style, terms and system message of this version is required"
            raise refusal("value_invalid", f"{wanted}; received {type(error).__name__}: {error}") from error

    def to_json(self) -> str:
        """Return it as JSON, which holds no price."""
        # Written for every episode: without copies, and in the form that the C encoder supports.
        row = dict(vars(self.row))
        if self.row.orders == "plain":
            # The form of the specifications that were written before rows had the field.
            del row["orders"]
        fields = vars(self) | {"row": row, "terms": vars(self.terms)}
        return json.dumps(fields, sort_keys=True) + "\n"


@dataclass(frozen=True)
class RecordedDecision:
    """A decision of a record.

    Args:
        text: Answer of the agent.
        shown: SHA-256 of the observation that the agent saw.
        is_decision: Whether the answer was a valid decision; otherwise all positions were held.
    """

    text: str
    shown: str
    is_decision: bool


def recorded_decisions(record: RunRecord) -> list[RecordedDecision]:
    """Return the decisions of a record, of all its runs in order."""
    runs = json.loads(record.to_json())["runs"]
    return [
        RecordedDecision(step["decision"], step["observation"], index not in faults)
        for run, faults in zip(runs, record.faults, strict=True)
        for index, step in enumerate(run["steps"])
    ]


def recorded_outcome(spec: EpisodeSpec, markets: Sequence[Dataset], decisions: Sequence[RecordedDecision]) -> Outcome:
    """Return the outcome of recorded decisions, which rewards are computed from.

    Args:
        spec: Specification of the episode.
        markets: The market of each window.
        decisions: The decisions. Unanswered bars are holds in a record: `n_answers` of the trace is the number of
            answers.
    """
    rollout = RolloutState(spec.row, lambda row, window: markets[window])
    for each in decisions:
        rollout.decide(each.text)
    return outcome_of(rollout)


@dataclass(frozen=True)
class RunRow(Row):
    """A row for a run on a given market instead of a drawn one.

    Args:
        start: The bar of its first decision.
        seed: Seed of its fills.
    """

    start: int = 0
    seed: int = 0

    @property
    def window(self) -> tuple[int, int]:
        """Traded bars `[start, end)`."""
        return self.start, self.start + self.horizon + 1

    @property
    def fill_seed(self) -> int:
        """Seed of the run."""
        return self.seed


def row_of(record: RunRecord, dataset: Dataset, mandate: str = "beat-benchmark") -> RunRow:
    """Return a row for a record with a single run.

    Args:
        record: A record of one run.
        dataset: Its market.
        mandate: Mandate of the row.

    Raises:
        OpenOutcryError: the run cannot be represented: it has other limits, or too many decisions.
    """
    run = json.loads(record.to_json())["runs"][0]
    header = run["header"]
    limits = {name: value for name, value in Limits().to_dict().items() if value is not None}
    if header["limits"] != limits:
        raise refusal("rules_differ", f"a run must have the limits {limits}; received {header['limits']}")
    versions = {each["contract_version"] for each in (header, *run["steps"]) if "contract_version" in each}
    start, end = header["window"]["start"], header["window"]["end"]
    return RunRow(
        split="train",
        index=0,
        market=dataset.name,
        digest=dataset.fingerprint,
        n_symbols=dataset.n_symbols,
        horizon=end - start - 1,
        lookback=header["lookback"],
        mandate=mandate,
        costs=CostModel(**header["costs"]).to_dict(),
        start=start,
        seed=int(header["fill"].get("seed", 0)),
        orders="plain" if versions <= {CONTRACT_VERSION} else "day",
    )


def rebuild_conversation(
    spec: EpisodeSpec, markets: Sequence[Dataset], decisions: Sequence[RecordedDecision], *, holds: bool = False
) -> list[Message]:
    """Return the messages of a rollout with the decisions of a record.

    Args:
        spec: Specification of the episode.
        markets: The market of each window.
        decisions: The decisions of the record.
        holds: Whether to replace an invalid decision by the executed hold.

    Raises:
        OpenOutcryError: `record_differs`: an observation differs from the recorded one.
    """
    rollout = RolloutState(spec.row, lambda row, window: markets[window])
    messages: list[Message] = [] if spec.system is None else [{"role": "system", "content": spec.system}]
    messages.append({"role": "user", "content": prompt(spec.row, spec.style, spec.terms, rollout)})
    results: list[Message] = []
    for index, each in enumerate(decisions):
        shown = hashlib.sha256(rollout.observation.encode()).hexdigest()
        if rollout.done or shown != each.shown:
            wanted = f"the observation before answer {index} must have the digest {each.shown[:12]}"
            raise refusal("record_differs", f"{wanted}; received {'the episode end' if rollout.done else shown[:12]}")
        answer = _answer(spec.style, HOLD if holds and not each.is_decision else each.text, index)
        messages += [*results, answer]
        results = respond(rollout, spec.style, answer)
    # A rollout ends with the last answer; its result is not sent.
    return messages


def _answer(style: str, text: str, index: int) -> Message:
    if style == "text":
        return {"role": "assistant", "content": text}
    call = {"id": f"call_{index}", "type": "function", "function": {"name": "trade", "arguments": text}}
    return {"role": "assistant", "tool_calls": [call]}
