"""Publish the contract, which lives outside `docs/`, as pages and files of the site, and follow links to it.

A link in a page names a file of the repository, so that it works where the repository is read; here it becomes a link
to the page made of that file.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
# Path in the repository -> path in the site. The schemas stand where their `$id` says.
PUBLISHED = {
    "contract/README.md": "interface.md",
    "GOVERNANCE.md": "governance.md",
    "contract/observation.schema.json": "contract/v1/observation.schema.json",
    "contract/decision.schema.json": "contract/v1/decision.schema.json",
    "contract/errors.json": "contract/v1/errors.json",
}
SOURCES = {published: source for source, published in PUBLISHED.items()}

_LINK = re.compile(r"(?<=\]\()(?P<path>[^)#:\s]+)(?=[)#])")
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

    return _LINK.sub(follow, _FENCE_WORD.sub("```python", markdown))


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Refuse a page that loads anything from another host: the site must read offline."""
    foreign = _FOREIGN.search(output)
    if foreign:
        raise PluginError(f"{page.file.src_uri} must load nothing from another host; received {foreign[0]}")
    return output
