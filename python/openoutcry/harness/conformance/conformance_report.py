"""`Report`: findings of an examination, with a digest and optional signature."""

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
from openoutcry.harness.conformance.decision_rules import Failure, ascii_excerpt
from openoutcry.harness.conformance.invalid_input import Advice
from openoutcry.harness.contract_statement import ACCEPTED_CONTRACT

REPORT_VERSION = "1.0"
BADGE = f"conforms to the OpenOutcry Agent Interface v{native.CONTRACT_VERSION}"
"""The badge of an agent that passed; `GOVERNANCE.md` defines its meaning."""
DAY_ORDER_BADGE = f"conforms to the OpenOutcry Agent Interface v{ACCEPTED_CONTRACT}"
"""The badge of an agent that passed, with day orders in its decisions."""
BADGES = {native.CONTRACT_VERSION: BADGE, ACCEPTED_CONTRACT: DAY_ORDER_BADGE}
"""The badge of each contract version that a report can state."""

PASSED, FAILED = "passed", "failed"
NOT_APPLICABLE, NOT_CLAIMED, NOT_RUN = "not_applicable", "not_claimed", "not_run"
_STDERR = 2_000


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        check: Name of the check.
        wanted: Description of the requirement.
        state: `passed`, `failed`, `not_applicable`, `not_claimed`, or `not_run` after the first failure.
        n_answers: Number of checked answers.
        seconds: Duration of the check.
        failure: The failure, if the check failed.
    """

    check: str
    wanted: str
    state: str
    n_answers: int = 0
    seconds: float = 0.0
    failure: Failure | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON types."""
        content: dict[str, Any] = {"check": self.check, "wanted": self.wanted, "state": self.state}
        content |= {"n_answers": self.n_answers, "seconds": round(self.seconds, 6)}
        if self.failure is None:
            return content
        texts = {name: getattr(self.failure, name) for name in ("sent", "received", "expected")}
        kept = {name: ascii_excerpt(text) for name, text in texts.items() if text is not None}
        more: dict[str, Any] = {"infrastructure": True} if self.failure.is_of_infrastructure else {}
        if self.failure.stderr:
            more["stderr"] = ascii_excerpt(self.failure.stderr[-_STDERR:], _STDERR)
        return content | {"reason": ascii_excerpt(self.failure.reason, 1_000)} | kept | more


@dataclass(frozen=True)
class Report:
    """The report of an examination of one agent.

    Attributes:
        agent: Name of the agent.
        date: Time of the examination, `YYYY-MM-DDTHH:MM:SSZ`.
        kit: Digest of the kit.
        is_deterministic: Whether the agent claims to be deterministic.
        harness: Transport, tier and network access; None for a callable in this process.
        bounds: Limits of time and size.
        findings: Result of each check, in order.
        advice: Behavior on invalid input, which the contract does not regulate.
        times: Response times.
        seed: Seed of the market of the second episode.
        n_orders: Number of orders in all checked answers.
        n_day_orders: Number of orders with a field of contract 1.1 in the episodes.
        day_order_kit: Digest of the kit of contract 1.1; None if the agent was not examined to it.
        files: Digests of the files of the agent; None for a server or a callable.
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
    n_day_orders: int = 0
    day_order_kit: str | None = None
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
    def contract_version(self) -> str:
        """The contract version of the examination.

        It is 1.1 if the agent returned day orders and passed all checks of 1.0.
        """
        return native.CONTRACT_VERSION if self.day_order_kit is None else ACCEPTED_CONTRACT

    @property
    def badge(self) -> str | None:
        """The badge; None for an agent that does not conform."""
        return BADGES[self.contract_version] if self.conforms else None

    @property
    def timing(self) -> dict[str, float | int | None]:
        """Numbers of sessions and answers, and response times; None without samples."""
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
            # Only a program receives the end of a run.
            names.remove("end_seconds")
        return {name: getattr(self.bounds, name) for name in names}

    def to_dict(self, private_key: bytes | None = None) -> dict[str, Any]:
        """Return the report with its digest; signed if a key is given."""
        from openoutcry import __version__

        document: dict[str, Any] = {
            "report_version": REPORT_VERSION,
            "contract_version": self.contract_version,
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
            document["harness"] = {**self.harness, **files}
        if self.day_order_kit is not None:
            document |= {"day_order_kit": self.day_order_kit, "n_day_orders": self.n_day_orders}
        if self.badge is not None:
            document["badge"] = self.badge
        return signed(document, private_key)

    def to_json(self, private_key: bytes | None = None) -> str:
        """Return the report as JSON text; signed if an Ed25519 key is given."""
        return json.dumps(self.to_dict(private_key), indent=1, ensure_ascii=True) + "\n"


def _percentile(values: Sequence[float], share: float) -> float | None:
    # The smallest value that is at least as large as this share of the sorted values.
    return round(values[max(0, ceil(share * len(values)) - 1)], 6) if values else None


def digest_of(report: Mapping[str, Any]) -> bytes:
    """Return the SHA-256 of a report without its digest and signature, 32 bytes."""
    content = {name: value for name, value in report.items() if name not in {"digest", "signature"}}
    payload = {"domain": "openoutcry/conformance/1", "report": content}
    return hashlib.sha256(native.canonicalize(json.dumps(payload)).encode()).digest()


def signed(report: dict[str, Any], private_key: bytes | None = None) -> dict[str, Any]:
    """Return a report with its digest, and its signature if a key is given."""
    digest = digest_of(report)
    document = {**report, "digest": digest.hex()}
    if private_key is None:
        return document
    signature = {
        "algorithm": "ed25519",
        "public_key": native.record_public_key(private_key).hex(),
        "signature": native.sign_conformance(digest, private_key).hex(),
    }
    return {**document, "signature": signature}
