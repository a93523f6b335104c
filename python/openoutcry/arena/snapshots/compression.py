"""Compression of a snapshot's bytes, done once instead of per request."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass

try:
    import brotli
    import zstandard
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "openoutcry.arena.snapshots.compression needs `pip install openoutcry[arena]`", name=error.name
    ) from error


@dataclass(frozen=True)
class Precompressed:
    """Encoded bytes by `Accept-Encoding` name, and their common entity tag.

    `etag` is the quoted hex SHA-256 of the uncompressed bytes, for every encoding: the digest in the log. Compressed
    bytes may differ between library versions.
    """

    encodings: dict[str, bytes]
    etag: str


def precompress(body: bytes) -> Precompressed:
    """Return a body uncompressed and in gzip, brotli and zstd, at high levels."""
    encodings = {
        "identity": body,
        # No timestamp, so that the same body gives the same bytes.
        "gzip": gzip.compress(body, 9, mtime=0),
        "br": brotli.compress(body, quality=11),
        "zstd": zstandard.ZstdCompressor(level=19, write_content_size=True).compress(body),
    }
    return Precompressed(encodings, f'"{hashlib.sha256(body).hexdigest()}"')
