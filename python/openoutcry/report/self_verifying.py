"""Reports that verify themselves: run, record, market and engine in one page."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from openoutcry.backtest.run import Run
from openoutcry.data.dataset import Dataset
from openoutcry.errors import refusal
from openoutcry.records.run_record import RunRecord
from openoutcry.report.pages.proof_panel import Proof, ProofMarket
from openoutcry.report.run_report import Origin, page_maker
from openoutcry.report.wasm_engine import has_engine
from openoutcry.scenarios.scenario import Scenario

__all__ = ["MOST_BYTES", "Written", "market_of", "proof_of", "require_engine", "write_proof"]

MOST_BYTES = 3_000_000
"""Size above which a page leaves its market to the reader."""


@dataclass(frozen=True)
class Written:
    """A page that verifies itself.

    Attributes:
        path: The page.
        n_bytes: Its size.
        has_data: Whether its markets are in it.
    """

    path: str
    n_bytes: int
    has_data: bool


def require_engine() -> None:
    """Refuse where this package has no engine for pages.

    Raises:
        OpenOutcryError: `argument_invalid`: it was built without one.
    """
    if not has_engine():
        message = "a package with the engine for pages is required; received one that was built without"
        raise refusal("argument_invalid", f"{message}; hint: in a checkout, `scripts/wasm` makes it")


def market_of(dataset: Dataset, scenario: Scenario | None = None) -> ProofMarket:
    """Return a market for a page, whole: its fingerprint is of all of it.

    Args:
        dataset: The market.
        scenario: The scenario it is made from; the page then has its spec and its revealed key in place of prices.
    """
    return ProofMarket(
        name=dataset.name,
        fingerprint=dataset.fingerprint,
        commitment=dataset.commitment or "",
        periods_per_year=dataset.periods_per_year,
        content=dataset.to_bytes() if scenario is None else None,
        spec="" if scenario is None else scenario.spec.to_json(),
        key="" if scenario is None else scenario.reveal(),
    )


def proof_of(
    record: RunRecord, run: int, markets: Iterable[ProofMarket], fill_key: str = "", public_key: str = ""
) -> Proof:
    """Return what the page of a run is recomputed from.

    Args:
        record: The finished record, whole: its digest is of all runs.
        run: Index of the run that the page shows.
        markets: The markets of all its runs.
        fill_key: Revealed key of sealed slippage noise, in hexadecimal.
        public_key: Key that must have signed the record, in hexadecimal.
    """
    used = {header["dataset.fingerprint"] for header in record.headers}
    needed = [market for market in markets if market.fingerprint in used]
    return Proof(record.to_json(), record.digest or "", run, needed, fill_key, public_key)


def write_proof(
    run: Run, path: str | os.PathLike[str], proof: Proof, origin: Origin | None = None, *, has_data: bool = True
) -> Written:
    """Write a report that verifies itself.

    Args:
        run: The run it shows.
        path: The page.
        proof: What it is recomputed from.
        origin: Where page and run come from.
        has_data: Whether the page may carry its markets; it carries none where it would exceed `MOST_BYTES`.

    Raises:
        OpenOutcryError: `argument_invalid`: this package has no engine for pages.
    """
    require_engine()
    trials = RunRecord.from_json(proof.record).in_sample_trials + 1
    made = page_maker(run, trials, origin)
    page = made(proof=proof if has_data else _without_data(proof)).encode()
    if has_data and len(page) > MOST_BYTES:
        has_data, page = False, made(proof=_without_data(proof)).encode()
    Path(path).write_bytes(page)
    is_whole = has_data or not any(market.content for market in proof.markets)
    return Written(os.fspath(path), len(page), is_whole)


def _without_data(proof: Proof) -> Proof:
    return replace(proof, markets=[replace(market, content=None) for market in proof.markets])
