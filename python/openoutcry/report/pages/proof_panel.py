"""Verification panel of self-verifying pages, with engine, record and markets.

`scripts/wasm` builds the engine; a package built without it cannot write such pages.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from openoutcry.report.text_format import escape
from openoutcry.report.wasm_engine import ENGINE, engine_digest

__all__ = [
    "Proof",
    "ProofMarket",
    "content_digest",
    "proof_panel",
    "proof_script",
    "with_digest",
]

_DIGEST = re.compile("[0-9a-f]{64}")
# Python and JavaScript agree on these white-space characters only.
_SPACE = re.compile("[ \t\n\r\f]+")
# Void elements have no end tag, though some pages write one.
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_LIMIT = (
    "A verification shows that the numbers in this box follow from the decisions and the prices, by the engine in this"
    " file. The author of the file could have replaced its script, style or engine, and so the box. For independent"
    " verification, save the record, replay it with an engine from another source, and compare the digest with the"
    " published one."
)


@dataclass(frozen=True)
class ProofMarket:
    """A market of the record.

    Attributes:
        name: Name in the records.
        fingerprint: SHA-256 of its bytes, in hexadecimal.
        commitment: Commitment to the key of a sealed market; empty for none.
        periods_per_year: Bars per year, which a CSV file does not contain; None if unknown.
        content: Bytes of the market; None if the reader of the page supplies its file.
        spec: JSON of the scenario that generates the market, instead of `content`; empty for none.
        key: Revealed key of that scenario, in hexadecimal.
    """

    name: str
    fingerprint: str
    commitment: str
    periods_per_year: float | None
    content: bytes | None
    spec: str = ""
    key: str = ""

    @property
    def is_missing(self) -> bool:
        """Whether the reader must supply its file."""
        return self.content is None and not self.spec


@dataclass(frozen=True)
class Proof:
    """Data from which a page recomputes its run.

    Attributes:
        record: Canonical JSON of the complete record.
        digest: Digest of the record.
        run: Index of the run that the page shows.
        markets: Markets of the record.
        fill_key: Revealed key of sealed slippage noise, in hexadecimal; empty for none.
        public_key: Required signing key of the record, in hexadecimal; empty accepts any or none.
    """

    record: str
    digest: str
    run: int
    markets: Sequence[ProofMarket]
    fill_key: str = ""
    public_key: str = ""


def proof_script() -> str:
    """Return the script that reads the page and calls the engine."""
    here = Path(__file__)
    return "".join(here.with_name(name).read_text(encoding="utf-8") for name in ("proof_page.js", "proof.js"))


def proof_panel(proof: Proof) -> str:
    """Return the verification panel of a page, without the digest of that page."""
    packed = (ENGINE / "engine.wasm.gz").read_bytes()
    held = {name: key for name in ("fill_key", "public_key") if (key := getattr(proof, name))}
    claims = {
        "digest": proof.digest,
        "run": proof.run,
        "held": held,
        "engine": engine_digest(),
        "markets": [_market_fields(market) for market in proof.markets],
    }
    parts = [_part("page", ""), _part("claims", json.dumps(claims))]
    parts += [_part("engine", _text(packed)), _part("record", _record(proof.record))]
    for place, market in enumerate(proof.markets):
        if market.content is not None and not market.spec:
            parts.append(_part(f"market-{place}", _squeezed(market.content)))
    return (
        '<section class="proof" aria-labelledby="proof-head"><h2 id="proof-head" class="hidden">Verification</h2>'
        '<div class="proof-top"><p class="proof-state" role="status"><b>not verified</b>'
        "<span>The script of this page has not run.</span></p>"
        f'<button type="button" disabled>Verify</button></div>{_file_prompt(proof.markets)}'
        f'<ol class="proof-steps"></ol><dl class="proof-found"></dl><p class="fine">{_LIMIT}</p>{"".join(parts)}'
        "</section>"
    )


def with_digest(page: str) -> str:
    """Return the page with its digest inserted in the panel."""
    empty = _part("page", "")
    return page.replace(empty, _part("page", content_digest(page)), 1)


def _market_fields(market: ProofMarket) -> dict[str, object]:
    fields: dict[str, object] = {
        "name": market.name,
        "fingerprint": market.fingerprint,
        "commitment": market.commitment or None,
        "periods_per_year": market.periods_per_year,
    }
    return fields | ({"spec": market.spec, "key": market.key} if market.spec else {})


def _file_prompt(markets: Sequence[ProofMarket]) -> str:
    wanted = [market for market in markets if market.is_missing]
    if not wanted:
        return ""
    names = ", ".join(f"{market.name} (fingerprint {market.fingerprint[:16]}\u2026)" for market in wanted)
    what = "its market" if len(wanted) == 1 else f"{len(wanted)} of its markets"
    return (
        f'<div class="proof-ask"><label for="proof-files">This page does not contain {what}: {escape(names)}. Choose a'
        " CSV file, or a file written by <code>openoutcry data export</code>.</label>"
        '<input type="file" id="proof-files" multiple disabled></div>'
    )


def _part(name: str, text: str) -> str:
    return f'<template data-part="{name}">{escape(text)}</template>'


def _record(text: str) -> str:
    """Encode a record with a zero byte for each digest, followed by the digest bytes.

    Hexadecimal digests do not compress to half their size, and would dominate the page.
    """
    digests = bytes.fromhex("".join(_DIGEST.findall(text)))
    # JSON cannot contain a raw zero byte.
    shortened = _DIGEST.sub("\0", text).encode()
    return _squeezed(len(shortened).to_bytes(4, "little") + shortened + digests)


def _squeezed(content: bytes) -> str:
    # Without a timestamp: the same run gives the same page.
    return _text(gzip.compress(content, 9, mtime=0))


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


class _Content(HTMLParser):
    """Collects the content of a page in order: tags, attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self._words: list[str] = []
        self._is_digest = False

    def flush(self) -> None:
        # The first character marks the kind, so that text cannot imitate a tag.
        words = _plain("".join(self._words))
        self.seen += [f"'{words}"] if words else []
        self._words.clear()

    def handle_decl(self, decl: str) -> None:
        self.seen.append(f"!{decl}")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.flush()
        self.seen.append(f"<{tag}")
        self.seen += [f"@{name}={_plain(value or '')}" for name, value in attrs]
        self._is_digest = tag == "template" and attrs[:1] == [("data-part", "page")]

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            self._is_digest = False
            self.flush()
            self.seen.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        if not self._is_digest:
            self._words.append(data)


def _plain(text: str) -> str:
    return _SPACE.sub(" ", text).strip(" ")


def content_digest(page: str) -> str:
    """Return the SHA-256 of a page, excluding the digest itself.

    Covers tags, attributes, text, style, script and parts, with white space normalized. `proof_page.js` computes the
    same value in the browser, before any other script changes the page.
    """
    reader = _Content()
    reader.feed(page)
    reader.close()
    reader.flush()
    return hashlib.sha256("\n".join(reader.seen).encode()).hexdigest()
