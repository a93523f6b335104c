"""Modifications of a self-verifying page, with the expected state and message."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections.abc import Callable
from typing import Any

from report_proofs import flipped, market, part_of, with_bytes, with_claims, with_part, with_trace, with_words

import openoutcry as oo
from openoutcry.report.pages.proof_panel import proof_panel
from openoutcry.report.self_verifying import market_of, proof_of


def edited(step: int, field: str, value: str) -> Callable[[bytes], bytes]:
    """Return a function that changes a field in a step of a packed record."""

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
    def change(claims: dict[str, Any]) -> None:
        claims[field] = "0f" * 32

    return change


def other_market(claims: dict[str, Any]) -> None:
    claims["markets"][0]["fingerprint"] = "0f" * 32


def other_run(claims: dict[str, Any]) -> None:
    claims["run"] = 7


def another_engine(page: str) -> str:
    """Return a page with a modified engine and its SHA-256."""
    section = b"\0\3\1x!"
    engine = gzip.decompress(base64.b64decode(part_of(page, "engine"))) + section
    named = with_claims(page, lambda claims: claims.update(engine=hashlib.sha256(engine).hexdigest()))
    return with_bytes(named, "engine", lambda content: content + section)


def another_record(page: str) -> str:
    """Return a page with a record of the same decisions by another agent, with many trials."""
    run = oo.run_backtest(market(), "momentum", name="momentum", capture=True)
    record = oo.RunRecord.join("somebody else", [run.record], 5000)
    named = with_claims(page, lambda claims: claims.update(digest=record.digest))
    panel = proof_panel(proof_of(record, 0, [market_of(market())]))
    return with_part(named, "record", lambda _: part_of(panel, "record"))


# Modification, expected state of the page, expected messages.
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
        ["The market prices does not have the fingerprint stated by this page", "Fingerprint computed"],
    ),
    "all of the market": (
        lambda page: with_bytes(page, "market-0", lambda _: b"nothing"),
        "not verified",
        ["The market in this page cannot be read"],
    ),
    "another market with its fingerprint": (
        lambda page: with_claims(
            with_bytes(page, "market-0", lambda _: market(2).to_bytes()),
            lambda claims: claims["markets"][0].update(fingerprint=market(2).fingerprint),
        ),
        "differs",
        ["header", "fingerprint", "Likely cause"],
    ),
    "the stated fingerprint": (
        lambda page: with_claims(page, other_market),
        "differs",
        ["Fingerprint stated", "0f" * 32],
    ),
    "the stated digest": (
        lambda page: with_claims(page, other("digest")),
        "differs",
        ["digest stated by this page", "0f" * 32],
    ),
    "the stated run": (lambda page: with_claims(page, other_run), "not verified", ["shows run 7"]),
    "the claims of the page": (
        lambda page: with_part(page, "claims", lambda _: "{"),
        "not verified",
        ["cannot be read"],
    ),
    "a byte of the engine": (
        lambda page: with_bytes(page, "engine", lambda content: flipped(content, len(content) // 2)),
        "not verified",
        ["The engine in this page is not the one"],
    ),
    "the stated engine": (
        lambda page: with_claims(page, other("engine")),
        "not verified",
        ["The engine in this page is not the one"],
    ),
    "the bar-by-bar NAV": (
        lambda page: with_trace(page, more_nav),
        "differs",
        ["NAV of this page differs", "Bar", "79, 2021-03-21", "Shown", "Replayed"],
    ),
    "a key figure": (
        lambda page: re.sub(r'(data-metric="return" data-unit="gain">)[^<]*', r"\g<1>+99.9%", page, count=1),
        "differs",
        ["metric of this page differs", "return", "+99.9%"],
    ),
    "a metric that is undefined": (
        lambda page: re.sub(r'(data-metric="sharpe" data-unit="ratio">)[^<]*', "\\g<1>\N{EM DASH}", page, count=1),
        "differs",
        ["metric of this page differs", "sharpe"],
    ),
    "the verdict": (
        lambda page: re.sub(r'(class="verdict">)[^<]*', r"\g<1>Skill beyond doubt.", page, count=1),
        "differs",
        ["This page was changed after it was written"],
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
        ["This page was changed after it was written"],
    ),
    "the end of a number": (
        lambda page: re.sub(r'(data-metric="sharpe" data-unit="ratio">[^<]*)', r"\g<1>e3", page, count=1),
        "differs",
        ["metric of this page differs", "sharpe"],
    ),
    "text in place of a number": (
        lambda page: re.sub(r'<span data-metric="return"[^>]*>[^<]*</span>', "+999.9%", page, count=1),
        "differs",
        ["This page was changed after it was written"],
    ),
    "the standard error": (
        lambda page: re.sub(r'(data-metric="sharpe_se" data-unit="ratio">)[^<]*', r"\g<1>0.01", page, count=1),
        "differs",
        ["metric of this page differs", "sharpe_se"],
    ),
    "the style": (
        lambda page: with_words(
            page,
            "</style>",
            '[data-metric="return"]{font-size:0}[data-metric="return"]::after{content:"+999.9%"}</style>',
        ),
        "differs",
        ["This page was changed after it was written"],
    ),
    "an attribute of a drawing": (
        lambda page: with_words(page, '<path class="', '<path transform="scale(1,-1)" class="'),
        "differs",
        ["This page was changed after it was written"],
    ),
    "a field with a value": (
        lambda page: with_words(page, "<main>", '<main><input readonly value="+999.9%">'),
        "differs",
        ["This page was changed after it was written"],
    ),
    "text in the box": (
        lambda page: with_words(page, '<ol class="proof-steps">', '<p>Return +999.9%</p><ol class="proof-steps">'),
        "differs",
        ["This page was changed after it was written"],
    ),
    "a digit moved to the next cell": (
        lambda page: re.sub(r"(\d)</td><td>", r"</td><td>\g<1>", page, count=1),
        "differs",
        ["This page was changed after it was written"],
    ),
    "no lines in the equity chart": (
        lambda page: page.replace('class="oo-marks"', 'class="x"'),
        "differs",
        ["The equity curve"],
    ),
    "the bar-by-bar bars": (
        lambda page: with_trace(page, lambda trace: trace.update(first=10**9)),
        "differs",
        ["bars of this page differ"],
    ),
    "the bar-by-bar digits": (
        lambda page: with_trace(page, lambda trace: trace["nav"].update(d=-9)),
        "differs",
        ["fewer digits"],
    ),
    "another style": (
        lambda page: with_words(page, "</head>", '<style media="print">p{top:0}</style></head>'),
        "differs",
        ["This page was changed after it was written"],
    ),
    "an attribute of the page": (
        lambda page: with_words(page, "<body>", '<body style="transform:scaleX(-1)">'),
        "differs",
        ["This page was changed after it was written"],
    ),
    "its title": (
        lambda page: with_words(page, "<title>", "<title>+"),
        "differs",
        ["This page was changed after it was written"],
    ),
    "no doctype": (
        lambda page: with_words(page, "<!doctype html>", ""),
        "differs",
        ["This page was changed after it was written"],
    ),
    "text in an attribute": (
        lambda page: re.sub(r'class="verdict">([^<=]*)', r"""class="verdict" '\g<1>=''>""", page, count=1),
        "differs",
        ["This page was changed after it was written"],
    ),
    "text in an inert script": (
        lambda page: with_words(
            page, "<body>", '<body><script type="text/plain" style="display:block">Return +999.9%</script>'
        ),
        "differs",
        ["This page was changed after it was written"],
    ),
    "a visible additional part": (
        lambda page: with_words(
            page,
            '<template data-part="claims">',
            '<template data-part="x" style="display:block"></template><template data-part="claims">',
        ),
        "differs",
        ["This page was changed after it was written"],
    ),
    "another engine with its SHA-256": (another_engine, "differs", ["This page was changed after it was written"]),
    "another record with its digest": (another_record, "differs", ["This page was changed after it was written"]),
    "text after the script": (
        lambda page: with_words(page, "</script>\n</body>", "</script>\n<p>Return +999.9%</p></body>"),
        "differs",
        ["This page was changed after it was written"],
    ),
}


def _unnamed(page: str, *, shown: str) -> str:
    return re.sub(r'<span data-metric="return"[^>]*>[^<]*</span>', shown, page)


# Modifications followed by a recomputed page digest, with the expected state and message.
FORGED: dict[str, tuple[Callable[[str], str], str, str]] = {
    "a sentence": (lambda page: re.sub(r'(class="verdict">)[^<]*', r"\g<1>Skill.", page, count=1), "verified", ""),
    "a number in all places": (lambda page: _unnamed(page, shown="+999.9%"), "differs", "omits a metric"),
    "the end of a number": (
        lambda page: re.sub(r'(data-metric="sharpe" data-unit="ratio">[^<]*)', r"\g<1>e3", page, count=1),
        "differs",
        "metric of this page differs",
    ),
    "the bar-by-bar bars": (
        lambda page: with_trace(page, lambda trace: (trace.update(first=10**9), trace["nav"].update(v=[10**6]))),
        "differs",
        "bars of this page differ",
    ),
    "the bar-by-bar dates": (
        lambda page: with_trace(page, lambda trace: trace["dates"].reverse()),
        "differs",
        "bars of this page differ",
    ),
    "no equity curve": (lambda page: re.sub(r'(data-axis="[^"]*) nav"', r'\1 x"', page), "differs", "The equity curve"),
    "another axis": (
        lambda page: re.sub(r'data-axis="(\S+ \S+) (\S+) (\S+) (.*? nav)"', r'data-axis="\1 \3 \2 \4"', page),
        "differs",
        "The equity curve",
    ),
    "other dates of the axis": (
        lambda page: re.sub(r'data-axis="(\d+) (\d+) (.* nav)"', r'data-axis="1\1 \2 \3"', page),
        "differs",
        "The equity curve",
    ),
    "no bars": (lambda page: page.replace('class="inspector"', 'class="x"'), "differs", "bar-by-bar data is missing"),
    "bars without digits": (
        lambda page: with_trace(
            page, lambda trace: trace.update(nav={"d": 0, "v": [1, *([0] * (len(trace["nav"]["v"]) - 1))]})
        ),
        "differs",
        "fewer digits",
    ),
    "digits that look like a footnote mark": (
        lambda page: re.sub(r'(data-metric="return"[^>]*>)', r'\1<sup style="font-size:1em">99</sup>', page, count=1),
        "differs",
        "metric of this page differs",
    ),
}
