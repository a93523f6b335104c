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


def canonical(value: Any, depth: int = 0) -> str:
    """Return a value as RFC 8785 writes it."""
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and abs(value) <= LARGEST:
        return str(value)
    if depth == DEEPEST or not isinstance(value, (dict, list)):
        raise Wrong("texts, integers, lists and objects are required; received another value")
    if isinstance(value, list):
        return f"[{','.join([canonical(each, depth + 1) for each in value])}]"
    order = None if "".join(value).isascii() else lambda name: name.encode("utf-16-be", "surrogatepass")
    names = sorted(value, key=order)
    return f"{{{','.join([f'{encode_basestring(name)}:{canonical(value[name], depth + 1)}' for name in names])}}}"


_HASH = re.compile("[0-9a-f]{64}").fullmatch
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{6})?Z").fullmatch
# A log has no fractions: as null they are not what stands there.
_DECODER = json.JSONDecoder(parse_float=lambda _: None, parse_constant=lambda _: None)


def parsed(line: bytes) -> dict[str, Any]:
    """Return the object of a line, which must be canonical."""
    with suppress(ValueError, RecursionError):
        found = _DECODER.decode(line.decode())
        if isinstance(found, dict) and canonical(found).encode() == line:
            return found
    raise Wrong("an object in canonical JSON without fractions is required; received another line")


# Ed25519, with points as x, y, z and x * y / z.
P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
Point = tuple[int, int, int, int]


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


BASE = _point((4 * pow(5, -1, P) % P).to_bytes(32, "little")) or (0, 1, 1, 0)


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
    raise Wrong(f"base 64 in its one form is required; received {text[:80]!r}")


def parse_key(vkey: str) -> Key:
    """Return the key of a text `NAME+ID+KEY`."""
    parts = re.fullmatch(r"([^\s+]+)\+([0-9a-f]{8})\+(\S+)", vkey)
    content = _unbase64(parts[3]) if parts else b""
    key_id = sha256(parts[1].encode() + b"\n" + content).digest()[:4] if parts else b""
    if not parts or len(content) != 33 or content[0] not in (1, 4) or key_id.hex() != parts[2]:
        raise Wrong(f"a key `NAME+ID+KEY` is required; received {vkey[:80]!r}")
    return Key(parts[1], key_id, content[0], content[1:])


def check_signed(text: str, lines: str, key: Key) -> None:
    """Check that a line below a note is a signature of a key over its text."""
    is_found = False
    for line in lines.split("\n")[:-1]:
        match = re.fullmatch(r"— ([^\s+]+) (\S+)", line)
        content = _unbase64(match[2]) if match else b""
        if match is None or len(content) < 5:
            raise Wrong(f"a line `— NAME SIGNATURE` is required; received {line[:80]!r}")
        if (match[1], content[:4]) == (key.name, key.key_id):
            is_found, at = True, 12 if key.kind == 4 else 4
            head = f"cosignature/v1\ntime {int.from_bytes(content[4:at], 'big')}\n" if key.kind == 4 else ""
            if not is_signed(key.public, (head + text).encode(), content[at:]):
                raise Wrong(f"a signature of {key.name} over this text is required; received another")
    if not is_found:
        raise Wrong(f"a signature of {key.name} is required; received none")


def open_checkpoint(note: str, key: Key) -> tuple[int, str]:
    """Return the size and root of a checkpoint that a log has signed."""
    if any(each < " " and each != "\n" for each in note):
        raise Wrong("a note without control characters is required; received one with them")
    text, blank, lines = note.rpartition("\n\n")
    parts = text.split("\n")
    if not blank or not lines.endswith("\n") or len(parts) < 3 or not re.fullmatch("0|[1-9][0-9]{0,15}", parts[1]):
        raise Wrong("origin, size, root, a blank line and signatures are required; received another note")
    check_signed(text + "\n", lines, key)
    if parts[0] != key.name or len(_unbase64(parts[2])) != 32:
        raise Wrong(f"a root of the log {key.name} is required; received that of {parts[0]}")
    return int(parts[1]), parts[2]


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


def root_by_proof(index: int, size: int, leaf: bytes, proof: list[bytes]) -> bytes:
    """Return the root that a proof leads to from a leaf."""
    if not 0 <= index < size or (size == 1) == bool(proof) or len(leaf) != 32:
        raise Wrong("a proof of as many hashes as the way has is required; received another")
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
        raise Wrong(f"`{name}` must be {wanted}; received {str(received)[:80]}")


def check_opened(bodies: list[Any], commitments: set[str]) -> None:
    """Check that each body opens another one of some commitments."""
    found = [sha256(canonical(body).encode()).hexdigest() for body in bodies]
    if len({*found}) < len(found) or not commitments.issuperset(found):
        raise Wrong("what the submission committed to is required, once each; received another body")


class Export:
    """The export of a season, and all that is wrong in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.faults = folder, list[Fault]()
        self.tree, self.digests = Tree(), [GENESIS]
        # Places and commitments of submissions, hashes of snapshots, and the second of the newest of these so far.
        self.submissions, self.snapshots, self.newest = dict[str, tuple[int, set[str]]](), dict[str, str](), ""
        # The place of each market's first result, and all other records.
        self.results, self.others = dict[str, int](), list[dict[str, Any]]()
        for number, line in self._lines("log.jsonl"):
            try:
                self._read(number, line)
            except Wrong as wrong:
                self.faults.append(Fault("log.jsonl", number, str(wrong)))
            self.tree.append(line)
            self.digests.append(sha256(line).hexdigest())
        self.first = self.others[0] if self.others else {}

    @contextmanager
    def _place(self, file: str, line: int | None = None) -> Iterator[None]:
        try:
            yield
        except (Wrong, OSError, UnicodeDecodeError) as wrong:
            self.faults.append(Fault(file, line, str(wrong)))

    def _lines(self, file: str) -> Iterator[tuple[int, bytes]]:
        lines, rest = list[bytes](), b""
        with self._place(file):
            *lines, rest = (self.folder / file).read_bytes().split(b"\n")
        yield from enumerate(lines)
        with self._place(file, len(lines)):
            _need("the end of the file", b"", rest)

    def _read(self, number: int, line: bytes) -> None:
        record = parsed(line)
        for name, wanted in ("v", 1), ("seq", number), ("prev_sha256", self.digests[-1]):
            _need(name, wanted, record.get(name))
        kind = record.get("type")
        if (kind == "log") != (number == 0) or len(line) > LONGEST:
            raise Wrong(f"records of {LONGEST} bytes, of which the first is the log's, are required; received {kind}")
        self.others += [record] * (kind != "submission")
        if kind == "submission":
            self._submit(number, record)
        if kind == "snapshot":
            as_of, digest = record.get("as_of"), record.get("sha256")
            if not isinstance(as_of, str) or as_of in self.snapshots or not isinstance(digest, str):
                raise Wrong("a new `as_of` and a `sha256` are required; received others")
            self.snapshots[as_of] = digest
            self.newest = max(self.newest, as_of[:19] if _TIME(as_of) else "")
        if kind == "resolution":
            self.results.setdefault(canonical(record.get("market_id")), number)

    def _submit(self, number: int, record: dict[str, Any]) -> None:
        name, hashes = record.get("submission_id"), record.get("commitments")
        if not isinstance(name, str) or name in self.submissions:
            raise Wrong(f"a new `submission_id` is required; received {name}")
        words = hashes if isinstance(hashes, list) else []
        if not words or not all(isinstance(each, str) and _HASH(each) for each in words) or words != sorted({*words}):
            raise Wrong("`commitments` must be SHA-256 in ascending order; received others")
        self.submissions[name] = number, set(words)
        snapshot = self.snapshots.get(str(record.get("snapshot_as_of")), "of one before")
        _need("snapshot_sha256", snapshot, record.get("snapshot_sha256"))
        received = str(record.get("received_at"))
        _need(f"received_at {received} from {self.newest} on", True, bool(_TIME(received)) and received >= self.newest)

    def check(self, vkey: str | None, witnesses: list[str]) -> None:
        """Check the signatures, what days say, and the files whose hashes the log has."""
        own, ended = str(self.first.get("vkey")), 1
        with self._place("vkey"):
            _need("vkey", f"{vkey or own}\n", (self.folder / "vkey").read_bytes().decode())
        with self._place("checkpoint"):
            key, size = parse_key(vkey or own), len(self.digests) - 1
            found = open_checkpoint((self.folder / "checkpoint").read_bytes().decode(), key)
            _need("origin and vkey", (key.name, vkey or own), (self.first.get("origin"), own))
            _need("size and root", (size, b64encode(self.tree.root(size)).decode()), found)
        for day in (each for each in self.others if each.get("type") == "day"):
            with self._place("log.jsonl", day["seq"]):
                n: Any = day.get("tree_size")
                _need(f"tree_size {n} from 1 to {day['seq']}", True, type(n) is int and 1 <= n <= day["seq"])
                said = {"root": b64encode(self.tree.root(n)).decode(), "head_sha256": self.digests[n]}
                _need("root and head_sha256", said, {name: day.get(name) for name in said})
                ended = n
        for witness in witnesses:
            with self._place("cosignatures"):
                note = (self.folder / "cosignatures" / parse_key(witness).key_id.hex()).read_bytes().decode()
                check_signed(note.partition("\n\n")[0] + "\n", note.partition("\n\n")[2], parse_key(witness))
                seen = check_kept(self, note, parse_key(vkey or own))
                _need(f"n_witnessed {seen} from {ended}, as of the last day,", True, seen >= ended)
        self._check_files()
        self._check_reveals()

    def _check_files(self) -> None:
        wanted: dict[str, Any] = {}.fromkeys(f"snapshots/{each.name}" for each in (self.folder / "snapshots").glob("*"))
        wanted |= {f"snapshots/{as_of.replace(':', '-')}.json": digest for as_of, digest in self.snapshots.items()}
        rates = (each.get("base_rates_sha256") for each in self.others if each.get("type") == "scoring")
        wanted.update(("base_rates.json", each) for each in rates)
        for file, digest in sorted(wanted.items()):
            with self._place(file):
                _need("sha256", digest, sha256((self.folder / file).read_bytes()).hexdigest())

    def _check_reveals(self) -> None:
        names, number = list(self.submissions), -1
        for number, line in self._lines("reveals.jsonl"):
            with self._place("reveals.jsonl", number):
                reveal = parsed(line)
                name, opened = reveal.get("submission_id"), reveal.get("opened")
                _need("submission_id", names[number] if number < len(names) else None, name)
                if len(reveal) != 2 or not isinstance(opened, list):
                    raise Wrong("`opened`, a list, and `submission_id` are required; received others")
                seq, commitments = self.submissions[str(name)]
                check_opened(opened, commitments)
                asked = [canonical(body.get("market_id")) for body in opened if isinstance(body, dict)]
                _need("n_decided_after_result", 0, sum(self.results.get(each, seq) < seq for each in asked))
        with self._place("reveals.jsonl", number + 1):
            _need("n_lines", True, number + 1 >= len(names))


def check_kept(export: Export, note: str, key: Key) -> int:
    """Check that a checkpoint is a beginning of a log, and return of how many."""
    size, root = open_checkpoint(note, key)
    if not 0 < size < len(export.digests):
        raise Wrong(f"a log of {size} records or more is required; received {len(export.digests) - 1}")
    _need(f"root of {size} records", b64encode(export.tree.root(size)).decode(), root)
    return size


def check_receipt(receipt: dict[str, Any], key: Key) -> None:
    """Check that the log has the record of a receipt, and that the salts open it."""
    record, proof = receipt["record"], [bytes.fromhex(each) for each in receipt["proof"]]
    size, root = open_checkpoint(receipt["checkpoint"], key)
    _need("leaf_index and tree_size", (record["seq"], size), (receipt["leaf_index"], receipt["tree_size"]))
    leaf = sha256(b"\0" + canonical(record).encode()).digest()
    _need("root", b64encode(root_by_proof(record["seq"], size, leaf, proof)).decode(), root)
    check_opened(receipt["salts"], set(record["commitments"]))
    _need("number of salts", len(record["commitments"]), len(receipt["salts"]))


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
    faults: list[Fault] = []
    try:
        if given.what == "receipt":
            check_receipt(json.loads(given.paths[0].read_bytes()), parse_key(given.vkey))
        else:
            export = Export(given.paths[-1])
            faults = export.faults
            export.check(given.vkey, given.witness)
            if given.recompute_scores:
                rescoring = run_path(str(Path(__file__).with_name("rescoring.py")))
                faults += [Fault("scores.json", None, each) for each in rescoring["faults"](export.folder)]
            if given.what == "consistency":
                check_kept(export, given.paths[0].read_bytes().decode(), parse_key(given.vkey or export.first["vkey"]))
    except (KeyError, OSError, TypeError, ValueError, RecursionError) as wrong:
        faults.append(Fault(str(given.paths[0]), None, f"{type(wrong).__name__}: {wrong}"))
    print("\n".join(map(str, faults if given.all else faults[:1])) or "ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
