"""Test numbers that can mean a thousand or a decimal."""

from __future__ import annotations

import pytest

import openoutcry as oo


def file_of(header: str, *rows: str) -> str:
    return "\n".join([header, *rows]) + "\n"


GERMAN = file_of("Datum;Schluss;Volumen", "30.01.2024;16.794;234.567", "31.01.2024;16.903;198.112")
AMBIGUOUS = {
    "semicolons and German names": GERMAN,
    "semicolons": file_of("Date;Close", "2024-01-30;16.794", "2024-01-31;16.903"),
    "German names": file_of("Datum\tSchluss", "30.01.2024\t16.794", "31.01.2024\t16.903"),
    "French names": file_of("date,clot,vol", "2024-01-30,16.794,12", "2024-01-31,16.903,13"),
    "a volume with three digits": file_of("Date,Close,Volume", "2024-01-30,16.794,1.567", "2024-01-31,16.903,98.112"),
    "symbols side by side": file_of("Datum;DAX;MDAX", "30.01.2024;16.794;26.111", "31.01.2024;16.903;25.944"),
}
READ = {
    "commas and English names": file_of("Date,Close,Volume", "2024-01-30,16.794,0", "2024-01-31,16.903,0"),
    "yen": file_of("Date,Open,Close", "2024-01-30,146.794,146.101", "2024-01-31,146.903,147.000"),
    "an ungrouped volume": file_of("Date;Close;Volume", "2024-01-30;16.794;56550", "2024-01-31;16.903;12"),
    "a price above a thousand": file_of("Date;Close;Low", "2024-01-30;16.794;1016.794", "2024-01-31;16.903;1.001"),
    "a price with two digits": file_of("Date;Close;Low", "2024-01-30;16.794;16.79", "2024-01-31;16.903;16.811"),
    "a price below one": file_of("Date;Close", "2024-01-30;16.794", "2024-01-31;0.903"),
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_points_before_three_digits_are_asked_about_in_a_continental_file(name: str) -> None:
    with pytest.raises(oo.OpenOutcryError, match=r'hint: decimal="," or decimal="\."') as refused:
        oo.Dataset.from_csv(AMBIGUOUS[name], 252, symbol=None if "MDAX" in AMBIGUOUS[name] else "A")
    assert refused.value.slug == "field_unparsable"


@pytest.mark.parametrize(("decimal", "close"), [(",", 16794.0), (".", 16.794)])
def test_a_stated_mark_reads_them(decimal: str, close: float) -> None:
    assert oo.Dataset.from_csv(GERMAN, 252, symbol="A", decimal=decimal).close[0, 0] == close


@pytest.mark.parametrize("name", READ)
def test_prices_of_three_decimals_are_read(name: str) -> None:
    assert oo.Dataset.from_csv(READ[name], 252, symbol="A").close[0, 0] in (16.794, 146.101)


def test_two_points_show_a_decimal_comma() -> None:
    text = file_of("Date,Close,Volume", "2024-01-30,16.794,1.234.567", "2024-01-31,16.903,998.112")
    dataset = oo.Dataset.from_csv(text, 252, symbol="A")
    assert dataset.close[:, 0].tolist() == [16794.0, 16903.0]
    assert dataset.volume is not None
    assert dataset.volume[:, 0].tolist() == [1234567.0, 998112.0]


def test_histdata_states_its_point() -> None:
    rows = [f"202402{day:02d} 000000;146.9{day};147.111;146.111;146.8{day};0" for day in range(10, 15)]
    text = "\n".join(rows) + "\n"
    assert oo.Dataset.from_csv(text, 252, symbol="USDJPY", form="histdata").close[0, 0] == 146.810


@pytest.mark.parametrize("small", ["1,2e-05", "4,1E-5", "9e-05"])
def test_powers_of_ten_next_to_a_decimal_comma_are_read(small: str) -> None:
    text = file_of("Date;Close", "2024-01-02;0,00012", f"2024-01-03;{small}", "2024-01-04;0,00013")
    assert oo.Dataset.from_csv(text, symbol="A").close[1, 0] == float(small.replace(",", "."))
