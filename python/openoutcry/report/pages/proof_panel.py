"""What a page needs to recompute its run: engine, record, market, and a panel.

The engine is that of `scripts/wasm`; a package that was built without it has no such pages.
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
# Python and JavaScript take other characters for white space, but not of these.
_SPACE = re.compile("[ \t\n\r\f]+")
# Tags that have no end, though some write one.
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_LIMIT = (
    "A verification shows that the numbers in this box follow from the decisions and the prices, by the engine in this"
    " file. Whoever gave you the file could have made another script, style or engine for it, and so another box. To be"
    " sure, save the record, replay it with an engine that you have from elsewhere, and compare the digest with one"
    " that was published."
)


@dataclass(frozen=True)
class ProofMarket:
    """A market of the record.

    Attributes:
        name: What records call it.
        fingerprint: SHA-256 of its bytes, in hexadecimal.
        commitment: What was published of the key of a sealed one; empty for none.
        periods_per_year: Bars a year, which a CSV file does not say.
        content: The bytes that the fingerprint is of; None leaves them to the reader of the page.
        spec: JSON of the scenario that the market is made from in place of `content`; empty for none.
        key: Revealed key of that scenario, in hexadecimal.
    """

    name: str
    fingerprint: str
    commitment: str
    periods_per_year: float
    content: bytes | None
    spec: str = ""
    key: str = ""

    @property
    def is_asked_for(self) -> bool:
        """Whether the reader must have it."""
        return self.content is None and not self.spec


@dataclass(frozen=True)
class Proof:
    """What the page of a run is recomputed from.

    Attributes:
        record: Canonical JSON of the whole record.
        digest: Its digest.
        run: Index of the run that the page shows.
        markets: Markets of the record.
        fill_key: Revealed key of sealed slippage noise, in hexadecimal; empty for none.
        public_key: Key that must have signed the record, in hexadecimal; empty for any or none.
    """

    record: str
    digest: str
    run: int
    markets: Sequence[ProofMarket]
    fill_key: str = ""
    public_key: str = ""


def proof_script() -> str:
    """Return the script that reads the page, and asks the engine."""
    here = Path(__file__)
    return "".join(here.with_name(name).read_text(encoding="utf-8") for name in ("proof_page.js", "proof.js"))


def proof_panel(proof: Proof) -> str:
    """Return the panel of a page, which lacks the digest of that page."""
    packed = (ENGINE / "engine.wasm.gz").read_bytes()
    held = {name: key for name in ("fill_key", "public_key") if (key := getattr(proof, name))}
    told = {
        "digest": proof.digest,
        "run": proof.run,
        "held": held,
        "engine": engine_digest(),
        "markets": [_told(market) for market in proof.markets],
    }
    parts = [_part("page", ""), _part("told", json.dumps(told))]
    parts += [_part("engine", _text(packed)), _part("record", _record(proof.record))]
    for place, market in enumerate(proof.markets):
        if market.content is not None and not market.spec:
            parts.append(_part(f"market-{place}", _squeezed(market.content)))
    return (
        '<section class="proof" aria-labelledby="proof-head"><h2 id="proof-head" class="hidden">Verification</h2>'
        '<div class="proof-top"><p class="proof-state" role="status"><b>not verified</b>'
        "<span>The script of this page has not run.</span></p>"
        f'<button type="button" disabled>Verify</button></div>{_asked(proof.markets)}'
        f'<ol class="proof-steps"></ol><dl class="proof-found"></dl><p class="fine">{_LIMIT}</p>{"".join(parts)}'
        "</section>"
    )


def with_digest(page: str) -> str:
    """Return a page whose panel has the digest of all of it."""
    empty = _part("page", "")
    return page.replace(empty, _part("page", content_digest(page)), 1)


def _told(market: ProofMarket) -> dict[str, object]:
    told: dict[str, object] = {
        "name": market.name,
        "fingerprint": market.fingerprint,
        "commitment": market.commitment or None,
        "periods_per_year": market.periods_per_year,
    }
    return told | ({"spec": market.spec, "key": market.key} if market.spec else {})


def _asked(markets: Sequence[ProofMarket]) -> str:
    wanted = [market for market in markets if market.is_asked_for]
    if not wanted:
        return ""
    names = ", ".join(f"{market.name} (fingerprint {market.fingerprint[:16]}\u2026)" for market in wanted)
    what = "its market" if len(wanted) == 1 else f"{len(wanted)} of its markets"
    return (
        f'<div class="proof-ask"><label for="proof-files">This page does not carry {what}: {escape(names)}. Choose a'
        " CSV file, or one that <code>openoutcry data export</code> wrote.</label>"
        '<input type="file" id="proof-files" multiple disabled></div>'
    )


def _part(name: str, text: str) -> str:
    return f'<template data-part="{name}">{escape(text)}</template>'


def _record(text: str) -> str:
    """Return a record with a zero byte for each digest, and their bytes behind it.

    As digits, which cannot be compressed to their half, digests would be most of the page.
    """
    digests = bytes.fromhex("".join(_DIGEST.findall(text)))
    # No JSON has a bare zero byte.
    shortened = _DIGEST.sub("\0", text).encode()
    return _squeezed(len(shortened).to_bytes(4, "little") + shortened + digests)


def _squeezed(content: bytes) -> str:
    # No moment in it: the same run is the same page.
    return _text(gzip.compress(content, 9, mtime=0))


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


class _Content(HTMLParser):
    """Collects what a page is made of, in order: tags, attributes, and words."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self._words: list[str] = []
        self._is_digest = False

    def flush(self) -> None:
        # Each kind has a first character of its own: no word can pass for a tag.
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
    """Return the SHA-256 of all of a page but that digest itself.

    That is tags, attributes, words, style, script and parts, however white space is laid. `proof_page.js` computes the
    same in the page, before another script changes it.
    """
    reader = _Content()
    reader.feed(page)
    reader.close()
    reader.flush()
    return hashlib.sha256("\n".join(reader.seen).encode()).hexdigest()
