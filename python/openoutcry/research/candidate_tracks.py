"""Out-of-sample returns of a candidate's file, for a comparison with other runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from openoutcry.backtest.strategies.candidate_fields import CANDIDATE_FORMAT
from openoutcry.data.dataset import Dataset
from openoutcry.errors import OpenOutcryError, refusal
from openoutcry.ledger import Ledger
from openoutcry.ledger.run_tracks import stitched_track
from openoutcry.research.ledger_trials import run_id_of
from openoutcry.research.session_journal import BLOBS, Blobs
from openoutcry.research.session_records import JOURNAL
from openoutcry.research.strict_json import InvalidJson, read_strict_json
from openoutcry.scoring.return_tracks import Array, Track, conditions_of
from openoutcry.untrusted.bounded_file import DOCUMENT_BYTES, read_text


@dataclass(frozen=True)
class CandidateFile:
    """What a comparison reads of a candidate's file.

    Attributes:
        path: The file.
        name: Strategy, with the first letters of the file's name.
        fingerprint: Fingerprint of the research window.
        data: Market as named by the session.
        last: Last date of the research window.
        tests: First and last date of each test.
        returns_sha256: SHA-256 of the returns of all tests.
        trial: Session and key of the trial.
        rules: Costs and limits.
    """

    path: Path
    name: str
    fingerprint: str
    data: str
    last: str
    tests: tuple[tuple[str, str], ...]
    returns_sha256: str
    trial: tuple[str, str]
    rules: tuple[Mapping[str, Any], Mapping[str, Any]]


def read_candidate(path: Path) -> CandidateFile | None:
    """Read a candidate's file; None for another JSON file.

    Raises:
        OpenOutcryError: `argument_invalid`: the file has the format of a candidate and lacks a field.
    """
    try:
        content = read_strict_json(read_text(path, DOCUMENT_BYTES, "a candidate"))
    except (InvalidJson, UnicodeDecodeError, OSError, OpenOutcryError):
        return None
    if not isinstance(content, dict) or content.get("format") != CANDIDATE_FORMAT:
        return None
    try:
        return _candidate(path, content)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise refusal(
            "argument_invalid", f"a candidate's file must be complete; received '{path}': {error!r}"
        ) from error


def _candidate(path: Path, content: Mapping[str, Any]) -> CandidateFile:
    market, score, origin = content["market"], content["evidence"]["oos"], content["provenance"]
    return CandidateFile(
        path,
        f"{content['strategy']} {path.stem[:10]}",
        str(market["fingerprint"]),
        str(origin["data"] or market["name"]),
        str(market["last"]),
        tuple((str(fold["first"]), str(fold["last"])) for fold in score["folds"]),
        str(score["returns_sha256"]),
        (str(origin["session_id"]), str(origin["trial"])),
        (dict(content["costs"] or {}), dict(content["limits"] or {})),
    )


def track_of_candidate(candidate: CandidateFile, market: Dataset, ledger: Ledger | None, name: str = "") -> Track:
    """Return the out-of-sample track of a candidate.

    Its returns are read from the folder of its session, else from the ledger.

    Args:
        candidate: The candidate.
        market: Its market, or one that starts with the same bars.
        ledger: The ledger; None for none.
        name: Name in tables and charts; that of the candidate by default.

    Raises:
        OpenOutcryError: `argument_invalid`: neither has the returns, or they are others than those of the evidence.
    """
    origin = f"candidate {candidate.path.name}, out of sample"
    about = conditions_of(market.name, market.fingerprint, *candidate.rules), origin
    return stitched_track(name or candidate.name, _returns(candidate, ledger), candidate.tests, market, about)


def _returns(candidate: CandidateFile, ledger: Ledger | None) -> Array:
    digest, folder = candidate.returns_sha256, candidate.path.absolute().parent.parent / JOURNAL.parent / BLOBS
    # A digest that is no name of a file in this folder must not be read as a path.
    if len(digest) == 64 and digest.isalnum() and (folder / digest).is_file():
        return np.frombuffer(Blobs(folder).get(digest), dtype="<f8").astype(np.float64)
    try:
        found = None if ledger is None else ledger.returns(run_id_of(*candidate.trial))
    except ValueError:
        found = None
    if found is not None and sha256(np.ascontiguousarray(found[1], dtype="<f8").tobytes()).hexdigest() == digest:
        return found[1]
    wanted = f"the returns of '{candidate.path}' are required, in the folder of its session or in the ledger"
    hint = f"hint: leave the file in the `candidates` folder of its session, with `{JOURNAL.parent}/{BLOBS}`"
    raise refusal("argument_invalid", f"{wanted}; received neither; {hint}")
