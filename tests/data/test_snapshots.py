"""Snapshots: a frozen market loads unchanged under its fingerprint, or is refused."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import accepted, count, dataset_of, dates_of, names_of
from command_line import typed
from hypothesis import given, settings
from hypothesis import strategies as st

import openoutcry as oo
from openoutcry.data.snapshots import snapshot_files

pytestmark = pytest.mark.once

DRAWS = settings(max_examples=count(200, 40))
SEEDS = st.integers(0, 2**32 - 1)


def everything(**changes: Any) -> oo.Dataset:
    close = np.array([[1.5, np.nan], [2.5, 7.0], [0.1, 8.0]])
    given_: dict[str, Any] = {"open": close, "high": close, "low": close, "volume": close, "dividends": close * 0.1}
    given_ |= {"splits": [[1.0, 1.0], [2.0, 1.0], [1.0, 1.0]], "tradable": np.isfinite(close), "delistings": None}
    given_ |= {"risk_free": [0.0, 1e-4, -0.0], "periods_per_year": 250.1, "name": "all of it", "notices": ("made up",)}
    given_ |= {"fundamentals": [("Ü", "2000-01-04", "eps", 1.1), ("Ü", "2000-01-05", "eps", 1.2)]}
    given_ |= {"news": [('Q"T', "1999-01-01", "line\nbreak \u2028 and \\"), ('Q"T', "2000-01-04", "€")]}
    return oo.Dataset.from_arrays(dates_of(3), ["Ü", 'Q"T'], close, **given_ | changes)


@DRAWS
@given(seed=SEEDS)
def test_any_market_round_trips(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    market = accepted(seed)[0]
    dataset = dataset_of(market, names_of(np.shape(market.close)[1]))
    folder = tmp_path_factory.mktemp("frozen")
    path = snapshot_files.freeze(dataset, folder, "made up")
    assert path == folder / f"{dataset.fingerprint}.json"
    back = snapshot_files.load(path)
    assert (back, back.fingerprint) == (dataset, dataset.fingerprint)


def test_a_snapshot_contains_fundamentals_news_and_notices(tmp_path: Path) -> None:
    dataset = everything()
    path = snapshot_files.freeze(dataset, tmp_path / "new" / "folder", "a vendor, 2026")
    back = snapshot_files.load(path.with_suffix(".npz"))
    assert back.fingerprint == dataset.fingerprint
    assert (back.name, back.notices) == (dataset.name, dataset.notices)
    assert (back.fundamentals, back.news) == (dataset.fundamentals, dataset.news)
    manifest = json.loads(path.read_text(encoding="utf-8"))
    assert manifest["source"] == "a vendor, 2026"
    assert (manifest["n_bars"], manifest["n_symbols"], manifest["n_closes"]) == (3, 2, {"Ü": 3, 'Q"T': 2})
    assert manifest["dates"] == dates_of(3)
    assert manifest["columns"][:2] == ["close", "open"]
    assert manifest["n_values"]["volume"] == 5
    with np.load(path.with_suffix(".npz")) as numbers:
        np.testing.assert_array_equal(numbers["close"], dataset.close)


def test_a_snapshot_has_the_same_bytes_every_time(tmp_path: Path) -> None:
    volume = np.array(everything().volume).view(np.uint64)
    volume[0, 1] = 0xFFF8000000000001
    other_nan = everything(volume=volume.view(np.float64))
    paths = [
        snapshot_files.freeze(each, tmp_path / name, "x") for each, name in ((everything(), "a"), (other_nan, "b"))
    ]
    for suffix in (".json", ".npz"):
        assert len({path.with_suffix(suffix).read_bytes() for path in paths}) == 1
    text = paths[0].read_text(encoding="utf-8")
    # RFC 8785: sorted keys, no white space, no number that is not an integer.
    assert text == json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    assert re.search(r"\d\.\d", re.sub(r'"(\\.|[^"\\])*"', '""', text)) is None
    with zipfile.ZipFile(paths[0].with_suffix(".npz")) as archive:
        assert {entry.date_time[0] for entry in archive.infolist()} == {1980}
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == sorted(
        everything().fingerprint + suffix for suffix in (".json", ".npz")
    )


def test_an_existing_snapshot_is_never_overwritten(tmp_path: Path) -> None:
    path = snapshot_files.freeze(everything(), tmp_path, "x")
    before = {each: each.read_bytes() for each in tmp_path.iterdir()}
    assert snapshot_files.freeze(everything(), tmp_path, "x") == path
    for change in ({"source": "y"}, {"name": "other"}):
        with pytest.raises(oo.OpenOutcryError, match="or the same snapshot") as refused:
            snapshot_files.freeze(
                everything(**{k: v for k, v in change.items() if k == "name"}), tmp_path, change.get("source", "x")
            )
        assert refused.value.slug == "argument_invalid"
    assert {each: each.read_bytes() for each in tmp_path.iterdir()} == before
    path.with_suffix(".npz").write_bytes(b"damaged")
    with pytest.raises(oo.OpenOutcryError, match="or the same snapshot"):
        snapshot_files.freeze(everything(), tmp_path, "x")


def damaged(path: Path, change: Any) -> None:
    manifest = json.loads(path.read_text(encoding="utf-8"))
    change(manifest)
    path.write_text(json.dumps(manifest), encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "slug"),
    [
        (lambda manifest: manifest.update(symbols=["Ü", "other"], news=[]), "value_invalid"),
        (lambda manifest: manifest["dates"].__setitem__(2, "2001-01-01"), "value_invalid"),
        (lambda manifest: manifest["fundamentals"].pop(), "value_invalid"),
        (lambda manifest: manifest["news"][0].__setitem__(2, "other"), "value_invalid"),
        (lambda manifest: manifest.update(fingerprint="0" * 64), "value_invalid"),
        (lambda manifest: manifest.update(format="openoutcry/snapshot/v2"), "field_unparsable"),
        (lambda manifest: manifest.pop("notices"), "field_unparsable"),
    ],
)  # fmt: skip
def test_a_changed_manifest_is_refused(tmp_path: Path, change: Any, slug: str) -> None:
    path = snapshot_files.freeze(everything(), tmp_path, "x")
    damaged(path, change)
    with pytest.raises(oo.OpenOutcryError) as refused:
        snapshot_files.load(path)
    assert refused.value.slug == slug


def test_changed_numbers_are_refused(tmp_path: Path) -> None:
    path = snapshot_files.freeze(everything(), tmp_path, "x").with_suffix(".npz")
    with np.load(path) as archive:
        numbers = dict(archive)
    other = numbers["close"].copy()
    other[0, 0] = np.nextafter(other[0, 0], 2.0)
    for changed, slug in (
        (numbers | {"close": other}, "value_invalid"),
        ({name: each for name, each in numbers.items() if name != "high"}, "value_invalid"),
        ({name: each for name, each in numbers.items() if name != "close"}, "unknown_column"),
        (numbers | {"bid": other}, "unknown_column"),
    ):
        with path.open("wb") as file:
            np.savez(file, **changed)
        with pytest.raises(oo.OpenOutcryError) as refused:
            snapshot_files.load(path)
        assert refused.value.slug == slug
    for content in (b"", b"PK", b"text"):
        path.write_bytes(content)
        with pytest.raises(oo.OpenOutcryError, match="the numbers of a snapshot") as refused:
            snapshot_files.load(path)
        assert refused.value.slug == "field_unparsable"


def call(*words: str | Path, code: int = 0) -> str:
    done = typed(*words)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr if code == 2 else done.stdout


def test_every_command_accepts_a_snapshot_as_market(tmp_path: Path) -> None:
    manifest = call("data", "freeze", "ecb-fx:USD,JPY", "--out", tmp_path).strip()
    assert "Source: ECB" in json.loads(Path(manifest).read_text(encoding="utf-8"))["source"]
    run = json.loads(call("run", "--data", manifest, "--json"))
    assert run["fingerprint"] == oo.data.load("ecb-fx", ["USD", "JPY"]).fingerprint == Path(manifest).stem
    # Freezing again changes nothing: the source stays.
    assert call("data", "freeze", manifest, "--out", tmp_path).strip() == manifest
    for words, complaint in (
        (["data", "freeze", "ecb-fx:USD,JPY", "--out", tmp_path, "--source", "else"], "another name or source"),
        (["data", "freeze", "ecb-fx", "--out", manifest], "`--out` must be a folder"),
        (["data", "describe", tmp_path / "none.json"], "or a snapshot"),
        (["run", "--data", manifest, "--periods-per-year", "12"], "must be left out with a snapshot"),
    ):
        assert complaint in call(*words, code=2)


def test_the_manifest_of_a_file_states_its_name_and_digest_but_no_folder(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text("date,A\n2020-01-01,1\n2020-01-02,2\n", encoding="utf-8")
    words = ["data", "freeze", tmp_path / "prices.csv", "--periods-per-year", "12", "--out", tmp_path, "--json"]
    written = json.loads(call(*words))
    manifest = json.loads(Path(written["manifest"]).read_text(encoding="utf-8"))
    assert re.fullmatch("prices.csv, SHA-256 [0-9a-f]{64}", manifest["source"])
    assert str(tmp_path) not in json.dumps(manifest)
    assert snapshot_files.load(written["manifest"]).periods_per_year == 12.0
