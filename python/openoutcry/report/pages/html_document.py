"""One HTML file with its style and script inside, which asks for nothing else."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from openoutcry.report.charts.svg import stylesheet
from openoutcry.report.pages.proof_panel import proof_script
from openoutcry.report.text_format import escape
from openoutcry.report.wasm_engine import engine_script

__all__ = ["document", "style"]

_HERE = Path(__file__).parent


def document(title: str, body: str, *, inspector: bool = False, proof: bool = False) -> str:
    """Return a complete page around `body`, which is HTML already.

    With `inspector`, the page carries the script that shows any bar of its packed trace; with `proof`, the engine's,
    and may run what is compiled for WebAssembly.

    The policy in its head lets the page load nothing and run no script but the one it carries: a name that slipped
    through the escaping still could not act.
    """
    script = _text("page.js") + (_text("inspector.js") if inspector else "")
    if proof:
        # Not before all of the page is there, and the proof reads it first, as it was written.
        awaited = f'document.addEventListener("DOMContentLoaded", () => {{\n{proof_script()}{script}}});\n'
        script = engine_script() + awaited
    allowed = f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
    allowed += " 'wasm-unsafe-eval'" if proof else ""
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}"
    sheet = style() + _text("scores.css") + (_text("proof.css") if proof else "")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{escape(title)}</title>\n<style>\n{sheet}</style>\n</head>\n"
        f"<body>\n{body}\n<script>{script}</script>\n</body>\n</html>\n"
    )


def style() -> str:
    """Return the colours, and the look of charts, tables and text on any page."""
    return stylesheet(":root") + _text("page.css") + _text("sections.css")


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
