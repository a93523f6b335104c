"""Output files of a session: candidates, short list and report.

None of them trades.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from openoutcry.backtest.strategies.candidate_fields import CANDIDATE_FORMAT, DIGEST, digest_of_fields
from openoutcry.ledger import FAMILY_LIMITS
from openoutcry.research.cautions import cannot_see, of_information
from openoutcry.research.session_records import JOURNAL
from openoutcry.research.session_report import report_of
from openoutcry.research.trial import Result, ShortlistEntry
from openoutcry.research.walkforward_validation import ValidationSetup

STATUS = "candidate"
"""The only status: a person decides about a candidate."""


def write_session_files(result: Result, setup: ValidationSetup, folder: Path) -> list[Path]:
    """Write all files of a session and return their paths, the report last.

    Args:
        result: Result of the session.
        setup: Market, folds, costs and limits.
        folder: Output folder.
    """
    short = result.session_id[:8]
    written = []
    for place, listed in enumerate(result.shortlist, 1):
        path = folder / "candidates" / f"{short}-{place}-{_safe(listed.trial.candidate.name)}.json"
        written.append(_write(path, _json(candidate_of(listed, result))))
    summary = {
        "session_id": result.session_id,
        "stopped_reason": result.stopped_reason,
        "n_trials": result.n_trials,
        "n_session": result.n_session,
        "advice": result.advice.to_json(),
        "cautions": {listed.key: list(listed.cautions) for listed in result.shortlist},
        "cannot_see": limits_of(result),
        "candidates": [path.relative_to(folder).as_posix() for path in written],
        "dropped": [vars(each) for each in result.dropped],
        "holdout": _holdout(result),
    }
    written.append(_write(folder / "shortlist.json", _json(summary)))
    journal = (folder / JOURNAL).as_posix()
    command = shlex.join(["openoutcry", "research", "replay", "--verify", journal, "--session", result.session_id])
    page = report_of(result, setup, command)
    _write(folder / "reports" / f"{short}.html", page)
    written.append(_write(folder / "report.html", page))
    return written


def candidate_of(listed: ShortlistEntry, result: Result) -> dict[str, Any]:
    """Return the content of a candidate's file, with evidence and provenance."""
    candidate, start = listed.trial.candidate, result.start
    is_code = candidate.proposal.kind == "code"
    what: dict[str, Any] = {"strategy": candidate.name, "params": dict(listed.trial.validation.params[-1])}
    if is_code:
        isolation = "none" if start["config"]["unsafe_no_isolation"] else start["environment"]["tier"]
        what |= {"source": candidate.proposal.source, "isolation": isolation}
    content = {
        "format": CANDIDATE_FORMAT,
        "status": STATUS,
        **what,
        "rationale": candidate.proposal.rationale,
        "market": start["market"],
        "folds": start["folds"],
        "holdout": start["holdout"],
        "costs": start["config"]["costs"],
        "limits": start["config"]["limits"],
        "evidence": {
            "oos": listed.oos.to_json(),
            "gates": [gate.to_json() for gate in listed.gates],
            "luck": listed.luck.to_json(),
            "holdout": None if listed.verdict is None else listed.verdict.to_json(),
            "holdout_reuse": result.holdout_reuse,
            "holdout_power": _power(listed, result),
            "family_limits": FAMILY_LIMITS,
            "information": None if candidate.information is None else candidate.information.to_json(),
        },
        "cautions": list(listed.cautions),
        "cannot_see": [*_storable(listed), *limits_of(result)],
        "provenance": {
            "session_id": result.session_id,
            "trial": listed.key,
            "round": listed.trial.round,
            "engine": start["engine"],
            "gates_version": start["gates_version"],
            "provider": start["provider"],
            "data": start["data"],
            "git": start["environment"].get("git"),
        },
    }
    return content | {DIGEST: digest_of_fields(content)}


def limits_of(result: Result) -> list[str]:
    """Return what the checks of a session cannot see."""
    return cannot_see(result.start["config"], holdout_opened=result.holdout_reuse is not None)


def _storable(listed: ShortlistEntry) -> list[str]:
    periods_per_year = listed.oos.periods_per_year
    if periods_per_year is None:
        return []
    return list(of_information(listed.trial.candidate.information, len(listed.oos.returns), periods_per_year))


def _holdout(result: Result) -> dict[str, Any]:
    seal = None if result.seal is None else result.seal.to_json()
    found = {"seal": seal, "reuse": result.holdout_reuse, "note": result.holdout_note}
    power = result.holdout_power
    return found | {"power": None if power is None else power.to_json(), "family_limits": FAMILY_LIMITS}


def _power(listed: ShortlistEntry, result: Result) -> dict[str, Any] | None:
    """Return the power of the holdout, also at the earlier ratios of a candidate."""
    power = result.holdout_power
    if power is None:
        return None
    inside = [fold.sharpe for fold in listed.trial.validation.in_sample if fold.sharpe is not None]
    at = {"at_oos": power.passes(listed.oos.sharpe), "at_in_sample": power.passes(median(inside) if inside else None)}
    return power.to_json() | at


def _safe(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name)[:40]


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=1, allow_nan=False) + "\n"


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(path.suffix + ".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
    return path
