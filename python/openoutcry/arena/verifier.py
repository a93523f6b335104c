"""Check an arena's log with the standard library of Python alone.

    openoutcry-verify receipt FILE --vkey V        that the log has your submission, and what it committed to
    openoutcry-verify export DIR [--vkey V]        a whole season; --recompute-scores: by `rescoring.py` beside it
    openoutcry-verify consistency OLD DIR          that a checkpoint you kept is a beginning of the log

One file, to be read from top to bottom; it runs as `python verifier.py` too, and exits with 1 where something is not
what was signed. Formats: RFC 8785 (JSON), RFC 9162 (tree), RFC 8032 (Ed25519), C2SP's signed-note and tlog-cosignature.
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

LONGEST, DEEPEST, LARGEST, GENESIS = 65_535, 64, 2**53 - 1, "0" * 64


class Wrong(ValueError):  # noqa: N818
    """What was required and what came."""


class Fault(NamedTuple):
    """A file, the number of a line of it from 0 or none, and what is wrong there."""

    file: str
    line: int | None
    why: str

    def __str__(self) -> str:
        return f"{self.file}{'' if self.line is None else f':{self.line + 1}, record {self.line}'}: {self.why}"


def _require(holds: object, wanted: str, came: Any) -> None:
    if not holds:
        raise Wrong(f"{wanted} required; received {json.dumps(came)[:160]}")


@contextmanager
def _placed(faults: list[Fault], file: str, line: int | None = None) -> Iterator[None]:
    try:
        yield
    except (OSError, RecursionError, ValueError) as error:
        why = f"a whole file in UTF-8 is required; received {getattr(error, 'strerror', None) or 'other bytes'}"
        faults.append(Fault(file, line, str(error) if isinstance(error, Wrong) else why))


def canonical(value: Any, depth: int = 0) -> str:
    """Return a value as RFC 8785 writes it."""
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and abs(value) <= LARGEST:
        return str(value)
    if depth == DEEPEST or not isinstance(value, (dict, list)):
        raise Wrong("integers below 2^53, texts, lists and objects 64 deep are required; received another value")
    if isinstance(value, list):
        return f"[{','.join([canonical(each, depth + 1) for each in value])}]"
    names = sorted(value, key=None if "".join(value).isascii() else lambda n: n.encode("utf-16-be", "surrogatepass"))
    return f"{{{','.join([f'{encode_basestring(name)}:{canonical(value[name], depth + 1)}' for name in names])}}}"


_HASH = re.compile("[0-9a-f]{64}").fullmatch
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{6})?Z").fullmatch
_DECODER = json.JSONDecoder(parse_float=lambda _: None, parse_constant=lambda _: None)  # a log has no fractions


def parsed(line: bytes) -> Any:
    """Return the object of a line, which must be canonical."""
    with suppress(ValueError, RecursionError):
        found = _DECODER.decode(line.decode())
        if isinstance(found, dict) and canonical(found).encode() == line:
            return found
    raise Wrong("an object in canonical JSON without fractions is required; received another line")


P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
X, Y = 15112221349535400772501151409588531511454012693041857206046113283949847762202, 4 * pow(5, -1, P) % P
Point = tuple[int, int, int, int]  # x, y, z and x * y / z
BASE: Point = X, Y, 1, X * Y % P


def _sum(a: Point, b: Point) -> Point:
    e, f = (a[1] - a[0]) * (b[1] - b[0]), (a[1] + a[0]) * (b[1] + b[0])
    g, h = 2 * a[3] * b[3] * D, 2 * a[2] * b[2]
    e, f, g, h = f - e, h - g, h + g, f + e
    return e * f % P, g * h % P, f * g % P, e * h % P


def _times(number: int, point: Point) -> Point:
    found: Point = (0, 1, 1, 0)
    while number:
        found = _sum(found, point) if number & 1 else found
        point, number = _sum(point, point), number >> 1
    return found


def _point(content: bytes) -> Point | None:
    sign, y = divmod(int.from_bytes(content, "little"), 1 << 255)
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * pow(2, (P - 1) // 4, P) % P
    if y >= P or x * x % P != square or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


def is_signed(public: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether an Ed25519 signature is of a key over a message."""
    key, s = _point(public), int.from_bytes(signature[32:], "little")
    if key is None or len(signature) != 64 or s >= ORDER:
        return False
    k = int.from_bytes(sha512(signature[:32] + public + message).digest(), "little") % ORDER
    x, y, z, _ = _sum(_times(s, BASE), _times(k, (P - key[0], key[1], 1, P - key[3])))
    x, y = x * pow(z, -1, P) % P, y * pow(z, -1, P) % P
    return (y | (x & 1) << 255).to_bytes(32, "little") == signature[:32]


class Key(NamedTuple):
    """A public key: of a log (kind 1) or a witness (kind 4)."""

    name: str
    key_id: bytes
    kind: int
    public: bytes


def _unbase64(text: str) -> bytes:
    with suppress(ValueError):
        if b64encode(content := b64decode(text, validate=True)).decode() == text:
            return content
    raise Wrong(f"base 64 in its one form is required; received {json.dumps(text)[:160]}")


def parse_key(vkey: Any) -> Key:
    """Return the key of a text `NAME+ID+KEY`."""
    parts = re.fullmatch(r"([^\s+]+)\+([0-9a-f]{8})\+(\S+)", vkey) if isinstance(vkey, str) else None
    content = _unbase64(parts[3]) if parts else b""
    key_id = sha256(parts[1].encode() + b"\n" + content).digest()[:4] if parts else b""
    if not parts or len(content) != 33 or content[0] not in (1, 4) or key_id.hex() != parts[2]:
        raise Wrong(f"a key `NAME+ID+KEY` is required; received {json.dumps(vkey)[:160]}")
    return Key(parts[1], key_id, content[0], content[1:])


def check_signed(text: str, lines: str, key: Key) -> None:
    """Check that a line below a note is a signature of a key over its text."""
    is_found = False
    for line in lines.split("\n")[:-1]:
        match = re.fullmatch(r"— ([^\s+]+) (\S+)", line)
        content = _unbase64(match[2]) if match else b""
        _require(len(content) > 4, "a line `— NAME SIGNATURE` is", line)
        if match and (match[1], content[:4]) == (key.name, key.key_id):
            is_found, at = True, 12 if key.kind == 4 else 4
            head = f"cosignature/v1\ntime {int.from_bytes(content[4:at], 'big')}\n" if key.kind == 4 else ""
            _require(is_signed(key.public, (head + text).encode(), content[at:]), "a signature over this text is", line)
    _require(is_found, f"a signature of {key.name} is", None)


def open_checkpoint(note: str, key: Key) -> tuple[int, str]:
    """Return the size and root of a checkpoint that a log has signed."""
    text, blank, lines = note.rpartition("\n\n")
    parts = text.split("\n")
    is_plain = blank and lines.endswith("\n") and not re.search("[\0-\x09\x0b-\x1f]", note)
    is_note = is_plain and len(parts) > 2 and re.fullmatch("0|[1-9][0-9]{0,15}", parts[1])
    _require(is_note, "origin, size, root, a blank line and signatures, without control characters, are", note)
    check_signed(text + "\n", lines, key)
    _require(parts[0] == key.name and len(_unbase64(parts[2])) == 32, f"a root of the log {key.name} is", parts)
    return int(parts[1]), parts[2]


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


def root_by_proof(index: int, size: int, leaf: bytes, proof: list[bytes]) -> bytes:
    """Return the root that a proof leads to from a leaf."""
    is_way = 0 <= index < size and (size == 1) != bool(proof) and len(leaf) == 32
    _require(is_way, "a proof of as many hashes as the way has is", f"{len(proof)} of {index} in {size}")
    if size == 1:
        return leaf
    middle = 1 << (size - 1).bit_length() - 1
    if index < middle:
        return _node(root_by_proof(index, middle, leaf, proof[:-1]), proof[-1])
    return _node(proof[-1], root_by_proof(index - middle, size - middle, leaf, proof[:-1]))


class Tree:
    """The hashes of all complete subtrees, by level."""

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
        """Return the root of some leaves that are a subtree."""
        if size & size - 1 == 0:
            level = size.bit_length() - 1
            return self.levels[level][first >> level] if size else sha256().digest()
        middle = 1 << (size - 1).bit_length() - 1
        return _node(self.root(middle, first), self.root(size - middle, first + middle))


def _need(name: str, wanted: Any, received: Any) -> None:
    if type(received) is not type(wanted) or received != wanted:
        raise Wrong(f"`{name}` must be {json.dumps(wanted)[:160]}; received {json.dumps(received)[:160]}")


def check_opened(bodies: list[Any], commitments: set[str]) -> None:
    """Check that each body opens another one of some commitments."""
    found = [sha256(canonical(body).encode()).hexdigest() for body in bodies]
    _require(len({*found}) == len(found) and commitments.issuperset(found), "what was committed to, once, is", bodies)


class Export:
    """The export of a season, and all that is wrong in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.faults = folder, list[Fault]()
        self.tree, self.digests = Tree(), [GENESIS]
        # Places and commitments of submissions, hashes of snapshots, the newest second; first results; others.
        self.submissions, self.snapshots = dict[str, tuple[int, set[str]]](), dict[str, str]()
        self.newest, self.n_before_today, self.files = "", 1, dict[str, Any]()
        self.results, self.others = dict[str, int](), list[dict[str, Any]]()
        for number, line in self._lines("log.jsonl"):
            with _placed(self.faults, "log.jsonl", number):
                self._read(number, line)
            self.tree.append(line)
            self.digests.append(sha256(line).hexdigest())
        self.first = self.others[0] if self.others else {}

    def _lines(self, file: str) -> Iterator[tuple[int, bytes]]:
        lines, rest = list[bytes](), b""
        with _placed(self.faults, file):
            *lines, rest = (self.folder / file).read_bytes().split(b"\n")
        yield from enumerate(lines)
        self.faults += [Fault(file, len(lines), "a line's end is required; received none")] * bool(rest)

    def _read(self, number: int, line: bytes) -> None:
        record = parsed(line)
        for name, wanted in ("v", 1), ("seq", number), ("prev_sha256", self.digests[-1]):
            _need(name, wanted, record.get(name))
        kind = record.get("type")
        is_first = (kind == "log") == (number == 0)
        _require(is_first and len(line) <= LONGEST, f"{LONGEST} bytes, and type `log` of record 0 alone, are", kind)
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
        self._date(number, at, as_of[:19] if _TIME(str(as_of)) else "")

    def _submit(self, number: int, record: Any) -> None:
        name, words = record.get("submission_id"), record.get("commitments")
        _require(isinstance(name, str) and name not in self.submissions, "a new `submission_id` is", name)
        is_hex = isinstance(words, list) and all(_HASH(str(each)) for each in words)
        _require(is_hex and words == sorted({*words}) != [], "SHA-256 in ascending order as `commitments` are", words)
        self.submissions[name] = number, set(words)
        snapshot = self.snapshots.get(str(record.get("snapshot_as_of")), "of one before")
        _need("snapshot_sha256", snapshot, record.get("snapshot_sha256"))
        self._date(number, record.get("received_at"))

    def _date(self, number: int, at: Any, least: str = "") -> None:
        _require(_TIME(str(at)) and at >= max(self.newest, least), f"a time from {self.newest} on is", at)
        is_new_day = "" < self.newest[:10] < at[:10]
        self.newest, self.n_before_today = at[:19], number if is_new_day else self.n_before_today

    def check(self, vkey: str | None, witnesses: list[str]) -> None:
        """Check the signatures, what days say, and the files whose hashes the log has."""
        own = self.first.get("vkey")
        with _placed(self.faults, "vkey"):
            _need("key and line's end", [vkey or own, ""], (self.folder / "vkey").read_bytes().decode().split("\n"))
        with _placed(self.faults, "checkpoint"):
            key, size = parse_key(vkey or own), len(self.digests) - 1
            found = open_checkpoint((self.folder / "checkpoint").read_bytes().decode(), key)
            _need("origin and vkey of record 0", [key.name, vkey or own], [self.first.get("origin"), own])
            _need("size and root", [size, b64encode(self.tree.root(size)).decode()], [*found])
        for day in (each for each in self.others if each.get("type") == "day"):
            with _placed(self.faults, "log.jsonl", day["seq"]):
                n: Any = day.get("tree_size")
                _require(type(n) is int and 1 <= n <= day["seq"], f"a `tree_size` from 1 to {day['seq']} is", n)
                _need("root", b64encode(self.tree.root(n)).decode(), day.get("root"))
                _need("head_sha256", self.digests[n], day.get("head_sha256"))
        for witness in witnesses:
            with _placed(self.faults, "cosignatures"):
                note = (self.folder / "cosignatures" / parse_key(witness).key_id.hex()).read_bytes().decode()
                check_signed(note.partition("\n\n")[0] + "\n", note.partition("\n\n")[2], parse_key(witness))
                seen = check_kept(self, note, parse_key(vkey or own))
                _require(seen >= self.n_before_today, f"{self.n_before_today} records, of all whole days, are", seen)
        self._check_files()
        self._check_reveals()

    def _check_files(self) -> None:
        found = {}.fromkeys(f"snapshots/{each.name}" for each in (self.folder / "snapshots").glob("*"))
        for file, digest in sorted((found | self.files).items()):
            with _placed(self.faults, json.dumps(file)[1:-1]):
                _need("sha256", digest, sha256((self.folder / file).read_bytes()).hexdigest())

    def _check_reveals(self) -> None:
        names, number = list(self.submissions), -1
        for number, line in self._lines("reveals.jsonl"):
            with _placed(self.faults, "reveals.jsonl", number):
                reveal = parsed(line)
                name, opened = reveal.get("submission_id"), reveal.get("opened")
                _require(name in names[number : number + 1], f"the `submission_id` of submission {number} is", name)
                _require(len(reveal) == 2 and isinstance(opened, list), "two members, `opened` a list, are", reveal)
                seq, commitments = self.submissions[name]
                check_opened(opened, commitments)
                asked = [canonical(body.get("market_id")) for body in opened if isinstance(body, dict)]
                late = [each for each in asked if self.results.get(each, seq) < seq]
                _require(not late, "decisions before their markets' results are", late)
        with _placed(self.faults, "reveals.jsonl", number + 1):
            _require(number + 1 >= len(names), f"a line for each of {len(names)} submissions is", number + 1)


def check_kept(export: Export, note: str, key: Key) -> int:
    """Check that a checkpoint is a beginning of a log, and return of how many."""
    size, root = open_checkpoint(note, key)
    _require(0 < size < len(export.digests), f"a log of {size} records or more is", len(export.digests) - 1)
    _need(f"root of {size} records", b64encode(export.tree.root(size)).decode(), root)
    return size


def check_receipt(receipt: Any, key: Key) -> None:
    """Check that the log has the record of a receipt, and that the salts open it."""
    for name, kind in ("record", dict), ("checkpoint", str), ("proof", list), ("salts", list), ("leaf_index", int):
        found = receipt.get(name) if isinstance(receipt, dict) else receipt
        _require(isinstance(found, kind), f"`{name}` as in a receipt is", found)
    record, proof, words = receipt["record"], receipt["proof"], receipt["record"].get("commitments")
    is_hex = isinstance(words, list) and all(_HASH(str(each)) for each in words + proof)
    _require(is_hex, "SHA-256 in hex as `commitments` and `proof` are", [words, proof])
    size, root = open_checkpoint(receipt["checkpoint"], key)
    _need("leaf_index and tree_size", [record.get("seq"), size], [receipt["leaf_index"], receipt.get("tree_size")])
    leaf = sha256(b"\0" + canonical(record).encode()).digest()
    way = [bytes.fromhex(str(each)) for each in proof]
    _need("root", b64encode(root_by_proof(receipt["leaf_index"], size, leaf, way)).decode(), root)
    check_opened(receipt["salts"], set(words))
    _need("number of salts", len(words), len(receipt["salts"]))


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="openoutcry-verify", description=__doc__.split("\n", 1)[0])
    parser.add_argument("what", choices=["receipt", "export", "consistency"])
    parser.add_argument("paths", nargs="+", type=Path, help="a receipt, an export, or a checkpoint and an export")
    parser.add_argument("--vkey", help="the log's key as you know it; by default of an export its own")
    parser.add_argument("--witness", action="append", default=[], help="the key of a witness that must have signed")
    parser.add_argument("--recompute-scores", action="store_true", help="also say the scores of an export again")
    parser.add_argument("--all", action="store_true", help="list every fault, not the first alone")
    given = parser.parse_args(words)
    if len(given.paths) != 1 + (given.what == "consistency") or (given.what == "receipt" and not given.vkey):
        parser.error("receipt FILE --vkey V, export DIR, or consistency OLD DIR is required")
    faults, first = list[Fault](), given.paths[0]
    if given.what == "receipt":
        with _placed(faults, str(first)):
            check_receipt(json.loads(first.read_bytes()), parse_key(given.vkey))
    else:
        export = Export(given.paths[-1])
        export.check(given.vkey, given.witness)
        faults = export.faults
    if given.what == "consistency":
        with _placed(faults, str(first)):
            check_kept(export, first.read_bytes().decode(), parse_key(given.vkey or export.first.get("vkey")))
    if given.recompute_scores and given.what != "receipt":
        with _placed(faults, "rescoring.py"):
            rescoring = run_path(str(Path(__file__).with_name("rescoring.py")))
            faults += [Fault("scores.json", None, each) for each in rescoring["faults"](export.folder)]
    print("\n".join(map(str, faults if given.all else faults[:1])) or "ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
