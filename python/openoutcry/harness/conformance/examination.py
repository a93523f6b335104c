"""The examination of an agent: runs all checks and builds the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from time import perf_counter

from openoutcry.harness import Launcher
from openoutcry.harness.conformance.agent_files import file_entries, files_of
from openoutcry.harness.conformance.agent_under_test import AgentUnderTest
from openoutcry.harness.conformance.checks import Check, checks_of
from openoutcry.harness.conformance.conformance_report import FAILED, NOT_RUN, PASSED, Finding, Report
from openoutcry.harness.conformance.day_order_kit import DAY_ORDER_CHECK, day_order_kit, n_day_orders
from openoutcry.harness.conformance.decision_rules import Failure
from openoutcry.harness.conformance.invalid_input import Advice, advise
from openoutcry.harness.conformance.kit import Kit, kit
from openoutcry.harness.conformance.random_market import draw_seed

Show = Callable[[Finding], object]


def examine(
    launcher: Launcher,
    *,
    deterministic: bool = False,
    show: Show = lambda finding: None,
    with_kit: Kit | None = None,
    seed: int | None = None,
) -> Report:
    """Run the checks of the kit against an agent, up to the first failure.

    Args:
        launcher: Starts the agent, several dozen times.
        deterministic: Check that the agent answers the same bytes to the same observations.
        show: Receives each finding as soon as it is available.
        with_kit: The kit; None for that of this package.
        seed: Seed of the market of the second episode, as in a report; None for a random one.

    Raises:
        OpenOutcryError: the agent does not exist.
    """
    subject = AgentUnderTest(launcher, with_kit or kit(), draw_seed() if seed is None else seed)
    date = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    files = files_of(launcher)
    transport = launcher.harness and launcher.harness["transport"]
    findings: list[Finding] = []
    for found in _findings(subject, transport, deterministic=deterministic):
        findings.append(found)
        show(found)
    day_orders = 0
    if all(each.state != FAILED for each in findings) and (day_orders := n_day_orders(subject)):
        findings.append(_checked(DAY_ORDER_CHECK, subject))
        show(findings[-1])
    advice: list[Advice] = []
    # A callable in this process receives parsed observations, not text.
    if transport and all(each.state != FAILED for each in findings):
        advice = advise(subject)
    return Report(
        launcher.name,
        date,
        subject.kit.digest,
        deterministic,
        launcher.harness,
        launcher.bounds,
        tuple(findings),
        tuple(advice),
        subject.times,
        files=None if files is None else file_entries(files, files_of(launcher) or {}),
        seed=subject.seed,
        n_orders=subject.n_orders,
        n_day_orders=day_orders,
        day_order_kit=day_order_kit().digest if day_orders else None,
    )


def _findings(subject: AgentUnderTest, transport: object, *, deterministic: bool) -> Iterator[Finding]:
    """Yield the findings of the checks of the kit.

    Checks after the first failure are not run.
    """
    has_failed = False
    for check in checks_of(subject.kit):
        state = NOT_RUN if has_failed else check.excuse(transport, deterministic=deterministic)
        found = _checked(check, subject) if state is None else Finding(check.name, check.wanted, state)
        has_failed = has_failed or found.state == FAILED
        yield found


def _checked(check: Check, subject: AgentUnderTest) -> Finding:
    before, started = subject.n_answers, perf_counter()
    failure = None
    try:
        check.run(subject)
    except Failure as error:
        failure = error
    seconds = perf_counter() - started
    state = PASSED if failure is None else FAILED
    return Finding(check.name, check.wanted, state, subject.n_answers - before, seconds, failure)
