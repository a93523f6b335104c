"""Findings in words."""

from __future__ import annotations

from openoutcry.conformance.duties import shown
from openoutcry.conformance.report import Finding


def failure_text(finding: Finding) -> str:
    """Return what a check wanted and received, with the bytes exchanged, a line each."""
    failure = finding.failure
    if failure is None:
        return f"{finding.check}: {finding.wanted}"
    lines = [f"{finding.check}: {shown(failure.reason, 1_000)}", f"  wanted: {finding.wanted}"]
    for name in ("sent", "received", "expected"):
        text = getattr(failure, name)
        if text is not None:
            lines.append(f"  {name}, {len(text.encode('utf-8', 'surrogateescape')):,} bytes: {shown(text)}")
    if failure.stderr:
        lines += [
            "  it wrote to standard error:",
            *(f"    {shown(line, 300)}" for line in failure.stderr.splitlines()[-8:]),
        ]
    return "\n".join(lines)
