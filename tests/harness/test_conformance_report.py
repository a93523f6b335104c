"""Conformance reports: schema, digest, signature, and the commands that write and verify them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conformance_agents import AGENT, SEED, failed, hold, in_process, passed, tiny
from jsonschema import Draft202012Validator

import openoutcry as oo
from openoutcry import agents, records
from openoutcry import openoutcry_py as native
from openoutcry.cli import main
from openoutcry.harness import Bounds, CallableAgent
from openoutcry.harness.conformance import BADGE, examine, launcher_of, verify_report
from openoutcry.harness.conformance.checks import checks_of
from openoutcry.harness.conformance.finding_text import failure_text
from openoutcry.harness.conformance.kit import kit
from openoutcry.testing import ConformanceError, check_agent

pytestmark = pytest.mark.once

CONTRACT = Path(__file__).resolve().parents[2] / "contract"
SCHEMA = Draft202012Validator(json.loads((CONTRACT / "conformance-report.schema.json").read_text("utf-8")))
KEY, OTHER = bytes(range(32)), bytes(32)


class Ran(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# The report


def test_a_correct_agent_passes_the_complete_kit() -> None:
    assert {each.check: each.state for each in passed().findings if each.state != "passed"} == {
        "interleaved": "not_applicable"
    }
    assert [each.check for each in passed().findings] == [check.name for check in checks_of(kit())]


def test_a_report_matches_its_schema_and_is_valid() -> None:
    assert json.loads(native.CONFORMANCE_REPORT_SCHEMA) == SCHEMA.schema
    reports = (passed(), failed(), in_process())
    for report in reports:
        for key in (None, KEY):
            text = report.to_json(key)
            assert text.isascii()
            SCHEMA.validate(json.loads(text))
            assert verify_report(text) == []
    assert [each.to_dict().get("badge") for each in reports] == [BADGE, None, BADGE]
    harness = passed().to_dict()["harness"]
    assert harness.pop("files") == [
        {"name": sys.executable, "sha256": hashlib.sha256(Path(sys.executable).read_bytes()).hexdigest()}
    ]
    assert harness == {"transport": "stdio", "tier": "T0", "allow_net": True}
    assert "harness" not in in_process().to_dict()


def test_the_badge_is_the_one_in_governance() -> None:
    page = (CONTRACT.parent / "GOVERNANCE.md").read_text("utf-8")
    assert f"\n> {BADGE}\n" in page
    assert BADGE.endswith(f"v{oo.CONTRACT_VERSION}")


def test_a_report_of_a_failure_contains_the_exchanged_texts_and_the_skipped_checks() -> None:
    found = failed().to_dict()
    at = [each["state"] for each in found["checks"]].index("failed")
    assert found["checks"][at]["check"] == "first_answer"
    assert found["checks"][at]["sent"].startswith('{"cash":1,')
    assert found["checks"][at]["stderr"] == "no idea\\n"
    assert {each["state"] for each in found["checks"][at + 1 :]} == {"not_run"}
    assert found["conforms"] is False


def test_a_signature_identifies_the_examiner() -> None:
    text = passed().to_json(KEY)
    key, other = records.public_key(KEY), records.public_key(OTHER)
    assert verify_report(text, key) == []
    assert verify_report(text, other) == [
        f"the report must be signed by the key {other.hex()}; received a signature by {key.hex()}"
    ]
    assert verify_report(passed().to_json(), key) == ["the report must be signed; received no signature"]
    claimed = json.loads(text)
    claimed["signature"]["public_key"] = other.hex()
    assert verify_report(json.dumps(claimed), other) == [
        "the signature must match the content and the public key; received a different one"
    ]


def test_a_signature_of_a_record_is_invalid_for_a_report() -> None:
    made = oo.run_backtest(oo.Dataset.synthetic(1, 40, 0), "hold-cash", capture=True).record.sign(KEY)
    forged = json.loads(passed().to_json(KEY))
    forged["signature"] = json.loads(made.to_json())["signature"]
    assert len(verify_report(json.dumps(forged))) == 1


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "agent": lambda report: report.update(agent="mine"),
    "date": lambda report: report.update(date="2020-01-01T00:00:00Z"),
    "timing": lambda report: report["timing"].update(answer_p50_seconds=0.0),
    "check": lambda report: report["checks"][3].update(seconds=0.5),
    "badge": lambda report: report.pop("badge"),
    "advice": lambda report: report["advice"].clear(),
    "bounds": lambda report: report["bounds"].update(answer_seconds=0.001),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_any_change_of_a_report_is_detected(change: Callable[[dict[str, Any]], object]) -> None:
    report = json.loads(passed().to_json(KEY))
    change(report)
    faults = verify_report(json.dumps(report))
    assert faults[:2] == [
        "the digest must match the content; received a different one",
        "the signature must match the content and the public key; received a different one",
    ]


# In process


def test_a_callable_a_class_and_a_baseline_are_checked_in_process() -> None:
    class Counting:
        n_asked = 0

        def __call__(self, observation: dict[str, Any]) -> dict[str, Any]:
            self.n_asked += 1
            return {"orders": [], "reasoning": str(self.n_asked)}

    assert check_agent(hold, deterministic=True).agent == "hold"
    for each in (Counting, *map(agents.load, agents.NAMES)):
        found = examine(launcher_of(each), deterministic=True, with_kit=tiny(), seed=SEED)
        assert found.conforms, found.failure
    found = examine(launcher_of(Counting()), deterministic=True, with_kit=tiny(), seed=SEED)
    assert found.failure is not None
    assert found.failure.check == "deterministic"


def test_a_callable_that_does_not_conform_raises_what_the_command_prints() -> None:
    with pytest.raises(ConformanceError) as caught:
        check_agent(lambda observation: {"orders": [{"symbol": "AAA", "action": "buy", "target_weight": "1"}]})
    assert isinstance(caught.value, AssertionError)
    assert caught.value.check == "first_answer"
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("first_answer: wrong_type: expected a number")
    assert [line.split()[0] for line in lines[1:]] == ["wanted:", "sent,", "received,"]
    assert not caught.value.report.conforms


def test_an_exception_of_a_callable_is_the_cause_and_its_text_is_shown() -> None:
    def fails(observation: dict[str, Any]) -> dict[str, Any]:
        raise KeyError("of its own")

    with pytest.raises(ConformanceError, match="received its exit, KeyError: 'of its own'") as caught:
        check_agent(fails)
    cause: BaseException | None = caught.value
    while cause is not None and not isinstance(cause, KeyError):
        cause = cause.__cause__
    assert cause is not None


def test_a_callable_has_the_time_limits_of_the_report() -> None:
    def slow(observation: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.03)
        return {"orders": []}

    def slow_to_begin() -> Callable[[dict[str, Any]], dict[str, Any]]:
        time.sleep(0.03)
        return hold

    late = examine(launcher_of(slow, bounds=Bounds(answer_seconds=0.001)), with_kit=tiny(), seed=SEED)
    assert late.failure is not None
    assert late.failure.check == "case.empty_start"
    assert "agent_late: an agent must answer within 0.001 s; received its answer after 0.0" in failure_text(
        late.failure
    )
    assert verify_report(late.to_json())[0].startswith("the report must have the ")
    started = CallableAgent(slow_to_begin, bounds=Bounds(start_seconds=0.01, answer_seconds=0.01))
    late = examine(started, with_kit=tiny(), seed=SEED)
    assert late.failure is not None
    assert late.failure.check == "first_answer"
    kept = {"start_seconds": 60.0, "answer_seconds": 60.0, "answer_bytes": 2**20}
    assert check_agent(hold).to_dict()["bounds"] == kept
    assert passed().to_dict()["bounds"].keys() == {*kept, "end_seconds"}


@pytest.mark.parametrize("where", ["asked", "made", "reset"])
def test_an_agent_that_calls_exit_does_not_end_the_examiner(where: str) -> None:
    class Exits:
        def __init__(self) -> None:
            if where == "made":
                sys.exit(0)

        def reset(self) -> None:
            sys.exit(0)

        def __call__(self, observation: dict[str, Any]) -> dict[str, Any]:
            sys.exit(0)

    with pytest.raises(ConformanceError, match="received its exit, SystemExit: 0") as caught:
        check_agent(Exits() if where == "reset" else Exits)
    assert caught.value.check == "first_answer"
    # In a call, `SystemExit` is a fault with a traceback.
    assert ("in __call__" in str(caught.value)) == (where == "asked")


def test_an_agent_that_is_not_callable_is_refused() -> None:
    with pytest.raises(oo.OpenOutcryError, match=r"^unknown_agent: an agent must be a callable"):
        check_agent({"orders": []})  # type: ignore[arg-type]


# The command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o755)
    for name, change in (("good", ""), ("bad", "answer['size'] = 1; print('thinking', file=sys.stderr)")):
        (tmp_path / f"{name}.py").write_text(
            AGENT.format(change=change, change_text="", before="", after=""), encoding="utf-8"
        )
    (tmp_path / "key").write_text(KEY.hex() + "\n", encoding="utf-8")
    (tmp_path / "key.pub").write_text(records.public_key(KEY).hex() + "\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def ran(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run the command in this process, which has loaded the kit."""

    def run(*words: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["openoutcry", "conformance", *words])
        monkeypatch.setattr(sys, "path", list(sys.path))
        with pytest.raises(SystemExit) as ended:
            main()
        return Ran(int(ended.value.code or 0), *capsys.readouterr())

    return run


def test_the_command_prints_each_check_and_the_badge_and_writes_a_signed_report(
    folder: Path, ran: Callable[..., Ran]
) -> None:
    command = f"cmd:{sys.executable} good.py"
    done = ran(command, "--report", "report.json", "--private-key", "key")
    assert done.code == 0, done.out + done.err
    lines = done.out.splitlines()
    assert lines[-1] == BADGE
    assert sum(line.startswith("✓ ") for line in lines) == len(passed().findings) - 3
    assert re.search(r"\d+ answers: p50 .* (us|ms), p99 .*, longest ", done.out)
    assert verify_report((folder / "report.json").read_text("utf-8"), records.public_key(KEY)) == []
    checked = ran("--verify", "report.json", "--public-key", "key.pub")
    assert checked.code == 0, checked.out
    assert checked.out.splitlines()[-1] == BADGE
    assert f"  {sha256(folder / 'good.py')}  good.py\n" in checked.out
    assert f"signed: by the key {records.public_key(KEY).hex()}\n" in checked.out
    changed = (folder / "report.json").read_text("utf-8").replace('"passed"', '"failed"', 1)
    (folder / "report.json").write_text(changed, encoding="utf-8")
    checked = ran("--verify", "report.json")
    assert checked.code == 1
    assert BADGE not in checked.out


def test_verifying_a_valid_report_of_a_failed_agent_exits_with_1(folder: Path, ran: Callable[..., Ran]) -> None:
    (folder / "report.json").write_text(failed().to_json(), encoding="utf-8")
    checked = ran("--verify", "report.json")
    assert checked.code == 1
    assert "valid: digest" in checked.out
    assert checked.out.splitlines()[-1].startswith("does not conform: first_answer: agent_died")


BESIDE = [
    ["momentum"],
    ["--deterministic"],
    ["--json"],
    ["--seed", "1"],
    ["--timeout", "10"],
    ["--start-timeout", "60"],
    ["--env", "HOME"],
    ["--sandbox", "none"],
    ["--allow-net"],
    ["--report", "other.json"],
    ["--private-key", "key"],
]


@pytest.mark.parametrize("words", BESIDE, ids=" ".join)
def test_options_without_effect_are_refused_with_verify(
    folder: Path, ran: Callable[..., Ran], words: list[str]
) -> None:
    (folder / "report.json").write_text(failed().to_json(), encoding="utf-8")
    done = ran("--verify", "report.json", *words)
    assert done.code == 2
    named = words[0] if words[0].startswith("--") else f"`{words[0]}`"
    assert f"`--verify` must come alone, or with `--public-key`; received {named} as well" in done.err


def test_the_private_key_is_read_after_the_last_answer(folder: Path, ran: Callable[..., Ran]) -> None:
    (folder / "key").write_text("0" * 63 + "-\n", encoding="utf-8")
    writing = f"import sys; open('key', 'w').write('{OTHER.hex()}')"
    (folder / "agent.py").write_text(
        f"{writing}\nfor line in sys.stdin: print('{{\"orders\": []}}', flush=True)\n", encoding="utf-8"
    )
    words = [f"cmd:{sys.executable} agent.py", "--sandbox", "none", "--report", "report.json", "--private-key", "key"]
    done = ran(*words)
    assert done.code == 0, done.out + done.err
    assert verify_report((folder / "report.json").read_text("utf-8"), records.public_key(OTHER)) == []
    read, write = os.pipe()
    os.write(write, KEY.hex().encode())
    os.close(write)
    done = ran("hold-cash", "--seed", str(SEED), "--report", "report.json", "--private-key", f"/dev/fd/{read}")
    os.close(read)
    assert verify_report((folder / "report.json").read_text("utf-8"), records.public_key(KEY)) == []
    (folder / "key").write_text("0" * 63, encoding="utf-8")
    refused = ran(*words)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("error: key_invalid: `--private-key` must be a file of 64 hexadecimal digits")


def test_the_command_prints_the_first_failure_with_the_exchanged_texts(ran: Callable[..., Ran]) -> None:
    done = ran(f"cmd:{sys.executable} bad.py", "--sandbox", "none")
    assert done.code == 1, done.out + done.err
    assert BADGE not in done.out
    lines = done.out.splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith("first_answer: unknown_field"))
    assert lines[at + 2].startswith('  sent, 148 bytes: {"cash":1,')
    assert lines[at + 3].endswith('"size": 1}')
    assert "thinking" not in done.err
    printed = ran(f"cmd:{sys.executable} bad.py", "--sandbox", "none", "--json")
    assert printed.code == 1
    assert json.loads(printed.out)["conforms"] is False


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], 'an agent is required, such as `openoutcry conformance "cmd:python agent.py"`'),
        (["unheard-of"], "unknown_agent"),
        (["unheard_of:decide"], "unknown_agent"),
        (["cmd:/unheard/of"], "unknown_agent"),
        (["momentum", "--report", "no/such/folder.json"], "`--report` must be a writable file"),
        (["momentum", "--private-key", "good.py"], "key_invalid"),
        (["momentum", "--public-key", "key.pub"], "`--public-key` must come with `--verify`"),
        (["--verify", "good.py"], "a report must be JSON"),
        (["cmd:true", "--timeout", "0"], "`--timeout` must be a number above 0; received 0.0"),
        (["momentum", "--timeout", "-5"], "`--timeout` must be a number above 0; received -5.0"),
        (["momentum", "--start-timeout", "nan"], "`--start-timeout` must be a number above 0; received nan"),
        (["good.py"], 'hint: `"cmd:python good.py"`, or `good:decide` to call a function in it'),
    ],
)
def test_the_command_refuses_what_it_cannot_examine(ran: Callable[..., Ran], words: list[str], message: str) -> None:
    done = ran(*words)
    assert done.code == 2, done.out + done.err
    assert message in done.err
    assert "Traceback" not in done.err


def test_infrastructure_faults_give_no_verdict(ran: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openoutcry.harness.http_agent._REACH_SECONDS", 0.3)
    done = ran("http://127.0.0.1:1")
    assert (done.code, done.err.startswith("error: agent_unreachable: ")) == (2, True)
    # The limit applies to descriptor numbers, and earlier tests have left unused lower numbers.
    free = [os.dup(0) for _ in range(3)]
    for each in free:
        os.close(each)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(free) + 1, hard))
    try:
        done = ran("cmd:true", "--sandbox", "none")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (done.code, done.err.startswith("error: agent_not_started: ")) == (2, True), done.err
    # A fault of the agent.
    assert ran("cmd:sh -c 'exit 126'", "--sandbox", "none").code == 1
