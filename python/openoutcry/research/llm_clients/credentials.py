"""Keys and URLs of providers, from the settings file or the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openoutcry.errors import refusal
from openoutcry.research.llm_clients.http_transport import check_url
from openoutcry.research.strict_json import InvalidJson, read_strict_json
from openoutcry.untrusted.bounded_file import DOCUMENT_BYTES, read_text

_FIELDS = ("api_key", "base_url")
_KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
_ADDRESSES = {"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL", "ollama": "OLLAMA_BASE_URL"}
# A shorter text may occur in a message by coincidence.
_SHORTEST_HIDDEN = 8


class Secret:
    """A key that is shown only by `reveal`."""

    __slots__ = ("_key",)

    def __init__(self, key: str) -> None:
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            wanted = "a key must be printable ASCII without spaces"
            raise refusal("argument_invalid", f"{wanted}; received another text; hint: remove spaces and line ends")
        self._key = key

    def reveal(self) -> str:
        """Return the key."""
        return self._key

    def hide(self, value: Any) -> Any:
        """Return plain values with the key masked in their strings."""
        if isinstance(value, str):
            return value.replace(self._key, "[key]") if len(self._key) >= _SHORTEST_HIDDEN else value
        if isinstance(value, Mapping):
            return {self.hide(name): self.hide(each) for name, each in value.items()}
        return [self.hide(each) for each in value] if isinstance(value, list) else value

    def __repr__(self) -> str:
        return "Secret()"

    def __reduce__(self) -> Any:
        raise TypeError("a key cannot be pickled")


@dataclass(frozen=True)
class Credentials:
    """Key and URL of a provider."""

    key: Secret | None = None
    base_url: str | None = None


def credentials_of(provider: str, environment: Mapping[str, str] | None = None) -> Credentials:
    """Return the key and URL of a provider.

    A server's settings are stored under its URL, so it never receives the key of another provider.

    Args:
        provider: `anthropic`, `openai`, `ollama`, or a URL.
        environment: Environment variables; None for those of the process.

    Raises:
        OpenOutcryError: `argument_invalid`: the settings file cannot be read, or a key or URL is invalid.
    """
    environ = os.environ if environment is None else environment
    settings = _read_settings(provider, environ)
    key = settings.get("api_key") or environ.get(_KEYS.get(provider, ""))
    base_url = settings.get("base_url") or environ.get(_ADDRESSES.get(provider, ""))
    if base_url:
        check_url(base_url)
    return Credentials(Secret(key) if key else None, base_url or None)


def key_required(provider: str, credentials: Credentials) -> Secret:
    """Return the key of a provider.

    Raises:
        OpenOutcryError: `argument_invalid`: there is no key.
    """
    if credentials.key is None:
        wanted = f"a key of provider `{provider}` is required"
        hint = f'hint: add `{{"{provider}": {{"api_key": ...}}}}` to {settings_path()}, or set {_KEYS[provider]}'
        raise refusal("argument_invalid", f"{wanted}; received none; {hint}")
    return credentials.key


def settings_path(environment: Mapping[str, str] | None = None) -> Path:
    """Return the path of the settings file, which may not exist."""
    environ = os.environ if environment is None else environment
    if named := environ.get("OPENOUTCRY_SETTINGS"):
        return Path(named)
    home = environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "openoutcry" / "settings.json"


def _read_settings(provider: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a provider; no error message contains them."""
    path = settings_path(environ)
    wanted = "the settings file must be a JSON object with an object for each provider"
    try:
        found = read_strict_json(read_text(path, DOCUMENT_BYTES, "the settings file"))
    except FileNotFoundError as error:
        if "OPENOUTCRY_SETTINGS" not in environ:
            return {}
        raise refusal("argument_invalid", f"{wanted}; received '{path}', which does not exist") from error
    except OSError as error:
        raise refusal("argument_invalid", f"{wanted}; received '{path}': {error.strerror}") from None
    except (InvalidJson, UnicodeDecodeError):
        raise refusal("argument_invalid", f"{wanted}; received '{path}', which is not one") from None
    settings = found.get(provider, {}) if isinstance(found, dict) else None
    if (
        not isinstance(settings, dict)
        or not set(settings) <= {*_FIELDS}
        or not all(isinstance(v, str) for v in settings.values())
    ):
        shape = f"strings named {', '.join(f'`{name}`' for name in _FIELDS)}"
        raise refusal("argument_invalid", f"{wanted} with {shape}; received another one for `{provider}` in '{path}'")
    return settings
