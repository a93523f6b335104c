"""Complete HTML documents with inline style and script, which load nothing."""

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


def document(
    title: str, body: str, *, inspector: bool = False, proof: bool = False, trades: bool = False, css: str = ""
) -> str:
    """Return a complete page around `body`, which must be HTML.

    With `inspector`, the page contains the script that shows any bar of its packed trace; with `trades`, the one that
    filters trades. With `proof`, it contains the engine, and its policy allows WebAssembly. `css` follows the style
    sheet of every page.

    The content security policy lets the page load nothing and run only its own script, so markup that slipped through
    the escaping could not execute.
    """
    script = _text("page.js") + (_text("tables.js") if trades else "") + (_text("inspector.js") if inspector else "")
    if proof:
        # After the page is loaded; the verification reads it before any other script changes it.
        deferred = f'document.addEventListener("DOMContentLoaded", () => {{\n{proof_script()}{script}}});\n'
        script = engine_script() + deferred
    allowed = f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
    allowed += " 'wasm-unsafe-eval'" if proof else ""
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}"
    sheet = style() + _text("scores.css") + (_text("proof.css") if proof else "") + css
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{escape(title)}</title>\n<style>\n{sheet}</style>\n</head>\n"
        f"<body>\n{body}\n<script>{script}</script>\n</body>\n</html>\n"
    )


def style() -> str:
    """Return the style sheet of every page: colours, charts, tables and text."""
    sheets = ("page", "sections", "tables", "comparison", "search")
    return stylesheet(":root") + "".join(_text(f"{name}.css") for name in sheets)


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
