"""Commands of agents as they are shown and recorded, without secrets.

A value is secret if the name before it says so: `--api-key VALUE`, `--token=VALUE`, `PASSWORD=VALUE` or
`Authorization: VALUE`. So is the password of a URL, and a word in the form of a common API key.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from openoutcry.errors import without_password

MASK = "***"
"""What is shown in place of a secret."""
_SECRET = re.compile(r".*(?:key|token|secrets?|passw(?:or)?ds?|passphrase|pwd|credentials?|auth|authorization|bearer)")
# What such a value names is no secret.
_PUBLIC = {"file", "path", "dir", "folder", "name", "env", "url", "type"}
_PARTS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])")
_ASSIGNED = re.compile(r"(-{0,2}[A-Za-z_][\w.-]*)(\s*[=:]\s*)(.+)", re.DOTALL)
_KEY = re.compile(
    r"\b(?:(?:sk|pk|rk)-[\w-]{16,}|gh[opsru]_\w{20,}|github_pat_\w{20,}|xox[abpr]-[\w-]{10,}|hf_\w{20,}|AKIA[0-9A-Z]{16}"
    r"|eyJ[\w-]{10,}\.[\w-]+\.[\w-]*)"
)
# A shorter one would hide parts of other words.
_LEAST = 4


def public_command(command: str) -> str:
    """Return a command without its secrets; one without any as it is."""
    try:
        words = shlex.split(command)
    except ValueError:
        # Quotes that do not close, for an error message.
        return " ".join(public_words(command.split()))
    shown = public_words(words)
    return command if shown == words else shlex.join(shown)


def public_words(words: Sequence[str]) -> list[str]:
    """Return the words of a command with `MASK` in place of each secret."""
    return [shown for shown, _ in _read(words)]


def without_secrets(text: str, words: Sequence[str]) -> str:
    """Return a text without the secrets of the agents of a command line."""
    commands = [word.partition("cmd:")[2] for word in words if word.startswith(("cmd:", "--agent=cmd:"))]
    for command in commands:
        try:
            found = shlex.split(command)
        except ValueError:
            found = command.split()
        for _, secret in _read(found):
            if secret is not None and len(secret) >= _LEAST:
                text = text.replace(secret, MASK)
    return text


def _read(words: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Yield each word as it is shown, with its secret."""
    is_value = False
    for word in words:
        if is_value and not word.startswith("-"):
            yield MASK, word
        else:
            yield _shown(word)
        is_value = word.startswith("-") and _ASSIGNED.fullmatch(word) is None and _is_secret(word)


def _shown(word: str) -> tuple[str, str | None]:
    assigned = _ASSIGNED.fullmatch(word)
    if assigned is not None and _is_secret(assigned[1]) and not word.startswith(("http://", "https://")):
        return f"{assigned[1]}{assigned[2]}{MASK}", assigned[3]
    if any(map(str.isspace, word)):
        # A command in a word, as after `sh -c`.
        shown = public_command(word) if '"' in word or "'" in word else _in_words(word)
        return shown, None
    found = _KEY.search(word)
    plain = without_password(word)
    return (_KEY.sub(MASK, plain), found[0]) if found else (plain, None)


def _in_words(text: str) -> str:
    parts = text.split()
    shown = public_words(parts)
    return text if shown == parts else " ".join(shown)


def _is_secret(name: str) -> bool:
    parts = [part.lower() for part in _PARTS.findall(name)]
    return bool(parts) and parts[-1] not in _PUBLIC and any(map(_SECRET.fullmatch, parts))
