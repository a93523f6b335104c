"""Verify an Arena's log, using only the Python standard library.

    openoutcry-verify receipt FILE --vkey V        the log includes your submission, and its commitments match
    openoutcry-verify export DIR [--vkey V]        a complete season; --recompute-scores also runs `rescoring.py`
    openoutcry-verify consistency OLD DIR          the log of an export extends a checkpoint that you saved

This file also runs alone, as `python verifier.py`; read it from top to bottom. Exit code 1 means a fault. Formats:
RFC 8785 (JSON), RFC 9162 (Merkle tree), RFC 8032 (Ed25519), C2SP signed-note and tlog-cosignature.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256, sha512
from json.encoder import encode_basestring
from pathlib import Path
from runpy import run_path
from typing import Any, NamedTuple

MAX_BYTES, MAX_DEPTH, MAX_INTEGER, NO_HASH, STREAMS = 65_535, 64, 2**53 - 1, "0" * 64, ("/dev/fd/", "/dev/stdin")


class CheckError(ValueError):
    """A check failed. The message states what is required and what was received."""


class Fault(NamedTuple):
    """A fault: file, line (from 0, or None) and description."""

    file: str
    line: int | None
    why: str

    def __str__(self) -> str:
        return f"{self.file}{'' if self.line is None else f':{self.line + 1}, record {self.line}'}: {self.why}"


def _require(condition: object, required: str, received: Any) -> None:
    if not condition:
        raise CheckError(f"{required} required; received {json.dumps(received)[:160]}")


@contextmanager
def _collect(faults: list[Fault], file: str, line: int | None = None) -> Iterator[None]:
    try:
        yield
    except (OSError, RecursionError, ValueError) as error:
        why = f"a complete UTF-8 file is required; received {getattr(error, 'strerror', None) or 'other bytes'}"
        faults.append(Fault(file, line, str(error) if isinstance(error, CheckError) else why))


def canonical(value: Any, depth: int = 0) -> str:
    """Return a value as canonical JSON (RFC 8785)."""
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None or isinstance(value, bool) or (isinstance(value, int) and abs(value) <= MAX_INTEGER):
        return json.dumps(value)
    if depth == MAX_DEPTH or not isinstance(value, (dict, list)):
        raise CheckError("integers below 2^53, strings, lists and objects 64 deep are required; received another value")
    if isinstance(value, list):
        return f"[{','.join([canonical(each, depth + 1) for each in value])}]"
    names = sorted(value, key=None if "".join(value).isascii() else lambda n: n.encode("utf-16-be", "surrogatepass"))
    return f"{{{','.join([f'{encode_basestring(name)}:{canonical(value[name], depth + 1)}' for name in names])}}}"


_HASH = re.compile("[0-9a-f]{64}").fullmatch
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{6})?Z").fullmatch
_DECODER = json.JSONDecoder(parse_float=lambda _: None, parse_constant=lambda _: None)  # a log has no fractions


def parse_record(line: bytes) -> Any:
    """Parse a line, which must be an object in canonical JSON."""
    with suppress(ValueError, RecursionError):
        found = _DECODER.decode(line.decode())
        if isinstance(found, dict) and canonical(found).encode() == line:
            return found
    raise CheckError("an object in canonical JSON without fractions is required; received another line")


P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
X, Y = 15112221349535400772501151409588531511454012693041857206046113283949847762202, 4 * pow(5, -1, P) % P
Point = tuple[int, int, int, int]  # x, y, z and x * y / z
BASE: Point = X, Y, 1, X * Y % P


def _add(a: Point, b: Point) -> Point:
    e, f, g, h = (a[1] - a[0]) * (b[1] - b[0]), (a[1] + a[0]) * (b[1] + b[0]), 2 * a[3] * b[3] * D, 2 * a[2] * b[2]
    e, f, g, h = f - e, h - g, h + g, f + e
    return e * f % P, g * h % P, f * g % P, e * h % P


def _multiply(number: int, point: Point) -> Point:
    found: Point = (0, 1, 1, 0)
    while number:
        found = _add(found, point) if number & 1 else found
        point, number = _add(point, point), number >> 1
    return found


def _decode_point(content: bytes) -> Point | None:
    sign, y = divmod(int.from_bytes(content, "little"), 1 << 255)
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * pow(2, (P - 1) // 4, P) % P
    is_point = y < P and x * x % P == square and (x != 0 or not sign)
    x = P - x if x & 1 != sign else x
    return (x, y, 1, x * y % P) if is_point else None


def is_signed(public: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether an Ed25519 signature is valid for a key and message."""
    key, s = _decode_point(public), int.from_bytes(signature[32:], "little")
    if key is None or len(signature) != 64 or s >= ORDER:
        return False
    k = int.from_bytes(sha512(signature[:32] + public + message).digest(), "little") % ORDER
    x, y, z, _ = _add(_multiply(s, BASE), _multiply(k, (P - key[0], key[1], 1, P - key[3])))
    x, y = x * pow(z, -1, P) % P, y * pow(z, -1, P) % P
    return (y | (x & 1) << 255).to_bytes(32, "little") == signature[:32]


class Key(NamedTuple):
    """A public key of a log (kind 1) or a witness (kind 4)."""

    name: str
    key_id: bytes
    kind: int
    public: bytes


def _from_base64(text: str) -> bytes:
    with suppress(ValueError):
        if b64encode(content := b64decode(text, validate=True)).decode() == text:
            return content
    raise CheckError(f"canonical base64 is required; received {json.dumps(text)[:160]}")


def parse_key(vkey: Any) -> Key:
    """Parse a public key, `NAME+ID+KEY`."""
    parts = re.fullmatch(r"([^\s+]+)\+([0-9a-f]{8})\+(\S+)", vkey) if isinstance(vkey, str) else None
    content = _from_base64(parts[3]) if parts else b""
    key_id = sha256(parts[1].encode() + b"\n" + content).digest()[:4] if parts else b""
    if not parts or len(content) != 33 or content[0] not in (1, 4) or key_id.hex() != parts[2]:
        raise CheckError(f"a key `NAME+ID+KEY` is required; received {json.dumps(vkey)[:160]}")
    return Key(parts[1], key_id, content[0], content[1:])


def check_signature(text: str, lines: str, key: Key) -> None:
    """Check that one of a note's signature lines is a valid signature of a key."""
    is_found = False
    for line in lines.split("\n")[:-1]:
        match = re.fullmatch(r"— ([^\s+]+) (\S+)", line)
        content = _from_base64(match[2]) if match else b""
        _require(len(content) > 4, "a line `— NAME SIGNATURE` is", line)
        if match and (match[1], content[:4]) == (key.name, key.key_id):
            is_found, at = True, 12 if key.kind == 4 else 4
            head = f"cosignature/v1\ntime {int.from_bytes(content[4:at], 'big')}\n" if key.kind == 4 else ""
            _require(is_signed(key.public, (head + text).encode(), content[at:]), "a signature over this text is", line)
    _require(is_found, f"a signature of {key.name} is", None)


def open_checkpoint(note: str, key: Key) -> tuple[int, str]:
    """Return size and root of a checkpoint, after verifying the log's signature."""
    text, blank, lines = note.rpartition("\n\n")
    parts = text.split("\n")
    is_plain = blank and lines.endswith("\n") and not re.search("[\0-\x09\x0b-\x1f]", note)
    is_note = is_plain and len(parts) > 2 and re.fullmatch("0|[1-9][0-9]{0,15}", parts[1])
    _require(is_note, "origin, size, root, a blank line and signatures, without control characters, are", note)
    check_signature(text + "\n", lines, key)
    _require(parts[0] == key.name and len(_from_base64(parts[2])) == 32, f"a root of the log {key.name} is", parts)
    return int(parts[1]), parts[2]


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


def root_from_proof(index: int, size: int, leaf: bytes, proof: list[bytes]) -> bytes:
    """Return the root hash computed from a leaf and its inclusion proof."""
    is_valid = 0 <= index < size and (size == 1) != bool(proof) and len(leaf) == 32
    _require(is_valid, "a proof with one hash per tree level is", f"{len(proof)} for {index} of {size}")
    if size == 1:
        return leaf
    middle = 1 << (size - 1).bit_length() - 1
    if index < middle:
        return _node(root_from_proof(index, middle, leaf, proof[:-1]), proof[-1])
    return _node(proof[-1], root_from_proof(index - middle, size - middle, leaf, proof[:-1]))


class Tree:
    """A Merkle tree: hashes of all complete subtrees, by level."""

    def __init__(self) -> None:
        self.levels: list[list[bytes]] = [[]]

    def append(self, entry: bytes) -> None:
        found, level = sha256(b"\0" + entry).digest(), 0
        self.levels[0].append(found)
        while len(self.levels[level]) % 2 == 0:
            found, level = _node(*self.levels[level][-2:]), level + 1
            self.levels += [[]] if level == len(self.levels) else []
            self.levels[level].append(found)

    def root(self, size: int, first: int = 0) -> bytes:
        """Return the root of `size` leaves, starting at leaf `first`."""
        if size & size - 1 == 0:
            level = size.bit_length() - 1
            return self.levels[level][first >> level] if size else sha256().digest()
        middle = 1 << (size - 1).bit_length() - 1
        return _node(self.root(middle, first), self.root(size - middle, first + middle))


def _equal(name: str, required: Any, received: Any) -> None:
    if type(received) is not type(required) or received != required:
        raise CheckError(f"`{name}` must be {json.dumps(required)[:160]}; received {json.dumps(received)[:160]}")


def check_commitments(bodies: list[Any], commitments: set[str]) -> None:
    """Check that each revealed decision matches a different commitment."""
    found = [sha256(canonical(body).encode()).hexdigest() for body in bodies]
    _require(len({*found}) == len(found) and commitments.issuperset(found), "distinct committed decisions are", bodies)


class Export:
    """The export of a season, and its faults."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.faults, self.tree, self.digests = folder, list[Fault](), Tree(), [NO_HASH]
        # Index and commitments by submission; hash by snapshot; latest time, in seconds; first result by market.
        self.submissions, self.snapshots = dict[str, tuple[int, set[str]]](), dict[str, str]()
        self.newest, self.n_before_today, self.files = "", 1, dict[str, Any]()
        self.results, self.others = dict[str, int](), list[dict[str, Any]]()
        for number, line in self._lines("log.jsonl"):
            with _collect(self.faults, "log.jsonl", number):
                self._read(number, line)
            self.tree.append(line)
            self.digests.append(sha256(line).hexdigest())
        self.first = self.others[0] if self.others else {}

    def _lines(self, file: str) -> Iterator[tuple[int, bytes]]:
        lines, rest = list[bytes](), b""
        with _collect(self.faults, file):
            *lines, rest = (self.folder / file).read_bytes().split(b"\n")
        yield from enumerate(lines)
        self.faults += [Fault(file, len(lines), "a line end is required; received none")] * bool(rest)

    def _read(self, number: int, line: bytes) -> None:
        record = parse_record(line)
        for name, required in ("v", 1), ("seq", number), ("prev_sha256", self.digests[-1]):
            _equal(name, required, record.get(name))
        kind = record.get("type")
        is_first = (kind == "log") == (number == 0)
        _require(is_first and len(line) <= MAX_BYTES, f"{MAX_BYTES} bytes, and type `log` for record 0 only, are", kind)
        if kind == "submission":
            self._submit(number, record)
            return
        self.others.append(record)
        as_of, digest, at = (record.get(name) for name in ("as_of", "sha256", "at" if number else "created_at"))
        if kind == "snapshot":
            is_new = isinstance(as_of, str) and as_of not in self.snapshots
            _require(is_new and isinstance(digest, str), "a new `as_of` and a `sha256` are", [as_of, digest])
            self.snapshots[as_of] = self.files[f"snapshots/{as_of.replace(':', '-')}.json"] = digest
        if kind == "scoring":
            self.files["base_rates.json"] = record.get("base_rates_sha256")
        if kind == "resolution":
            self.results.setdefault(canonical(record.get("market_id")), number)
        self._check_time(number, at, as_of[:19] if _TIME(str(as_of)) else "")

    def _submit(self, number: int, record: Any) -> None:
        name, words = record.get("submission_id"), record.get("commitments")
        _require(isinstance(name, str) and name not in self.submissions, "a new `submission_id` is", name)
        is_hex = isinstance(words, list) and all(_HASH(str(each)) for each in words)
        _require(is_hex and words == sorted({*words}) != [], "sorted SHA-256 digests as `commitments` are", words)
        self.submissions[name] = number, set(words)
        snapshot = self.snapshots.get(str(record.get("snapshot_as_of")), "that of an earlier snapshot")
        _equal("snapshot_sha256", snapshot, record.get("snapshot_sha256"))
        self._check_time(number, record.get("received_at"))

    def _check_time(self, number: int, at: Any, least: str = "") -> None:
        _require(_TIME(str(at)) and at >= max(self.newest, least), f"a time not before {self.newest} is", at)
        is_new_day = "" < self.newest[:10] < at[:10]
        self.newest, self.n_before_today = at[:19], number if is_new_day else self.n_before_today

    def check(self, vkey: str | None, witnesses: list[str]) -> None:
        """Check signatures, `day` records, files named by hash, and revealed decisions."""
        own = self.first.get("vkey")
        with _collect(self.faults, "vkey"):
            _equal("key and line end", [vkey or own, ""], (self.folder / "vkey").read_bytes().decode().split("\n"))
        with _collect(self.faults, "checkpoint"):
            key, size = parse_key(vkey or own), len(self.digests) - 1
            found = open_checkpoint((self.folder / "checkpoint").read_bytes().decode(), key)
            _equal("origin and vkey of record 0", [key.name, vkey or own], [self.first.get("origin"), own])
            _equal("size and root", [size, b64encode(self.tree.root(size)).decode()], [*found])
        for day in (each for each in self.others if each.get("type") == "day"):
            with _collect(self.faults, "log.jsonl", day["seq"]):
                n: Any = day.get("tree_size")
                _require(type(n) is int and 1 <= n <= day["seq"], f"a `tree_size` from 1 to {day['seq']} is", n)
                _equal("root", b64encode(self.tree.root(n)).decode(), day.get("root"))
                _equal("head_sha256", self.digests[n], day.get("head_sha256"))
        for witness in witnesses:
            with _collect(self.faults, "cosignatures"):
                note = (self.folder / "cosignatures" / parse_key(witness).key_id.hex()).read_bytes().decode()
                check_signature(note.partition("\n\n")[0] + "\n", note.partition("\n\n")[2], parse_key(witness))
                seen = check_consistency(self, note, parse_key(vkey or own))
                _require(seen >= self.n_before_today, f"a size of {self.n_before_today}, all complete days, is", seen)
        self._check_files()
        self._check_reveals()

    def _check_files(self) -> None:
        found = {}.fromkeys(f"snapshots/{each.name}" for each in (self.folder / "snapshots").glob("*"))
        for file, digest in sorted((found | self.files).items()):
            with _collect(self.faults, json.dumps(file)[1:-1]):
                _equal("sha256", digest, sha256((self.folder / file).read_bytes()).hexdigest())

    def _check_reveals(self) -> None:
        names, number = list(self.submissions), -1
        for number, line in self._lines("reveals.jsonl"):
            with _collect(self.faults, "reveals.jsonl", number):
                reveal = parse_record(line)
                name, opened = reveal.get("submission_id"), reveal.get("opened")
                _require(name in names[number : number + 1], f"the `submission_id` of submission {number} is", name)
                _require(len(reveal) == 2 and isinstance(opened, list), "two fields, with `opened` a list, are", reveal)
                seq, commitments = self.submissions[name]
                check_commitments(opened, commitments)
                market_ids = [canonical(body.get("market_id")) for body in opened if isinstance(body, dict)]
                late = [each for each in market_ids if self.results.get(each, seq) < seq]
                _require(not late, "decisions received before their market's result are", late)
        with _collect(self.faults, "reveals.jsonl", number + 1):
            _require(number + 1 >= len(names), f"one line for each of {len(names)} submissions is", number + 1)


def check_consistency(export: Export, note: str, key: Key) -> int:
    """Check that a log extends a checkpoint, and return the checkpoint's size."""
    size, root = open_checkpoint(note, key)
    _require(0 < size < len(export.digests), f"a log of size {size} or more is", len(export.digests) - 1)
    _equal(f"root at size {size}", b64encode(export.tree.root(size)).decode(), root)
    return size


def check_receipt(receipt: Any, key: Key) -> None:
    """Check that the log includes a receipt's record, and that its decisions match."""
    for name, kind in ("record", dict), ("checkpoint", str), ("proof", list), ("salts", list), ("leaf_index", int):
        found = receipt.get(name) if isinstance(receipt, dict) else receipt
        _require(isinstance(found, kind), f"a receipt with `{name}` of the right type is", found)
    record, proof, words = receipt["record"], receipt["proof"], receipt["record"].get("commitments")
    is_hex = isinstance(words, list) and all(_HASH(str(each)) for each in words + proof)
    _require(is_hex, "SHA-256 in hex as `commitments` and `proof` are", [words, proof])
    size, root = open_checkpoint(receipt["checkpoint"], key)
    _equal("leaf_index and tree_size", [record.get("seq"), size], [receipt["leaf_index"], receipt.get("tree_size")])
    leaf = sha256(b"\0" + canonical(record).encode()).digest()
    found = root_from_proof(receipt["leaf_index"], size, leaf, [bytes.fromhex(str(each)) for each in proof])
    _equal("root", b64encode(found).decode(), root)
    check_commitments(receipt["salts"], set(words))
    _equal("number of salts", len(words), len(receipt["salts"]))


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("openoutcry-verify", description=__doc__.split("\n", 1)[0], allow_abbrev=False)
    parser.add_argument("what", choices=["receipt", "export", "consistency"])
    parser.add_argument("paths", nargs="+", type=Path, help="a receipt, an export, or a checkpoint and an export")
    parser.add_argument("--vkey", help="the log's public key; an export's own key by default")
    parser.add_argument("--witness", action="append", default=[], help="public key of a required witness (repeatable)")
    parser.add_argument("--recompute-scores", action="store_true", help="also recompute the scores of an export")
    parser.add_argument("--all", action="store_true", help="list all faults, not only the first")
    options, unknown = parser.parse_known_args(words)  # `parse_args` would print unknown arguments as they are
    n_paths, is_open = 1 + (options.what == "consistency"), options.what == "receipt" and not options.vkey
    if unknown or len(options.paths) != n_paths or is_open:
        parser.error("receipt FILE --vkey V, export DIR, or consistency OLD DIR is required")
    every = [each for path in options.paths for each in (path, *path.rglob("*")) if each.exists()]
    if any(not (each.is_file() or each.is_dir() or str(each).startswith(STREAMS)) for each in every):
        parser.error("files are required; received a pipe or a device")
    faults, first = list[Fault](), options.paths[0]
    if options.what == "receipt":
        with _collect(faults, str(first)):
            check_receipt(json.loads(first.read_bytes()), parse_key(options.vkey))
    else:
        export = Export(options.paths[-1])
        export.check(options.vkey, options.witness)
        faults = export.faults
    if options.what == "consistency":
        with _collect(faults, str(first)):
            check_consistency(export, first.read_bytes().decode(), parse_key(options.vkey or export.first.get("vkey")))
    if options.recompute_scores and options.what != "receipt":
        with _collect(faults, "rescoring.py"):
            rescoring = run_path(str(Path(__file__).with_name("rescoring.py")))
            faults += [Fault("scores.json", None, each) for each in rescoring["faults"](export.folder)]
    text = "\n".join(map(str, faults if options.all else faults[:1])) or "ok"
    print("".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
