"""Concurrent fetching of all sources; a failing source does not affect the others."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from openoutcry.arena.snapshots.item_kinds import SnapshotError
from openoutcry.arena.snapshots.theaters import default_table, read_table
from openoutcry.arena.sources import financial_risk, gdelt, icalendar, kalshi, rss, usgs, wikipedia
from openoutcry.arena.sources.http_fetch import Capture, Fetcher
from openoutcry.arena.sources.observer import CURATED
from openoutcry.arena.sources.source_plan import Plan


def fetch_all(fetcher: Fetcher, plan: Plan) -> list[Capture]:
    """Fetch all sources and return their captures, in a fixed order. It never raises.

    Call it early enough before the snapshot time: later responses are discarded.
    """
    try:
        pages = [page for known in read_table(plan.table).profiles.values() for page in known.pages]
    except SnapshotError:
        pages = [page for known in default_table().profiles.values() for page in known.pages]
    jobs: dict[str, Callable[[], list[Capture]]] = {
        CURATED: lambda: [Capture(CURATED, "table", "", fetcher.now(), 200, body=plan.table)],
        icalendar.SOURCE: lambda: [] if plan.calendar is None else [icalendar.fetch(plan.calendar, fetcher.now())],
        gdelt.SOURCE: lambda: gdelt.fetch(fetcher, plan),
        kalshi.SOURCE: lambda: kalshi.fetch(fetcher, plan),
        financial_risk.SOURCE: lambda: [financial_risk.fetch(plan.risk, fetcher.now())],
        rss.SOURCE: lambda: rss.fetch(fetcher, plan),
        usgs.SOURCE: lambda: usgs.fetch(fetcher),
        wikipedia.SOURCE: lambda: wikipedia.fetch(fetcher, pages),
    }
    with ThreadPoolExecutor(max_workers=len(jobs), thread_name_prefix="arena-source") as pool:
        started = {source: pool.submit(_run_job, source, job, fetcher) for source, job in jobs.items()}
        return [capture for source in sorted(started) for capture in started[source].result()]


def _run_job(source: str, job: Callable[[], list[Capture]], fetcher: Fetcher) -> list[Capture]:
    try:
        return job()
    except Exception as error:  # noqa: BLE001 an error in `Plan.risk` or in a source module must cost only that source
        return [Capture(source, "", "", fetcher.now(), 0, error=f"{type(error).__name__}: {error}"[:300])]
