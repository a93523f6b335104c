"""Rows of tasks: what an episode is about, and the keys of its markets.

A row is serialisable and holds no price: whoever has it and the secret of its split draws the same markets again.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from openoutcry.arguments import whole
from openoutcry.errors import refusal
from openoutcry.openoutcry_py import CostModel
from openoutcry.verifiers_env.mandates import MANDATES

SPLITS = ("train", "validation", "held-out")
STYLES = ("tools", "text")
HELD_OUT_SECRET = "OPENOUTCRY_HELD_OUT_SECRET"

_DOMAIN = b"openoutcry/verifiers/v1\0"
_LEAST_SECRET = 16


@dataclass(frozen=True)
class Tier:
    """How hard a task is.

    Args:
        n_symbols: Symbols of the market.
        horizon: Decisions of a window.
    """

    n_symbols: int
    horizon: int


TIERS = {"easy": Tier(2, 10), "medium": Tier(4, 20), "hard": Tier(8, 60)}


@dataclass(frozen=True)
class Row:
    """What an episode is about.

    Args:
        split: One of `SPLITS`: no market of one is in another.
        index: Which task of the split.
        market: A scenario's name, a bundled dataset's, or the path of a file.
        digest: Digest of the scenario's spec, or fingerprint of the dataset.
        n_symbols: Symbols of a market.
        horizon: Decisions of a window.
        lookback: Closes that are shown before the first decision.
        n_windows: Windows of the episode, each on a market of its own.
        mandate: One of `mandates.MANDATES`.
        disguise: Whether symbols, dates and price levels of real data are made up.
        costs: What trading costs, the fields of `CostModel`.
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
    disguise: bool = True
    costs: dict[str, float] = field(default_factory=lambda: CostModel().to_dict())

    def __post_init__(self) -> None:
        one_of("split", self.split, SPLITS)
        one_of("mandate", self.mandate, MANDATES)
        whole("index", self.index, 0, 2**31 - 1)
        whole("n_symbols", self.n_symbols, 1, 100)
        whole("horizon", self.horizon, 2, 2_520)
        whole("lookback", self.lookback, 2, 2_520)
        whole("n_windows", self.n_windows, 1, 64)

    @property
    def key(self) -> str:
        """What identifies the task: split and index."""
        return f"{self.split}-{self.index}"

    @property
    def window(self) -> tuple[int, int]:
        """Bars `[start, end)` that are traded, of a market that `markets.draw` returns."""
        start = self.lookback - 1
        return start, start + self.horizon + 1

    @property
    def fill_seed(self) -> int:
        """What the luck of fills is drawn from; no secret, for records publish it."""
        what = f"fills\0{self.split}\0{self.index}"
        return int.from_bytes(hashlib.sha256(_DOMAIN + what.encode()).digest()[:4], "little")

    @property
    def cost_model(self) -> CostModel:
        """What trading costs."""
        return costs_of(self.costs)


def secret_of(split: str) -> bytes:
    """Return the secret of a split.

    Those of `train` and `validation` are known to everybody, so that everybody trains on the same markets. That of
    `held-out` is the worker's: the variable `OPENOUTCRY_HELD_OUT_SECRET`, or the file that it names after an `@`.

    Raises:
        OpenOutcryError: there is no secret for held-out rows, or it is too short to be one.
    """
    if split != "held-out":
        return hashlib.sha256(_DOMAIN + split.encode()).digest()
    told = os.environ.get(HELD_OUT_SECRET, "")
    if told.startswith("@"):
        try:
            told = Path(told[1:]).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            message = f"`{HELD_OUT_SECRET}` must name a file that holds the secret; received {told!r}: {error}"
            raise refusal("key_invalid", message) from error
    if len(told) < _LEAST_SECRET:
        wanted = (
            f"held-out rows need a secret of at least {_LEAST_SECRET} characters in `{HELD_OUT_SECRET}`, or `@FILE`"
        )
        raise refusal("key_invalid", f"{wanted}; received {len(told)} characters")
    return hashlib.sha256(_DOMAIN + told.encode()).digest()


def market_key(row: Row, window: int) -> bytes:
    """Return the key of the market of a window, 32 bytes that nothing shows."""
    what = f"{row.split}\0{row.index}\0{window}"
    return hmac.new(secret_of(row.split), _DOMAIN + what.encode(), hashlib.sha256).digest()


def costs_of(fields: Mapping[str, float]) -> CostModel:
    """Return what trading costs, by the fields that differ from the defaults.

    Raises:
        OpenOutcryError: there is no such field, or a value is no cost.
    """
    known = CostModel().to_dict()
    for name in fields:
        if name not in known:
            wanted = f"a field of `costs` must be one of {', '.join(known)}"
            raise refusal("argument_invalid", f"{wanted}; received {name!r}")
    return CostModel(**fields)


def one_of(name: str, value: str, known: Collection[str]) -> None:
    """Refuse a choice that there is not.

    Raises:
        OpenOutcryError: `argument_invalid`: it is none of those that are known.
    """
    if value not in known:
        raise refusal("argument_invalid", f"`{name}` must be one of {', '.join(known)}; received {value!r}")
