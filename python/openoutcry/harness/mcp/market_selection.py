"""What can be traded: named markets, in disguise if so wished, and synthetic ones."""

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
        name: What clients call it.
        dataset: The market.
        mask: Level of the disguise; None for none. Each session is shown one of its own.
    """

    name: str
    dataset: Dataset
    mask: str | None = None

    def __post_init__(self) -> None:
        if self.mask is not None and self.mask not in LEVELS:
            raise refusal("argument_invalid", f"`mask` must be one of {', '.join(LEVELS)}; received {self.mask!r}")

    def under(self, key: bytes) -> Dataset:
        """Return the market as the session of a key sees it."""
        return self.dataset if self.mask is None else self.dataset.masked(key, self.mask)

    @property
    def hides_dates(self) -> bool:
        """Whether dates of it are made up."""
        return self.mask in LEVELS[LEVELS.index("calendar") :]

    @property
    def told(self) -> str:
        """What clients are told of it: its bars, and dates where they are no secret."""
        dates = self.dataset.dates
        return f"{self.dataset.n_bars} bars" + ("" if self.hides_dates else f", {dates[0]} to {dates[-1]}")


def drawn_key() -> bytes:
    """Return a key for the disguise of one session."""
    return secrets.token_bytes(_KEY_BYTES)


def offered(datasets: Iterable[Dataset], mask: str | None = None) -> tuple[Market, ...]:
    """Return markets by their names.

    Under a mask they are numbered, since a name tells too much.

    Raises:
        OpenOutcryError: two have the same name, or there is no such level.
    """
    given = list(datasets)
    names = [each.name for each in given] if mask is None else [f"market-{place + 1}" for place in range(len(given))]
    if len(set(names)) < len(names) or not names:
        raise refusal("argument_invalid", f"markets must be at least one, each of another name; received {names}")
    return tuple(Market(name, dataset, mask) for name, dataset in zip(names, given, strict=True))


def bundled(mask: str | None = None) -> tuple[Market, ...]:
    """Return the markets that ship with the package."""
    return offered([data.load(name) for name in data.names()], mask)


def synthetic(name: str, seed: int | None) -> Dataset:
    """Return a market of a tier or family.

    Without a seed it is drawn from a secret key, which is kept nowhere: nobody can draw that market again. Its
    commitment is left out, since nothing could ever be held against it.
    """
    scenario = Scenario.sealed(name)[0] if seed is None else Scenario(name, seed)
    made = scenario.dataset()
    return Dataset(made._core, name=made.name, notices=made.notices)
