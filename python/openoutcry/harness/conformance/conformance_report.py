"""What an examination found, as a report that can be signed and checked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from openoutcry import openoutcry_py as native
from openoutcry.harness import Bounds
from openoutcry.harness.conformance.agent_under_test import Times
from openoutcry.harness.conformance.decision_rules import Failure, shown
from openoutcry.harness.conformance.invalid_input import Advice

REPORT_VERSION = "1.0"
BADGE = f"conforms to the OpenOutcry Agent Interface v{native.CONTRACT_VERSION}"
"""What an agent may say of itself once it has passed; `GOVERNANCE.md` says what that means."""

PASSED, FAILED = "passed", "failed"
NOT_APPLICABLE, NOT_CLAIMED, NOT_RUN = "not_applicable", "not_claimed", "not_run"
_STDERR = 2_000


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Attributes:
        check: Its name.
        wanted: What it asks for.
        state: `passed`, `failed`, `not_applicable`, `not_claimed`, or `not_run` after the first failure.
        n_answers: Answers that were judged.
        seconds: Time that it took.
        failure: What went wrong.
    """

    check: str
    wanted: str
    state: str
    n_answers: int = 0
    seconds: float = 0.0
    failure: Failure | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as reports hold it."""
        told: dict[str, Any] = {"check": self.check, "wanted": self.wanted, "state": self.state}
        told |= {"n_answers": self.n_answers, "seconds": round(self.seconds, 6)}
        if self.failure is None:
            return told
        texts = {name: getattr(self.failure, name) for name in ("sent", "received", "expected")}
        kept = {name: shown(text) for name, text in texts.items() if text is not None}
        more: dict[str, Any] = {"infrastructure": True} if self.failure.is_of_infrastructure else {}
        if self.failure.stderr:
            more["stderr"] = shown(self.failure.stderr[-_STDERR:], _STDERR)
        return told | {"reason": shown(self.failure.reason, 1_000)} | kept | more


@dataclass(frozen=True)
class Report:
    """The findings about one agent.

    Attributes:
        agent: What it is called.
        date: When it was examined, `YYYY-MM-DDTHH:MM:SSZ`.
        kit: Digest of the kit.
        is_deterministic: Whether it claims to be.
        harness: How it was asked, None for a callable in this process.
        bounds: What it was allowed to take.
        findings: What each check found, in order.
        advice: What it does with wrong input, which nothing asks of it.
        times: Seconds that its answers took.
        seed: Which market its second episode was played on.
        n_orders: Orders in all answers that were judged.
        files: What it was begun with, as `files.unchanged` tells it; None for what is not begun by us.
    """

    agent: str
    date: str
    kit: str
    is_deterministic: bool
    harness: Mapping[str, object] | None
    bounds: Bounds
    findings: tuple[Finding, ...]
    advice: tuple[Advice, ...]
    times: Times
    seed: int = 0
    n_orders: int = 0
    files: Sequence[Mapping[str, str | None]] | None = None

    @property
    def failure(self) -> Finding | None:
        """The first check that failed."""
        return next((each for each in self.findings if each.state == FAILED), None)

    @property
    def conforms(self) -> bool:
        """Whether no check failed."""
        return self.failure is None

    @property
    def timing(self) -> dict[str, float | int | None]:
        """Sessions, answers, and seconds at percentiles; None where there was none."""
        starts, answers = sorted(self.times.starts), sorted(self.times.answers)
        return {
            "n_sessions": len(starts),
            "n_answers": len(starts) + len(answers),
            "start_p50_seconds": _percentile(starts, 0.5),
            "start_max_seconds": _percentile(starts, 1.0),
            "answer_p50_seconds": _percentile(answers, 0.5),
            "answer_p99_seconds": _percentile(answers, 0.99),
            "answer_max_seconds": _percentile(answers, 1.0),
        }

    def _kept_bounds(self) -> dict[str, float]:
        names = ["start_seconds", "answer_seconds", "end_seconds", "answer_bytes"]
        if self.harness is None or self.harness["transport"] != "stdio":
            # Only a program is told that its run is over.
            names.remove("end_seconds")
        return {name: getattr(self.bounds, name) for name in names}

    def to_dict(self, private_key: bytes | None = None) -> dict[str, Any]:
        """Return the report with its digest, signed if there is a key."""
        from openoutcry import __version__

        told: dict[str, Any] = {
            "report_version": REPORT_VERSION,
            "contract_version": native.CONTRACT_VERSION,
            "package_version": __version__,
            "kit": self.kit,
            "seed": self.seed,
            "agent": self.agent,
            "date": self.date,
            "deterministic": self.is_deterministic,
            "bounds": self._kept_bounds(),
            "conforms": self.conforms,
            "checks": [each.to_dict() for each in self.findings],
            "n_orders": self.n_orders,
            "timing": self.timing,
            "advice": [{"sent": each.sent, "did": each.did, "holds": each.is_hold} for each in self.advice],
        }
        if self.harness is not None:
            files = {} if self.files is None else {"files": [dict(each) for each in self.files]}
            told["harness"] = {**self.harness, **files}
        if self.conforms:
            told["badge"] = BADGE
        return signed(told, private_key)

    def to_json(self, private_key: bytes | None = None) -> str:
        """Return the report as the text of a file, signed if there is a key of Ed25519."""
        return json.dumps(self.to_dict(private_key), indent=1, ensure_ascii=True) + "\n"


def _percentile(values: Sequence[float], share: float) -> float | None:
    # The smallest value that at least this share of the sorted values do not exceed.
    return round(values[max(0, ceil(share * len(values)) - 1)], 6) if values else None


def digest_of(report: Mapping[str, Any]) -> bytes:
    """Return the SHA-256 of a report without its digest and signature, 32 bytes."""
    content = {name: value for name, value in report.items() if name not in {"digest", "signature"}}
    told = {"domain": "openoutcry/conformance/1", "report": content}
    return hashlib.sha256(native.canonicalize(json.dumps(told)).encode()).digest()


def signed(report: dict[str, Any], private_key: bytes | None = None) -> dict[str, Any]:
    """Return a report with its digest, and its signature if there is a key."""
    digest = digest_of(report)
    told = {**report, "digest": digest.hex()}
    if private_key is None:
        return told
    signature = {
        "algorithm": "ed25519",
        "public_key": native.record_public_key(private_key).hex(),
        "signature": native.sign_conformance(digest, private_key).hex(),
    }
    return {**told, "signature": signature}
