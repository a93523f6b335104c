"""Conformance checks: a correct agent passes, and each fault is found by the check for it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace

import pytest
from builders import count
from conformance_agents import QUICK, SEED, agent, case, judged, played, small, tiny

from openoutcry import openoutcry_py as native
from openoutcry.harness import CommandAgent
from openoutcry.harness.conformance import examine
from openoutcry.harness.conformance.agent_under_test import AgentUnderTest
from openoutcry.harness.conformance.checks import checks_of
from openoutcry.harness.conformance.decision_rules import decision_error
from openoutcry.harness.conformance.finding_text import failure_text
from openoutcry.harness.conformance.invalid_input import advise
from openoutcry.harness.conformance.kit import kit

pytestmark = pytest.mark.once


# A correct agent


def test_a_good_agent_passes_every_check() -> None:
    shown: list[str] = []
    report = examine(
        agent(), deterministic=True, show=lambda each: shown.append(each.check), with_kit=small(), seed=SEED
    )
    assert report.conforms, report.failure and failure_text(report.failure)
    states = {finding.check: finding.state for finding in report.findings}
    assert {check: state for check, state in states.items() if state != "passed"} == {"interleaved": "not_applicable"}
    assert shown == [check.name for check in checks_of(small())]
    assert sum(finding.n_answers for finding in report.findings) == report.timing["n_answers"]


def test_checks_that_do_not_apply_are_listed_as_not_applicable_or_not_claimed() -> None:
    states = {finding.check: finding.state for finding in judged(agent(), tiny(), deterministic=False).findings}
    assert {name for name, state in states.items() if state == "not_claimed"} == {
        "deterministic",
        "ignore_unknown_fields",
    }


def test_response_times_are_reported() -> None:
    timing = judged(agent("time.sleep(0.002)"), tiny(), deterministic=False).timing
    assert timing["n_sessions"] == 5
    assert 0.002 <= timing["answer_p50_seconds"] <= timing["answer_p99_seconds"] <= timing["answer_max_seconds"]
    assert 0.002 <= timing["start_p50_seconds"] <= timing["start_max_seconds"]


@pytest.mark.parametrize(
    ("before", "did"),
    [
        ("", "no answer: agent_died"),
        ("json.loads = lambda line: {'symbols': []}", "a decision without orders"),
        (
            "json.loads = lambda line: {'symbols': [{'symbol': 'AAA'}, {'symbol': 'BBB'}]} if len(line) < 77 else {}",
            "a decision with 2 orders",
        ),
    ],
    ids=["dies", "holds", "trades"],
)
def test_behavior_on_invalid_input_is_advice_and_not_a_failure(before: str, did: str) -> None:
    advice = advise(AgentUnderTest(agent(before=before), small()))
    assert advice[0].did == did
    assert advice[0].is_hold == (did == "a decision without orders")


# Agents with faults

# Listed here, since building the kit takes a while.
CASES = sorted(native.conformance_files().keys() - {"negative.json", "positive.json"})

FAULTS = {
    "says that it is ready": (agent(before="print('ready', flush=True)"), "silent_before", "answer_too_early"),
    "floods before it is asked": (
        agent(before="while True: print('x' * 1000)"),
        "silent_before",
        "an agent must write one line for each",
    ),
    "ends before it is asked": (agent(before="sys.exit(3)"), "first_answer", "agent_died"),
    "dies of the first question": (agent("sys.exit(3)"), "first_answer", "agent_died"),
    "never answers": (
        agent("time.sleep(60)", bounds=replace(QUICK, start_seconds=0.5, answer_seconds=0.5)),
        "first_answer",
        "agent_late",
    ),
    "writes prose": (agent(change_text="text = 'I hold: ' + text"), "first_answer", "bad_json"),
    "writes several lines": (agent(change_text="text = json.dumps(answer, indent=1)"), "first_answer", "bad_json"),
    "writes bytes": (
        agent(change_text="sys.stdout.buffer.write(b'\\xff{}\\n'); sys.stdout.flush(); continue"),
        "first_answer",
        "answer_not_text",
    ),
    "writes too much": (agent(change_text="text = ' ' * 2**21"), "first_answer", "answer_too_long"),
    "stops in a line": (
        agent(change_text="sys.stdout.write(text); sys.stdout.flush(); sys.exit()"),
        "first_answer",
        "answer_cut_short",
    ),
    "answers a list": (agent("answer = parts"), "first_answer", "wrong_type"),
    "forgets the weight": (agent("parts[0].pop('target_weight')"), "first_answer", "missing_field"),
    "adds a field": (agent("answer['confidence'] = 1"), "first_answer", "unknown_field"),
    "shouts": (agent("parts[0]['action'] = 'BUY'"), "first_answer", "unknown_action"),
    "weighs with NaN": (agent("parts[0]['target_weight'] = float('nan')"), "first_answer", "bad_json"),
    "weighs without end": (agent(change_text="text = text.replace('0.25', '1e999')"), "first_answer", "bad_json"),
    "weighs with a text": (agent("parts[0]['target_weight'] = '0.5'"), "first_answer", "wrong_type"),
    "is too sure": (agent("parts[0]['confidence'] = 1.5"), "first_answer", "confidence_out_of_range"),
    "names nothing listed": (agent("parts[0]['symbol'] = 'ZZZ'"), "first_answer", "`ZZZ`"),
    "names one twice": (agent("parts.append(parts[0])"), "first_answer", "2 orders for `AAA`"),
    "writes two lines": (agent(change_text="print(text)"), "one_line_each", "bytes more"),
    "says goodbye": (agent(after="if n: print('bye')"), "one_line_each", "4 bytes more"),
    "ends badly": (agent(after="sys.exit(3 if n else 0)"), "ends", "exit code 3"),
    "does not end": (agent(after="time.sleep(60 if n else 0)"), "ends", "no exit"),
    "splits lines where JSON does not": (
        agent("sys.exit() if len(line.splitlines()) > 1 else None"),
        "case.awkward_news",
        "agent_died",
    ),
    "writes a line for each headline": (
        agent("[print('news:', each) for view in seen['symbols'] for each in view.get('news', [])]"),
        "case.awkward_news",
        "bad_json",
    ),
    "writes a line for each headline, later": (
        agent(change_text="text = '\\n'.join([text, *(each for v in seen['symbols'] for each in v.get('news', []))])"),
        "case.awkward_news",
        "bytes more",
    ),
    "holds what it splits": (
        agent(change_text="if len(line.splitlines()) > 1: text = '\\n'.join(['{\"orders\": []}'] * 5)"),
        "case.awkward_news",
        "60 bytes more",
    ),
    "dies of headlines when it has answered": (
        agent(after="if 'news' in line: sys.exit(5)"),
        "case.awkward_news",
        "exit code 5",
    ),
    "needs a symbol": (agent("names[0]"), "case.empty_universe", "IndexError"),
    "weighs by one over the price": (
        agent(
            "turned = [1 / view['close_history'][-1] for view in seen['symbols']]",
            "[p.update(target_weight=one / sum(turned)) for p, one in zip(parts, turned)]; text = json.dumps(answer)",
        ),
        "case.extreme_prices",
        "bad_json",
    ),
    "knows that nothing is so cheap": (
        agent("assert all(0.001 < p < 1e6 for v in seen['symbols'][:3] for p in v['close_history'])"),
        "case.extreme_prices",
        "AssertionError",
    ),
    "counts names by what they look like": (
        agent("[p.update(symbol=p['symbol'].replace('e\\u0301', '\\u00e9')) for p in parts]"),
        "case.unicode_symbols",
        "2 orders for",
    ),
    "knows every field": (
        agent("assert set(seen) == {'date', 'cash', 'symbols', 'portfolio'}"),
        "case.unknown_fields_everywhere",
        "AssertionError",
    ),
    "loses count": (agent(change_text="text = '{}' if n == 40 else text"), "episode", "missing_field"),
    "tires": (agent("sys.exit() if n == 40 else None"), "episode", "agent_died"),
    "ends badly when it was long": (agent(after="sys.exit(4 if n > 40 else 0)"), "episode", "exit code 4"),
    "says goodbye when it was long": (agent(after="if n > 40: print('bye')"), "episode", "4 bytes more"),
    "says one thing twice": (agent(change_text="print(text) if n == 40 else None"), "episode", "answer_too_early"),
    "keeps the names of a bar": (
        agent(
            "kept = names if n < 6 else [*kept, *(each for each in names if each not in kept)]\n    "
            "answer = {'orders': [{'symbol': each, 'action': 'buy', 'target_weight': 0.1} for each in kept]}"
        ),
        "drawn_episode",
        "every order must name a symbol",
    ),
    "tires when it was long": (agent("sys.exit() if n == 100 else None"), "drawn_episode", "agent_died"),
    "knows every field but news": (
        agent("assert n < 3 or not any('news' in view for view in seen['symbols'])"),
        "drawn_episode",
        "AssertionError",
    ),
    "draws lots at first": (
        agent("answer['reasoning'] = os.urandom(8).hex() if n == 1 else ''"),
        "deterministic",
        "the same observation must get the same answer; received a different one",
    ),
    "draws lots later": (
        agent("answer['reasoning'] = os.urandom(8).hex() if n == 40 else ''"),
        "deterministic",
        "the same episode must get the same answer; received a different one",
    ),
    "reads what it cannot know": (
        agent("answer['reasoning'] = ' '.join(sorted(seen))"),
        "ignore_unknown_fields",
        "received a different one",
    ),
}


def test_the_start_time_does_not_extend_the_time_for_a_large_observation() -> None:
    bounds = replace(QUICK, answer_seconds=1.0)
    slow = agent("time.sleep(60 if len(line) > 20_000 else 0)", bounds=bounds)
    report = judged(slow, replace(kit(), cases=(case("empty_start"), case("many_symbols"))))
    assert report.failure is not None
    assert report.failure.check == "case.many_symbols"
    assert "agent_late: an agent must answer within 1 s" in failure_text(report.failure)


@pytest.mark.parametrize(("asked", "check", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_found_by_the_check_for_it(asked: CommandAgent, check: str, message: str) -> None:
    kits = {"case": small(), "drawn_episode": played()}
    report = judged(asked, kits.get(check.partition(".")[0], tiny()))
    assert report.failure is not None
    assert report.failure.check == check
    assert message in failure_text(report.failure)
    states = [finding.state for finding in report.findings]
    assert set(states[: states.index("failed")]) <= {"passed", "not_applicable"}
    assert set(states[states.index("failed") + 1 :]) <= {"not_run"}


@pytest.mark.parametrize("name", CASES[:: count(1, 5)])
def test_a_fault_in_one_case_fails_that_case(name: str) -> None:
    chosen = case(name.removesuffix(".json"))
    digest = hashlib.sha256(chosen.text.encode() + b"\n").hexdigest()
    report = judged(
        agent(change_text=f"text = '{{}}' if hashlib.sha256(line.encode()).hexdigest() == '{digest}' else text"), kit()
    )
    assert report.failure is not None
    assert report.failure.check == f"case.{chosen.name}"


def test_a_failure_shows_the_exchanged_texts_in_ascii() -> None:
    report = judged(agent(change_text="print('deciding', n, file=sys.stderr); text = text + chr(27) + '[2J'"))
    assert report.failure is not None
    message = failure_text(report.failure)
    assert message.isascii()
    assert r"0.25}]}\x1b[2J" in message
    assert f"sent, {len(kit().opening)} bytes: {kit().opening}" in message
    assert "first_answer: bad_json: a decision must be one JSON object; received text that is not JSON" in message


def test_bytes_that_are_not_utf8_are_shown() -> None:
    report = judged(agent(change_text="sys.stdout.buffer.write(b'\\xff{}\\n'); sys.stdout.flush(); continue"))
    assert report.failure is not None
    assert r"  received, 3 bytes: \udcff{}" in failure_text(report.failure).splitlines()


def test_long_texts_are_shortened_and_state_their_length() -> None:
    report = judged(agent(change_text="text = '{}' if len(line) > 10**6 else text"), kit())
    assert report.failure is not None
    message = failure_text(report.failure)
    assert len(message) < 3_000
    assert f"sent, {len(case('huge_history').text):,} bytes: {{" in message
    assert re.search(r"\[\.\.\. [\d,]+ characters \.\.\.\]", message)


def test_standard_error_of_a_crashed_agent_is_shown() -> None:
    report = judged(agent("raise ValueError('no idea')"))
    assert report.failure is not None
    assert "    ValueError: no idea" in failure_text(report.failure)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ('{"orders": [', "; hint: a program's decision is one line, without line ends inside"),
        ('{"orders": [{"target_weight": NaN', "; hint: JSON has neither NaN nor Infinity"),
        ('{"orders": [{"target_weight":-Infinity}]}', "; hint: JSON has neither NaN nor Infinity"),
        ("orders", ""),
        ('{"orders": [{"symbol": "EOF while parsing: NaN"}]}', ""),
    ],
)
def test_common_json_mistakes_get_a_hint(answer: str, hint: str) -> None:
    message = decision_error(answer, ["AAA"])
    assert message is not None
    assert message.partition("; hint: ")[1:] == hint.partition("; hint: ")[1:]
