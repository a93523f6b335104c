"""Texts of findings for terminals."""

from __future__ import annotations

from openoutcry.harness.conformance.conformance_report import Finding, Report
from openoutcry.harness.conformance.decision_rules import ascii_excerpt

_BEFORE = ("kit", "silent_before", "first_answer", "one_line_each", "ends", "episode")


def failure_text(finding: Finding, seed: int | None = None) -> str:
    """Return the text of a failure with the exchanged texts, one per line.

    Args:
        finding: The finding.
        seed: Seed of the market of the second episode, shown if the check used it.
    """
    failure = finding.failure
    if failure is None:
        return f"{finding.check}: {finding.wanted}"
    lines = [f"{finding.check}: {ascii_excerpt(failure.reason, 1_000)}", f"  wanted: {finding.wanted}"]
    for name in ("sent", "received", "expected"):
        text = getattr(failure, name)
        if text is not None:
            lines.append(f"  {name}, {len(text.encode('utf-8', 'surrogateescape')):,} bytes: {ascii_excerpt(text)}")
    if failure.is_of_infrastructure:
        lines.append("  an infrastructure fault, between harness and agent: the agent may not be the cause")
    if seed is not None and finding.check not in _BEFORE and not finding.check.startswith("case."):
        lines.append(f"  with the seed {seed}")
    return "\n".join(lines + last_lines(failure.stderr))


def last_lines(stderr: str) -> list[str]:
    """Return the last lines of standard error, below a heading."""
    lines = [f"    {ascii_excerpt(line, 300)}" for line in stderr.splitlines()[-8:]]
    return ["  standard error of the agent:", *lines] if lines else []


def advice_texts(report: Report) -> list[str]:
    """Return recommendations beyond the contract, one per line."""
    texts = [
        f"an agent should hold when it receives {each.sent}; it returned {each.did}"
        for each in report.advice
        if not each.is_hold
    ]
    if report.conforms and report.n_orders == 0:
        texts.append("the agent placed no order, so the checks do not show that it reads observations")
    return texts
