"""Static files of the pages, under names with a hash of their content."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from openoutcry.report.pages.html_document import style

PREFIX = "/static/"
_FOLDER = Path(__file__).with_name("static")
_VERIFIERS = [Path(__file__).parents[1] / name for name in ("rescoring.py", "verifier.py")]
_MEDIA = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
# As plain text, so that a browser shows the verifier's source.
_MEDIA["py"] = "text/plain; charset=utf-8"


class Assets:
    """The static files, read once."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, str]] = {}
        self._paths: dict[str, str] = {}
        for path in sorted([*_FOLDER.iterdir(), *_VERIFIERS]):
            content = path.read_bytes()
            if path.name == "arena.css":
                # The reports' styles of colours, charts and tables.
                content = style().encode() + content
            name = f"{path.stem}.{sha256(content).hexdigest()[:16]}{path.suffix}"
            self._files[name] = content, _MEDIA[path.suffix[1:]]
            self._paths[path.name] = PREFIX + name

    def path(self, name: str) -> str:
        """Return the path at which a file is served."""
        return self._paths[name]

    def get(self, name: str) -> tuple[bytes, str] | None:
        """Return content and media type of a served file, or None if it does not exist."""
        return self._files.get(name)
