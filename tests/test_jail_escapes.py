"""The escape suite: nothing breaks out, and with one lock less something does."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import Any

import pytest
from typer.testing import CliRunner

from openoutcry.cli import app
from openoutcry.jail import Jail, Lock, Tier
from openoutcry.jail.doctor import LEAST_ATTEMPTS, Examination, examine
from openoutcry.jail.host import this_host

pytestmark = pytest.mark.once

HOST = this_host()
T2 = pytest.mark.skipif(HOST.tier < Tier.T2, reason=f"T2: {HOST.missing}")
T3 = pytest.mark.skipif(HOST.tier < Tier.T3, reason=f"T3: {HOST.missing}")

# What breaks out where a lock is taken away.
OPENED = {
    Lock.ENVIRONMENT: ["environment"],
    Lock.DESCRIPTORS: ["inherited"],
    Lock.SESSION: ["session"],
    Lock.LIMITS: ["memory", "descriptors"],
    Lock.CAPABILITIES: ["capabilities"],
    Lock.LANDLOCK: ["open_data", "hidden_in_folder", "bundled_market", "list_processes"],
    Lock.SECCOMP: ["fork", "udp", "change_mode", "code_in_memory", "other_numbers"],
}


@pytest.fixture(scope="module")
def report() -> Any:
    made = CliRunner().invoke(app, ["sandbox", "doctor", "--json"])
    return json.loads(made.stdout) | {"exit_code": made.exit_code}


@T2
def test_nothing_breaks_out(report: Any) -> None:
    found = [each for each in report["attempts"] if each["worker"]["state"] != "stopped"]
    found += [each for each in report["attempts"] if each["command"] and each["command"]["state"] != "stopped"]
    known = {"metadata", "existence"} if report["jail"]["tier"] == "T2" else set()
    assert {each["name"]: (each["worker"], each["command"]) for each in found if each["name"] not in known} == {}
    assert (report["escaped"], report["unclear"], report["exit_code"], report["sound"]) == (0, 0, 0, True)
    assert report["jail"]["tier"] == HOST.tier.name
    assert set(report["jail"]["missing"]) == {each.name for each in HOST.missing}


@T2
def test_the_attempts_work_without_the_jail(report: Any) -> None:
    assert report["shown"] >= LEAST_ATTEMPTS
    # These work on any machine; others may be stopped by its own settings.
    needed = {"open_data", "udp", "tcp", "fork", "memory", "frame_walk", "environment", "inherited", "code_in_memory"}
    assert needed <= {each["name"] for each in report["attempts"] if each["control"] is not None}


def without(lock: Lock, *, most: Tier = Tier.T2) -> Examination:
    def opened(jail: Jail) -> Jail:
        return replace(jail, _locks=jail._locks - {lock})

    return examine(most=most, jailed=opened, chosen=OPENED[lock])


@T2
@pytest.mark.parametrize("lock", OPENED, ids=lambda lock: lock.value)
def test_without_a_lock_something_breaks_out(lock: Lock) -> None:
    if lock is Lock.CAPABILITIES and os.geteuid() != 0:
        pytest.skip("the user has no capabilities to give up")
    found = without(lock)
    assert {row.attempt.name for row in found.of_state("escaped")} == set(OPENED[lock])
    assert not found.is_sound


@T3
def test_without_namespaces_something_breaks_out() -> None:
    def opened(jail: Jail) -> Jail:
        return replace(jail, _locks=jail._locks - {Lock.NAMESPACES})

    found = examine(jailed=opened, chosen=["metadata", "existence"])
    assert {row.attempt.name for row in found.of_state("escaped")} == {"metadata", "existence"}
    assert not examine(chosen=["metadata", "existence"]).of_state("escaped")


@T2
def test_the_first_tier_is_not_sound() -> None:
    made = examine(most=Tier.T1, chosen=["open_data", "udp", "memory"])
    assert {row.attempt.name for row in made.of_state("escaped")} == {"open_data", "udp"}
    assert not made.is_sound


def test_a_tier_that_does_not_exist_is_refused() -> None:
    made = CliRunner().invoke(app, ["sandbox", "doctor", "--most", "T9"])
    assert "`--most` must be among T1, T2, T3; received 'T9'" in str(made.exception)
