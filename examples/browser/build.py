"""Write the playground: one HTML file with the engine and the bundled markets, which needs no server.

python examples/browser/build.py playground.html
"""

from __future__ import annotations

import base64
import gzip
import sys
from pathlib import Path

import openoutcry as oo
from openoutcry.report.charts.palette import css_variables

HERE = Path(__file__).resolve().parent
ENGINE = Path(oo.__file__).resolve().parent / "report" / "engine"
SCRIPTS = ("rules.js", "chart.js", "page.js")


def text(name: str) -> str:
    """Return a file to embed in a script element, which it must not close."""
    content = (HERE / name).read_text(encoding="utf-8")
    if "</script" in content:
        raise SystemExit(f"`</script` must not be in {name}")
    return content


def base64_of(content: bytes) -> str:
    """Encode bytes for embedding."""
    return base64.b64encode(content).decode()


def page() -> str:
    """Return the complete page."""
    if not (ENGINE / "engine.wasm.gz").exists():
        raise SystemExit("the engine for browsers is required; hint: run `scripts/wasm` in a checkout")
    options, data = [], []
    for name in oo.data.names():
        market = oo.data.load(name)
        options.append(f'<option value="{name}">{name}: {len(market.symbols)} symbols, {market.n_bars:,} bars</option>')
        packed = base64_of(gzip.compress(market.to_bytes(), 9, mtime=0))
        data.append(f'<script type="text/plain" id="market-{name}" data-market="{name}">{packed}</script>')
    parts = {
        "/*{style}*/": css_variables(":root") + text("page.css"),
        "<!--{markets}-->": "\n".join(options),
        "<!--{engine}-->": (ENGINE / "engine.js").read_text(encoding="utf-8"),
        "<!--{worker}-->": text("worker.js"),
        "<!--{wasm}-->": base64_of((ENGINE / "engine.wasm.gz").read_bytes()),
        "<!--{data}-->": "\n".join(data),
        "<!--{script}-->": "".join(map(text, SCRIPTS)),
    }
    filled = template()
    for place, content in parts.items():
        before, separator, after = filled.partition(place)
        if not separator:
            raise SystemExit(f"`{place}` is required in page.html")
        filled = before + content + after
    return filled


def template() -> str:
    """Return the page with its placeholders."""
    return (HERE / "page.html").read_text(encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"one output file is required; received {sys.argv[1:]}")
    content = page()
    Path(sys.argv[1]).write_text(content, encoding="utf-8")
    print(f"playground: {sys.argv[1]}, {len(content.encode()):,} bytes")
