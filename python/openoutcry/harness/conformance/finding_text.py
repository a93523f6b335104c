"""Findings in words."""

from __future__ import annotations

from openoutcry.harness.conformance.conformance_report import Finding, Report
from openoutcry.harness.conformance.decision_rules import shown

_BEFORE = ("kit", "silent_before", "first_answer", "one_line_each", "ends", "episode")


def failure_text(finding: Finding, seed: int | None = None) -> str:
    """Return what a check wanted and received, with the bytes exchanged, a line each.

    Args:
        finding: What it found.
        seed: Which market the second episode was played on, told where it matters.
    """
    failure = finding.failure
    if failure is None:
        return f"{finding.check}: {finding.wanted}"
    lines = [f"{finding.check}: {shown(failure.reason, 1_000)}", f"  wanted: {finding.wanted}"]
    for name in ("sent", "received", "expected"):
        text = getattr(failure, name)
        if text is not None:
            lines.append(f"  {name}, {len(text.encode('utf-8', 'surrogateescape')):,} bytes: {shown(text)}")
    if failure.is_of_infrastructure:
        lines.append("  a fault of infrastructure, between harness and agent: it need not be the agent's")
    if seed is not None and finding.check not in _BEFORE and not finding.check.startswith("case."):
        lines.append(f"  with the seed {seed}")
    return "\n".join(lines + last_lines(failure.stderr))


def last_lines(stderr: str) -> list[str]:
    """Return the end of what was written to standard error, and a line before it."""
    lines = [f"    {shown(line, 300)}" for line in stderr.splitlines()[-8:]]
    return ["  it wrote to standard error:", *lines] if lines else []


def advice_texts(report: Report) -> list[str]:
    """Return what an agent had better do, though nothing asks it to, a line each."""
    told = [
        f"shown {each.sent}, it had better hold everything; it gave {each.did}"
        for each in report.advice
        if not each.is_hold
    ]
    if report.conforms and report.n_orders == 0:
        told.append("it never ordered anything, so nothing shows that it can read what it is sent")
    return told
