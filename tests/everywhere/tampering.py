"""What may be done to a page that verifies itself, and what it must then say."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from report_proofs import flipped, market, with_bytes, with_part, with_told, with_trace


def edited(step: int, field: str, value: str) -> Callable[[bytes], bytes]:
    """Return what puts something else into a step of a packed record."""

    def change(content: bytes) -> bytes:
        end = 4 + int.from_bytes(content[:4], "little")
        record = content[4:end]
        parts = re.split(rb'(?=\{"cash":)', record)
        changed = re.sub(
            rb'("%b":)("(?:[^"\\]|\\.)*"|[^,}]+)' % field.encode(), rb"\g<1>" + value.encode(), parts[step + 2]
        )
        now = b"".join([*parts[: step + 2], changed, *parts[step + 3 :]])
        return len(now).to_bytes(4, "little") + now + content[end:]

    return change


def more_nav(trace: dict[str, Any]) -> None:
    trace["nav"]["v"][-1] += 1000


def other(field: str) -> Callable[[dict[str, Any]], None]:
    def change(told: dict[str, Any]) -> None:
        told[field] = "0f" * 32

    return change


def other_market(told: dict[str, Any]) -> None:
    told["markets"][0]["fingerprint"] = "0f" * 32


def other_run(told: dict[str, Any]) -> None:
    told["run"] = 7


# What was done to the page, the state that it must have, and what it must say.
TAMPERED: dict[str, tuple[Callable[[str], str], str, list[str]]] = {
    "a decision": (
        lambda page: with_bytes(page, "record", edited(30, "decision", '"{\\\\"orders\\\\":[]}"')),
        "differs",
        ["step 30", "decision", "Likely cause", "2021-"],
    ),
    "a NAV of the record": (
        lambda page: with_bytes(page, "record", edited(30, "nav", "1.5")),
        "differs",
        ["step 30", "Bar", "nav", "1.5", "Likely cause"],
    ),
    "a byte of the record": (
        lambda page: with_bytes(page, "record", lambda content: flipped(content, 40)),
        "not verified",
        ["record"],
    ),
    "the end of the record": (
        lambda page: with_part(page, "record", lambda text: text[: len(text) // 2]),
        "not verified",
        ["The record in this page cannot be unpacked"],
    ),
    "a price": (
        lambda page: with_bytes(page, "market-0", lambda content: flipped(content, len(content) // 2)),
        "differs",
        ["The market prices is not the one that this page names", "Fingerprint computed"],
    ),
    "all of the market": (
        lambda page: with_bytes(page, "market-0", lambda _: b"nothing"),
        "not verified",
        ["The market in this page cannot be read"],
    ),
    "another market and its fingerprint": (
        lambda page: with_told(
            with_bytes(page, "market-0", lambda _: market(2).to_bytes()),
            lambda told: told["markets"][0].update(fingerprint=market(2).fingerprint),
        ),
        "differs",
        ["header", "fingerprint", "Likely cause"],
    ),
    "the fingerprint named": (lambda page: with_told(page, other_market), "differs", ["Fingerprint named", "0f" * 32]),
    "the digest named": (lambda page: with_told(page, other("digest")), "differs", ["another digest", "0f" * 32]),
    "the run named": (lambda page: with_told(page, other_run), "not verified", ["names run 7"]),
    "what the page says of itself": (
        lambda page: with_part(page, "told", lambda _: "{"),
        "not verified",
        ["cannot be read"],
    ),
    "a byte of the engine": (
        lambda page: with_bytes(page, "engine", lambda content: flipped(content, len(content) // 2)),
        "not verified",
        ["The engine in this page is not the one"],
    ),
    "the engine named": (
        lambda page: with_told(page, other("engine")),
        "not verified",
        ["The engine in this page is not the one"],
    ),
    "the NAV bar by bar": (
        lambda page: with_trace(page, more_nav),
        "differs",
        ["another NAV", "Bar", "79, 2021-03-21", "Shown", "Replayed"],
    ),
    "a key figure": (
        lambda page: re.sub(r'(data-metric="return" data-unit="gain">)[^<]*', r"\g<1>+99.9%", page, count=1),
        "differs",
        ["another number", "return", "+99.9%"],
    ),
    "a metric that is undefined": (
        lambda page: re.sub(r'(data-metric="sharpe" data-unit="ratio">)[^<]*', "\\g<1>\N{EM DASH}", page, count=1),
        "differs",
        ["another number", "sharpe"],
    ),
    "the verdict": (
        lambda page: re.sub(r'(class="verdict">)[^<]*', r"\g<1>Skill beyond doubt.", page, count=1),
        "differs",
        ["words or charts"],
    ),
    "the equity curve": (
        lambda page: re.sub(
            r'(class="oo-line c-agent oo-strong"[^>]* d="M\d+ \d+l\d+ ?)-?\d+', r"\g<1>-40", page, count=1
        ),
        "differs",
        ["The equity curve"],
    ),
    "a line of another chart": (
        lambda page: re.sub(r'(class="oo-line c-delayed oo-strong"[^>]* d="M\d+ \d+l)', r"\g<1>1 1 ", page, count=1),
        "differs",
        ["words or charts"],
    ),
}
