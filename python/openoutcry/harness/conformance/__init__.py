"""Conformance: tests whether an agent, in any language, satisfies the contract.

`examine` runs all checks of the kit against an agent and returns a `Report`; `verify_report` checks a report of another
examiner. `kit` holds the test cases, `checks` the checks in order, `decision_rules` the rules of a decision. Imports
`harness`, `agents`, `backtest`, `data`, `scenarios`, `untrusted`, `errors` and the native module.
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
