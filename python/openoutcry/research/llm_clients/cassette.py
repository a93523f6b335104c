"""Cassette: recorded responses of a model in a file, keyed by request."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from openoutcry.errors import refusal
from openoutcry.research.llm_clients.messages import LLMClient, ModelReply, ModelRequest
from openoutcry.research.proposal_requests import Usage
from openoutcry.research.strict_json import InvalidJson, read_strict_json
from openoutcry.untrusted.bounded_file import RECORD_BYTES, read_text


class CassetteClient:
    """Return recorded responses, and record those of a model, if given.

    Only successful responses are recorded, since a failure may be temporary.

    Args:
        path: The file; it must exist unless a model is given.
        inner: Model for requests that are not recorded.

    Raises:
        OpenOutcryError: `argument_invalid`: the file is not a cassette, or of another model.
    """

    def __init__(self, path: str | os.PathLike[str], inner: LLMClient | None = None) -> None:
        self._path = Path(path)
        self._inner = inner
        tape = self._read()
        if tape is None:
            tape = {"model": inner.name if inner else "", "replies": {}}
        if inner is not None and tape["model"] != inner.name:
            wanted = f"a cassette of the model `{inner.name}` is required"
            raise refusal("argument_invalid", f"{wanted}; received one of `{tape['model']}`")
        self.name: str = tape["model"]
        self._replies: dict[str, Any] = tape["replies"]

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the recorded reply, or send the request and record its reply."""
        key = digest_of(request)
        if key in self._replies:
            recorded = self._replies[key]
            return ModelReply(
                recorded["status"], Usage(**recorded["usage"]), recorded["text"], tuple(recorded["calls"])
            )
        if self._inner is None:
            detail = f"the cassette has no response to this prompt, {key[:12]}"
            return ModelReply(None, Usage(), fault="not_recorded", detail=detail)
        reply = self._inner.complete(request)
        if reply.fault is None:
            self._replies[key] = {
                "status": reply.status,
                "usage": asdict(reply.usage),
                "text": reply.text,
                "calls": list(reply.calls),
            }
            self._write()
        return reply

    def _read(self) -> dict[str, Any] | None:
        wanted = "a cassette must be a JSON object with `model` and `replies`"
        try:
            found = read_strict_json(read_text(self._path, RECORD_BYTES, "a cassette"))
            if not isinstance(found, dict) or set(found) != {"model", "replies"}:
                raise InvalidJson("other fields")
        except FileNotFoundError as error:
            if self._inner is not None:
                return None
            raise refusal("argument_invalid", f"{wanted}; received '{self._path}', which does not exist") from error
        except (InvalidJson, UnicodeDecodeError) as error:
            raise refusal("argument_invalid", f"{wanted}; received '{self._path}': {error}") from error
        return found

    def _write(self) -> None:
        tape = {"model": self.name, "replies": self._replies}
        text = json.dumps(tape, indent=1, sort_keys=True)
        # Renamed into place, so that the file is complete or missing.
        temporary = self._path.with_name(f"{self._path.name}.tmp")
        temporary.write_text(f"{text}\n", encoding="utf-8")
        temporary.replace(self._path)

    def __repr__(self) -> str:
        return f"CassetteClient({self.name!r})"


def digest_of(request: ModelRequest) -> str:
    """Return the SHA-256 of a request without its sampling seed."""
    fields = {name: value for name, value in asdict(request).items() if name != "seed"}
    return sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
