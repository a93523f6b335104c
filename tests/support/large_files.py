"""Files of any size in many shapes, written from a seed: texts, as vendors and attackers write them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

FIRST = date(1900, 1, 1)


class LargeFile(NamedTuple):
    """Content of a file, its suffix, and options of its reader."""

    content: bytes
    suffix: str = ".csv"
    options: Mapping[str, Any] = MappingProxyType({})


Shape = Callable[[int], LargeFile]


def filled(size: int, head: str, line_of: Callable[[int], str], tail: str = "") -> str:
    """Return lines of about `size` bytes between a head and a tail."""
    lines, length, row = [head], len(head), 0
    while length < size:
        line = line_of(row)
        lines.append(line)
        length, row = length + len(line), row + 1
    return "".join([*lines, tail])


def days(row: int) -> date:
    """Return the day of a row; each is another one."""
    return FIRST + timedelta(days=row)


def minutes(row: int) -> datetime:
    """Return the minute of a row; each is another one."""
    return datetime(2000, 1, 3) + timedelta(minutes=row)


def price(draw: random.Random) -> float:
    """Return a price of two digits."""
    return round(draw.uniform(50.0, 60.0), 2)


def bar(draw: random.Random) -> tuple[float, float, float, float, int]:
    """Return an open, high, low, close and volume."""
    low, high = sorted((price(draw), price(draw)))
    return low, high + 0.01, low, high, draw.randrange(1_000, 1_000_000)


def comma(value: float, digits: int = 2) -> str:
    """Return a number with a decimal comma."""
    return f"{value:.{digits}f}".replace(".", ",")


def of_text(text: str, encoding: str = "utf-8", **options: Any) -> LargeFile:
    """Return a text as a file of one symbol."""
    return LargeFile(text.encode(encoding), options=options)


def of_bars(
    size: int, date_of: Callable[[int], Any], *, header: bool = True, mark: str = ",", **options: Any
) -> LargeFile:
    """Return bars of one symbol."""
    draw = random.Random(size)
    head = mark.join(("Date", "Open", "High", "Low", "Close", "Volume")) + "\n" if header else ""

    def line_of(row: int) -> str:
        return mark.join(map(str, (date_of(row), *bar(draw)))) + "\n"

    return of_text(filled(size, head, line_of), **options)


def of_dates(form: str, date_of: Callable[[int], Any] = days, **options: Any) -> Shape:
    """Return the shape of dates and closes in a form of `strftime`."""

    def shape(size: int) -> LargeFile:
        draw = random.Random(size)
        text = filled(size, "Date;Close\n", lambda row: f"{date_of(row).strftime(form)};{price(draw)}\n")
        return of_text(text, **options)

    return shape


def distinct_quoted_commas(size: int) -> LargeFile:
    """Return days of one symbol in quotes, with decimal commas."""
    draw = random.Random(size)
    return of_text(filled(size, '"Date","Close"\n', lambda row: f'"{days(row)}","{comma(price(draw))}"\n'))


def wide(size: int, n_columns: int, cell_of: Callable[[random.Random], Any] = price, mark: str = ",") -> LargeFile:
    """Return a table of closes by symbol."""
    draw = random.Random(size)
    head = mark.join(["Date", *(f"S{place:05}" for place in range(n_columns))]) + "\n"
    return of_text(
        filled(
            size, head, lambda row: mark.join(map(str, [days(row), *(cell_of(draw) for _ in range(n_columns))])) + "\n"
        )
    )


def wide_fields(size: int) -> LargeFile:
    """Return a table with the fields of many symbols."""
    draw = random.Random(size)
    symbols = [f"S{place:04}" for place in range(300)]
    fields = ("Open", "High", "Low", "Close", "Volume")
    head = ",".join(["Date", *(f"{symbol}_{name}" for symbol in symbols for name in fields)]) + "\n"
    return of_text(
        filled(
            size,
            head,
            lambda row: ",".join(map(str, [days(row), *(cell for _ in symbols for cell in bar(draw))])) + "\n",
        )
    )


def two_headers(size: int) -> LargeFile:
    """Return a table with a header of fields and one of tickers, as of yfinance."""
    draw = random.Random(size)
    symbols, fields = [f"S{place:03}" for place in range(100)], ("Open", "High", "Low", "Close", "Volume")
    first = ",".join(["Price", *(name for name in fields for _ in symbols)])
    second = ",".join(["Ticker", *(symbol for _ in fields for symbol in symbols)])
    head = f"{first}\n{second}\nDate{',' * 500}\n"

    def line_of(row: int) -> str:
        bars = [bar(draw) for _ in symbols]
        return ",".join(map(str, [days(row), *(cells[place] for place in range(5) for cells in bars)])) + "\n"

    return of_text(filled(size, head, line_of))


def long(size: int, n_symbols: int, head: str = "date,symbol,close,volume\n", mark: str = ",") -> LargeFile:
    """Return a row per date and symbol."""
    draw = random.Random(size)

    def line_of(row: int) -> str:
        day, symbol = divmod(row, n_symbols)
        return mark.join((str(days(day)), f"S{symbol:06}", str(price(draw)), str(draw.randrange(10**6)))) + "\n"

    return of_text(filled(size, head, line_of))


def decorated(size: int, cell_of: Callable[[float], str], **options: Any) -> LargeFile:
    """Return days with closes of another form."""
    draw = random.Random(size)
    text = filled(size, "Date;Close\n", lambda row: f"{minutes(row)};{cell_of(draw.uniform(1000.0, 9999.0))}\n")
    return of_text(text, **options)


def epochs(size: int, unit: int, step: int) -> LargeFile:
    """Return klines without a header: epochs, prices and volumes."""
    return of_bars(size, lambda row: (1_000_000_000 + row * step) * unit, header=False)


def headerless_named(size: int) -> LargeFile:
    """Return rows without a header, and their columns as an option."""
    draw = random.Random(size)
    text = filled(size, "", lambda row: f"{minutes(row):%Y%m%d %H:%M},x,{price(draw)},{price(draw)}\n")
    return of_text(text, columns=["date", "note", "close", "other"])


def blank_lines(size: int, blank: str = "\n") -> LargeFile:
    """Return a few bars, and blank lines around them."""
    text = filled(size, "Date,Close\n2024-01-02,1\n", lambda _: blank, "2024-01-03,2\n")
    return of_text(text)


def duplicates(size: int, **options: Any) -> LargeFile:
    """Return rows of a few dates."""
    draw = random.Random(size)
    return of_text(filled(size, "Date,Close\n", lambda row: f"{days(row % 1000)},{price(draw)}\n"), **options)


def faults_at_end(size: int, fault: str, head: str = "Date;Close\n") -> LargeFile:
    """Return bars, and one line of another form."""
    draw, mark = random.Random(size), head[4]
    return of_text(filled(size, head, lambda row: f"{minutes(row)}{mark}{price(draw)}\n", fault))


def missing_texts(size: int) -> LargeFile:
    """Return bars that are mostly missing, by many texts."""
    draw, texts = random.Random(size), ("NaN", "", "null", "N/A", "-", "#N/A", " ", "nan", "<NA>")
    return of_text(filled(size, "Date,Close\n", lambda row: f"{days(row)},{draw.choice([*texts, price(draw)])}\n"))


def random_bytes(size: int) -> LargeFile:
    """Return bytes without a meaning."""
    return LargeFile(random.Random(size).randbytes(size))


def random_characters(size: int, alphabet: str) -> LargeFile:
    """Return characters of an alphabet below a header."""
    return of_text("Date,Close\n" + "".join(random.Random(size).choices(alphabet, k=size)))


def joined(parts: Iterable[str], size: int) -> str:
    """Return the first parts of about `size` characters, joined."""
    found: list[str] = []
    length = 0
    for part in parts:
        if length >= size:
            break
        found.append(part)
        length += len(part) + 1
    return ",".join(found)


def giant_header(size: int, names: Callable[[int], str]) -> LargeFile:
    """Return a header of many names, and two rows."""
    header = joined((names(place) for place in range(size)), size // 3)
    n_columns = header.count(",") + 1
    rows = [",".join([f"2024-01-0{day}", *["1.5"] * (n_columns - 1)]) for day in (2, 3)]
    return of_text("\n".join([header, *rows, ""]))


def vendor_bars(size: int, names: Sequence[str], cells: Callable[[int, random.Random], Sequence[object]]) -> LargeFile:
    """Return rows with the columns of a vendor."""
    draw = random.Random(size)
    return of_text(filled(size, ",".join(names) + "\n", lambda row: ",".join(map(str, cells(row, draw))) + "\n"))


def yahoo_events(size: int) -> LargeFile:
    """Return days with dividends and splits, as of yfinance."""

    def cells(row: int, draw: random.Random) -> Sequence[object]:
        return (f"{days(row)} 00:00:00-05:00", *bar(draw), 0.1 * (row % 60 == 0), 0.0)

    return vendor_bars(size, ("Date", "Open", "High", "Low", "Close", "Volume", "Dividends", "Stock Splits"), cells)


def adjusted(size: int) -> LargeFile:
    """Return days with an adjusted close."""

    def cells(row: int, draw: random.Random) -> Sequence[object]:
        low, high, _, close, volume = bar(draw)
        return (days(row), low, high, low, close, round(close * 0.9, 4), volume)

    return vendor_bars(size, ("Date", "Open", "High", "Low", "Close", "Adj Close", "Volume"), cells)


def zoned(size: int) -> LargeFile:
    """Return times that name their zone."""
    draw = random.Random(size)
    text = filled(size, "Date,Close\n", lambda row: f"{minutes(row):%Y%m%d %H:%M:%S} US/Eastern,{price(draw)}\n")
    return of_text(text)


def clocks(size: int) -> LargeFile:
    """Return dates and times of day in two columns."""
    draw = random.Random(size)
    text = filled(size, "Date,Time,Close\n", lambda row: f"{minutes(row):%Y-%m-%d,%H:%M},{price(draw)}\n")
    return of_text(text)


DAY_FORMS = ("%Y-%m-%d", "%Y/%m/%d", "%Y%m%d", "%d.%m.%Y", "%m/%d/%Y", "%d %b %Y", "%b %d, %Y", "%a, %B %d %Y")
TIME_FORMS = ("%Y-%m-%dT%H:%M:%SZ", "%d.%m.%Y %H:%M", "%b %d %Y %I:%M %p", "%Y-%m-%d %H:%M:%S+02:00", "%Y%m%d%H%M%S")
TEXTS: dict[str, Shape] = {
    **{f"days as {form}": of_dates(form) for form in DAY_FORMS},
    **{f"times as {form}": of_dates(form, minutes) for form in TIME_FORMS},
    "times in a zone": of_dates("%Y-%m-%d %H:%M", minutes, tz="America/New_York"),
    "days in a stated format": of_dates(
        "%d-%b-%y", lambda row: days(row % 36_000), date_format="%d-%b-%y", duplicates="last"
    ),
    "times in a stated format": of_dates("%d-%m-%y %H:%M", minutes, date_format="%d-%m-%y %H:%M"),
    "times that name a zone": zoned,
    "clocks in a column": clocks,
    "quoted days, decimal commas": distinct_quoted_commas,
    "bars by minute": lambda size: of_bars(size, minutes),
    "bars by day": lambda size: of_bars(size, days),
    "bars with tabs": lambda size: of_bars(size, minutes, mark="\t"),
    "bars with semicolons": lambda size: of_bars(size, lambda row: f"{minutes(row):%Y.%m.%d %H:%M}", mark=";"),
    "bars without a header": lambda size: of_bars(size, lambda row: f"{minutes(row):%Y.%m.%d,%H:%M}", header=False),
    "epochs in seconds": lambda size: epochs(size, 1, 60),
    "epochs in milliseconds": lambda size: epochs(size, 1000, 60),
    "epochs of days": lambda size: epochs(size, 1, 86_400),
    "wide, 10 symbols": lambda size: wide(size, 10),
    "wide, 1000 symbols": lambda size: wide(size, 1000),
    "wide, 5000 symbols": lambda size: wide(size, 5000),
    "wide, 60,000 symbols": lambda size: wide(size, 60_000),
    "wide, decimal commas": lambda size: wide(size, 1000, lambda draw: comma(price(draw)), ";"),
    "wide, quoted": lambda size: wide(size, 1000, lambda draw: f'"{price(draw)}"'),
    "wide, thousands": lambda size: wide(size, 100, lambda draw: f'"{draw.uniform(1e3, 1e6):,.2f}"'),
    "wide, missing": lambda size: wide(size, 3000, lambda draw: draw.choice(("", "NaN", "-", price(draw)))),
    "wide, empty": lambda size: wide(size, 3000, lambda _: ""),
    "fields by symbol": wide_fields,
    "two headers": two_headers,
    "long, 1 symbol": lambda size: long(size, 1),
    "long, 500 symbols": lambda size: long(size, 500),
    "long, 100,000 symbols": lambda size: long(size, 100_000),
    "long, a symbol a row": lambda size: long(size, size),
    "long of a vendor, 100,000 symbols": lambda size: long(size, 100_000, "Date;Ticker;Close;Volume\n", ";"),
    "long of a vendor, 500 symbols": lambda size: long(size, 500, "Date;Ticker;Close;Volume\n", ";"),
    "decimal commas": lambda size: decorated(size, comma),
    "thousands in points": lambda size: decorated(size, lambda each: f"{each:,.2f}".translate({44: 46, 46: 44})),
    "thousands in blanks": lambda size: decorated(size, lambda each: f"{each:,.2f}".replace(",", " ")),
    "thousands in apostrophes": lambda size: decorated(size, lambda each: f"{each:,.2f}".replace(",", "'")),
    "currency signs": lambda size: decorated(size, lambda each: f"${each:,.2f}"),
    "suffixes": lambda size: decorated(size, lambda each: f"{each:.2f}K"),
    "columns without names": headerless_named,
    "blank lines": blank_lines,
    "lines of blanks": lambda size: blank_lines(size, "  \n"),
    "lines of commas": lambda size: blank_lines(size, ",\n"),
    "duplicates": duplicates,
    "duplicates, the last": lambda size: duplicates(size, duplicates="last"),
    "a date as the last fault": lambda size: faults_at_end(size, "2024-02-30 00:00:00;1\n"),
    "a word as the last fault": lambda size: faults_at_end(size, "2090-01-01 00:00:00;x\n"),
    "a short row as the last fault": lambda size: faults_at_end(size, "2090-01-01 00:00:00\n"),
    "a plain last fault": lambda size: faults_at_end(size, "2090-01-01 00:00:00,x\n", "date,A\n"),
    "a quote as the last fault": lambda size: faults_at_end(size, '2090-01-01 00:00:00;"1\n'),
    "missing values": missing_texts,
    "random bytes": random_bytes,
    "random digits": lambda size: random_characters(size, "0123456789.,-:/ \n"),
    "random quotes": lambda size: random_characters(size, '",\n ab'),
    "one giant field": lambda size: of_text("Date,Close\n" + "9" * size + ",1\n"),
    "one giant field in quotes": lambda size: of_text('Date,Close\n"' + "a,\n" * (size // 3) + '",1\n'),
    "one line": lambda size: of_text("a" * size),
    "one line of commas": lambda size: of_text("," * size + "\n"),
    "one column": lambda size: of_text(filled(size, "Close\n", lambda row: f"{row}\n")),
    "giant header": lambda size: giant_header(size, lambda place: f"{'S' * 200}{place}" if place else "Date"),
    "giant header of fields": lambda size: giant_header(
        size, lambda place: f"S{place // 2}_{('Close', 'Open')[place % 2]}" if place else "Date"
    ),
    "one giant name": lambda size: of_text(f"Date,{'S' * size}\n2024-01-02,1\n2024-01-03,2\n"),
    "dividends and splits": yahoo_events,
    "adjusted closes": adjusted,
    "UTF-16": lambda size: LargeFile(of_bars(size // 2, minutes).content.decode().encode("utf-16")),
    "Windows-1252": lambda size: LargeFile(of_bars(size, minutes).content + "Ä,Ö\n".encode("cp1252")),
    "Windows-1252, wide": lambda size: LargeFile(wide(size, 1000).content.decode().replace("S", "Ä").encode("cp1252")),
}
