"""Self-verifying reports: run, record, market and engine in one page."""

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
from openoutcry.report.run_analysis import AnalysisInputs
from openoutcry.report.run_report import Origin, page_renderer
from openoutcry.report.wasm_engine import has_engine
from openoutcry.scenarios.scenario import Scenario

__all__ = ["MAX_BYTES", "Written", "market_of", "proof_of", "require_engine", "write_proof"]

MAX_BYTES = 3_000_000
"""Page size above which the market is left out and the reader supplies its file."""


@dataclass(frozen=True)
class Written:
    """A self-verifying page on disk.

    Attributes:
        path: Path of the page.
        n_bytes: Size of the page.
        has_data: Whether the page contains its markets.
    """

    path: str
    n_bytes: int
    has_data: bool


def require_engine() -> None:
    """Check that this package contains the WebAssembly engine.

    Raises:
        OpenOutcryError: `argument_invalid`: the package was built without it.
    """
    if not has_engine():
        message = "a package with the WebAssembly engine is required; received one without it"
        raise refusal("argument_invalid", f"{message}; hint: in a checkout, build it with `scripts/wasm`")


def market_of(dataset: Dataset, scenario: Scenario | None = None) -> ProofMarket:
    """Return a complete market for a page; its fingerprint covers all of its data.

    Args:
        dataset: The market.
        scenario: Scenario that generates it; the page then contains the spec and the revealed key instead of prices.
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
    """Return the data from which a page recomputes its run.

    Args:
        record: The complete, finished record; its digest covers all runs.
        run: Index of the run that the page shows.
        markets: The markets of all runs.
        fill_key: Revealed key of sealed slippage noise, in hexadecimal.
        public_key: Required signing key of the record, in hexadecimal.
    """
    used = {header["dataset.fingerprint"] for header in record.headers}
    needed = [market for market in markets if market.fingerprint in used]
    return Proof(record.to_json(), record.digest or "", run, needed, fill_key, public_key)


def write_proof(
    run: Run,
    path: str | os.PathLike[str],
    proof: Proof,
    origin: Origin | None = None,
    *,
    has_data: bool = True,
    inputs: AnalysisInputs | None = None,
) -> Written:
    """Write a self-verifying report.

    Args:
        run: The run.
        path: Path of the page.
        proof: Data from which the page recomputes the run.
        origin: Origin of page and run.
        has_data: Whether the page may contain its markets; it leaves them out if it would exceed `MAX_BYTES`.
        inputs: Benchmark, factors, groups and seed; their numbers are outside the verified part of the page.

    Raises:
        OpenOutcryError: `argument_invalid`: this package has no WebAssembly engine.
    """
    require_engine()
    trials = RunRecord.from_json(proof.record).in_sample_trials + 1
    render = page_renderer(run, trials, origin, inputs)
    page = render(proof=proof if has_data else _without_data(proof)).encode()
    if has_data and len(page) > MAX_BYTES:
        has_data, page = False, render(proof=_without_data(proof)).encode()
    Path(path).write_bytes(page)
    is_complete = has_data or not any(market.content for market in proof.markets)
    return Written(os.fspath(path), len(page), is_complete)


def _without_data(proof: Proof) -> Proof:
    return replace(proof, markets=[replace(market, content=None) for market in proof.markets])
