"""Synthetic markets: their specification, seeds and secret keys."""

from __future__ import annotations

import json
import secrets
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.arguments import checked_integer, seed_of
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.untrusted.counted_nouns import counted

NAMES: tuple[str, ...] = tuple(native.SCENARIOS)


class ScenarioSpec:
    """Specification of a synthetic market. A spec and a key determine every price.

    The same spec, version and key give the same bits on every machine. A spec starts from a tier (`calm`, `hard`,
    `extreme` or `fx`) or a family (`pairs`, `regime-shift`, `crisis` or `martingale`). Its fields are attributes;
    `docs/scenarios.md` lists them.

    Args:
        name: Tier or family.
        changes: Fields to override, such as `n_symbols=50`.

    Raises:
        OpenOutcryError: the name or a field is unknown, or a value is out of range.
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
                # A position in the internal JSON would not help the caller.
                if " at line " not in str(error):
                    continue
                wanted = f"`{field}` must be of the same form as {json.dumps(fields[field])}"
                raise refusal("argument_invalid", f"{wanted}; received {value!r}") from None
        self._read(json.dumps(fields | changes))

    @classmethod
    def from_json(cls, text: str) -> ScenarioSpec:
        """Return a spec from JSON with all fields, as `to_json` returns it.

        Raises:
            OpenOutcryError: a field is missing, unknown or out of range, or the version is not supported.
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
        """Return the fields as a dict."""
        fields: dict[str, Any] = json.loads(self._text)
        return fields

    def __getattr__(self, name: str) -> Any:
        """Return the value of a field."""
        fields = self.__dict__.get("_fields", {})
        if name not in fields:
            raise AttributeError(f"a spec has no field {name!r}")
        return fields[name]

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, ScenarioSpec) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        size = f"{counted(self.n_symbols, 'symbol')}, {counted(self.n_days, 'day')}"
        return f"ScenarioSpec({self.family}, {size}, {self.digest[:8]})"


class Scenario:
    """A synthetic market: a spec and a hidden key.

    Args:
        spec: Specification, or the name of a tier or family.
        seed: Selects the market. A guessed seed reveals the future; use `Scenario.sealed` for a secret key.
        split: Domain of the seed, such as `train`, `validation` or `test`. Splits have no market in common.

    Raises:
        OpenOutcryError: the spec or the seed is invalid.
    """

    def __init__(self, spec: ScenarioSpec | str = "hard", seed: int = 0, *, split: str = "train") -> None:
        if not isinstance(split, str) or not split:
            raise refusal("argument_invalid", f"`split` must be a name such as 'train'; received {split!r}")
        self.spec = _spec_of(spec)
        self._core = native.Scenario.seeded(self.spec.to_json(), split, seed_of(seed))

    @classmethod
    def sealed(cls, spec: ScenarioSpec | str = "hard") -> tuple[Scenario, str]:
        """Return a scenario with a random 32-byte key, and its commitment.

        Publish the commitment before anyone trades the market. It is the SHA-256 of a domain, the key and the digest
        of the spec, in hexadecimal: it fixes the market without revealing it.
        """
        scenario = cls._of(_spec_of(spec), secrets.token_bytes(32))
        return scenario, scenario.commitment

    @classmethod
    def revealed(cls, spec: ScenarioSpec | str, key: str) -> Scenario:
        """Return the scenario of a revealed key.

        Compare its `commitment` with the published one.

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
        """Public commitment to the key, in hexadecimal."""
        return bytes(self._core.commitment()).hex()

    def reveal(self) -> str:
        """Return the key in hexadecimal. Anyone with the key can compute every price."""
        return bytes(self._core.reveal()).hex()

    def dataset(self) -> Dataset:
        """Return the market as a `Dataset`.

        Raises:
            OpenOutcryError: a price is outside the range of a dataset.
        """
        spec = self.spec
        name = f"scenario-{spec.family}-{spec.n_symbols}x{spec.n_days}"
        return Dataset(self._core.dataset(), name=name, commitment=self.commitment)

    def __repr__(self) -> str:
        return f"Scenario({self.spec!r}, key hidden)"

    def __reduce__(self) -> Any:
        raise TypeError(
            "a scenario cannot be pickled, because the pickle would contain its key; hint: `reveal` returns the key"
        )


def scenarios(spec: ScenarioSpec | str, n: int, *, seed: int = 0, split: str = "train") -> list[Scenario]:
    """Return the scenarios of one spec with seeds `seed` to `seed + n - 1`.

    Args:
        spec: Specification, or the name of a tier or family.
        n: Number of scenarios.
        seed: First seed. The next block starts at `seed + n`.
        split: Domain of the seeds. Splits have no market in common.

    Raises:
        OpenOutcryError: the spec, the number or the seed is invalid.
    """
    first = checked_integer("seed", seed, 0, 2**64 - checked_integer("n", n, 1, 2**31 - 1))
    shared = _spec_of(spec)
    return [Scenario(shared, number, split=split) for number in range(first, first + n)]


def _json_value(field: str, value: Any) -> Any:
    """Return a value as JSON represents it; numpy scalars become numbers."""
    plain = value.item() if hasattr(value, "item") else value
    try:
        json.dumps(plain, allow_nan=False)
    except (TypeError, ValueError):
        wanted = "finite numbers, texts, and lists or dicts of them"
        raise refusal("argument_invalid", f"`{field}` must be {wanted}; received {value!r}") from None
    return plain


def _spec_of(spec: ScenarioSpec | str) -> ScenarioSpec:
    if isinstance(spec, ScenarioSpec):
        return spec
    if isinstance(spec, str):
        return ScenarioSpec(spec)
    raise refusal("argument_invalid", f"`spec` must be a ScenarioSpec or its name; received {type(spec).__name__}")
