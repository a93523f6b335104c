"""What the pages load and hand out, under names that change with its content."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from openoutcry.report.pages.html_document import style

PREFIX = "/static/"
_FOLDER = Path(__file__).with_name("static")
_VERIFIERS = [Path(__file__).parents[1] / name for name in ("rescoring.py", "verifier.py")]
_MEDIA = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
# A browser shows it: whoever is to trust it should read it.
_MEDIA["py"] = "text/plain; charset=utf-8"


class Assets:
    """The static files, read once."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[bytes, str]] = {}
        self._paths: dict[str, str] = {}
        for path in sorted([*_FOLDER.iterdir(), *_VERIFIERS]):
            content = path.read_bytes()
            if path.name == "arena.css":
                # Colours, charts and tables look as in every report.
                content = style().encode() + content
            named = f"{path.stem}.{sha256(content).hexdigest()[:16]}{path.suffix}"
            self._found[named] = content, _MEDIA[path.suffix[1:]]
            self._paths[path.name] = PREFIX + named

    def path(self, name: str) -> str:
        """Return the path at which a file is served."""
        return self._paths[name]

    def get(self, named: str) -> tuple[bytes, str] | None:
        """Return content and media type by the name that is served; None where it is none."""
        return self._found.get(named)
