"""Conformance: whether an agent, in any language, does what the contract asks.

`examine` asks an agent everything in the kit and returns a `Report`; `verify_report` checks one that somebody hands in.
`kit` holds what is asked, `checks` what is asked for, in order, and `duties` what an answer must be.
"""

from openoutcry.conformance.examination import examine
from openoutcry.conformance.in_process import ConformanceError, check_agent, launcher_of
from openoutcry.conformance.report import BADGE, Finding, Report
from openoutcry.conformance.verify import verify_report

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
