"""A snapshot's bytes, compressed once instead of at every request."""

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
    """The bytes under each name of `Accept-Encoding`, and the entity tag they share.

    `etag` is the SHA-256 of the identity bytes in hex, in quotes: whatever the encoding, it is the digest that the log
    anchors. Two versions of a library may compress to different bytes; what they decompress to never differs.
    """

    encodings: dict[str, bytes]
    etag: str


def precompress(body: bytes) -> Precompressed:
    """Return a body as it is and in gzip, brotli and zstd, made as small as they can."""
    encodings = {
        "identity": body,
        # Without a time, so that the same body is the same bytes.
        "gzip": gzip.compress(body, 9, mtime=0),
        "br": brotli.compress(body, quality=11),
        "zstd": zstandard.ZstdCompressor(level=19, write_content_size=True).compress(body),
    }
    return Precompressed(encodings, f'"{hashlib.sha256(body).hexdigest()}"')
