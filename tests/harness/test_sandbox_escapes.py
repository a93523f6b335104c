"""The escape attempts: none succeeds in the sandbox, and without any one protection some do."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest
from builders import count
from typer.testing import CliRunner

from openoutcry.cli.commands import app
from openoutcry.cli.sandbox import _show
from openoutcry.harness.sandbox import Protection, Sandbox, Tier
from openoutcry.harness.sandbox.doctor import LEAST_ATTEMPTS, Examination, examine
from openoutcry.harness.sandbox.host_features import this_host

pytestmark = pytest.mark.once

HOST = this_host()
IS_FULL = count(full=1, quick=0) == 1
T2 = pytest.mark.skipif(HOST.tier < Tier.T2, reason=f"T2: {HOST.missing}")
T3 = pytest.mark.skipif(HOST.tier < Tier.T3, reason=f"T3: {HOST.missing}")

# Attempts that escape without a protection.
OPENED = {
    Protection.ENVIRONMENT: ["environment"],
    Protection.DESCRIPTORS: ["inherited"],
    Protection.SESSION: ["session"],
    Protection.LIMITS: ["memory", "descriptors"],
    Protection.CAPABILITIES: ["capabilities"],
    Protection.LANDLOCK: ["open_data", "hidden_in_folder", "bundled_market", "list_processes"],
    Protection.SECCOMP: ["fork", "udp", "change_mode", "code_in_memory", "other_numbers"],
}


# At least one attempt for each protection, without the slow ones.
QUICK = [
    *(name for names in OPENED.values() for name in names),
    *(
        "metadata",
        "existence",
        "frame_walk",
        "subclasses_walk",
        "numpys_os",
        "parent_folder",
        "symbolic_link",
        "own_folder",
    ),
    *(
        "truncate_as_read",
        "hard_link",
        "own_maps",
        "thread",
        "spawn",
        "memory_file",
        "signal_decoy",
        "trace",
        "limit_decoy",
    ),
    *(
        "leave_group",
        "outlive",
        "tcp",
        "listen",
        "abstract_socket",
        "pair",
        "code_made_executable",
        "user_namespace",
        "ring",
    ),
    *("child_of_parent", "flood", "generation", "hint", "lease", "read_time", "read_attribute", "events"),
]


@pytest.fixture(scope="module")
def found() -> Examination:
    return examine(names=[] if IS_FULL else QUICK)


@T2
def test_no_attempt_escapes(found: Examination) -> None:
    # T3 stops what T2 is documented not to stop; not every file system records access times.
    known = {"metadata", "existence", "read_time"} if HOST.tier == Tier.T2 else set()
    others = {
        row.attempt.name: row.findings for row in found.rows if {each.state for each in row.findings} != {"stopped"}
    }
    assert {name: each for name, each in others.items() if name not in known} == {}
    assert known - {"read_time"} <= {row.attempt.name for row in found.of_state("known")} <= known
    assert found.sandbox["tier"] == HOST.tier.name
    assert set(found.sandbox["missing"]) == {each.name for each in HOST.missing}


@T2
def test_the_attempts_work_without_the_sandbox(found: Examination) -> None:
    # These succeed on every machine; others depend on its settings.
    needed = {"open_data", "udp", "tcp", "fork", "memory", "frame_walk", "environment", "inherited", "code_in_memory"}
    assert needed <= {row.attempt.name for row in found.rows if row.control is not None}
    assert found.n_shown >= min(len(QUICK) - 8, LEAST_ATTEMPTS)


@T2
def test_the_table_names_every_attempt_and_the_tier(found: Examination, capsys: pytest.CaptureFixture[str]) -> None:
    _show(found)
    message = capsys.readouterr().out
    assert all(row.attempt.text.split("`")[0] in message for row in found.rows)
    succeed = f"{HOST.tier.name}: {found.n_shown} attempts succeed without the sandbox"
    assert f"{succeed}; in the sandbox none escapes" in message
    assert json.loads(json.dumps(found.to_dict()))["escaped"] == 0


@T2
@pytest.mark.skipif(not IS_FULL, reason="all attempts: with OPENOUTCRY_FULL=1")
def test_the_doctor_finds_this_machine_sound() -> None:
    made = CliRunner().invoke(app, ["sandbox", "doctor", "--json"])
    report = json.loads(made.stdout)
    assert (made.exit_code, report["sound"], report["escaped"], report["unclear"]) == (0, True, 0, 0)
    assert report["shown"] >= LEAST_ATTEMPTS
    assert len(report["attempts"]) > 90


def without(lock: Protection, *, max_tier: Tier = Tier.T2) -> Examination:
    def opened(sandbox: Sandbox) -> Sandbox:
        return replace(sandbox, _protections=sandbox._protections - {lock})

    return examine(max_tier=max_tier, adapt=opened, names=OPENED[lock])


@T2
@pytest.mark.parametrize("lock", OPENED, ids=lambda lock: lock.value)
def test_without_a_protection_some_attempt_escapes(lock: Protection) -> None:
    if lock is Protection.CAPABILITIES and os.geteuid() != 0:
        pytest.skip("the user has no capabilities to give up")
    found = without(lock)
    assert {row.attempt.name for row in found.of_state("escaped")} == set(OPENED[lock])
    assert not found.is_sound


@T2
@pytest.mark.parametrize("version", [3, 5])
def test_filters_compensate_for_an_older_landlock(version: int) -> None:
    """Filters restrict devices, signals and ports where an older Landlock does not."""

    def older(sandbox: Sandbox) -> Sandbox:
        return replace(sandbox, host=replace(sandbox.host, landlock=min(version, sandbox.host.landlock)))

    names = [
        "signal_decoy",
        "queue_signal",
        "abstract_socket",
        "tcp",
        "listen",
        "truncate_as_read",
        "open_data",
        "loop",
    ]
    made = examine(max_tier=Tier.T2, adapt=older, names=[] if IS_FULL else names)
    assert [(row.attempt.name, row.findings) for row in made.of_state("escaped") + made.of_state("unclear")] == []


@T3
def test_without_namespaces_some_attempt_escapes() -> None:
    def opened(sandbox: Sandbox) -> Sandbox:
        return replace(sandbox, _protections=sandbox._protections - {Protection.NAMESPACES})

    found = examine(adapt=opened, names=["metadata", "existence"])
    assert {row.attempt.name for row in found.of_state("escaped")} == {"metadata", "existence"}
    assert not examine(names=["metadata", "existence"]).of_state("escaped")


@T2
def test_the_first_tier_is_not_sound() -> None:
    made = examine(max_tier=Tier.T1, names=["open_data", "udp", "memory"])
    assert {row.attempt.name for row in made.of_state("escaped")} == {"open_data"}, "the network is filtered"
    assert not made.is_sound


def test_a_tier_that_does_not_exist_is_refused() -> None:
    made = CliRunner().invoke(app, ["sandbox", "doctor", "--max-tier", "T9"])
    assert "`--max-tier` must be among T1, T2, T3; received 'T9'" in str(made.exception)
