"""Encoding of a text, by its bytes and the column names of its language."""

from __future__ import annotations

import re

from openoutcry.data.readers.column_roles import is_name_of_language
from openoutcry.errors import refusal

UTF_16 = (b"\xff\xfe", b"\xfe\xff")
# Encodings of Japan, China, Taiwan and Hong Kong, Korea, and of Cyrillic letters.
_BY_NAMES = {
    "cp932": "Shift JIS",
    "euc_jp": "EUC-JP",
    "gb18030": "GB 18030",
    "cp950": "Big5",
    "cp949": "EUC-KR",
    "cp1251": "Windows-1251",
}
# Names of columns are searched for at the beginning of a file.
_HEAD, _LINES = 1 << 13, 40
# Letters of Western languages stand alone or in pairs. The single bytes are rare marks of Windows-1252, or none of it;
# marks such as `¨` and `¹` do not stand before a letter.
_NOT_WESTERN = re.compile(
    rb"[\x80-\xff]{4}"
    rb"|[\x81-\x84\x86-\x89\x8b\x8d\x8f\x90\x98\x9b\x9d]"
    rb"|[\xa2\xa4\xa6\xa8\xaa\xac-\xaf\xb1-\xb3\xb6\xb8-\xba\xbc\xbe][\x40-\xff]"
)
_HINT = "hint: save it as CSV in UTF-8"


def decoded(content: bytes, name: str) -> tuple[str, str]:
    """Return the text of bytes, and its encoding.

    It is UTF-8, UTF-16 with a byte order mark, an encoding in which the file has column names of its language, or else
    Windows-1252.

    Raises:
        OpenOutcryError: `field_unparsable`: the text is in another encoding.
    """
    if content.startswith(UTF_16):
        try:
            return content.decode("utf-16"), "UTF-16"
        except UnicodeDecodeError as error:
            message = f"complete UTF-16 text is required; received {name!r}: {error.reason}"
            raise refusal("field_unparsable", f"{message}; {_HINT}") from error
    try:
        return content.decode("utf-8-sig"), "UTF-8"
    except UnicodeDecodeError:
        pass
    for encoding, shown in _BY_NAMES.items():
        if _has_names(content, encoding):
            try:
                return content.decode(encoding), shown
            except UnicodeDecodeError:
                continue
    found = _NOT_WESTERN.search(content)
    if found is not None:
        line = content.count(b"\n", 0, found.start()) + 1
        received = f"the bytes {found[0].hex(' ')} on line {line} of {name!r}"
        message = f"text in UTF-8, or in an encoding that its column names show, is required; received {received}"
        raise refusal("field_unparsable", f"{message}; {_HINT}")
    return content.decode("cp1252"), "Windows-1252"


def _has_names(content: bytes, encoding: str) -> bool:
    """Return whether bytes in an encoding begin with names of columns."""
    lines = content[:_HEAD].decode(encoding, errors="replace").splitlines()[:_LINES]
    return any(is_name_of_language(cell) for line in lines for cell in re.split(r"[,;\t|]", line))
