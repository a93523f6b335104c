"""The page that verifies itself unpacks a market of its reader up to a limit."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import openoutcry.report.pages

pytestmark = pytest.mark.once

PAGE = Path(openoutcry.report.pages.__file__).with_name("proof_page.js")
SCRIPT = """
const text = require("fs").readFileSync(process.argv[1], "utf8"), { gzipSync } = require("zlib");
const start = text.indexOf("const inflated"), end = text.indexOf("const utf8", start);
const inflated = new Function(text.slice(start, end) + "; return inflated;")();
const tried = (bytes) => inflated(gzipSync(bytes)).then((found) => found.length, (error) => error.name);
Promise.all([tried("hello"), tried(Buffer.alloc(65 * 2 ** 20))]).then((found) => console.log(found.join(" ")));
"""


def test_a_page_unpacks_a_market_up_to_a_limit() -> None:
    node = shutil.which("node") or pytest.skip("needs Node")
    done = subprocess.run([node, "-e", SCRIPT, PAGE], capture_output=True, text=True, check=True)
    assert done.stdout == "5 RangeError\n"
