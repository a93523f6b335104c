"""Test that the text of a file is read in its encoding, or refused, and never as other letters."""

from __future__ import annotations

from pathlib import Path

import pytest

import openoutcry as oo
from openoutcry.data.readers import market_file
from openoutcry.data.readers.market_columns import ReadOptions

NUMBERS = [f"{day},101.5,103.25,100.5,102.75,9{day[-1]}00" for day in ("2024/01/04", "2024/01/05", "2024/01/09")]
# Language -> header of date, symbol, open, high, low, close, volume, a symbol, and encodings with their names.
FILES = {
    "Japanese": ("日付,銘柄名,始値,高値,安値,終値,出来高", "トヨタ自動車", {"cp932": "Shift JIS", "euc_jp": "EUC-JP"}),
    "Chinese": ("日期,股票代码,开盘,最高,最低,收盘,成交量", "贵州茅台", {"gbk": "GB 18030", "gb18030": "GB 18030"}),
    "Taiwanese": ("日期,證券代號,開盤價,最高價,最低價,收盤價,成交股數", "台積電", {"cp950": "Big5"}),
    "Korean": ("일자,종목명,시가,고가,저가,종가,거래량", "삼성전자", {"euc_kr": "EUC-KR", "cp949": "EUC-KR"}),
    "Russian": ("дата,code,открытие,максимум,минимум,закрытие,объём", "ГАЗПРОМ", {"cp1251": "Windows-1251"}),
}
CASES = [(name, encoding) for name, (_, _, encodings) in FILES.items() for encoding in encodings]


def text(name: str) -> str:
    header, symbol, _ = FILES[name]
    return "\n".join([header, *(line.replace(",", f",{symbol},", 1) for line in NUMBERS)]) + "\n"


@pytest.mark.parametrize(("name", "encoding"), CASES)
def test_column_names_of_a_language_show_the_encoding(name: str, encoding: str, tmp_path: Path) -> None:
    (tmp_path / "plain.csv").write_text(text(name), encoding="utf-8")
    (tmp_path / "other.csv").write_bytes(text(name).encode(encoding))
    found = oo.Dataset.from_csv(tmp_path / "other.csv", 252.0)
    assert found == oo.Dataset.from_csv(tmp_path / "plain.csv", 252.0)
    assert found.symbols == (FILES[name][1],)
    assert found.open is not None
    assert found.volume is not None
    assert (found.open[0, 0], found.close[0, 0], found.volume[0, 0]) == (101.5, 102.75, 9400.0)
    described = market_file.read(tmp_path / "other.csv", ReadOptions()).described
    assert described[0] == ("encoding", FILES[name][2][encoding])


def test_one_name_of_the_date_shows_the_encoding_of_a_table_of_symbols(tmp_path: Path) -> None:
    rows = [f"2024/01/{day:02d},{100 + day}.5,{200 + day}.25" for day in range(4, 12)]
    (tmp_path / "wide.csv").write_bytes("\n".join(["日付,トヨタ,ソニー", *rows]).encode("cp932"))
    assert oo.Dataset.from_csv(tmp_path / "wide.csv", 252.0).symbols == ("トヨタ", "ソニー")


@pytest.mark.parametrize("encoding", ["cp932", "euc_jp"])
def test_names_above_the_header_and_times_of_day_are_read(encoding: str, tmp_path: Path) -> None:
    rows = [f"2024/01/{day:02d},{clock},101.5,102.5" for day in (4, 5) for clock in ("09:00", "09:05", "12:30")]
    content = "\n".join(["1301 極洋 ５分足", "日付,時刻,始値,終値", *rows]) + "\n"
    (tmp_path / "1301.csv").write_bytes(content.encode(encoding))
    found = oo.Dataset.from_csv(tmp_path / "1301.csv", 1000.0)
    assert found.dates[:3] == ("2024-01-04T09:00:00", "2024-01-04T09:05:00", "2024-01-04T12:30:00")


@pytest.mark.parametrize("header", ["Datum,Code,Close", "Date,Code,Close,Volume", "date,symbol,close"])
@pytest.mark.parametrize("encoding", ["cp932", "euc_jp", "gb18030", "cp950"])
def test_symbols_in_an_unknown_encoding_are_refused(header: str, encoding: str, tmp_path: Path) -> None:
    rows = [f"2024-01-{day:02d},東京電力,{100 + day}.5" + ",900" * header.count("Volume") for day in range(4, 9)]
    (tmp_path / "names.csv").write_bytes("\n".join([header, *rows]).encode(encoding))
    with pytest.raises(oo.OpenOutcryError, match="UTF-8") as refused:
        oo.Dataset.from_csv(tmp_path / "names.csv", 252.0)
    assert refused.value.slug == "field_unparsable"
    assert "line 2" in str(refused.value)


def test_western_letters_stay_windows_1252(tmp_path: Path) -> None:
    rows = [f"{day:02d}.01.2024;Société Générale \u2013 «Größe» №;{100 + day},5" for day in range(15, 22)]
    content = "\n".join(["Datum;Code;Schlusskurs", *rows]).replace("№", "ÄÖÜ €")
    (tmp_path / "western.csv").write_bytes(content.encode("cp1252"))
    found = oo.Dataset.from_csv(tmp_path / "western.csv", 252.0)
    assert found.symbols == ("Société Générale \u2013 «Größe» ÄÖÜ €",)


def test_text_that_ends_within_a_letter_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cut.csv").write_bytes(text("Japanese").encode("utf-16")[:-1])
    with pytest.raises(oo.OpenOutcryError, match=r"complete UTF-16 text is required; received 'cut.csv'"):
        oo.Dataset.from_csv(tmp_path / "cut.csv", 252.0)
    (tmp_path / "half.csv").write_bytes(text("Japanese").encode("cp932") + b"\x83")
    with pytest.raises(oo.OpenOutcryError, match="text in UTF-8, or in an encoding that its column names show"):
        oo.Dataset.from_csv(tmp_path / "half.csv", 252.0)
