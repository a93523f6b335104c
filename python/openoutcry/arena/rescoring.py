"""Recompute an arena's scores with the standard library of Python alone.

    openoutcry-verify export DIR --recompute-scores      signatures, log and scores
    python rescoring.py DIR                              the scores alone, of an export that was verified

One file, to be read from top to bottom; `verifier.py` runs the one that lies beside it. Scores are said decision by
decision, in exact ratios that are rounded once, so that they must be equal to the last bit. What resamples, a fit,
logarithms or bins make ranks nobody and is not said again: `NOT_HERE` names it.
"""

from __future__ import annotations

import json
import math
import re
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from functools import cache
from operator import attrgetter, index
from pathlib import Path
from typing import Any, NamedTuple

NOT_HERE = {
    *("brier_low", "brier_high", "brier_skill_score_low", "brier_skill_score_high", "rank_low", "rank_high"),
    *("p_best", "p_top", "p_rank", "brier_adjusted", "log_score", "calibration", "reasons"),
}
NONE, ZERO, SECOND_US, EPOCH = Fraction(-1), Fraction(0), 10**6, datetime(1970, 1, 1, tzinfo=timezone.utc)


@cache
def moment(text: str) -> int:
    """Return the microseconds since 1970 of a time in UTC."""
    match = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(?:Z|\+00:00)", text)
    if match is None:
        raise ValueError(f"a time in UTC is required; received {text[:40]!r}")
    whole = datetime.fromisoformat(match[1]).replace(tzinfo=timezone.utc) - EPOCH
    return whole // timedelta(microseconds=1) + int((match[2] or "").ljust(6, "0"))


@cache
def share(text: str) -> Fraction:
    """Return a decimal from 0 to 1."""
    value = Fraction(text) if re.fullmatch(r"[0-9](\.[0-9]{1,20})?([eE]-[0-9]{1,2})?", text) else NONE
    if not 0 <= value <= 1:
        raise ValueError(f"a decimal from 0 to 1 is required; received {text[:40]!r}")
    return value


def _share_or_none(value: Any) -> Fraction | None:
    return None if value is None else share(str(value))


def nearest(value: Fraction | None) -> float | None:
    """Return the float that is nearest to an exact ratio."""
    return None if value is None else value.numerator / value.denominator


def mean(values: Iterable[Fraction]) -> Fraction | None:
    """Return the mean; of nothing there is none."""
    held = list(values)
    return sum(held, ZERO) / len(held) if held else None


def skill(loss: Fraction, reference: Fraction) -> Fraction | None:
    """Return how much less than a reference was lost; none where it lost nothing."""
    return 1 - loss / reference if reference else None


class Quote(NamedTuple):
    """What a snapshot says of a market; the first theater is its primary one."""

    at_us: int
    cutoff_us: int
    theaters: tuple[str, ...]
    mid: Fraction | None
    bid: Fraction | None
    ask: Fraction | None


class Standing(NamedTuple):
    """What stands of a market: its state is settled, provisional, or another."""

    state: str
    yes: bool
    settled_us: int | None
    close_us: int | None


class Forecast(NamedTuple):
    """A decision that counts, with the newest snapshot's quote when it came."""

    slug: str
    market_id: str
    p: Fraction
    y: int
    confidence: Fraction | None
    is_settled: bool
    theaters: tuple[str, ...]
    quote: Quote | None
    loss: Fraction


class Reference(NamedTuple):
    """What a theater's forecasts are measured by: a share of YES, and of what."""

    theater: str | None
    rate: Fraction
    source: str
    n: int
    n_markets: int | None = None
    citation: str | None = None


def standing(records: Sequence[Mapping[str, Any]], at_us: int, grace_us: int) -> Standing:
    """Return what the records of a market, in their order, come to at a moment."""
    settled_us = close_us = None
    for place, record in enumerate(records):
        said_us = moment(record["at"])
        if record["actual_close_time"] is not None:
            close_us = moment(record["actual_close_time"])
        if record["outcome"] is None or settled_us is not None:
            continue
        if record["status"] in ("finalized", "amended"):
            settled_us = said_us
        elif record["status"] == "determined":
            # Final a day later, where nothing came before that.
            is_left_alone = place + 1 == len(records) or moment(records[place + 1]["at"]) >= said_us + grace_us
            settled_us = said_us + grace_us if is_left_alone else None
    last = records[-1]
    state, yes = str(last["status"]), last["outcome"] == "yes"
    if last["outcome"] is not None and state in ("determined", "finalized", "amended"):
        state = "provisional" if state == "determined" and at_us < moment(last["at"]) + grace_us else "settled"
    return Standing(state, yes, settled_us, close_us)


class Season:
    """What an export says, and the forecasts in it that count."""

    def __init__(self, folder: Path, at_us: int, window: Sequence[int] | None) -> None:
        self.folder, self.at_us, self.window = folder, at_us, window
        self.records: dict[str, list[Any]] = defaultdict(list)
        for line in (folder / "log.jsonl").read_bytes().splitlines():
            record = json.loads(line)
            self.records[record["type"]].append(record)
            if at_us < moment(record.get("at") or record.get("received_at") or record["created_at"]):
                raise ValueError(f"scores after record {record['seq']} are required; received those of before")
        self.rules: dict[str, Any] = self.records["scoring"][-1]["parameters"]
        self.table = sorted(json.loads((folder / "base_rates.json").read_bytes()), key=lambda row: str(row["theater"]))
        self.snapshots = sorted(moment(each["as_of"]) for each in self.records["snapshot"])
        self.quotes: dict[str, list[Quote]] = defaultdict(list)
        self.cutoffs: dict[str, int] = {}
        for each in self.records["snapshot"]:
            self._quote(each["as_of"], moment(each["at"]))
        self.results: dict[str, list[Any]] = defaultdict(list)
        for each in self.records["resolution"]:
            self.results[each["market_id"]] += [each] if moment(each["at"]) <= at_us else []
        suspended = {each["agent_slug"]: each["suspended"] for each in self.records["suspension"]}
        self.suspended = {slug for slug, is_suspended in suspended.items() if is_suspended}
        self.decided: dict[str, set[str]] = defaultdict(set)
        self.forecasts = list(self._counted().values())
        self.settled = [each for each in self.forecasts if each.is_settled]
        # The last snapshot in which each market was open, of those whose decisions are no secret any more.
        self.last_open = dict(self._open())
        named = {quote.theaters for own in self.quotes.values() for quote in own}
        self.theaters = sorted({theater for each in named for theater in each})
        firsts = {each[0] for each in named if each}
        order = [None, *sorted(self.theaters, key=lambda theater: theater not in firsts)]
        self.references = {theater: self._reference(theater) for theater in order}

    def _quote(self, as_of: str, published_us: int) -> None:
        at_us = moment(as_of)
        # Numbers as texts: a price is a decimal, and no float.
        text = (self.folder / "snapshots" / f"{as_of.replace(':', '-')}.json").read_bytes()
        for item in json.loads(text, parse_float=str)["items"]:
            if item["kind"] == "market_state":
                close = item.get("close_time")
                # Two hours before the close; where that is not known, 14 days after the snapshot.
                cutoff = at_us + 14 * 86_400 * SECOND_US if close is None else moment(close) - 7200 * SECOND_US
                prices = [_share_or_none(item.get(name)) for name in ("yes_mid_price", "yes_bid", "yes_ask")]
                # What was decided is public from the cutoff on: no later snapshot opens a market anew.
                before = self.cutoffs.get(item["market_id"], published_us)
                self.cutoffs[item["market_id"]] = cutoff if published_us <= before else before
                self.quotes[item["market_id"]].append(Quote(at_us, cutoff, tuple(item.get("theaters") or ()), *prices))

    def _decisions(self) -> Iterator[tuple[int, int, Mapping[str, Any], Mapping[str, Any]]]:
        reveals = (self.folder / "reveals.jsonl").read_bytes().splitlines()
        n_open = sum(self.at_us <= cutoff_us for cutoff_us in self.cutoffs.values())
        for record, line in zip(self.records["submission"], reveals, strict=True):
            opened = json.loads(line)["opened"]
            n_withheld = len(record["commitments"]) - len(opened)
            if n_withheld > n_open:
                told = f"{n_open} secret decisions at most, as many as markets are open, are required"
                raise ValueError(f"{told}; received {n_withheld} of {record['submission_id']}")
            for body in opened:
                yield moment(record["received_at"]), record["seq"], record, body

    def last_quote(self, market_id: str, at_us: int) -> Quote | None:
        """Return what the last snapshot that had a market said of it at a moment."""
        place = bisect_right(self.quotes[market_id], at_us, key=attrgetter("at_us"))
        return self.quotes[market_id][place - 1] if place else None

    def _counted(self) -> dict[tuple[str, str], Forecast]:
        found, window, rules = dict[tuple[str, str], Forecast](), self.window, self.rules
        grace_us = rules["grace_s"] * SECOND_US
        ends = {name: standing(each, self.at_us, grace_us) for name, each in self.results.items() if each}
        for at_us, _, record, body in sorted(self._decisions(), key=lambda each: each[:2]):
            slug, market_id = record["agent_slug"], body["market_id"]
            self.decided[slug].add(market_id)
            shown, end = self.last_quote(market_id, at_us), ends.get(market_id, Standing("open", False, None, None))
            if shown is None:
                raise ValueError(f"a decision on a market of a snapshot is required; received {json.dumps(market_id)}")
            is_within = window is None or (end.settled_us is not None and window[0] <= end.settled_us < window[1])
            close_us = shown.cutoff_us if end.close_us is None else end.close_us - rules["close_margin_s"] * SECOND_US
            limit = min(shown.cutoff_us, close_us)
            if end.state in ("settled", "provisional") and is_within and at_us <= limit and slug not in self.suspended:
                # Theaters are those of the snapshot that was cited, prices those of the newest one.
                cited = self.last_quote(market_id, moment(record["snapshot_as_of"])) or shown
                newest = self.snapshots[bisect_right(self.snapshots, at_us) - 1]
                p, y, sure = share(body["yes_probability"]), int(end.yes), _share_or_none(body["confidence"])
                rest = end.state == "settled", cited.theaters, shown if shown.at_us == newest else None
                found[slug, market_id] = Forecast(slug, market_id, p, y, sure, *rest, (p - y) ** 2)
        return found

    def _open(self) -> Iterator[tuple[str, int]]:
        for market_id, own in self.quotes.items():
            end_us = min((moment(each["at"]) - 1 for each in self.results[market_id]), default=self.at_us)
            seen = [each.at_us for each in own if each.at_us <= min(each.cutoff_us, end_us, self.at_us)]
            seen = [each for each in seen if self.window is None or self.window[0] <= each < self.window[1]]
            if seen and own[-1].cutoff_us < self.at_us:
                yield market_id, seen[-1]

    def _platform(self, theater: str | None, source: str, own: Sequence[Forecast]) -> Iterator[Reference]:
        if own:
            rate, n_markets = Fraction(sum(each.y for each in own), len(own)), len({each.market_id for each in own})
            yield Reference(theater, rate, source, len(own), n_markets)

    def _choices(self, theater: str | None) -> Iterator[Reference]:
        cited = [f"{row['source']}, {row['period']}" for row in self.table]
        if theater is not None:
            own = [each for each in self.settled if each.theaters[:1] == (theater,)]
            yield from self._platform(theater, "platform_theater", own)
            for row, told in zip(self.table, cited, strict=True):
                if row["theater"] == theater:
                    yield Reference(theater, share(row["rate"]), "historical_theater", row["n"], None, told)
        if n := sum(row["n"] for row in self.table):
            blend = sum((row["n"] * share(row["rate"]) for row in self.table), ZERO) / n
            yield Reference(theater, blend, "historical_blend", n, None, "; ".join(cited))
        yield from self._platform(theater, "platform_global", self.settled)

    def _reference(self, theater: str | None) -> Reference:
        least, most = share(self.rules["min_rate"]), share(self.rules["max_rate"])
        found = (e for e in self._choices(theater) if e.n >= self.rules["min_rate_n"] and least <= e.rate <= most)
        return next(found, Reference(theater, Fraction(1, 2), "always_50", 0))


class Board:
    """The board of a season: of one theater, or of all markets."""

    def __init__(self, season: Season, theater: str | None) -> None:
        self.season, self.theater, self.rules = season, theater, season.rules
        self.own: dict[str, list[Forecast]] = defaultdict(list)
        self.losses: dict[str, list[Fraction]] = defaultdict(list)
        for each in season.forecasts:
            if theater is None or theater in each.theaters:
                self.own[each.slug].append(each)
                self.losses[each.market_id] += [each.loss] * each.is_settled
        self.totals = {market_id: sum(losses, ZERO) for market_id, losses in self.losses.items()}
        found = [(each["agent_slug"], self._exact(each)) for each in season.records["agent"]]
        self.exact = dict(sorted(found, key=lambda each: (*self._merit(each[1]), each[0])))

    @staticmethod
    def _merit(exact: Mapping[str, Any]) -> tuple[Any, ...]:
        # Skill, then profit, then decisions; what is None comes last.
        ends = [(exact[name] is None, -(exact[name] or 0)) for name in ("brier_skill_score", "roi")]
        return exact["n_scored"] == 0, *ends, -exact["n_scored"]

    def _exact(self, agent: Mapping[str, Any]) -> dict[str, Any]:
        slug, season = agent["agent_slug"], self.season
        own = [each for each in self.own[slug] if each.is_settled]
        used = [season.references[next(iter(e.theaters), None) if self.theater is None else self.theater] for e in own]
        n, loss, sources = len(own), sum((each.loss for each in own), ZERO), {each.source for each in used}
        expected = sum((each.rate * (1 - each.rate) for each in used), ZERO)
        realized = sum(((b.rate - each.y) ** 2 for b, each in zip(used, own, strict=True)), ZERO)
        peers = {each: len(self.losses[each.market_id]) - 1 for each in own}
        gaps = [(self.totals[e.market_id] - e.loss) / others - e.loss for e, others in peers.items() if others]
        open_ids = {name for name, at_us in season.last_open.items() if at_us >= moment(agent["at"])}
        positions = self._positions(own, at_touch=False)
        return {
            "n_scored": n,
            "n_provisional": len(self.own[slug]) - n,
            "brier": loss / n if n else None,
            "brier_provisional": mean(each.loss for each in self.own[slug]),
            "brier_skill_score": skill(loss, expected),
            "brier_skill_score_paired": skill(loss, realized),
            "brier_skill_score_vs_50": skill(loss, Fraction(n, 4)),
            "skill_reference": "mixed" if len(sources) > 1 else next(iter(sources), None),
            "roi": mean(positions),
            "n_positions": len(positions),
            "roi_at_touch": mean(self._positions(own, at_touch=True)),
            "peer_score": mean(gaps),
            "n_peer": len(gaps),
            "coverage": Fraction(len(season.decided[slug] & open_ids), len(open_ids)) if open_ids else None,
        }

    def _positions(self, own: Sequence[Forecast], *, at_touch: bool) -> list[Fraction]:
        found, stake, step = [], Fraction(self.rules["stake"]), Fraction(self.rules["fee_step"])
        for each in own:
            quote, sure = each.quote, NONE if each.confidence is None else each.confidence
            if (
                quote is None
                or quote.mid is None
                or not 0 < quote.mid < 1
                or sure < share(self.rules["min_confidence"])
            ):
                continue
            away, is_yes = each.p - quote.mid, each.p > quote.mid
            cost = (quote.ask if is_yes else quote.bid) if at_touch else quote.mid
            price = NONE if cost is None else cost if is_yes else 1 - cost
            if abs(away) <= share(self.rules["edge"]) or not 0 < price < 1:
                continue
            # A share of contracts times the prices of both sides, rounded up to a step.
            exact = Fraction(self.rules["fee_rate"]) * stake * (1 - price)
            fee = ZERO if self.rules["fee_model"] == "none" else math.ceil(exact / step) * step
            found.append((1 / price if is_yes == bool(each.y) else ZERO) - 1 - fee / stake)
        return found

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows by rank, as `scores.json` has them."""
        merits = [self._merit(exact) for exact in self.exact.values()]
        for place, (slug, exact) in enumerate(self.exact.items()):
            own = [each for each in self.own[slug] if each.is_settled]
            is_alike = merits[place] in merits[max(0, place - 1) : place] + merits[place + 1 : place + 2]
            yield {name: nearest(each) if isinstance(each, Fraction) else each for name, each in exact.items()} | {
                "slug": slug,
                "rank": place + 1 if own else None,
                "tied": is_alike and bool(own),
                "suspended": slug in self.season.suspended,
                "provisional": exact["n_provisional"] > 0,
                "per_theater": list(self._per_theater(own)),
            }

    def _per_theater(self, own: Sequence[Forecast]) -> Iterator[dict[str, Any]]:
        for theater in self.season.theaters:
            held, used = [each for each in own if theater in each.theaters], self.season.references[theater]
            if held:
                loss, n = sum((each.loss for each in held), ZERO), len(held)
                told = {"theater": theater, "n": n, "brier": nearest(loss / n), "base_rate": nearest(used.rate)}
                told |= {"reference_source": used.source, "reference_citation": used.citation}
                yield told | {"brier_skill_score": nearest(skill(loss, n * used.rate * (1 - used.rate)))}

    def to_json(self) -> dict[str, Any]:
        """Return the board as `scores.json` has it."""
        season = self.season
        return {
            "scoring_version": season.records["scoring"][-1]["scoring_version"],
            "at_us": season.at_us,
            "window": None if season.window is None else list(season.window),
            "theater": self.theater,
            "parameters": self.rules,
            "fee_model": self.rules["fee_model"],
            "references": [each._asdict() | {"rate": nearest(each.rate)} for each in season.references.values()],
            "rows": list(self.rows()),
        }


def differences(name: str, wanted: Any, received: Any) -> Iterator[str]:
    """Yield where two values of JSON differ, but for what is not said again here."""
    if isinstance(wanted, dict) and isinstance(received, dict):
        for key in wanted:
            yield from differences(f"{name}.{key}", wanted[key], received.get(key, "nothing"))
        yield from (f"{name}.{key} must not be there" for key in sorted(received.keys() - wanted.keys() - NOT_HERE))
    elif isinstance(wanted, list) and isinstance(received, list) and len(wanted) == len(received):
        for place, pair in enumerate(zip(wanted, received, strict=True)):
            yield from differences(f"{name}[{place}]", *pair)
    elif type(wanted) is not type(received) or wanted != received:
        yield f"{name} must be {json.dumps(wanted)[:80]}; received {json.dumps(received)[:80]}"


def faults(folder: Path) -> list[str]:
    """Return what in the scores of an export is not what its log makes."""
    try:
        said = json.loads((folder / "scores.json").read_bytes())
        wanted = Board(Season(folder, index(said["at_us"]), said["window"]), said["theater"]).to_json()
    except OSError as error:
        return [f"a file '{Path(error.filename).name}' is required; received none"]
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        came = f"one without {error}" if isinstance(error, KeyError) else "another"
        ours = str(error) if "required; received" in str(error) else f"a whole export is required; received {came}"
        return [ours]
    return list(differences("scores", wanted, said))


if __name__ == "__main__":
    print("\n".join(found := faults(Path(sys.argv[1]))) or "ok")
    sys.exit(bool(found))
