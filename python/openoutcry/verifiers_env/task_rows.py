"""Task rows: the specification of an episode, and the keys of its markets.

A row is serialisable and holds no price. With the secret of its split, it determines its markets.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from openoutcry.arguments import checked_integer, rule_fields
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import CostModel
from openoutcry.untrusted.bounded_file import KEY_BYTES, read_text
from openoutcry.verifiers_env.mandates import MANDATES

SPLITS = ("train", "validation", "held-out")
STYLES = ("tools", "text")
ORDERS = ("plain", "day")
HELD_OUT_SECRET = "OPENOUTCRY_HELD_OUT_SECRET"

_DOMAIN = b"openoutcry/verifiers/v1\0"
_LEAST_SECRET = 16


@dataclass(frozen=True)
class Tier:
    """Difficulty of a task.

    Args:
        n_symbols: Symbols of the market.
        horizon: Decisions of a window.
    """

    n_symbols: int
    horizon: int


TIERS = {"easy": Tier(2, 10), "medium": Tier(4, 20), "hard": Tier(8, 60)}


@dataclass(frozen=True)
class Row:
    """Specification of an episode.

    Args:
        split: One of `SPLITS`; splits share no market.
        index: Index of the task in the split.
        market: Name of a scenario or bundled dataset, or path of a file.
        digest: Digest of the scenario's spec, or fingerprint of the dataset.
        n_symbols: Symbols of a market.
        horizon: Decisions of a window.
        lookback: Closes shown before the first decision.
        n_windows: Windows of the episode, each with its own market.
        mandate: One of `mandates.MANDATES`.
        masked: Whether symbols, dates and price levels of real data are replaced.
        costs: Trading costs, the fields of `CostModel`.
        orders: One of `ORDERS`: orders of contract 1.0, or with the fields of day orders too.
    """

    split: str
    index: int
    market: str
    digest: str
    n_symbols: int = 4
    horizon: int = 20
    lookback: int = 20
    n_windows: int = 1
    mandate: str = "beat-benchmark"
    masked: bool = True
    costs: dict[str, float] = field(default_factory=lambda: CostModel().to_dict())
    orders: str = "plain"

    def __post_init__(self) -> None:
        one_of("split", self.split, SPLITS)
        one_of("mandate", self.mandate, MANDATES)
        one_of("orders", self.orders, ORDERS)
        checked_integer("index", self.index, 0, 2**31 - 1)
        checked_integer("n_symbols", self.n_symbols, 1, 100)
        checked_integer("horizon", self.horizon, 2, 2_520)
        checked_integer("lookback", self.lookback, 2, 2_520)
        checked_integer("n_windows", self.n_windows, 1, 64)

    @property
    def key(self) -> str:
        """Split and index, which identify the task."""
        return f"{self.split}-{self.index}"

    @property
    def window(self) -> tuple[int, int]:
        """Traded bars `[start, end)` of a market that `row_markets.draw` returns."""
        start = self.lookback - 1
        return start, start + self.horizon + 1

    @property
    def fill_seed(self) -> int:
        """Seed of the fills; not secret, since records publish it."""
        what = f"fills\0{self.split}\0{self.index}"
        return int.from_bytes(hashlib.sha256(_DOMAIN + what.encode()).digest()[:4], "little")

    @property
    def cost_model(self) -> CostModel:
        """Trading costs."""
        return costs_of(self.costs)


def secret_of(split: str) -> bytes:
    """Return the secret of a split.

    The secrets of `train` and `validation` are public, so that everyone trains on the same markets. The secret of
    `held-out` belongs to the worker: the environment variable `OPENOUTCRY_HELD_OUT_SECRET`, or `@FILE`, the file with
    it.

    Raises:
        OpenOutcryError: the secret of held-out rows is missing or too short.
    """
    if split != "held-out":
        return hashlib.sha256(_DOMAIN + split.encode()).digest()
    secret = os.environ.get(HELD_OUT_SECRET, "")
    if secret.startswith("@"):
        try:
            secret = read_text(secret[1:], KEY_BYTES, f"the file of `{HELD_OUT_SECRET}`", "key_invalid").strip()
        except (OSError, UnicodeDecodeError) as error:
            message = f"`{HELD_OUT_SECRET}` must be a secret or `@FILE` with one; received {secret!r}: {error}"
            raise refusal("key_invalid", message) from error
    if len(secret) < _LEAST_SECRET:
        wanted = (
            f"held-out rows need a secret of at least {_LEAST_SECRET} characters in `{HELD_OUT_SECRET}`, or `@FILE`"
        )
        raise refusal("key_invalid", f"{wanted}; received {len(secret)} characters")
    return hashlib.sha256(_DOMAIN + secret.encode()).digest()


def market_key(row: Row, window: int) -> bytes:
    """Return the 32-byte key of the market of a window, which is never published."""
    what = f"{row.split}\0{row.index}\0{window}"
    return hmac.new(secret_of(row.split), _DOMAIN + what.encode(), hashlib.sha256).digest()


def costs_of(fields: Mapping[str, float]) -> CostModel:
    """Return the cost model with some fields changed from their defaults.

    Raises:
        OpenOutcryError: a field is unknown, or its value is invalid.
    """
    known = rule_fields(CostModel)
    for name in fields:
        if name not in known:
            wanted = f"a field of `costs` must be one of {', '.join(known)}"
            raise refusal("argument_invalid", f"{wanted}; received {name!r}")
    return CostModel(**fields)


def one_of(name: str, value: str, known: Collection[str]) -> None:
    """Refuse an unknown choice.

    Raises:
        OpenOutcryError: `argument_invalid`: the value is not among `known`.
    """
    if value not in known:
        raise refusal("argument_invalid", f"`{name}` must be one of {', '.join(known)}; received {value!r}")
