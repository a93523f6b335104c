"""Synthetic markets that look real: what they are like, and their keys."""

from __future__ import annotations

import json
import secrets
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.arguments import checked_integer, seed_of
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal

NAMES: tuple[str, ...] = tuple(native.SCENARIOS)


class ScenarioSpec:
    """What a synthetic market is like; with a key it is that market.

    The same spec, version and key give the same bits on every machine. A spec is a tier (`calm`, `hard`, `extreme` or
    `fx`) or a family (`pairs`, `regime-shift`, `crisis` or `martingale`) with what differs from it. Its fields are
    attributes; `docs/scenarios.md` lists them.

    Args:
        name: A tier or family.
        changes: Fields that differ from it, such as `n_symbols=50`.

    Raises:
        OpenOutcryError: there is no such name or field, or a field is out of range.
    """

    def __init__(self, name: str = "hard", **changes: Any) -> None:
        if name not in NAMES:
            raise refusal("argument_invalid", f"`name` must be one of {', '.join(NAMES)}; received {name!r}")
        fields = json.loads(native.scenario_spec(name))
        unknown = [field for field in changes if field not in fields]
        if unknown:
            raise refusal("argument_invalid", f"a field must be one of {', '.join(fields)}; received {unknown[0]!r}")
        for field, value in changes.items():
            changes[field] = _json_value(field, value)
            try:
                native.check_scenario_spec(json.dumps(fields | {field: changes[field]}))
            except native.OpenOutcryError as error:
                # Its place in a JSON text that nobody wrote says nothing to the caller.
                if " at line " not in str(error):
                    continue
                wanted = f"`{field}` must be of the form of {json.dumps(fields[field])}"
                raise refusal("argument_invalid", f"{wanted}; received {value!r}") from None
        self._read(json.dumps(fields | changes))

    @classmethod
    def from_json(cls, text: str) -> ScenarioSpec:
        """Return the spec of a JSON text that has all fields, such as `to_json` prints.

        Raises:
            OpenOutcryError: a field is missing, unknown or out of range, or the version is another.
        """
        spec = cls.__new__(cls)
        spec._read(text)
        return spec

    def _read(self, text: str) -> None:
        self._text, digest = native.check_scenario_spec(text)
        self._fields: dict[str, Any] = json.loads(self._text)
        self._digest = bytes(digest).hex()

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON, in hexadecimal."""
        return self._digest

    def to_json(self) -> str:
        """Return the spec as canonical JSON (RFC 8785)."""
        return self._text

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        fields: dict[str, Any] = json.loads(self._text)
        return fields

    def __getattr__(self, name: str) -> Any:
        """Return a field."""
        fields = self.__dict__.get("_fields", {})
        if name not in fields:
            raise AttributeError(f"a spec has no field {name!r}")
        return fields[name]

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, ScenarioSpec) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return f"ScenarioSpec({self.family}, {self.n_symbols} symbols, {self.n_days} days, {self.digest[:8]})"


class Scenario:
    """A synthetic market: a spec, and a key that nothing shows.

    Args:
        spec: What the market is like, or the name of a tier or family.
        seed: Which of its markets; whoever guesses a small seed knows the future. `Scenario.sealed` has a secret key.
        split: Domain of the seed, such as `train`, `validation` or `test`: no seed of one gives a market of another.

    Raises:
        OpenOutcryError: the spec or the seed cannot be used.
    """

    def __init__(self, spec: ScenarioSpec | str = "hard", seed: int = 0, *, split: str = "train") -> None:
        if not isinstance(split, str) or not split:
            raise refusal("argument_invalid", f"`split` must be a name such as 'train'; received {split!r}")
        self.spec = _spec_of(spec)
        self._core = native.Scenario.seeded(self.spec.to_json(), split, seed_of(seed))

    @classmethod
    def sealed(cls, spec: ScenarioSpec | str = "hard") -> tuple[Scenario, str]:
        """Return a scenario of 32 random bytes, and its commitment.

        The commitment is to be published before the market is traded. It is the SHA-256 of a domain, the key and the
        digest of the spec, in hexadecimal: it fixes the market and tells nothing of it.
        """
        scenario = cls._of(_spec_of(spec), secrets.token_bytes(32))
        return scenario, scenario.commitment

    @classmethod
    def revealed(cls, spec: ScenarioSpec | str, key: str) -> Scenario:
        """Return the scenario of a key that `reveal` gave.

        Its `commitment` tells whether it is the one that was published.

        Raises:
            OpenOutcryError: the key is not 64 hexadecimal digits.
        """
        try:
            raw = bytes.fromhex(key)
        except (TypeError, ValueError):
            raw = b""
        if len(raw) != 32:
            raise refusal("argument_invalid", "`key` must be 64 hexadecimal digits; received something else")
        return cls._of(_spec_of(spec), raw)

    @classmethod
    def _of(cls, spec: ScenarioSpec, key: bytes) -> Scenario:
        scenario = cls.__new__(cls)
        scenario.spec, scenario._core = spec, native.Scenario(spec.to_json(), key)
        return scenario

    @property
    def commitment(self) -> str:
        """What may be published of the key, in hexadecimal."""
        return bytes(self._core.commitment()).hex()

    def reveal(self) -> str:
        """Return the key in hexadecimal: from then on everybody can compute every price."""
        return bytes(self._core.reveal()).hex()

    def dataset(self) -> Dataset:
        """Return the market.

        Raises:
            OpenOutcryError: prices leave the range of a dataset.
        """
        spec = self.spec
        name = f"scenario-{spec.family}-{spec.n_symbols}x{spec.n_days}"
        return Dataset(self._core.dataset(), name=name, commitment=self.commitment)

    def __repr__(self) -> str:
        return f"Scenario({self.spec!r}, key hidden)"

    def __reduce__(self) -> Any:
        raise TypeError("a scenario is not pickled, for its key would be; hint: `reveal` gives the key")


def scenarios(spec: ScenarioSpec | str, n: int, *, seed: int = 0, split: str = "train") -> list[Scenario]:
    """Return many markets of one spec: those of the seeds from `seed` on.

    Args:
        spec: What the markets are like, or the name of a tier or family.
        n: How many.
        seed: The first seed; the next block begins at `seed + n`.
        split: Domain of the seeds: no market of one is in another.

    Raises:
        OpenOutcryError: the spec, the number or the seed cannot be used.
    """
    first = checked_integer("seed", seed, 0, 2**64 - checked_integer("n", n, 1, 2**31 - 1))
    of = _spec_of(spec)
    return [Scenario(of, each, split=split) for each in range(first, first + n)]


def _json_value(field: str, value: Any) -> Any:
    """Return a value as JSON has it, a number of numpy being one."""
    found = value.item() if hasattr(value, "item") else value
    try:
        json.dumps(found, allow_nan=False)
    except (TypeError, ValueError):
        wanted = "numbers that are finite, texts, and lists and dicts of them"
        raise refusal("argument_invalid", f"`{field}` must be of {wanted}; received {value!r}") from None
    return found


def _spec_of(spec: ScenarioSpec | str) -> ScenarioSpec:
    if isinstance(spec, ScenarioSpec):
        return spec
    if isinstance(spec, str):
        return ScenarioSpec(spec)
    raise refusal("argument_invalid", f"`spec` must be a ScenarioSpec or its name; received {type(spec).__name__}")
