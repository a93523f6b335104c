"""The kit of contract 1.1: sample decisions with day orders, and their check."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache

from openoutcry import openoutcry_py as native
from openoutcry.agents.day_orders import DAY_ORDER_FIELDS
from openoutcry.harness.conformance.agent_under_test import AgentUnderTest
from openoutcry.harness.conformance.checks import Check
from openoutcry.harness.conformance.kit import Samples, samples_of
from openoutcry.harness.conformance.reader_check import check_reader


@dataclass(frozen=True)
class DayOrderKit:
    """Sample decisions with day orders.

    Attributes:
        samples: The decisions.
        digest: SHA-256 of the files.
    """

    samples: Samples
    digest: str


@cache
def day_order_kit() -> DayOrderKit:
    """Return the kit of contract 1.1 built into this package."""
    files = native.day_order_conformance_files()
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
    digest = hashlib.sha256(native.canonicalize(json.dumps({"files": digests})).encode()).hexdigest()
    return DayOrderKit(samples_of({name: json.loads(text) for name, text in files.items()}), digest)


def n_day_orders(subject: AgentUnderTest) -> int:
    """Return the number of orders with a field of contract 1.1 in the episodes."""
    answers = [answer for name in subject.episodes for _, answer in subject.transcripts.get(name, [])]
    orders = [order for answer in answers for order in json.loads(answer)["orders"]]
    return sum(not order.keys().isdisjoint(DAY_ORDER_FIELDS) for order in orders)


def _check_samples(subject: AgentUnderTest) -> None:
    check_reader(day_order_kit().samples)


DAY_ORDER_CHECK = Check(
    "day_orders",
    "this package accepts and refuses the sample decisions with day orders as the kit states",
    _check_samples,
)
"""The last check of an agent that returned a day order and passed all others."""
