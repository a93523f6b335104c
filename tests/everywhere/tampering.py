"""What may be done to a page that verifies itself, and what it must then say."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections.abc import Callable
from typing import Any

from report_proofs import flipped, market, part_of, with_bytes, with_part, with_told, with_trace, with_words

import openoutcry as oo
from openoutcry.report.pages.proof_panel import proof_panel
from openoutcry.report.self_verifying import market_of, proof_of


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


def another_engine(page: str) -> str:
    """Return a page with an engine that is not the package's, which names that one's SHA-256."""
    section = b"\0\3\1x!"
    engine = gzip.decompress(base64.b64decode(part_of(page, "engine"))) + section
    named = with_told(page, lambda told: told.update(engine=hashlib.sha256(engine).hexdigest()))
    return with_bytes(named, "engine", lambda content: content + section)


def another_record(page: str) -> str:
    """Return a page with a record of the same decisions, by another agent after many trials."""
    run = oo.run_backtest(market(), "momentum", name="momentum", capture=True)
    record = oo.RunRecord.join("somebody else", [run.record], 5000)
    named = with_told(page, lambda told: told.update(digest=record.digest))
    panel = proof_panel(proof_of(record, 0, [market_of(market())]))
    return with_part(named, "record", lambda _: part_of(panel, "record"))


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
        ["This page was changed after it was made"],
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
        ["This page was changed after it was made"],
    ),
    "the end of a number": (
        lambda page: re.sub(r'(data-metric="sharpe" data-unit="ratio">[^<]*)', r"\g<1>e3", page, count=1),
        "differs",
        ["another number", "sharpe"],
    ),
    "words in place of a number": (
        lambda page: re.sub(r'<span data-metric="return"[^>]*>[^<]*</span>', "+999.9%", page, count=1),
        "differs",
        ["This page was changed after it was made"],
    ),
    "the standard error": (
        lambda page: re.sub(r'(data-metric="sharpe_se" data-unit="ratio">)[^<]*', r"\g<1>0.01", page, count=1),
        "differs",
        ["another number", "sharpe_se"],
    ),
    "the style": (
        lambda page: with_words(
            page,
            "</style>",
            '[data-metric="return"]{font-size:0}[data-metric="return"]::after{content:"+999.9%"}</style>',
        ),
        "differs",
        ["This page was changed after it was made"],
    ),
    "an attribute of a drawing": (
        lambda page: with_words(page, '<path class="', '<path transform="scale(1,-1)" class="'),
        "differs",
        ["This page was changed after it was made"],
    ),
    "a field with a value": (
        lambda page: with_words(page, "<main>", '<main><input readonly value="+999.9%">'),
        "differs",
        ["This page was changed after it was made"],
    ),
    "words in the box": (
        lambda page: with_words(page, '<ol class="proof-steps">', '<p>Return +999.9%</p><ol class="proof-steps">'),
        "differs",
        ["This page was changed after it was made"],
    ),
    "a digit moved to the next cell": (
        lambda page: re.sub(r"(\d)</td><td>", r"</td><td>\g<1>", page, count=1),
        "differs",
        ["This page was changed after it was made"],
    ),
    "no lines in the equity chart": (
        lambda page: page.replace('class="oo-marks"', 'class="x"'),
        "differs",
        ["The equity curve"],
    ),
    "the bars bar by bar": (
        lambda page: with_trace(page, lambda trace: trace.update(first=10**9)),
        "differs",
        ["has other bars"],
    ),
    "the digits bar by bar": (
        lambda page: with_trace(page, lambda trace: trace["nav"].update(d=-9)),
        "differs",
        ["fewer digits"],
    ),
    "another style": (
        lambda page: with_words(page, "</head>", '<style media="print">p{top:0}</style></head>'),
        "differs",
        ["This page was changed after it was made"],
    ),
    "an attribute of the page": (
        lambda page: with_words(page, "<body>", '<body style="transform:scaleX(-1)">'),
        "differs",
        ["This page was changed after it was made"],
    ),
    "its title": (
        lambda page: with_words(page, "<title>", "<title>+"),
        "differs",
        ["This page was changed after it was made"],
    ),
    "no doctype": (
        lambda page: with_words(page, "<!doctype html>", ""),
        "differs",
        ["This page was changed after it was made"],
    ),
    "words in an attribute": (
        lambda page: re.sub(r'class="verdict">([^<=]*)', r"""class="verdict" '\g<1>=''>""", page, count=1),
        "differs",
        ["This page was changed after it was made"],
    ),
    "words in a script that is none": (
        lambda page: with_words(
            page, "<body>", '<body><script type="text/plain" style="display:block">Return +999.9%</script>'
        ),
        "differs",
        ["This page was changed after it was made"],
    ),
    "another part that is shown": (
        lambda page: with_words(
            page,
            '<template data-part="told">',
            '<template data-part="x" style="display:block"></template><template data-part="told">',
        ),
        "differs",
        ["This page was changed after it was made"],
    ),
    "another engine, and its name": (another_engine, "differs", ["This page was changed after it was made"]),
    "another record, and its name": (another_record, "differs", ["This page was changed after it was made"]),
    "words behind the script": (
        lambda page: with_words(page, "</script>\n</body>", "</script>\n<p>Return +999.9%</p></body>"),
        "differs",
        ["This page was changed after it was made"],
    ),
}


def _unnamed(page: str, *, shown: str) -> str:
    return re.sub(r'<span data-metric="return"[^>]*>[^<]*</span>', shown, page)


# Pages whose digest of what they show was made again after the change, and what they must still say.
FORGED: dict[str, tuple[Callable[[str], str], str, str]] = {
    "a sentence": (lambda page: re.sub(r'(class="verdict">)[^<]*', r"\g<1>Skill.", page, count=1), "verified", ""),
    "all of a number's places": (lambda page: _unnamed(page, shown="+999.9%"), "differs", "leaves out a number"),
    "the end of a number": (
        lambda page: re.sub(r'(data-metric="sharpe" data-unit="ratio">[^<]*)', r"\g<1>e3", page, count=1),
        "differs",
        "another number",
    ),
    "the bars bar by bar": (
        lambda page: with_trace(page, lambda trace: (trace.update(first=10**9), trace["nav"].update(v=[10**6]))),
        "differs",
        "has other bars",
    ),
    "the dates bar by bar": (
        lambda page: with_trace(page, lambda trace: trace["dates"].reverse()),
        "differs",
        "has other bars",
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
    "no bars": (lambda page: page.replace('class="inspector"', 'class="x"'), "differs", "bar by bar is missing"),
    "bars without digits": (
        lambda page: with_trace(
            page, lambda trace: trace.update(nav={"d": 0, "v": [1, *([0] * (len(trace["nav"]["v"]) - 1))]})
        ),
        "differs",
        "fewer digits",
    ),
    "digits that look like the mark of a note": (
        lambda page: re.sub(r'(data-metric="return"[^>]*>)', r'\1<sup style="font-size:1em">99</sup>', page, count=1),
        "differs",
        "another number",
    ),
}
