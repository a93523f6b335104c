"""A synthetic demo season: markets, news and events.

The data are captures in the format of the real sources, so the demo runs through the same code as a live season. Times
are relative to the start of the demo: its markets are open for six hours to a week from then.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime
from html import escape

from openoutcry.arena.protocol import THEATERS
from openoutcry.arena.snapshots.market_items import BEFORE_CLOSE
from openoutcry.arena.snapshots.snapshot_builder import Snapshot, build
from openoutcry.arena.snapshots.snapshot_times import UTC, format_time, last_snapshot_time, to_utc
from openoutcry.arena.snapshots.theaters import default_table, default_table_bytes
from openoutcry.arena.sources import financial_risk, gdelt, icalendar, kalshi, rss, usgs, wikipedia
from openoutcry.arena.sources.http_fetch import Capture
from openoutcry.arena.sources.observer import CURATED, Observer

LABEL = "Synthetic"
SITE = "https://example.org/demo"


@dataclass(frozen=True)
class Question:
    """A market of the demo: hours to its close, and its first price in cents."""

    ticker: str
    title: str
    hours: int
    cents: int


@dataclass(frozen=True)
class Story:
    """An article, published `minutes` before the demo's first snapshot."""

    slug: str
    title: str
    summary: str
    minutes: int


QUESTIONS = (
    Question("KXIRANSTRIKE-DEMO1", "Will a strike on Iran be announced before this closes?", 6, 12),
    Question("KXUSAIRANAGREEMENT-DEMO1", "Will an agreement with Iran be signed before this closes?", 72, 27),
    Question("KXGAZATRUCE-DEMO1", "Will a truce in Gaza hold until this closes?", 24, 55),
    Question("KXUKRAINETALKS-DEMO1", "Will talks on Ukraine be held before this closes?", 30, 63),
    Question("KXTAIWANDRILL-DEMO1", "Will a drill around Taiwan be announced before this closes?", 48, 18),
    Question("KXNORTHKOREALAUNCH-DEMO1", "Will North Korea announce a launch before this closes?", 36, 34),
    Question("KXHOUTHISHIP-DEMO1", "Will an attack on a ship in the Red Sea be claimed before this closes?", 12, 41),
    Question("KXISRAELIRANTALKS-DEMO1", "Will Israel and Iran meet before this closes?", 168, 6),
)
STORIES = (
    Story("iran-talks", "Delegations arrive for talks with Iran", "Both sides call the agenda open.", 50),
    Story("gaza-convoy", "A convoy enters Gaza", "Forty lorries crossed in the morning.", 130),
    Story("ukraine-grid", "Ukraine repairs its grid", "Power is back in two regions.", 200),
    Story("taiwan-strait", "Ships pass the Taiwan Strait", "The passage was announced beforehand.", 260),
    Story("korea-parade", "North Korea prepares a parade", "Rehearsals were seen from space.", 400),
    Story("yemen-port", "A port of Yemen reopens", "The first ship brought grain.", 610),
)
QUAKES = (("demo1", "4.6", "12.4", "45.2", "33.9"), ("demo2", "3.1", "9", "121.5", "23.9"))
BASE_RATES = [
    {"theater": each, "rate": rate, "n": 40, "source": f"{LABEL.lower()}, for the demo", "period": "no real period"}
    for each, rate in zip(THEATERS, ("0.2", "0.25", "0.3", "0.15", "0.1", "0.35"), strict=True)
]
"""Synthetic base rates of the theaters."""
PRACTICE = (20, 60, 120, 300, 600, 1200, 1800, 3600)
"""Seconds from the start of a practice season to the cutoff of each question."""
EVENTS = (("council", "Council meets on the Middle East", 20), ("exercise", "Joint exercise begins near Korea", 45))


@dataclass(frozen=True)
class Demo:
    """A demo season; the same start time gives the same captures.

    Attributes:
        began_at: Start time.
        is_practice: Whether all cutoffs are within the first hour. Each start then has new markets.
    """

    began_at: datetime
    is_practice: bool = False

    def captures(self, as_of: datetime) -> list[Capture]:
        """Return the responses of the sources just before a snapshot time."""
        now = to_utc("as_of", as_of) - timedelta(seconds=5)
        headers = {"content-type": "application/octet-stream"}

        def capture(source: str, part: str, body: bytes) -> Capture:
            return Capture(source, part, f"{SITE}/{source}/{part.replace(':', '/')}", now, 200, headers, body)

        captures = [
            Capture(CURATED, "table", "", now, 200, body=default_table_bytes()),
            icalendar.fetch(self._calendar(), now),
            capture(gdelt.SOURCE, "events", self._events(as_of)),
            capture(kalshi.SOURCE, "markets", self._markets(as_of)),
            financial_risk.fetch(financial_risk.unknown_risk, now),
            capture(rss.SOURCE, f"{LABEL} news", self._feed()),
            capture(usgs.SOURCE, "day", self._quakes()),
        ]
        for known in default_table().profiles.values():
            captures += [capture(wikipedia.SOURCE, f"edits:{page}", self._edits(page, now)) for page in known.pages]
        return captures

    def snapshot(self, as_of: datetime) -> Snapshot:
        """Return the snapshot of a time, without the memory of earlier ones."""
        return build(as_of, Observer().observe(as_of, self.captures(as_of)).seen)

    def first(self) -> Snapshot:
        """Return the last snapshot before the start of the demo."""
        return self.snapshot(last_snapshot_time(self.began_at))

    def _ago(self, minutes: int) -> datetime:
        """Return the time `minutes` before the demo's first snapshot."""
        return last_snapshot_time(self.began_at) - timedelta(minutes=minutes)

    def _markets(self, as_of: datetime) -> bytes:
        # Each start of a practice season adds new markets; those of earlier starts are closed.
        season = f"P{self.began_at.astimezone(UTC):%y%m%d%H%M%S}" if self.is_practice else "DEMO1"
        rows = [
            {
                "ticker": each.ticker.replace("DEMO1", season),
                "event_ticker": each.ticker.rpartition("-")[0],
                "title": f"{LABEL}: {each.title}",
                "status": "active",
                "close_time": format_time(self._close(place, each)),
                **_quotes(each, as_of),
            }
            for place, each in enumerate(QUESTIONS)
        ]
        return json.dumps({"markets": rows, "cursor": ""}).encode()

    def _close(self, place: int, question: Question) -> datetime:
        if not self.is_practice:
            return last_snapshot_time(self.began_at) + timedelta(hours=question.hours)
        # The cutoff is two hours before the close in practice seasons too.
        return self.began_at.replace(microsecond=0) + BEFORE_CLOSE + timedelta(seconds=PRACTICE[place])

    def _feed(self) -> bytes:
        items = "".join(
            f"<item><guid>{each.slug}</guid><title>{LABEL}: {escape(each.title)}</title>"
            f"<link>{SITE}/news/{each.slug}</link><description>{escape(each.summary)}</description>"
            f"<pubDate>{format_datetime(self._ago(each.minutes))}</pubDate></item>"
            for each in STORIES
        )
        return f'<rss version="2.0"><channel><title>{LABEL} news</title>{items}</channel></rss>'.encode()

    def _events(self, as_of: datetime) -> bytes:
        added = as_of.astimezone(UTC) - timedelta(minutes=5)
        rows = []
        for name, known in default_table().profiles.items():
            for count in range(_draw(name, as_of.isoformat()) % 5):
                row = [""] * gdelt.COLUMNS
                row[gdelt.ID], row[gdelt.IS_ROOT] = f"{name}{added:%m%d%H%M}{count}", "1"
                row[gdelt.QUAD_CLASS] = str(1 + _draw(name, added.isoformat(), count) % 4)
                row[gdelt.COUNTRY], row[gdelt.ADDED] = known.fips[0], f"{added:%Y%m%d%H%M%S}"
                rows.append("\t".join(row))
        zipped = io.BytesIO()
        with zipfile.ZipFile(zipped, "w") as archive:
            # A `ZipInfo` has a constant time, so the archive's bytes are reproducible.
            archive.writestr(zipfile.ZipInfo("demo.export.CSV"), "\n".join(rows))
        return zipped.getvalue()

    def _quakes(self) -> bytes:
        features = [
            {
                "id": name,
                "properties": {
                    "mag": float(magnitude),
                    "place": f"{LABEL} place",
                    "time": int(self._ago(90).timestamp()) * 1000,
                    "type": "earthquake",
                    "status": "automatic",
                    "url": f"{SITE}/quakes/{name}",
                },
                "geometry": {"type": "Point", "coordinates": [float(lon), float(lat), float(depth)]},
            }
            for name, magnitude, depth, lon, lat in QUAKES
        ]
        return json.dumps({"type": "FeatureCollection", "features": features}).encode()

    def _calendar(self) -> bytes:
        events = "".join(
            f"BEGIN:VEVENT\r\nUID:{name}\r\nSUMMARY:{LABEL}: {title}\r\n"
            f"DTSTART:{self._ago(-60 * hours):%Y%m%dT%H%M%SZ}\r\n"
            f"CREATED:{self._ago(600):%Y%m%dT%H%M%SZ}\r\nEND:VEVENT\r\n"
            for name, title, hours in EVENTS
        )
        return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{events}END:VCALENDAR\r\n".encode()

    def _edits(self, page: str, now: datetime) -> bytes:
        # One edit about every eight hours, and a burst of edits on a quarter of the pages.
        times = [now - timedelta(hours=8 * count + _draw(page, count) % 5) for count in range(80)]
        times += [now - timedelta(minutes=20 * count) for count in range(12)] * (_draw(page) % 4 == 0)
        revisions = [
            {"revid": count + 1, "timestamp": format_time(at.replace(microsecond=0))} for count, at in enumerate(times)
        ]
        return json.dumps({"query": {"pages": [{"title": page, "revisions": revisions}]}}).encode()


def _quotes(question: Question, as_of: datetime) -> dict[str, str]:
    """Return prices within three cents of the first price.

    They depend on the hour only.
    """
    edge = int(as_of.astimezone(UTC).timestamp()) // 600
    mid = min(97, max(3, question.cents + _draw(question.ticker, edge // 6) % 7 - 3))
    return {
        "yes_bid_dollars": f"{Decimal(mid - 1) / 100:.4f}",
        "yes_ask_dollars": f"{Decimal(mid + 1) / 100:.4f}",
        "volume_24h_fp": f"{500 + _draw(question.ticker) % 4000}.00",
    }


def _draw(*parts: object) -> int:
    """Return a hash of the parts as an integer, the same on every machine."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:6], "big")
