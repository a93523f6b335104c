"""Conversations of records: what a model would have been told, and have said.

A record holds decisions and no words. Its decisions are carried out at a desk again, which tells what a rollout tells;
that each observation is the recorded one is checked by its digest, bar by bar.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.records.run_record import RunRecord
from openoutcry.verifiers_env.episode_outcome import Outcome, outcome_of
from openoutcry.verifiers_env.parser import replies
from openoutcry.verifiers_env.prompts import prompt
from openoutcry.verifiers_env.rewards import Terms
from openoutcry.verifiers_env.rollout_state import HOLD, Desk
from openoutcry.verifiers_env.task_rows import Row

Message = dict[str, Any]


@dataclass(frozen=True)
class Told:
    """What the first message of an episode is made of.

    Args:
        row: What the episode is about.
        style: How decisions are made, one of `rows.STYLES`.
        terms: What it is paid by.
        system: The message of the system before it, if any.
    """

    row: Row
    style: str = "text"
    terms: Terms = field(default_factory=Terms)
    system: str | None = None

    @classmethod
    def from_json(cls, text: str) -> Told:
        """Return what `to_json` wrote.

        Raises:
            OpenOutcryError: `value_invalid`: it is anything else.
        """
        try:
            read = json.loads(text)
            return cls(Row(**read["row"]), read["style"], Terms(**read["terms"]), read["system"])
        except (KeyError, TypeError, ValueError) as error:
            wanted = "what an episode was told must be a row, a style and terms, of this version"
            raise refusal("value_invalid", f"{wanted}; received {type(error).__name__}: {error}") from error

    def to_json(self) -> str:
        """Return it as JSON, which holds no price."""
        # Written for every episode: without copies, and by the encoder that is written in C.
        held = vars(self) | {"row": vars(self.row), "terms": vars(self.terms)}
        return json.dumps(held, sort_keys=True) + "\n"


@dataclass(frozen=True)
class Said:
    """An answer of a record.

    Args:
        text: What the agent said.
        shown: SHA-256 of the observation that it had been shown.
        is_decision: Whether it was one; everything was held where it was not.
    """

    text: str
    shown: str
    is_decision: bool


def said_in(record: RunRecord) -> list[Said]:
    """Return the answers of a record, those of all its runs in their order."""
    runs = json.loads(record.to_json())["runs"]
    return [
        Said(step["decision"], step["observation"], index not in faults)
        for run, faults in zip(runs, record.faults, strict=True)
        for index, step in enumerate(run["steps"])
    ]


def outcome_in(told: Told, markets: Sequence[Dataset], said: Sequence[Said]) -> Outcome:
    """Return what the answers of a record came to, which `Terms.pay` pays again.

    Args:
        told: What it was told of the episode.
        markets: The market of each window.
        said: The answers that were given. A record has a hold for each one that was not: `n_answers` of the trace says
            how many there were.
    """
    desk = Desk(told.row, lambda row, window: markets[window])
    for each in said:
        desk.decide(each.text)
    return outcome_of(desk)


@dataclass(frozen=True)
class RunRow(Row):
    """A row for a run on any market, which is at hand and not drawn.

    Args:
        start: The bar of its first decision.
        seed: What the luck of its fills was drawn from.
    """

    start: int = 0
    seed: int = 0

    @property
    def window(self) -> tuple[int, int]:
        """Bars `[start, end)` that are traded."""
        return self.start, self.start + self.horizon + 1

    @property
    def fill_seed(self) -> int:
        """That of the run."""
        return self.seed


def row_of(record: RunRecord, dataset: Dataset, mandate: str = "beat-benchmark") -> RunRow:
    """Return a row for the one run of a record on any market.

    Args:
        record: A record of one run.
        dataset: The market that it is on.
        mandate: What the row says may be held.

    Raises:
        OpenOutcryError: no desk trades as the run did: it had other limits, or more decisions than a row can have.
    """
    header = json.loads(record.to_json())["runs"][0]["header"]
    limits = {name: value for name, value in Limits().to_dict().items() if value is not None}
    if header["limits"] != limits:
        raise refusal("rules_differ", f"a run must have the limits {limits}; received {header['limits']}")
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
    )


def converse(told: Told, markets: Sequence[Dataset], said: Sequence[Said], *, holds: bool = False) -> list[Message]:
    """Return the messages of a rollout that said what a record says, up to its last.

    Args:
        told: What it was told of the episode.
        markets: The market of each window.
        said: The answers of the record.
        holds: Whether an answer that was no decision is replaced by the hold that was carried out.

    Raises:
        OpenOutcryError: `record_differs`: what the desk shows is not what the record's agent was shown.
    """
    desk = Desk(told.row, lambda row, window: markets[window])
    messages: list[Message] = [] if told.system is None else [{"role": "system", "content": told.system}]
    messages.append({"role": "user", "content": prompt(told.row, told.style, told.terms, desk)})
    heard: list[Message] = []
    for place, each in enumerate(said):
        shown = hashlib.sha256(desk.observation.encode()).hexdigest()
        if desk.done or shown != each.shown:
            wanted = f"what is shown before answer {place} must have the digest {each.shown[:12]}"
            raise refusal("record_differs", f"{wanted}; received {'no more of it' if desk.done else shown[:12]}")
        spoken = _spoken(told.style, HOLD if holds and not each.is_decision else each.text, place)
        messages += [*heard, spoken]
        heard = replies(desk, told.style, spoken)
    # What came of the last answer is told to nobody.
    return messages


def _spoken(style: str, text: str, place: int) -> Message:
    if style == "text":
        return {"role": "assistant", "content": text}
    call = {"id": f"call_{place}", "type": "function", "function": {"name": "trade", "arguments": text}}
    return {"role": "assistant", "tool_calls": [call]}
