"""Parts of an Excel workbook: its sheets, shared texts and the styles of dates."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree

from openoutcry.openoutcry_py import SheetStrings

# Longest part that is read whole; those of ordinary workbooks have some kilobytes.
_MOST_BYTES = 16 << 20
_PART = 1 << 20
# Formats without a code of their own: days and times of day, and one duration.
_DATES = frozenset({*range(14, 23), 45, 46, 47})
_DURATION = 46
# Quoted texts, and brackets around a colour or a language; `[h]`, `[m]` and `[s]` are durations.
_LITERALS = re.compile(r'"[^"]*"|\[(?!hh?\]|mm?\]|ss?\])[^\]]*\]', re.IGNORECASE)
_DATE_CODE = re.compile(r"(?<![_\\])[dmhys]", re.IGNORECASE)
_DURATION_CODE = re.compile(r"\[(?:hh?|mm?|ss?)\]", re.IGNORECASE)


class WorkbookParts(NamedTuple):
    """Parts of a workbook.

    Attributes:
        archive: The open archive.
        sheets: Name of the part of each sheet by its title.
        strings: Texts that cells share.
        kinds: A letter for each style: `d` a date, `t` a duration, `n` a number.
        is_1904: Whether days are counted from 1904-01-01.
    """

    archive: zipfile.ZipFile
    sheets: dict[str, str]
    strings: SheetStrings
    kinds: bytes
    is_1904: bool


def opened(content: bytes) -> WorkbookParts:
    """Return the parts of a workbook.

    Raises:
        KeyError, OSError, SyntaxError, ValueError, zipfile.BadZipFile: the workbook is damaged.
    """
    archive = zipfile.ZipFile(io.BytesIO(content))
    main = next(target for kind, target in _targets(archive, "").values() if kind == "officeDocument")
    parts = _targets(archive, main)
    of_kind = dict(parts.values())
    book = _tree(archive, main)
    sheets = {}
    for sheet in book.findall("{*}sheets/{*}sheet"):
        place = next((value for name, value in sheet.attrib.items() if name.endswith("}id")), None)
        kind, target = parts[place] if place else ("", "")
        if kind == "worksheet":
            sheets[sheet.attrib["name"]] = target
    strings = SheetStrings()
    if "sharedStrings" in of_kind:
        for part in parts_of(archive, of_kind["sharedStrings"]):
            strings.push(part)
        strings.finish()
    kinds = _kinds(_tree(archive, of_kind["styles"])) if "styles" in of_kind else b""
    properties = book.find("{*}workbookPr")
    is_1904 = properties is not None and properties.get("date1904") in ("1", "true")
    return WorkbookParts(archive, sheets, strings, kinds, is_1904)


def parts_of(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    """Yield an entry of an archive in parts.

    Raises:
        zipfile.BadZipFile: its checksum differs.
    """
    with archive.open(name) as file:
        while part := file.read(_PART):
            yield part


def _tree(archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
    if (size := archive.getinfo(name).file_size) > _MOST_BYTES:
        raise ValueError(f"{name} must have at most {_MOST_BYTES} bytes; received {size}")
    content = archive.read(name)
    # Entities of a document type can stand for any number of characters.
    if b"<!DOCTYPE" in content:
        raise ValueError(f"{name} must have no document type")
    return ElementTree.fromstring(content)


def _targets(archive: zipfile.ZipFile, name: str) -> dict[str, tuple[str, str]]:
    """Return the kind and name of each part that a part refers to, by reference."""
    folder, base = posixpath.split(name)
    found = {}
    for each in _tree(archive, posixpath.join(folder, "_rels", f"{base}.rels")):
        target = posixpath.normpath(posixpath.join("/", folder, each.attrib["Target"])).lstrip("/")
        found[each.attrib["Id"]] = posixpath.basename(each.attrib["Type"]), target
    return found


def _kinds(styles: ElementTree.Element) -> bytes:
    codes = {
        int(each.attrib["numFmtId"]): each.get("formatCode", "") for each in styles.iterfind("{*}numFmts/{*}numFmt")
    }
    return "".join(
        _kind(int(style.get("numFmtId", "0")), codes) for style in styles.iterfind("{*}cellXfs/{*}xf")
    ).encode()


def _kind(number: int, codes: dict[int, str]) -> str:
    """Return the letter of a format; only its part for numbers above zero counts."""
    if number not in codes:
        return ("t" if number == _DURATION else "d") if number in _DATES else "n"
    code = _LITERALS.sub("", codes[number].partition(";")[0])
    if not _DATE_CODE.search(code):
        return "n"
    return "t" if _DURATION_CODE.search(code) else "d"
