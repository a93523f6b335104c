"""Conformance to contract 1.1: agents with day orders, and the kit of their decisions."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conformance_agents import SEED, agent, judged, passed, tiny
from example_agents import EXAMPLES
from jsonschema import Draft202012Validator

from openoutcry import openoutcry_py as native
from openoutcry.harness import CommandAgent
from openoutcry.harness.conformance import BADGE, Report, examine, verify_report
from openoutcry.harness.conformance.conformance_report import signed
from openoutcry.harness.conformance.day_order_kit import DayOrderKit, day_order_kit
from openoutcry.harness.conformance.kit import Samples, kit
from openoutcry.harness.conformance.report_summary import conclusion, summary

pytestmark = pytest.mark.once

CONTRACT = Path(__file__).resolve().parents[2] / "contract"
SCHEMA = Draft202012Validator(json.loads((CONTRACT / "conformance-report.schema.json").read_text("utf-8")))
KIT_DIGEST = "8eee11330ce0c72da4deabe464b93d682226af70a68d449bef664fa00286d945"
"""Digest of the kit of contract 1.0."""
DAY_ORDER_BADGE = "conforms to the OpenOutcry Agent Interface v1.1"
AT_THE_CLOSE = "for part in parts: part['at'] = 'close'"


@cache
def with_brackets() -> Report:
    """Return the report of the reference agent with brackets over the complete kit."""
    agent = CommandAgent([sys.executable, str(EXAMPLES / "reference-agent-bracket.py")])
    return examine(agent, deterministic=True, seed=SEED)


def test_the_package_has_the_samples_of_the_contract() -> None:
    there = {path.name: path.read_text("utf-8") for path in (CONTRACT / "conformance/v1.1").glob("*.json")}
    assert native.day_order_conformance_files() == there
    samples = day_order_kit().samples
    counts = {name: len(json.loads(text)) for name, text in there.items()}
    assert counts == {"positive.json": len(samples.accepted), "negative.json": len(samples.refused)}


def test_the_kit_of_contract_1_0_has_its_digest() -> None:
    assert kit().digest == KIT_DIGEST
    assert day_order_kit().digest != KIT_DIGEST


def test_the_reference_agent_with_brackets_gets_the_badge_of_contract_1_1() -> None:
    report = with_brackets()
    assert report.failure is None
    assert (report.contract_version, report.badge) == ("1.1", DAY_ORDER_BADGE)
    assert report.findings[-1].check == "day_orders"
    assert 1 <= report.n_day_orders <= report.n_orders
    document = report.to_dict()
    SCHEMA.validate(document)
    assert document["contract_version"] == "1.1"
    assert (document["kit"], document["day_order_kit"]) == (kit().digest, day_order_kit().digest)
    assert verify_report(report.to_json(bytes(32))) == []
    assert conclusion(document) == DAY_ORDER_BADGE
    assert f"day orders: {report.n_day_orders:,}" in summary(document)


def test_an_agent_without_day_orders_gets_the_report_and_the_badge_of_contract_1_0() -> None:
    report = passed()
    assert (report.contract_version, report.badge, report.n_day_orders) == ("1.0", BADGE, 0)
    document = report.to_dict()
    assert document["contract_version"] == "1.0"
    assert not {"day_order_kit", "n_day_orders"} & document.keys()
    assert "day_orders" not in [each["check"] for each in document["checks"]]


def test_an_agent_that_reads_the_version_gets_the_badge_of_the_harness() -> None:
    adaptive = f"if os.environ.get('OPENOUTCRY_CONTRACT') == '1.1':\n        {AT_THE_CLOSE}"
    assert judged(agent(adaptive), tiny()).contract_version == "1.1"


def test_day_orders_outside_of_an_episode_do_not_count() -> None:
    # Sessions of cases have two observations.
    report = judged(agent(f"if n == 2 and len(names) == 0:\n        {AT_THE_CLOSE}"), tiny())
    assert report.conforms
    assert report.contract_version == "1.0"
    cases_only = f"if seen['date'] == {tiny().cases[1].observation['date']!r}:\n        {AT_THE_CLOSE}"
    report = judged(agent(cases_only), tiny())
    assert (report.conforms, report.contract_version, report.badge) == (True, "1.0", BADGE)


def test_an_invalid_day_order_fails_the_agent() -> None:
    report = judged(agent("for part in parts: part['at'] = 'noon'"), tiny())
    assert report.failure is not None
    assert "unknown_time" in str(report.failure.failure)
    assert (report.badge, report.contract_version) == (None, "1.0")


@pytest.mark.parametrize("kind", ["accepted", "refused"])
def test_a_reader_that_differs_from_the_samples_of_day_orders_gets_no_badge(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = day_order_kit().samples
    name, text, expected = getattr(samples, kind)[0]
    wrong: Any = {"orders": [], "reasoning": "other"} if kind == "accepted" else "bad_json"
    assert wrong != expected
    other = Samples(**{"accepted": samples.accepted, "refused": samples.refused, kind: ((name, text, wrong),)})
    changed = DayOrderKit(other, day_order_kit().digest)
    monkeypatch.setattr("openoutcry.harness.conformance.day_order_kit.day_order_kit", lambda: changed)
    report = judged(agent(AT_THE_CLOSE), tiny())
    assert report.failure is not None
    assert report.failure.check == "day_orders"
    assert (report.badge, report.contract_version) == (None, "1.1")
    # An agent without day orders does not depend on these samples.
    assert judged(agent(), tiny()).badge == BADGE


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "badge of 1.0": (
        lambda report: report.update(badge=BADGE),
        "the conclusion must follow from the checks; received a different one",
    ),
    "another kit": (
        lambda report: report.update(day_order_kit="0" * 64),
        "that of this package; received 000000000000",
    ),
    "more than all orders": (
        lambda report: report.update(n_day_orders=report["n_orders"] + 1),
        "day orders must be from 1 to all orders",
    ),
    "no count": (lambda report: report.pop("n_day_orders"), "received n_day_orders otherwise"),
    "no check": (lambda report: report["checks"].pop(), "checks of its kit, in order; received"),
    "version 1.0": (
        lambda report: report.update(contract_version="1.0"),
        "must be given for contract 1.1 only; received day_order_kit, n_day_orders otherwise",
    ),
    "version 1.2": (lambda report: report.update(contract_version="1.2"), "received 1.2 and"),
}


@pytest.mark.parametrize(("change", "message"), CHANGES.values(), ids=CHANGES)
def test_a_changed_report_of_contract_1_1_is_invalid(change: Callable[[dict[str, Any]], object], message: str) -> None:
    report = with_brackets().to_dict()
    del report["digest"]
    change(report)
    assert any(message in error for error in verify_report(json.dumps(signed(report))))


def test_a_report_of_contract_1_0_cannot_claim_the_later_badge() -> None:
    report = passed().to_dict()
    del report["digest"]
    report |= {"badge": DAY_ORDER_BADGE, "contract_version": "1.1", "n_day_orders": 1}
    report["day_order_kit"] = day_order_kit().digest
    assert any("checks of its kit" in error for error in verify_report(json.dumps(signed(report))))
