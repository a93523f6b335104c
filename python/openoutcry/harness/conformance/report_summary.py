"""What a report says, for who was handed it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openoutcry.harness.conformance.conformance_report import FAILED
from openoutcry.harness.conformance.decision_rules import shown


def summary(report: Mapping[str, Any]) -> list[str]:
    """Return a report of its schema in lines of ASCII, but for its conclusion."""
    bounds, timing = report["bounds"], report["timing"]
    kept = f"contract {shown(report['contract_version'], 20)}, kit {report['kit'][:12]}, seed {report['seed']}"
    allowed = f"{bounds['answer_seconds']:g} s for an answer, {bounds['start_seconds']:g} s more to begin"
    allowed += f", {bounds['end_seconds']:g} s to end" if "end_seconds" in bounds else ""
    allowed += f", {bounds['answer_bytes']:,} bytes an answer"
    signature = report.get("signature")
    whose = "by nobody, so by whoever wrote it" if signature is None else f"by the key {signature['public_key']}"
    return [
        f"agent: {shown(report['agent'], 300)}",
        *_files(report.get("harness", {}).get("files")),
        f"examined: {report['date']}, by openoutcry {shown(report['package_version'], 40)}, {kept}",
        f"asked: {_asked(report.get('harness'))}",
        f"allowed: {allowed}",
        f"answers: {timing['n_answers']:,} in {timing['n_sessions']:,} sessions{_longest(timing)}",
        f"orders: {report['n_orders']:,}{'' if report['n_orders'] else ', so nothing shows that it can read'}",
        f"deterministic: {'claimed, and held to it' if report['deterministic'] else 'not claimed'}",
        f"signed: {whose}",
    ]


def conclusion(report: Mapping[str, Any]) -> str:
    """Return what a report of its schema concludes: its badge, or what failed first."""
    if report["conforms"]:
        return shown(report.get("badge", ""))
    failed = next((each for each in report["checks"] if each["state"] == FAILED), {"check": "no check"})
    return f"does not conform: {shown(failed['check'], 60)}: {shown(failed.get('reason', ''), 1_000)}"


def _files(files: list[Mapping[str, str | None]] | None) -> list[str]:
    if files is None:
        return []
    told = [f"  {each['sha256'] or 'changed meanwhile'}  {shown(each['name'] or '', 200)}" for each in files]
    return ["files, by their SHA-256; what these import, open or ask is not told:", *told]


def _asked(harness: Mapping[str, Any] | None) -> str:
    if harness is None:
        return "in the process of the examiner"
    net = "with a network" if harness["allow_net"] else "without a network"
    return f"over {harness['transport']}, in tier {harness['tier']}, {net}"


def _longest(timing: Mapping[str, Any]) -> str:
    longest = timing["answer_max_seconds"]
    return "" if longest is None else f", the longest in {longest:g} s, its start apart"
