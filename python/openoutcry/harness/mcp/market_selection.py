"""Markets of the server: named markets, optionally masked, and synthetic ones."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from openoutcry import data
from openoutcry.data.dataset import Dataset
from openoutcry.data.masking import LEVELS
from openoutcry.errors import refusal
from openoutcry.scenarios.scenario import Scenario

_KEY_BYTES = 32


@dataclass(frozen=True)
class Market:
    """A market that clients can name.

    Args:
        name: Name for clients.
        dataset: The market.
        mask: Masking level; None for no mask. Each session uses a different key.
    """

    name: str
    dataset: Dataset
    mask: str | None = None

    def __post_init__(self) -> None:
        if self.mask is not None and self.mask not in LEVELS:
            raise refusal("argument_invalid", f"`mask` must be one of {', '.join(LEVELS)}; received {self.mask!r}")

    def masked_with(self, key: bytes) -> Dataset:
        """Return the market as a session with this key sees it."""
        return self.dataset if self.mask is None else self.dataset.masked(key, self.mask)

    @property
    def hides_dates(self) -> bool:
        """Whether the mask replaces dates."""
        return self.mask in LEVELS[LEVELS.index("calendar") :]

    @property
    def description(self) -> str:
        """The description for clients: the number of bars, and the dates unless masked."""
        dates = self.dataset.dates
        return f"{self.dataset.n_bars} bars" + ("" if self.hides_dates else f", {dates[0]} to {dates[-1]}")


def random_key() -> bytes:
    """Return a random masking key for one session."""
    return secrets.token_bytes(_KEY_BYTES)


def markets_of(datasets: Iterable[Dataset], mask: str | None = None) -> tuple[Market, ...]:
    """Return datasets as markets; masked markets get numbers instead of names.

    Raises:
        OpenOutcryError: `argument_invalid`: two datasets have the same name, or the masking level is unknown.
    """
    given = list(datasets)
    names = [each.name for each in given] if mask is None else [f"market-{place + 1}" for place in range(len(given))]
    if len(set(names)) < len(names) or not names:
        raise refusal("argument_invalid", f"at least one market is required, with distinct names; received {names}")
    return tuple(Market(name, dataset, mask) for name, dataset in zip(names, given, strict=True))


def bundled_markets(mask: str | None = None) -> tuple[Market, ...]:
    """Return the bundled markets."""
    return markets_of([data.load(name) for name in data.names()], mask)


def synthetic_market(name: str, seed: int | None) -> Dataset:
    """Return a synthetic market of a scenario tier or family.

    Without a seed, it is generated from a random key that is not stored, so that the market cannot be regenerated. Its
    commitment is omitted: without the key it cannot be verified.
    """
    scenario = Scenario.sealed(name)[0] if seed is None else Scenario(name, seed)
    made = scenario.dataset()
    return Dataset(made._core, name=made.name, notices=made.notices)
