"""Suites: evaluation protocols as JSON files.

A suite defines markets, windows, costs, limits, seeds and gates. Every board reports the digest of its suite. The
schema is `contract/suite.schema.json`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from math import inf
from typing import Any, TypeVar

from openoutcry import openoutcry_py as native
from openoutcry.arguments import checked_integer, checked_text, is_integer, lookback_of, rule_fields
from openoutcry.data.window import Window, as_window
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import CostModel, Limits
from openoutcry.scenarios.scenario import Scenario, ScenarioSpec
from openoutcry.scoring.verdict import BENCHMARKS
from openoutcry.untrusted.bounded_file import DOCUMENT_BYTES, read_text
from openoutcry.untrusted.counted_nouns import counted

DEFAULT = "default"
"""Name of the suite that ships with the package."""

BUNDLED = (DEFAULT, "default-2026.2", "default-2026.1")
"""Names of the suites that ship with the package, the current edition first."""

IMPLIED = "by its records"
"""Edition of a suite inferred from records, where the agents chose windows, costs and limits."""

T = TypeVar("T")

_VERSION = "1.0"
_DOMAIN = b"openoutcry/suite/1\n"
# The scorer supports exactly these, each under one of its editions. A file without benchmarks is of the first, so that
# its digest stands.
_FIRST = BENCHMARKS[:2]
_EDITIONS = {_FIRST: 1, BENCHMARKS[:4]: 2, BENCHMARKS: 3}
_MOST = 2**53 - 1


@dataclass(frozen=True)
class Market:
    """A market of a suite: real data, or a synthetic scenario.

    Attributes:
        name: Display name, unique in the suite.
        windows: Windows in chronological order; no two share a return.
        fingerprint: SHA-256 of real data, in hexadecimal; None for a scenario.
        scenario: Specification of a synthetic market; None for real data.
        commitment: Commitment to the key of a sealed scenario; None before it is sealed.
    """

    name: str
    windows: tuple[Window, ...]
    fingerprint: str | None = None
    scenario: ScenarioSpec | None = None
    commitment: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the market as a JSON object."""
        windows = [[window.start, window.end] for window in self.windows]
        fields: dict[str, Any] = {"name": self.name, "windows": windows}
        if self.scenario is None:
            return fields | {"fingerprint": self.fingerprint}
        sealed = {} if self.commitment is None else {"commitment": self.commitment}
        return fields | {"scenario": self.scenario.to_dict()} | sealed


@dataclass(frozen=True)
class Suite:
    """An evaluation protocol. Suites are immutable: `seal` returns a new one.

    Attributes:
        name: Display name.
        edition: Edition; boards of two editions are not comparable.
        markets: Markets that agents trade.
        seeds: Slippage-noise seeds; each window runs once per seed.
        lookback: Maximum number of closes per symbol in an observation.
        costs: Trading costs.
        limits: Limits on weights.
        gates: Gate bounds that override the scorer's defaults.
        draws: Resampling settings that override the scorer's defaults.
        n_luck: Number of random agents (null agents) on every board.
        luck_seed: Seed of their decisions.
        benchmarks: Benchmarks that every agent must beat; they determine the edition of the scorer.
    """

    name: str
    edition: str
    markets: tuple[Market, ...]
    seeds: tuple[int, ...]
    lookback: int
    costs: CostModel
    limits: Limits
    gates: Mapping[str, Any]
    draws: Mapping[str, Any]
    n_luck: int
    luck_seed: int
    benchmarks: tuple[str, ...] = _FIRST

    @classmethod
    def load(cls, source: str | os.PathLike[str] = DEFAULT) -> Suite:
        """Load a suite from a JSON file, or a bundled suite.

        Bundled are `default` and its earlier editions, `default-2026.2` and `default-2026.1`.

        Raises:
            OpenOutcryError: `argument_invalid`: the file cannot be read, or is not a valid suite.
        """
        if source in BUNDLED:
            return cls.from_json(resources.files(__package__).joinpath(f"suites/{source}.json").read_text("utf-8"))
        try:
            content = read_text(source, DOCUMENT_BYTES, "a suite")
        except (OSError, UnicodeDecodeError) as error:
            wanted = "a suite must be a JSON file or one of " + ", ".join(f"`{name}`" for name in BUNDLED)
            raise refusal("argument_invalid", f"{wanted}; received '{source}': {_why(error)}") from error
        return cls.from_json(content)

    @classmethod
    def from_json(cls, content: str) -> Suite:
        """Parse a suite from JSON.

        Raises:
            OpenOutcryError: a field is missing, unknown, duplicated or out of range.
        """
        try:
            fields = json.loads(native.canonicalize(checked_text("content", content)))
        except native.OpenOutcryError as error:
            raise refusal("argument_invalid", f"a suite must be a JSON object; received {error}") from error
        return _suite(cls, fields)

    def to_json(self) -> str:
        """Return the suite as canonical JSON (RFC 8785)."""
        return native.canonicalize(json.dumps(self.to_dict()))

    def to_dict(self) -> dict[str, Any]:
        """Return the suite as a JSON object."""
        return {
            "suite_version": _VERSION,
            "name": self.name,
            "edition": self.edition,
            "markets": [market.to_dict() for market in self.markets],
            "seeds": list(self.seeds),
            "lookback": self.lookback,
            "costs": self.costs.to_dict(),
            "limits": {name: None if value == inf else value for name, value in self.limits.to_dict().items()},
            "benchmarks": list(self.benchmarks),
            "gates": dict(self.gates),
            "draws": dict(self.draws),
            "luck_floor": {"agents": self.n_luck, "seed": self.luck_seed},
        }

    @cached_property
    def digest(self) -> str:
        """SHA-256 of a domain prefix and the canonical JSON, in hexadecimal."""
        return hashlib.sha256(_DOMAIN + self.to_json().encode()).hexdigest()

    @property
    def scorer_edition(self) -> int:
        """Edition of the scorer that has the benchmarks."""
        return _EDITIONS[self.benchmarks]

    @property
    def is_sealed(self) -> bool:
        """Whether every scenario has a commitment, which fixes its prices."""
        return all(market.scenario is None or market.commitment for market in self.markets)

    def seal(self) -> tuple[Suite, dict[str, str]]:
        """Draw a secret key for each scenario that has none, and commit to it.

        Publish the sealed suite before the first evaluation, and the keys after the last one: anyone can then
        recompute every price and verify every record.

        Returns:
            The sealed suite, and the keys by commitment, both in hexadecimal.
        """
        keys: dict[str, str] = {}
        markets = []
        for market in self.markets:
            if market.scenario is not None and market.commitment is None:
                scenario, commitment = Scenario.sealed(market.scenario)
                keys[commitment] = scenario.reveal()
                market = replace(market, commitment=commitment)
            markets.append(market)
        return replace(self, markets=tuple(markets)), keys

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        n_windows = sum(len(market.windows) for market in self.markets)
        size = f"{counted(len(self.markets), 'market')}, {counted(n_windows, 'window')}"
        size += f" x {counted(len(self.seeds), 'seed')}, {self.digest[:8]}"
        return native.readable_text(f"Suite({self.name!r} {self.edition}, {size})")


def _suite(cls: type[Suite], fields: Any) -> Suite:
    required = ("suite_version", "name", "edition", "markets", "seeds")
    optional = ("lookback", "costs", "limits", "benchmarks", "gates", "draws", "luck_floor")
    _check_object("a suite", fields, required, optional)
    if fields["suite_version"] != _VERSION:
        raise _refused("`suite_version`", f"{_VERSION!r}", fields["suite_version"])
    benchmarks = fields.get("benchmarks", list(_FIRST))
    if benchmarks not in map(list, _EDITIONS):
        raise _refused("`benchmarks`", " or ".join(str(list(known)) for known in _EDITIONS), benchmarks)
    # A suite of this edition is scored as no suite.
    if fields["edition"] == IMPLIED:
        raise _refused("`edition`", "another text than the one reserved for suites inferred from records", IMPLIED)
    floor = _object("`luck_floor`", fields.get("luck_floor", {}), ("agents", "seed"))
    return cls(
        name=_name("`name`", fields["name"]),
        edition=_name("`edition`", fields["edition"]),
        markets=_markets(fields["markets"]),
        seeds=_seeds(fields["seeds"]),
        lookback=_checked(lambda: lookback_of(fields.get("lookback", native.DEFAULT_LOOKBACK))),
        costs=_rules("`costs`", CostModel, fields.get("costs", {})),
        limits=_rules("`limits`", Limits, fields.get("limits", {})),
        gates=_scorer_settings("gates", fields.get("gates", {})),
        draws=_scorer_settings("draws", fields.get("draws", {})),
        n_luck=_checked(lambda: checked_integer("luck_floor.agents", floor.get("agents", 200), 0, 100_000)),
        luck_seed=_checked(lambda: checked_integer("luck_floor.seed", floor.get("seed", 0), 0, _MOST)),
        benchmarks=tuple(benchmarks),
    )


def _markets(given: Any) -> tuple[Market, ...]:
    if not isinstance(given, list) or not given:
        raise _refused("`markets`", "a list of at least one market", given)
    markets = tuple(_market(f"`markets[{place}]`", each) for place, each in enumerate(given))
    names = [market.name for market in markets]
    if len(set(names)) < len(names):
        raise _refused("`name` of `markets`", "unique", names)
    return markets


def _market(where: str, given: Any) -> Market:
    _check_object(where, given, ("name", "windows"), ("fingerprint", "scenario", "commitment"))
    name, windows = _name(f"`name` of {where}", given["name"]), given["windows"]
    if not isinstance(windows, list) or not windows:
        raise _refused(f"`windows` of {where}", "a list of at least one pair [START, END]", windows)
    edges = tuple(_window(f"`windows[{place}]` of {where}", each) for place, each in enumerate(windows))
    if ("fingerprint" in given) == ("scenario" in given) or ("commitment" in given and "scenario" not in given):
        wanted = "an object with either `fingerprint` or `scenario`, and `commitment` only with `scenario`"
        raise _refused(where, wanted, sorted(given))
    if "fingerprint" in given:
        return Market(name, edges, fingerprint=_digest(f"`fingerprint` of {where}", given["fingerprint"]))
    commitment = given.get("commitment")
    if commitment is not None:
        commitment = _digest(f"`commitment` of {where}", commitment)
    scenario = given["scenario"]
    spec = _checked(
        lambda: (
            ScenarioSpec(scenario)
            if isinstance(scenario, str)
            else ScenarioSpec.from_json(json.dumps(_object(f"`scenario` of {where}", scenario)))
        )
    )
    return Market(name, edges, scenario=spec, commitment=commitment)


def _window(where: str, given: Any) -> Window:
    def is_edge(edge: Any) -> bool:
        return edge is None or isinstance(edge, str) or is_integer(edge)

    if not isinstance(given, list) or len(given) != 2 or not all(map(is_edge, given)):
        raise _refused(where, "a pair [START, END] of bars, ISO dates or null", given)
    return as_window(tuple(given))


def _seeds(given: Any) -> tuple[int, ...]:
    if not isinstance(given, list) or not given or len(given) != len({str(seed) for seed in given}):
        raise _refused("`seeds`", "a list of at least one integer, without duplicates", given)
    return _checked(lambda: tuple(checked_integer("seeds", seed, 0, _MOST) for seed in given))


def _rules(where: str, make: Callable[..., Any], given: Any) -> Any:
    fields = _object(where, given, tuple(rule_fields(make)))
    # JSON has no infinity: null is an unlimited bound. In Python, None is the default.
    unbound = {name: inf for name, value in fields.items() if value is None and name in ("max_weight", "max_gross")}
    return _checked(lambda: make(**fields | unbound))


def _scorer_settings(group: str, given: Any) -> dict[str, Any]:
    """Return settings after the scorer has checked their names and ranges."""
    settings = _object(f"`{group}`", given)
    for name, value in settings.items():
        if problem := _problem({group: {name: value}}):
            wanted = f"`{group}` of a suite must be valid scorer settings"
            raise refusal("argument_invalid", f"{wanted}; received `{name}` of {value!r}: {problem}")
        if is_integer(value):
            checked_integer(name, value, 0, _MOST)
    return settings


def _problem(config: dict[str, Any]) -> str:
    try:
        native.check_score_config(json.dumps(config))
    except native.OpenOutcryError as error:
        return str(error).rpartition("received one with ")[2]
    return ""


def _name(where: str, given: Any) -> str:
    if not isinstance(given, str) or not given.strip():
        raise _refused(where, "a non-empty text", given)
    return given


def _digest(where: str, given: Any) -> str:
    if not isinstance(given, str) or len(given) != 64 or set(given) - set("0123456789abcdef"):
        raise _refused(where, "64 hexadecimal digits, lower case", given)
    return given


def _object(where: str, given: Any, known: Iterable[str] | None = None) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise _refused(where, "an object", given)
    if known is not None:
        _check_object(where, given, (), tuple(known))
    return given


def _check_object(where: str, given: Any, required: tuple[str, ...], optional: tuple[str, ...]) -> None:
    if not isinstance(given, dict):
        raise _refused(where, "an object", given)
    if missing := [name for name in required if name not in given]:
        raise refusal(
            "argument_invalid", f"{where} must have `{missing[0]}`; received {', '.join(given) or 'no field'}"
        )
    if unknown := [name for name in given if name not in (*required, *optional)]:
        known = ", ".join((*required, *optional))
        raise refusal("argument_invalid", f"fields of {where} must be among {known}; received {unknown[0]!r}")


def _checked(make: Callable[[], T]) -> T:
    """Return the result of `make`; its errors become `argument_invalid`."""
    try:
        return make()
    except native.OpenOutcryError as error:
        raise refusal("argument_invalid", str(error).removeprefix(f"{error.slug}: ")) from error


def _refused(where: str, wanted: str, received: Any) -> native.OpenOutcryError:
    return refusal("argument_invalid", f"{where} must be {wanted}; received {received!r}")


def _why(error: OSError | UnicodeDecodeError) -> str:
    return str(error.strerror or error) if isinstance(error, OSError) else str(error)
