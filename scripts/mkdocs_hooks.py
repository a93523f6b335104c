"""Build the site from the pages of `docs/`.

The contract, which is outside `docs/`, is published as pages and files. Links in pages name files of the repository, so
that they work on a repository browser; here they become links to pages. The comment `table: contract/errors.json`
becomes the table of errors, and the first use of each glossary term on a page becomes a link.
"""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path
from typing import Any

from markdown.extensions.toc import slugify
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
# Path in the repository -> path in the site. Schemas are published at their `$id`.
PUBLISHED = {
    "contract/README.md": "interface.md",
    "GOVERNANCE.md": "governance.md",
    "contract/observation.schema.json": "contract/v1/observation.schema.json",
    "contract/decision.schema.json": "contract/v1/decision.schema.json",
    "contract/errors.json": "contract/v1/errors.json",
}
SOURCES = {published: source for source, published in PUBLISHED.items()}

_LINK = re.compile(r"(?<=\]\()(?P<path>[^)#:\s]+)(?=[)#])")
# Code, links, bold text and HTML, in which terms are not linked.
_KEPT = re.compile(r"(`[^`]*`|!?\[[^\]]*\]\([^)]*\)|<[^>]*>|\*\*[^*]*\*\*)")
# Terms, and the pages on which they have another sense: an operating system, a journal's event, a numpy baseline.
_OTHER_SENSE = {
    "baseline": ("performance.md",),
    "event": ("arena-snapshots.md", "contamination.md", "data.md", "research.md", "verifiers.md"),
    "fault": ("arena-evidence.md", "performance.md"),
    "martingale": ("verifiers.md",),
    "season": ("suite.md",),
    "tier": ("arena-snapshots.md",),
    "window": ("releasing.md",),
}
_FENCE_WORD = re.compile(r"^```python notest$", re.MULTILINE)
_FOREIGN = re.compile(r"<(?:script|img|iframe|link(?! rel=.canonical))[^>]+(?:src|href)=.?(?:https?:)?//", re.I)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the published files."""
    for source, published in PUBLISHED.items():
        files.append(File.generated(config, published, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links to published files at their pages."""
    here = page.file.src_uri
    folder = posixpath.dirname(SOURCES.get(here, f"docs/{here}"))

    def follow(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, link["path"]))
        published = PUBLISHED.get(target, target.removeprefix("docs/") if here in SOURCES else None)
        return posixpath.relpath(published, posixpath.dirname(here) or ".") if published else link["path"]

    text = markdown.replace("<!-- table: contract/errors.json -->", error_table())
    text = _LINK.sub(follow, _FENCE_WORD.sub("```python", text))
    return text if here in ("glossary.md", *SOURCES) else link_terms(text, here)


def error_table() -> str:
    """Return the errors of the contract as Markdown, a section for each slug."""
    errors = json.loads((ROOT / "contract" / "errors.json").read_text(encoding="utf-8"))["errors"]
    return "\n\n".join(_error(each) for each in errors)


def _error(error: dict[str, Any]) -> str:
    given = error["example"]["given"]
    shown = given if isinstance(given, str) else json.dumps(given)
    example = f"Example: `{shown}` raises `{error['example']['message']}`." if "`" not in shown else ""
    return f"### {error['slug']}\n\n{error['message']}\n\nKind: {error['kind']}. {example}"


def terms() -> dict[str, str]:
    """Return the anchor of each glossary term by its lower-case name; the longest names first."""
    headings = re.findall(r"^### (.+)$", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
    anchors = {}
    for heading in headings:
        for name in re.split(r",| \(|\)", heading):
            if name.strip():
                anchors[name.strip().lower()] = slugify(heading, "-")
    return dict(sorted(anchors.items(), key=lambda item: -len(item[0])))


def link_terms(markdown: str, page: str) -> str:
    """Link the first use of each glossary term in the prose of a page."""
    prefix = posixpath.relpath("glossary.md", posixpath.dirname(page) or ".")
    # A page's own links to the glossary count as first uses.
    left = {
        name: anchor
        for name, anchor in terms().items()
        if f"{prefix}#{anchor})" not in markdown and page not in _OTHER_SENSE.get(name, ())
    }
    lines = markdown.split("\n")
    fenced = False
    for number, line in enumerate(lines):
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        if fenced or not left or line.startswith(("#", "|", "    ", "<", "!", ":::", "```")):
            continue
        for name in list(left):
            if name not in left:
                continue
            word = re.compile(rf"(?<![\w`\[/-]){re.escape(name)}s?(?![\w`\]/-])", re.IGNORECASE)
            parts = _KEPT.split(line)
            for place in range(0, len(parts), 2):
                if match := word.search(parts[place]):
                    link = f"[{match[0]}]({prefix}#{left[name]})"
                    left = {other: anchor for other, anchor in left.items() if anchor != left[name]}
                    parts[place] = parts[place][: match.start()] + link + parts[place][match.end() :]
                    line = "".join(parts)
                    break
        lines[number] = line
    return "\n".join(lines)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Refuse a page that loads anything from another host: the site must read offline."""
    foreign = _FOREIGN.search(output)
    if foreign:
        raise PluginError(f"{page.file.src_uri} must load nothing from another host; received {foreign[0]}")
    return output
