"""The sessions of a server: begun, stepped, scored and given up."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from openoutcry.errors import refusal
from openoutcry.mcp import arguments
from openoutcry.mcp.arguments import RESET, taken
from openoutcry.mcp.episode import Episode
from openoutcry.mcp.keeping import Kept, Records
from openoutcry.mcp.market import Market, synthetic
from openoutcry.openoutcry_py import OpenOutcryError

Answer = dict[str, Any]

_ID_BYTES = 16
_DECISION = '{"orders": [{"symbol": "AAA", "action": "buy", "target_weight": 0.5}]}'


@dataclass(frozen=True)
class Bounds:
    """What clients may take.

    Args:
        sessions: Sessions at a time. One that is over makes way for a new one.
        idle_seconds: Time without a call, after which a session is given up.
    """

    sessions: int = 16
    idle_seconds: float = 3600.0

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
                raise refusal("argument_invalid", f"`{each.name}` must be a number above 0; received {value!r}")


@dataclass
class _Session:
    """An episode of a client.

    Attributes:
        episode: The episode.
        is_named: Whether whoever has the record finds the market by itself.
        n_trials: Episodes before it that saw the same bars.
        used: When it was last called.
        kept: Its record, once it is over and was written.
    """

    episode: Episode
    is_named: bool
    n_trials: int
    used: float
    kept: Kept | None = None
    is_kept: bool = False


@dataclass
class Floor:
    """What clients trade on; its methods are the tools.

    Each takes arguments by name and returns an answer. Sessions do not touch.

    Args:
        markets: What can be named; the first is the default.
        bounds: What clients may take.
        records: Where records go; None keeps none.
        clock: Seconds that never go back.
    """

    markets: Sequence[Market]
    bounds: Bounds = field(default_factory=Bounds)
    records: Records | None = None
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._named = {market.name: market for market in self.markets}
        self._sessions: dict[str, _Session] = {}
        # Market, and the first and last bar that an episode can show.
        self._shown: list[tuple[str, int, int]] = []

    def reset(self, given: Mapping[str, Any]) -> Answer:
        """Begin an episode and return its session and first observation."""
        taken("reset", given, (), RESET)
        name, is_synthetic = arguments.choice(given, tuple(self._named))
        self._give_up_idle()
        replaced = given.get("replaces")
        if replaced is not None:
            self._of(replaced)
        if is_synthetic:
            seed = arguments.seed(given) if "seed" in given else None
            dataset, is_named = synthetic(name, seed), False
            # Of a sealed market nobody can have seen a bar.
            label = None if seed is None else f"{name} {seed}"
        else:
            dataset, is_named, label = self._named[name].drawn(), self._named[name].mask is None, name
        episode = Episode(dataset, arguments.rules(dataset, given))
        if replaced is not None:
            self._give_up(replaced)
        self._make_room()
        session = secrets.token_hex(_ID_BYTES)
        self._sessions[session] = _Session(episode, is_named, self._trials(label, episode), self.clock())
        settings = episode.rules.settings
        return {
            "session": session,
            "market": name,
            "n_decisions": episode.n_left,
            "costs": settings["costs"].to_dict(),
            "limits": _finite(settings["limits"].to_dict()),
            "observation": episode.observe(),
        }

    def observe(self, given: Mapping[str, Any]) -> Answer:
        """Return the present observation of a session again."""
        taken("observe", given, ("session",))
        session, episode = self._called(given)
        return {**_state(session, episode), "observation": episode.observe()}

    def step(self, given: Mapping[str, Any]) -> Answer:
        """Carry out a decision and return what came of it.

        Raises:
            OpenOutcryError: it is no decision, or the episode is over; nothing has moved.
        """
        taken("step", given, ("session", "decision"))
        session, episode = self._called(given)
        try:
            came = episode.step(arguments.decision(given["decision"]))
        except OpenOutcryError as error:
            if error.slug == "episode_over":
                raise
            told = f"{_message(error)}; nothing has moved; hint: {_DECISION} is a decision"
            raise refusal(error.slug, told) from error
        if episode.done:
            self._keep(session)
        return {**_state(session, episode), **came, "observation": episode.observe()}

    def score(self, given: Mapping[str, Any]) -> Answer:
        """Return what a session has come to so far, or in the end.

        Before its end, nothing of it depends on a later bar.
        """
        taken("score", given, ("session",))
        session, episode = self._called(given)
        answer = {**_state(session, episode), "n_made": episode.n_made, **episode.score(), "record": None, "data": None}
        if not episode.done:
            return answer
        # Both tell of later bars: what data is like as a whole, and a digest of all of it.
        dataset = episode.dataset
        answer["data"] = {"name": dataset.name, "fingerprint": dataset.fingerprint, "notices": list(dataset.notices)}
        self._keep(session)
        kept = self._sessions[session].kept
        return answer | {"record": None if kept is None else asdict(kept)}

    def close(self) -> None:
        """Give up all sessions; records of those that were not over are unfinished."""
        with ExitStack() as ends:
            for session in list(self._sessions):
                ends.callback(self._give_up, session)

    def _called(self, given: Mapping[str, Any]) -> tuple[str, Episode]:
        self._give_up_idle()
        session = given["session"]
        held = self._of(session)
        held.used = self.clock()
        return session, held.episode

    def _of(self, session: Any) -> _Session:
        held = self._sessions.get(session) if isinstance(session, str) else None
        if held is None:
            wanted = "`session` must be one that `reset` returned and that is still open"
            hint = f"hint: a session is given up after {self.bounds.idle_seconds:g} seconds without a call"
            raise refusal("unknown_session", f"{wanted}; received {session!r}; {hint}")
        return held

    def _make_room(self) -> None:
        if len(self._sessions) < self.bounds.sessions:
            return
        over = [session for session, held in self._sessions.items() if held.episode.done]
        if not over:
            wanted = f"at most {self.bounds.sessions} sessions may be open at a time"
            hint = "hint: `replaces` of `reset` gives one up, and an episode that is over makes way"
            raise refusal("too_many_sessions", f"{wanted}; received one more; {hint}")
        self._give_up(over[0])

    def _give_up_idle(self) -> None:
        now = self.clock()
        for session, held in list(self._sessions.items()):
            if now - held.used > self.bounds.idle_seconds:
                self._give_up(session)

    def _give_up(self, session: str) -> None:
        try:
            self._keep(session)
        finally:
            del self._sessions[session]

    def _keep(self, session: str) -> None:
        held = self._sessions[session]
        if self.records is not None and held.episode.n_made and not held.is_kept:
            held.is_kept = True
            held.kept = self.records.keep(session, held.episode, held.n_trials, is_named=held.is_named)

    def _trials(self, market: str | None, episode: Episode) -> int:
        """Return how many episodes before have shown bars of this one, and note this one."""
        if market is None:
            return 0
        start, end = episode.rules.window
        first = max(0, start + 1 - episode.rules.settings["lookback"])
        before = sum(market == name and low < end and start < high for name, low, high in self._shown)
        self._shown.append((market, first, end))
        return before


def _state(session: str, episode: Episode) -> Answer:
    return {"session": session, "done": episode.done, "n_left": episode.n_left}


def _finite(limits: dict[str, Any]) -> dict[str, Any]:
    # JSON has no infinity; a limit that is null is none.
    return {name: None if value == float("inf") else value for name, value in limits.items()}


def _message(error: OpenOutcryError) -> str:
    return str(error).removeprefix(f"{error.slug}: ")
