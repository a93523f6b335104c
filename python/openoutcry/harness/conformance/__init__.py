"""Conformance: whether an agent, in any language, does what the contract asks.

`examine` asks an agent everything in the kit and returns a `Report`; `verify_report` checks one that somebody hands in.
`kit` holds what is asked, `checks` what is asked for, in order, and `duties` what an answer must be.
"""

from openoutcry.harness.conformance.conformance_report import BADGE, Finding, Report
from openoutcry.harness.conformance.examination import examine
from openoutcry.harness.conformance.in_process_agent import ConformanceError, check_agent, launcher_of
from openoutcry.harness.conformance.report_verification import verify_report

__all__ = [
    "BADGE",
    "ConformanceError",
    "Finding",
    "Report",
    "check_agent",
    "examine",
    "launcher_of",
    "verify_report",
]
