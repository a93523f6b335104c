"""What changes in an Arena, told as it happens, to who waits for something to do."""

from __future__ import annotations

from typing import Any

import httpx

from openoutcry.arena.arena_client import ArenaClient
from openoutcry.arena.protocol import ArenaError, transport_failure

STANDING = ("rank", "n_submissions", "n_scored", "brier", "brier_skill_score", "roi")
"""What of an agent is told when it changes."""


class Watch:
    """Looks at an Arena and tells what is new since it looked before.

    Args:
        client: Of the Arena.
        slug: An agent whose standing is told, or None.
    """

    def __init__(self, client: ArenaClient, slug: str | None = None) -> None:
        self._client, self._slug = client, slug
        # Of no look; of an arena without a snapshot it is None.
        self._as_of: str | None = ""
        self._results: dict[str, str] = {}
        self._standing: dict[str, Any] | None = None
        self.is_unreachable = False
        """Whether the last look was not answered."""
        self.pause = 0
        """Seconds that the server asked for before it is asked again."""

    def poll(self) -> list[dict[str, Any]]:
        """Return what is new, as objects with `event`; the first time, how things stand.

        Events are `snapshot`, `settled`, `standing`, `away` and `back`. A server that is away, or wants to be asked
        later, is told of once.

        Raises:
            ArenaError: The Arena refuses what is asked, such as an agent that is not registered.
        """
        self.pause, was_away = 0, self.is_unreachable
        try:
            found = self._asked()
        except httpx.TransportError as error:
            why = transport_failure(error)
        except ArenaError as error:
            if error.retry_after is None:
                raise
            self.pause, why = error.retry_after, f"{error}; again in {error.retry_after} s"
        else:
            self.is_unreachable = False
            return [{"event": "back"}, *found] if was_away else found
        self.is_unreachable = True
        return [] if was_away else [{"event": "away", "detail": why}]

    def _asked(self) -> list[dict[str, Any]]:
        # All is asked before anything is noted: what a look that broke has seen, the next one tells.
        told, settled = self._client.markets(), self._client.markets("settled")["markets"]
        agent = None if self._slug is None else self._client.agent(self._slug)
        found: list[dict[str, Any]] = []
        if told["as_of"] != self._as_of:
            first = min((each["decision_cutoff"] for each in told["markets"]), default=None)
            found.append(
                {"event": "snapshot", "as_of": told["as_of"], "n_open": len(told["markets"]), "next_cutoff": first}
            )
        results = {each["market_id"]: each["outcome"] for each in settled}
        news = sorted(set(results.items()) - set(self._results.items()))
        found += [{"event": "settled", "market_id": each, "outcome": outcome} for each, outcome in news]
        standing = None if agent is None else {name: agent[name] for name in STANDING}
        if standing is not None and standing != self._standing:
            found.append({"event": "standing", "agent": self._slug, **standing})
        self._as_of, self._results, self._standing = told["as_of"], results, standing
        return found


def format_event(change: dict[str, Any]) -> str:
    """Return a change in words."""
    kind = change["event"]
    if kind == "snapshot":
        n, cutoff = change["n_open"], change["next_cutoff"]
        until = "" if cutoff is None else f", the next until {cutoff}"
        return f"snapshot {change['as_of'] or 'none'}: {n:,} market{'' if n == 1 else 's'} open{until}"
    if kind == "settled":
        return f"settled  {change['market_id']}: {change['outcome']}"
    if kind == "standing":
        numbers = (f"{name} {_number(change[name])}" for name in STANDING)
        return f"standing {change['agent']}: {', '.join(numbers)}"
    return f"away     {change['detail']}" if kind == "away" else "back"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}" if isinstance(value, float) else f"{value:,}"
