"""Summary of a conformance report for its reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openoutcry.harness.conformance.conformance_report import FAILED
from openoutcry.harness.conformance.decision_rules import ascii_excerpt


def summary(report: Mapping[str, Any]) -> list[str]:
    """Return the content of a valid report as ASCII lines, without its conclusion."""
    bounds, timing = report["bounds"], report["timing"]
    versions = f"contract {ascii_excerpt(report['contract_version'], 20)}, kit {report['kit'][:12]}"
    allowed = f"{bounds['answer_seconds']:g} s for an answer, {bounds['start_seconds']:g} s more to start"
    allowed += f", {bounds['end_seconds']:g} s to exit" if "end_seconds" in bounds else ""
    allowed += f", {bounds['answer_bytes']:,} bytes per answer"
    examiner = f"openoutcry {ascii_excerpt(report['package_version'], 40)}"
    evidence = "" if report["n_orders"] else ", so the checks do not show that it reads observations"
    signature = report.get("signature")
    signer = "no, so its author is unknown" if signature is None else f"by the key {signature['public_key']}"
    return [
        f"agent: {ascii_excerpt(report['agent'], 300)}",
        *_files(report.get("harness", {}).get("files")),
        f"examined: {report['date']}, by {examiner}, {versions}, seed {report['seed']}",
        f"transport: {_transport(report.get('harness'))}",
        f"limits: {allowed}",
        f"answers: {timing['n_answers']:,} in {timing['n_sessions']:,} sessions{_longest(timing)}",
        f"orders: {report['n_orders']:,}{evidence}",
        *([f"day orders: {report['n_day_orders']:,}"] if "n_day_orders" in report else []),
        f"deterministic: {'claimed and checked' if report['deterministic'] else 'not claimed'}",
        f"signed: {signer}",
    ]


def conclusion(report: Mapping[str, Any]) -> str:
    """Return the conclusion of a valid report: its badge, or its first failure."""
    if report["conforms"]:
        return ascii_excerpt(report.get("badge", ""))
    failed = next((each for each in report["checks"] if each["state"] == FAILED), {"check": "no check"})
    return f"does not conform: {ascii_excerpt(failed['check'], 60)}: {ascii_excerpt(failed.get('reason', ''), 1_000)}"


def _files(files: list[Mapping[str, str | None]] | None) -> list[str]:
    if files is None:
        return []
    lines = [f"  {each['sha256'] or 'changed during the examination'}  {_file_name(each)}" for each in files]
    return ["files by SHA-256, without what these import, open or call:", *lines]


def _file_name(file: Mapping[str, str | None]) -> str:
    return ascii_excerpt(file["name"] or "", 200)


def _transport(harness: Mapping[str, Any] | None) -> str:
    if harness is None:
        return "none, a callable in the process of the examiner"
    net = "with a network" if harness["allow_net"] else "without a network"
    return f"{harness['transport']}, tier {harness['tier']}, {net}"


def _longest(timing: Mapping[str, Any]) -> str:
    longest = timing["answer_max_seconds"]
    return "" if longest is None else f", the longest in {longest:g} s without starts"
