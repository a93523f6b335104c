"""Replay the vectors and the kit of `contract/` through every interface of the package, bit for bit."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import observe, of_template

import openoutcry as oo
from openoutcry import openoutcry_py as native

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = ROOT / "contract"
sys.path.insert(0, str(ROOT / "scripts"))

import make_vectors  # noqa: E402
from make_vectors import costs_of, dataset_of, environment, limits_of  # noqa: E402

Json = dict[str, Any]
HOLD = '{"orders":[]}'
GAINS = ("interest", "dividends", "settlement")


def load(path: str) -> Any:
    return json.loads((CONTRACT / path).read_text(encoding="utf-8"))


def by_name(case: Json) -> str:
    return case["name"]


CASES = [case for name in ("step", "episode") for case in load(f"vectors/{name}.json")["cases"]]
FULL = [case for case in CASES if not any(weight is None for row in case["given"]["weights"] for weight in row)]
REJECT = load("vectors/reject.json")
ERRORS = load("errors.json")
# Kinds of errors that the tests of records, harness and sessions cover.
BESIDE_THE_ENGINE = {"record", "agent", "infrastructure", "session"}
NEGATIVE = [*load("conformance/negative.json"), *load("conformance/v1.1/negative.json")]
POSITIVE = [*load("conformance/positive.json"), *load("conformance/v1.1/positive.json")]
ORDER_EVENTS = [
    event
    for case in load("vectors/orders.json")["cases"]
    for step in case["expected"]["steps"]
    for event in step["info"]["events"]
]


def infos(case: Json) -> list[Json]:
    return [json.loads(step["info"]) for step in case["expected"]["steps"]]


def observations(case: Json) -> list[Json]:
    texts = [case["expected"]["reset"], *(step["observation"] for step in case["expected"]["steps"])]
    return [json.loads(text) for text in texts]


# The vectors through each interface


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_the_json_interface_gives_the_texts_of_a_vector(case: Json) -> None:
    env = environment(case["given"])
    assert env.reset() == case["expected"]["reset"]
    for decision, expected in zip(case["given"]["decisions"], case["expected"]["steps"], strict=True):
        observation, reward, done, info = env.step(decision)
        received = {"observation": observation, "reward": reward, "done": done, "info": info}
        assert received == expected


@pytest.mark.parametrize("case", FULL, ids=by_name)
def test_the_array_interface_gives_the_money_of_a_vector(case: Json) -> None:
    env, symbols = environment(case["given"]), case["given"]["dataset"]["symbols"]
    env.reset_arrays()
    rows = zip(case["given"]["weights"], case["expected"]["steps"], infos(case), observations(case)[1:], strict=True)
    for row, expected, info, shown in rows:
        reward = env.step_weights(np.array(row, dtype=np.float64))
        assert (reward, env.terminated or env.truncated) == (expected["reward"], expected["done"])
        info = env.info()
        assert {name: info[name] for name in ("nav", "costs", "turnover", *GAINS)} == {
            name: info[name] for name in ("nav", "costs", "turnover", *GAINS)
        }
        seen = observe(env, len(symbols), 1)
        held = {position["symbol"]: position["shares"] for position in shown["portfolio"]}
        assert seen.cash == shown["cash"]
        assert seen.positions.tolist() == [held.get(symbol, 0.0) for symbol in symbols]


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_a_backtest_on_weights_gives_the_money_of_a_vector(case: Json) -> None:
    given, steps = case["given"], infos(case)
    dataset, (start, end) = dataset_of(given["dataset"]), given["window"]
    table = np.full((dataset.n_bars, dataset.n_symbols), np.nan)
    table[start : start + len(given["weights"])] = np.array(given["weights"], dtype=np.float64)
    costs, limits = costs_of(given["costs"]), limits_of(given["limits"])
    run = oo.run_backtest(dataset, table, (start, end), costs, limits, given["seed"])
    assert run.nav[: len(steps) + 1].tolist() == [1.0, *(info["nav"] for info in steps)]
    assert run.turnover[: len(steps)].tolist() == [info["turnover"] for info in steps]
    for kind, column in run.costs.items():
        assert column[: len(steps)].tolist() == [info["costs"][kind] for info in steps]
    for kind in GAINS:
        assert run.gains[kind][: len(steps)].tolist() == [info[kind] for info in steps]


def test_the_vectors_equal_the_output_of_engine_and_witness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["make_vectors.py", "--check"])
    assert make_vectors.main() == 0


# Coverage of the vectors


def test_the_vectors_cover_every_step_of_the_timeline() -> None:
    assert {step for case in CASES for step in case["timeline"]} == set(range(1, 16))


def test_the_vectors_cover_every_event_and_reason_with_its_fields() -> None:
    found = set()
    documented = {event["slug"]: event for event in ERRORS["events"]}
    for event in [*(event for case in CASES for info in infos(case) for event in info["events"]), *ORDER_EVENTS]:
        known = documented[event["slug"]]
        required = {name for name, field in known["fields"].items() if field["required"]}
        assert required <= event.keys() - {"slug"} <= known["fields"].keys()
        found.add((event["slug"], event.get("reason")))
    assert found == {(slug, reason) for slug, event in documented.items() for reason in event["reasons"] or [None]}


def features(case: Json) -> Iterator[str]:
    """Yield the features that a case covers, from its inputs and outputs."""
    given, shown = case["given"], observations(case)
    data, costs = given["dataset"], given["costs"]
    yield "next open" if "open" in data else "close to close"
    if len(data["symbols"]) > 8:
        yield "more symbols than lanes"
    if costs["impact_bps"] and any(info["costs"]["impact"] for info in infos(case)):
        yield "impact"
    if costs["slippage_jitter"]:
        yield "jitter"
    if given["limits"]["max_participation"]:
        yield "participation"
    for k, (before, after) in enumerate(pairwise(shown)):
        yield from features_of_step(data, given["window"][0] + k + 1, before, after)
    for info in infos(case):
        yield from features_of_info(info)
    for order in (order for text in given["decisions"] for order in json.loads(text)["orders"]):
        yield order["action"]
    if any("news" in view for observation in shown for view in observation["symbols"]):
        yield "news"


def features_of_step(data: Json, bar: int, before: Json, after: Json) -> Iterator[str]:
    held = {position["symbol"]: position["shares"] for position in before["portfolio"]}
    now = {position["symbol"]: position["shares"] for position in after["portfolio"]}
    numbers = {view["symbol"]: view.get("fundamentals", {}) for view in before["symbols"]}
    yield from ("short" for shares in now.values() if shares < 0.0)
    yield from ("flip" for symbol in now if now[symbol] * held.get(symbol, 0.0) < 0.0)
    if len(after["symbols"]) > len(before["symbols"]):
        yield "late listing"
    if len(after["symbols"]) < len(before["symbols"]):
        yield "settlement"
    for i, symbol in enumerate(data["symbols"]):
        if data["close"][bar][i] is None and symbol in now:
            yield "position in a halt"
        if held.get(symbol) and data.get("splits") and data["splits"][bar][i] not in (None, 1.0):
            yield "split of a held position"
        if held.get(symbol, 0.0) < 0.0 and data.get("dividends") and data["dividends"][bar][i]:
            yield "dividend on a short"
        if now.get(symbol) != held.get(symbol) and data.get("volume"):
            yield "fill without volume" if data["volume"][bar][i] is None else "fill with volume"
    for view in after["symbols"]:
        known = numbers.get(view["symbol"], {})
        if any(known.get(name, value) != value for name, value in view.get("fundamentals", {}).items()):
            yield "restated number"


def features_of_info(info: Json) -> Iterator[str]:
    yield from (kind for kind, cost in info["costs"].items() if cost)
    if info["interest"]:
        yield "interest received" if info["interest"] > 0.0 else "interest paid on cash"
    if info["dividends"]:
        yield "dividend received" if info["dividends"] > 0.0 else "dividend paid"


def test_the_vectors_cover_every_situation_of_the_timeline() -> None:
    found = {feature for case in CASES for feature in features(case)}
    wanted = {
        "next open", "close to close", "more symbols than lanes", "impact", "jitter", "participation", "short", "flip",
        "late listing", "settlement", "position in a halt", "split of a held position", "dividend on a short",
        "fill without volume", "fill with volume", "restated number", "news", "buy", "sell", "hold", "close", "fee",
        "slippage", "financing", "borrow", "liquidation", "interest received", "interest paid on cash",
        "dividend received", "dividend paid",
    }  # fmt: skip
    assert wanted - found == set()


def test_every_slug_of_the_engine_is_covered_by_a_vector() -> None:
    documented = {error["slug"] for error in ERRORS["errors"] if error["kind"] not in BESIDE_THE_ENGINE}
    # One is too large for a file, one is not text; the others exist only in Python.
    elsewhere = {"argument_invalid", "bytes_invalid", "dataset_too_large", "unknown_agent", "unknown_dataset"}
    elsewhere |= {"funding_invalid"}
    covered = {case["expected"]["slug"] for case in REJECT["cases"]} | {case["slug"] for case in NEGATIVE}
    assert documented - covered == elsewhere


# Refusals


def stepped(given: Json) -> native.TradingEnv:
    env, (start, end) = environment(given), given["window"]
    for decision in given["decisions"][: end - start - 1]:
        env.step(decision)
    return env


def numbers(values: Any) -> Any:
    return [numbers(value) for value in values] if isinstance(values, list) else float(values)


def refuse(env: native.TradingEnv, given: Json, case: Json) -> None:
    at, given_in = case["at"], case["input"]
    if at == "decision":
        env.step(given_in)
    elif at == "weights":
        env.step_weights(np.array(numbers(given_in)))
    elif at == "table":
        oo.run_backtest(dataset_of(given["dataset"]), np.array(numbers(given_in)), tuple(given["window"]))
    elif at == "checkpoint":
        costs = given["costs"] | given_in.get("costs", {})
        env.restore_state(stepped(given | given_in | {"costs": costs}).clone_state())
    elif at == "window":
        environment(given | {"window": given_in})
    elif at == "costs":
        costs_of(given["costs"] | {name: float(value) for name, value in given_in.items()})
    elif at == "limits":
        limits_of(given["limits"] | {name: float(value) for name, value in given_in.items()})
    elif at == "dataset":
        dataset_of(given_in)
    else:
        assert at == "csv"
        # The form of the contract. `oo.Dataset.from_csv` also reads the files of vendors.
        native.Dataset.from_csv(given_in)


def seen(env: native.TradingEnv) -> tuple[Any, ...]:
    return env.clone_state(), env.observation_json(), env.nav, env.bar, env.terminated, env.truncated


@pytest.mark.parametrize("case", REJECT["cases"], ids=by_name)
def test_a_refused_input_raises_its_slug_and_changes_nothing(case: Json) -> None:
    given = REJECT["environments"][case["on"]]
    env = stepped(given)
    before, info = seen(env), env.info()
    with pytest.raises(oo.OpenOutcryError) as refusal:
        refuse(env, given, case)
    assert refusal.value.slug == case["expected"]["slug"]
    assert seen(env) == before
    assert env.info() == info
    # A NAV out of range refuses any decision: the fault is in the state, not in the input.
    if not (env.terminated or env.truncated or case["expected"]["slug"] == "nav_overflow"):
        assert env.step(HOLD) == stepped(given).step(HOLD)


@pytest.mark.parametrize("case", NEGATIVE, ids=by_name)
def test_a_negative_case_of_the_kit_raises_its_slug_and_changes_nothing(case: Json) -> None:
    env = oo.TradingEnv(n_symbols=1, n_days=40, seed=1)
    first, before = env.reset(), seen(env)
    with pytest.raises(oo.OpenOutcryError) as refusal:
        env.step(case["decision"])
    assert refusal.value.slug == case["slug"]
    assert str(refusal.value).startswith(f"{case['slug']}: ")
    assert re.search(r"; received .* at line \d+ column \d+$", str(refusal.value), re.DOTALL)
    assert isinstance(refusal.value, ValueError)
    assert seen(env) == before
    assert env.reset() == first
    assert env.step(HOLD) == oo.TradingEnv(n_symbols=1, n_days=40, seed=1).step(HOLD)


@pytest.mark.parametrize("case", POSITIVE, ids=by_name)
def test_a_positive_case_of_the_kit_is_a_step(case: Json) -> None:
    env, spelled_out = (oo.TradingEnv.from_csv("date,AAA\n2024-01-02,100\n2024-01-03,101\n") for _ in range(2))
    assert env.step(case["decision"]) == spelled_out.step(json.dumps(case["parsed"]))


# The messages


def raised(error: Json) -> oo.OpenOutcryError:
    """Return the first error with this slug from a case of `reject.json` or from a direct call."""
    dataset = oo.Dataset.synthetic(1, 30)
    for case in REJECT["cases"]:
        if case["expected"]["slug"] == error["slug"]:
            given = REJECT["environments"][case["on"]]
            with pytest.raises(oo.OpenOutcryError) as refusal:
                refuse(stepped(given), given, case)
            return refusal.value
    if error["kind"] == "decision":
        with pytest.raises(oo.OpenOutcryError) as refusal:
            oo.TradingEnv().step(error["example"]["given"])
        return refusal.value
    calls = {
        "dataset_too_large": lambda: oo.Dataset.synthetic(10**6, 10**6),
        "argument_invalid": lambda: oo.run_backtest(dataset, "momentum", seed=-1),
        "unknown_agent": lambda: oo.run_backtest(dataset, "oracle"),
        "unknown_dataset": lambda: oo.data.load("crypto"),
        "funding_invalid": lambda: oo.Dataset.from_arrays(dataset.dates, ["A"], dataset.close, funding=dataset.close),
        "bytes_invalid": lambda: oo.Dataset.from_bytes(b"date,AA"),
    }
    with pytest.raises(oo.OpenOutcryError) as refusal:
        calls[error["slug"]]()
    return refusal.value


@pytest.mark.parametrize(
    "error", [e for e in ERRORS["errors"] if e["kind"] not in BESIDE_THE_ENGINE], ids=lambda e: e["slug"]
)
def test_a_message_follows_its_template(error: Json) -> None:
    value = raised(error)
    assert value.slug == error["slug"]
    assert re.fullmatch(f"{error['slug']}: {of_template(error['message'])}", str(value), re.DOTALL)


def is_text(error: Json) -> bool:
    return error["kind"] == "decision" or error["example"]["given"].startswith("date,")


@pytest.mark.parametrize("error", [e for e in ERRORS["errors"] if is_text(e)], ids=lambda error: error["slug"])
def test_the_example_of_an_error_raises_the_message_it_shows(error: Json) -> None:
    read = oo.TradingEnv().step if error["kind"] == "decision" else native.Dataset.from_csv
    with pytest.raises(oo.OpenOutcryError) as refusal:
        read(error["example"]["given"])
    assert str(refusal.value) == f"{error['slug']}: {error['example']['message']}"
