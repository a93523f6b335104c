"""Read and write snapshots of datasets: two files named by fingerprint.

`<fingerprint>.npz` holds the numbers, for `numpy.load`; `<fingerprint>.json` is the manifest. Both files have the same
bytes on every machine.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import numpy.typing as npt

from openoutcry.arguments import checked_text
from openoutcry.data.columns import stated_periods
from openoutcry.data.dataset import Dataset
from openoutcry.data.readers.file_content import check_entries
from openoutcry.data.readers.file_objects import MAX_BYTES
from openoutcry.data.snapshots.market_tables import TABLES, tables_of
from openoutcry.errors import OpenOutcryError, refusal
from openoutcry.untrusted.bounded_file import open_file, read_bytes
from openoutcry.untrusted.counted_nouns import counted

FORMAT = "openoutcry/snapshot/v1"
SUFFIXES = (".json", ".npz")
# The earliest time of a zip entry: a snapshot must not depend on the clock.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_TEXTS = ("format", "fingerprint", "name", "source")
_LISTS = ("dates", "symbols", "notices", "news", "fundamentals", "columns")
# Start of the names of arrays of features.
_FEATURE = "feature_"
# numpy and zipfile raise these for a damaged archive: of its index, of compressed data, or of the header of an array.
_DAMAGES = (
    ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NotImplementedError, OSError, RuntimeError,
    SyntaxError, TypeError, ValueError, TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def freeze(dataset: Dataset, folder: str | os.PathLike[str], source: str) -> Path:
    """Write a snapshot of a dataset and return the path of its manifest.

    If the snapshot exists already, nothing changes.

    Args:
        dataset: The dataset.
        folder: Folder of the two files; created if missing.
        source: Description of the source of the data.

    Raises:
        OpenOutcryError: `argument_invalid`: a file of that name exists with other content: the same numbers under
            another name or source, or a damaged snapshot.
        OSError: the folder cannot be written to.
    """
    checked_text("source", source)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        folder / f"{dataset.fingerprint}.npz": _numbers(dataset),
        # Last, so that a manifest never exists without its numbers.
        folder / f"{dataset.fingerprint}.json": manifest_text(dataset, source).encode(),
    }
    for path, content in files.items():
        if path.exists() and read_bytes(path, MAX_BYTES, "a file of a snapshot") != content:
            message = f"`{path}` must be absent or the same snapshot; received other content"
            raise refusal(
                "argument_invalid", f"{message}; hint: it may hold the same numbers with another name or source"
            )
    for path, content in files.items():
        if not path.exists():
            _write(path, content)
    return path


def load(path: str | os.PathLike[str]) -> Dataset:
    """Return the dataset of a snapshot, verified against its fingerprint.

    Args:
        path: The manifest or the `.npz` file.

    Raises:
        OpenOutcryError: `field_unparsable`: the files are not a snapshot; `value_invalid`: the content has changed.
        OSError: one of the two files cannot be read.
    """
    path = Path(path)
    manifest = _manifest(path.with_suffix(".json"))
    numbers = _arrays(path.with_suffix(".npz"))
    values = numbers.pop("fundamentals").ravel().tolist()
    if len(values) != len(manifest["fundamentals"]):
        wanted = f"`fundamentals` must have {counted(len(manifest['fundamentals']), 'value')}"
        raise refusal("value_invalid", f"{wanted}; received {len(values)}")
    fundamentals = [(*item, value) for item, value in zip(manifest["fundamentals"], values, strict=True)]
    names = manifest.get("features", [])
    if {each for each in numbers if each.startswith(_FEATURE)} != {f"{_FEATURE}{place}" for place in range(len(names))}:
        raise refusal("field_unparsable", f"{len(names)} features are required in a snapshot; received {path.name}")
    features = {name: numbers.pop(f"{_FEATURE}{place}") for place, name in enumerate(names)}
    dataset = Dataset.from_arrays(
        manifest["dates"],
        manifest["symbols"],
        periods_per_year=float(numbers.pop("periods_per_year")),
        fundamentals=fundamentals,
        news=[tuple(item) for item in manifest["news"]],
        features=features,
        name=manifest["name"],
        notices=manifest["notices"],
        **numbers,
    )
    if dataset.fingerprint != manifest["fingerprint"]:
        message = f"a snapshot must have the fingerprint {manifest['fingerprint']}; received {dataset.fingerprint}"
        raise refusal("value_invalid", message)
    return dataset


def manifest_text(dataset: Dataset, source: str) -> str:
    """Return the manifest of a dataset as RFC 8785 canonical JSON.

    All its numbers are integers, so sorted keys without white space are canonical.
    """
    tables = tables_of(dataset)
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "fingerprint": dataset.fingerprint,
        "name": dataset.name,
        "source": source,
        "notices": dataset.notices,
        "columns": list(tables) + ([] if dataset.risk_free is None else ["risk_free"]),
        "dates": dataset.dates,
        "symbols": dataset.symbols,
        "n_bars": dataset.n_bars,
        "n_symbols": dataset.n_symbols,
        "n_values": {name: _n_values(table) for name, table in tables.items()},
        "n_closes": dict(zip(dataset.symbols, np.isfinite(dataset.close).sum(axis=0).tolist(), strict=True)),
        "fundamentals": [item[:3] for item in dataset.fundamentals],
        "news": dataset.news,
    }
    if dataset.features:
        manifest["features"] = list(dataset.features)
    return json.dumps(manifest, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _n_values(table: npt.NDArray[Any]) -> int:
    return table.size if table.dtype == np.bool_ else int(np.isfinite(table).sum())


def _numbers(dataset: Dataset) -> bytes:
    arrays: dict[str, npt.NDArray[Any]] = dict(tables_of(dataset))
    if dataset.risk_free is not None:
        arrays["risk_free"] = dataset.risk_free
    arrays["periods_per_year"] = np.array(stated_periods(dataset))
    arrays["fundamentals"] = np.array([item[3] for item in dataset.fundamentals], dtype=np.float64)
    for place, feature in enumerate(dataset.features.values()):
        arrays[f"{_FEATURE}{place}"] = feature.values
    buffer = io.BytesIO()
    # Stored, not deflated: the output of zlib depends on its version.
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, array in sorted(arrays.items()):
            content = io.BytesIO()
            np.lib.format.write_array(content, _one_nan(array), version=(1, 0), allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", _NO_TIME)
            entry.create_system = 3
            archive.writestr(entry, content.getvalue())
    return buffer.getvalue()


def _one_nan(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a little-endian array with one NaN bit pattern, as in the fingerprint."""
    if array.dtype == np.bool_:
        return np.ascontiguousarray(array)
    return np.asarray(np.where(np.isnan(array), np.nan, array), dtype="<f8", order="C")


def _arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    known = {*TABLES, "risk_free", "periods_per_year", "fundamentals"}
    # numpy leaves a file open that is no archive: it gets an open one.
    with open_file(path, "the numbers of a snapshot", "field_unparsable") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                check_entries(archive, path.stat().st_size, path)
            file.seek(0)
            with np.load(file, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
        except OpenOutcryError:
            raise
        except _DAMAGES as error:
            message = f"the numbers of a snapshot are required; received {path.name}"
            raise refusal("field_unparsable", message) from error
    tables = {name for name in arrays if not name.startswith(_FEATURE)}
    if not {"close", "periods_per_year", "fundamentals"} <= tables <= known:
        raise refusal("unknown_column", f"columns must be among {', '.join(sorted(known))}; received {path.name}")
    # numpy returns the bytes of a member that is no array.
    is_numeric = all(isinstance(each, np.ndarray) and each.dtype.kind in "biuf" for each in arrays.values())
    if not is_numeric or arrays["periods_per_year"].shape != ():
        raise refusal("field_unparsable", f"arrays of numbers are required in a snapshot; received {path.name}")
    return arrays


def _manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(read_bytes(path, MAX_BYTES, "a manifest", "field_unparsable"))
    except OpenOutcryError:
        raise
    except (ValueError, RecursionError) as error:
        raise refusal("field_unparsable", f"the manifest of a snapshot is required; received {path.name}") from error
    is_manifest = (
        isinstance(manifest, dict)
        and manifest.get("format") == FORMAT
        and all(isinstance(manifest.get(name), str) for name in _TEXTS)
        and all(isinstance(manifest.get(name), list) for name in _LISTS)
    )
    if not is_manifest:
        raise refusal("field_unparsable", f"a manifest of the form {FORMAT} is required; received {path.name}")
    return dict(manifest)


def _write(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_bytes(content)
    part.replace(path)
