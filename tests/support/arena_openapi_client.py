"""Test client that validates every response against the server's OpenAPI document."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from jsonschema import Draft202012Validator
from starlette.testclient import TestClient

NOWHERE = ({"not_found", "method_not_allowed"}, {404, 405})
"""Error codes and statuses of undocumented paths and methods."""


class Contract:
    """An OpenAPI document whose objects allow no undocumented members."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.seen: set[tuple[str, str, str]] = set()
        for schema in document["components"]["schemas"].values():
            if "properties" in schema:
                schema.setdefault("additionalProperties", False)
        self._paths = [
            (re.compile(re.sub(r"\{path\}", ".+", re.sub(r"\{(?!path\})\w+\}", "[^/]+", path))), path)
            for path in document["paths"]
        ]
        self._schema = cache(self._validator)

    def check(self, method: str, url: str, answer: Any) -> None:
        """Check that a response is documented.

        Raises:
            AssertionError: the status, content type, headers or body are not documented.
        """
        requested = urlsplit(url).path
        path = next((path for form, path in self._paths if form.fullmatch(requested)), None)
        is_head = method == "HEAD"
        reply = self.document["paths"].get(path, {}).get("get" if is_head else method.lower())
        if reply is None:
            self._check_elsewhere(requested, answer)
            return
        status = str(answer.status_code)
        assert status in reply["responses"], f"{method} {path} has no documented status {status}: {answer.text}"
        if not is_head:
            self.seen.add((str(path), method.lower(), status))
        response = reply["responses"][status]
        for name, header in response.get("headers", {}).items():
            value = answer.headers[name]
            Draft202012Validator(header["schema"]).validate(int(value) if value.isdigit() else value)
        kind = answer.headers.get("content-type", "").partition(";")[0]
        assert kind in response.get("content", {"": {}}), f"{method} {path} has no documented content type {kind}"
        if is_head:
            assert answer.content == b"", f"HEAD of {path} has a body"
        elif kind == "application/json":
            self._schema(str(path), method.lower(), status).validate(json.loads(answer.content))

    def _check_elsewhere(self, requested: str, answer: Any) -> None:
        if requested.startswith(("/v2/competition", "/registry/")) and requested != "/registry/":
            codes, statuses = NOWHERE
            assert answer.status_code in statuses
            assert not answer.content or answer.json()["error"] in codes

    def _validator(self, path: str, method: str, status: str) -> Draft202012Validator:
        schema = self.document["paths"][path][method]["responses"][status]["content"]["application/json"]["schema"]
        return Draft202012Validator({**schema, "components": self.document["components"]})


class ContractClient(TestClient):
    """Sends requests and validates the responses."""

    # Shared by all servers: settings do not change the document.
    known: list[Contract] = []  # noqa: RUF012 it is shared

    @property
    def contract(self) -> Contract:
        """The servers' document, requested once."""
        if not self.known:
            self.known.append(Contract(super().request("GET", "/openapi.json").json()))
        return self.known[0]

    def request(self, method: str, url: Any, **options: Any) -> Any:  # type: ignore[override]
        """Send a request and validate the response."""
        answer = super().request(method, url, **options)
        assert answer.headers["X-Content-Type-Options"] == "nosniff", url
        if answer.headers.get("content-encoding") is None or answer.content:
            self.contract.check(method, str(url), answer)
        return answer
