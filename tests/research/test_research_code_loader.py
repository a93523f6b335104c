"""Generated strategies: sandboxed, causal by construction, with every fault reported in one line."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from builders import bits, count, dataset_of
from markets import Market
from rare_markets import rare_market
from strategy_sources import GOOD, deciding

import openoutcry as oo
from openoutcry.backtest.strategies import LIBRARY, Strategy
from openoutcry.backtest.strategies.parameter_space import Ranges
from openoutcry.backtest.strategies.rolling_windows import Array
from openoutcry.harness import AgentError
from openoutcry.harness.sandbox import Tier, this_host
from openoutcry.research import sandboxed_worker
from openoutcry.research.causality_check import causality_probe
from openoutcry.research.code_loader import CodeStrategy, WorkerLimits, load_strategy_from_code
from openoutcry.research.source_checks import check_source

pytestmark = pytest.mark.once

HOST = this_host()
T2 = pytest.mark.skipif(HOST.tier < Tier.T2, reason=f"T2: {HOST.missing}")
RISING = 1e6 + np.arange(12.0)[:, None] + np.zeros(3)
SMALL = oo.Dataset.synthetic(3, 12, 1)
QUICK = WorkerLimits(start_seconds=20.0, answer_seconds=0.5, run_seconds=5.0)


def here(source: str, **params: Any) -> Strategy:
    """Return the strategy of a test source, executed in this process."""
    names: dict[str, Any] = {"__name__": "here"}
    exec(source, names)
    made: Strategy = names["Rise"](**params)
    return made


@T2
@pytest.mark.parametrize("seed", range(count(20, 2)))
def test_a_proxy_decides_like_its_source(seed: int) -> None:
    """A16: bit for bit, one request per bar, including splits and missing closes."""
    dataset = rare_market(seed, 60)
    proxy = load_strategy_from_code(GOOD, {"n": 5})
    assert proxy.isolation in ("T2", "T3")
    assert (proxy.lookback, proxy.params, proxy.name) == (6, {"n": 5, "size": 1.0}, "Rise")
    expected = here(GOOD, n=5).table(dataset)
    assert bits(proxy.table(dataset)) == bits(expected)
    assert bits(proxy.table(dataset, 20, 40)[20:40]) == bits(expected[20:40])


@T2
def test_a_proxy_is_a_strategy() -> None:
    proxy = load_strategy_from_code(GOOD, {"n": 5})
    assert isinstance(proxy, Strategy)
    assert proxy.describe() == "Hold symbols that rose over the window."
    assert proxy.defaults() == {"n": 20, "size": 1.0}
    values = proxy.to_json()
    assert (values["strategy"], values["params"], values["normalised"]) == (
        "Rise",
        proxy.params,
        proxy.checked.normalised,
    )
    assert proxy.with_params({"n": 7}).lookback == 8
    closes = np.array(SMALL.close[:6])
    assert proxy.weights(closes).tolist() == here(GOOD, n=5).weights(closes).tolist()
    again: CodeStrategy = pickle.loads(pickle.dumps(proxy))
    assert again == proxy
    assert again != proxy.with_params({"n": 7})


@T2
@pytest.mark.parametrize("params", [{"n": 1}, {"n": "5"}, {"m": 1}])
def test_parameters_are_checked_before_a_worker_starts(params: dict[str, Any]) -> None:
    with pytest.raises(oo.OpenOutcryError, match=r"^argument_invalid"):
        load_strategy_from_code(GOOD, params)


def test_code_is_refused_below_the_second_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    """A16: T2 or higher, otherwise a refusal with its reason, never a fallback."""
    poor = type(HOST)(HOST.machine, 0, None, {Tier.T2: "not in this kernel", Tier.T3: "no bwrap"}, ())
    monkeypatch.setattr(sandboxed_worker, "this_host", lambda: poor)
    for least in (Tier.T1, Tier.T2):
        with pytest.raises(oo.OpenOutcryError, match="a sandbox of T2; received T1, because of T2: not in this kernel"):
            load_strategy_from_code(GOOD, least=least)
    proxy = load_strategy_from_code(GOOD, {"n": 5}, unsafe_no_isolation=True)
    assert proxy.isolation == "none"
    assert proxy.to_json()["isolation"] == "none"
    assert bits(proxy.table(SMALL)) == bits(here(GOOD, n=5).table(SMALL))


USUAL = """
from __future__ import annotations
import math, statistics
from dataclasses import dataclass
from functools import partial
from typing import ClassVar
import numpy as np
from openoutcry.backtest.strategies import WindowStrategy, rolling_windows

@dataclass
class State:
    n: int = 2
    half: ClassVar[float] = 0.5

class Usual(WindowStrategy):
    'Do what is usual.'
    PARAM_RANGES = {}
    lookback = 6
    def weigh(self, ends):
        last = ends[0]
        assert last.max() >= np.median(last) >= last.min() and last.std() >= 0.0 and np.cov(last.T).shape == (3, 3)
        np.linalg.eigvalsh(np.corrcoef(last.T)), np.percentile(last, 5), np.einsum('ij->j', last)
        statistics.fmean([math.pi]), partial(max, 1)(2), np.polyfit(range(6), last[:, 0], 1), np.random.default_rng(0)
        return rolling_windows.mean(ends) * 0.0 + State.half / ends.shape[2]
"""


@T2
def test_common_imports_and_numpy_functions_are_available() -> None:
    """Its own imports, and those that numpy makes on its behalf."""
    assert (load_strategy_from_code(USUAL).table(SMALL)[5:] == 0.5 / 3).all()


CONSTRUCTING = {
    "raising": (deciding("return closes[0] * 0", above="raise_ = [][1]"), "IndexError"),
    "a lookback of a text": (deciding("return 0", lookback="'3'"), "`lookback` must be an integer"),
    "a lookback without end": (deciding("return 0", lookback="10 ** 9"), "`lookback` must be an integer"),
    "an abstract one": (GOOD.replace("Strategy", "WindowStrategy"), "abstract"),
    "a line end in a fault": (deciding("return 0", lookback="int('a\\n\\x1bb')"), r"ValueError: invalid literal"),
}  # fmt: skip


@T2
@pytest.mark.parametrize("name", CONSTRUCTING)
def test_a_strategy_that_cannot_be_constructed_is_refused(name: str) -> None:
    """A15: it must construct, in the sandbox."""
    source, message = CONSTRUCTING[name]
    with pytest.raises(oo.OpenOutcryError, match=f"^argument_invalid: .*{message}") as caught:
        load_strategy_from_code(source)
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


ANSWERING = {
    "not a number": ("return closes[0] * np.nan", "weight_not_finite"),
    "too many": ("return np.zeros(9)", "weight_count"),
    "a text": ("return 'abc'", "weights must be numbers"),
    "nothing": ("return None", "weights must be numbers"),
    "raising": ("raise KeyError('x')", "KeyError"),
    "too much memory": ("return np.ones(2 ** 32)", "MemoryError"),
    "a recursion": ("return self.weights(closes)", "RecursionError"),
}  # fmt: skip


@T2
@pytest.mark.parametrize("name", ANSWERING)
def test_an_invalid_response_is_a_refusal(name: str) -> None:
    body, message = ANSWERING[name]
    with sandboxed_worker.start(Tier.T2, QUICK) as worker:
        worker.construct(check_source(deciding(body)).source, {})
        with pytest.raises(oo.OpenOutcryError, match=message) as caught:
            worker.window_weights(RISING[:3])
    assert "\n" not in str(caught.value)


# Sources that the checks would refuse: an attacker who bypassed them.
REACH = """
known = [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close'][0].__init__.__globals__
load = known['__builtins__']['__import__']
os = load('os')
"""
# The worker's copy of its standard output.
PIPE = 4


def saying(line: str, then: str = "os._exit(0)") -> str:
    """Return code that writes a line directly to the worker's output."""
    return f"{REACH}\nos.write({PIPE}, {line.encode()!r})\n{then}"


ZERO = '{"id": 1, "weights": [0, 0, 0]}\n'
DENIED = "PermissionError|FileNotFoundError"
FUTURE = """
found = [o for o in load('gc').get_objects() if type(o) in (list, tuple, dict)]
found = [e for o in found for e in (o.values() if type(o) is dict else o) if type(e) is float]
raise LookupError(f'{len([e for e in found if closes.max() < e < 2e6])} of {len(found) > 0}')
"""
ATTACKS = {
    "spinning": ("while True: pass", "agent_late"),
    "sleeping": (REACH + "load('time').sleep(60)", "agent_late"),
    "dying": (REACH + "os._exit(3)", "agent_died.*exit code 3"),
    "ending": ("raise SystemExit(0)", "agent_died"),
    "a long line": (REACH + f"[os.write({PIPE}, b'x' * 65536) for k in range(80)]", "answer_too_long"),
    "half a line": (saying('{"id": 1, '), "answer_cut_short"),
    "answering ahead": (saying(ZERO + ZERO, "load('time').sleep(9)"), "answer_too_early"),
    "a wrong id": (saying(ZERO.replace("1", "7")), "must have the id 1"),
    "an id of truth": (saying(ZERO.replace("1", "true")), "must have the id 1"),
    "no JSON": (saying("hello\n"), "bad_json"),
    "no text": (REACH + f"os.write({PIPE}, bytes([255, 10]))\nos._exit(0)", "answer_not_text"),
    "deep JSON": (saying("[" * 60_000 + "\n"), "bad_json"),
    "infinity": (saying(ZERO.replace("[0", "[1e999")), "weight_not_finite"),
    "NaN": (saying(ZERO.replace("[0", "[NaN")), "bad_json"),
    "a huge integer": (saying(ZERO.replace("[0", "[1" + "0" * 400)), "weight_not_finite"),
    "a truth value": (saying(ZERO.replace("[0", "[true")), "list of numbers"),
    "more fields": (saying(ZERO.replace("{", '{"nav": 9, ')), "must have `id` and `weights`"),
    "listing a folder": (REACH + "os.listdir('{folder}')", DENIED),
    "opening a file": (REACH + "os.open('{folder}/secret', 0)", DENIED),
    "bundled prices": (REACH + "os.open('{data}', 0)", DENIED),
    "the parent's memory": (REACH + "os.open('/proc/{pid}/mem', 0)", DENIED),
    "the parent's environment": (REACH + "os.open('/proc/{pid}/environ', 0)", DENIED),
    "a socket": (REACH + "load('socket').socket()", "PermissionError"),
    "a fork": (REACH + "os.fork()", "PermissionError"),
    "a program": (REACH + "os.execv('/bin/true', ['true'])", "PermissionError"),
    "a file of its own": (REACH + "os.open('mine', os.O_CREAT | os.O_WRONLY)", "PermissionError|OSError"),
    "a signal": (REACH + "os.kill({pid}, 0)", "PermissionError|ProcessLookupError"),
    "keys": (REACH + "raise LookupError(' '.join(k for k in os.environ if 'KEY' in k) + '.')", "Error: [.]$"),
    "the future": (REACH + FUTURE, "LookupError: 0 of True"),
}
QUICK_ATTACKS = [
    *("spinning", "dying", "a long line", "answering ahead", "a wrong id", "deep JSON", "NaN", "a huge integer"),
    *("opening a file", "bundled prices", "the parent's environment", "a socket", "a fork", "a program", "the future"),
]


@T2
@pytest.mark.parametrize("name", list(ATTACKS) if count(1, 0) else QUICK_ATTACKS)
def test_an_attack_ends_as_a_fault(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A16: after bypassing the source checks, the attack is stopped by the sandbox and the protocol."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    (tmp_path / "secret").write_text("the key", encoding="utf-8")
    body, message = ATTACKS[name]
    prices = Path(oo.__file__).parent / "data" / "bundled" / "us_treasury.csv.gz"
    assert prices.exists()
    for mark, value in (("{folder}", tmp_path), ("{pid}", os.getpid()), ("{data}", prices)):
        body = body.replace(mark, str(value))
    # Sent directly to the worker, since `check_source` refuses these sources.
    with sandboxed_worker.start(Tier.T2, QUICK) as worker:
        assert worker.construct(deciding(body), {}) == 3
        with pytest.raises(oo.OpenOutcryError, match=message) as caught:
            [worker.window_weights(RISING[bar : bar + 3]) for bar in range(3)]
    assert "\n" not in str(caught.value)


@T2
def test_a_table_that_takes_too_long_is_a_timeout() -> None:
    """A16: the time limit covers all bars together."""
    proxy = load_strategy_from_code(deciding("x = [k for k in range(2_000_000)]\nreturn closes[0] * 0"))
    slow = replace(QUICK, start_seconds=0.01, answer_seconds=10.0, run_seconds=0.01)
    with pytest.raises(AgentError, match=r"complete its table within 0\.01 s"):
        type(proxy)(proxy.checked, {}, Tier.T2, slow).table(SMALL)


class Leaky(Strategy):
    """A strategy that overrides `table`."""

    PARAM_RANGES: ClassVar[Ranges] = {}

    @property
    def lookback(self) -> int:
        return 5

    def weights(self, closes: Array) -> Array:
        return np.zeros(closes.shape[1])


class Shifted(Leaky):
    """Buy symbols that will rise: a shift by -1."""

    def table(self, dataset: oo.Dataset, start: int = 0, end: int | None = None) -> Array:
        later = np.vstack([dataset.close[1:], dataset.close[-1:]])
        table: Array = (later > dataset.close) / dataset.n_symbols
        return table


class BelowMean(Leaky):
    """Buy symbols below the mean of all bars."""

    def table(self, dataset: oo.Dataset, start: int = 0, end: int | None = None) -> Array:
        distance = 1.0 - dataset.close / dataset.close.mean(axis=0)
        table: Array = np.clip(distance, -1.0, 1.0) / dataset.n_symbols
        return table


class Centred(Leaky):
    """Buy symbols below a centred average."""

    def table(self, dataset: oo.Dataset, start: int = 0, end: int | None = None) -> Array:
        padded = np.pad(dataset.close, ((3, 3), (0, 0)), mode="edge")
        smooth = np.lib.stride_tricks.sliding_window_view(padded, 7, axis=0).mean(axis=2)
        table: Array = (dataset.close < smooth) / dataset.n_symbols
        return table


def test_the_probe_flags_leaks_that_a_shift_of_prices_misses() -> None:
    """A15, trap 10: all three planted leaks, and no causal strategy."""
    dataset = oo.Dataset.synthetic(4, 400, 3)
    probes = [causality_probe(kind(), dataset) for kind in (Shifted, BelowMean, Centred)]
    assert [probe.n_cuts for probe in probes] == [25, 25, 25]
    assert all(probe.n_changed >= 12 and not probe.is_clean and probe.first in probe.bars for probe in probes)
    for kind in LIBRARY.values():
        clean = causality_probe(kind(), dataset)
        assert (clean.n_cuts, clean.n_changed, clean.first) == (25, 0, None)


@T2
def test_the_probe_clears_a_causal_proposal_and_flags_state_and_randomness() -> None:
    dataset = oo.Dataset.synthetic(2, 60, 3)
    assert causality_probe(load_strategy_from_code(GOOD, {"n": 5}), dataset).is_clean
    counting = deciding(
        "self.n_seen += 1\nreturn closes[0] * 0 + self.n_seen / 1000",
        construct="def __init__(self, **params):\n    super().__init__(**params)\n    self.n_seen = 0",
    )
    assert not causality_probe(load_strategy_from_code(counting), dataset).is_clean
    if not count(1, 0):
        return
    drawing = deciding("return np.random.default_rng().uniform(0, 0.1, len(closes[0]))")
    assert not causality_probe(load_strategy_from_code(drawing), dataset).is_clean


def test_a_market_too_short_to_be_cut_is_refused() -> None:
    with pytest.raises(oo.OpenOutcryError, match="more than the 200 bars"):
        causality_probe(LIBRARY["trend"](), dataset_of(Market(np.ones((200, 1)))))
