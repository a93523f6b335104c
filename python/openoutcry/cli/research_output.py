"""What `openoutcry research` tells of a session on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console

from openoutcry.cli.run_table import plain

if TYPE_CHECKING:
    from openoutcry.research.trial import Result

HINTS = {
    "dry_rounds": " `--max-dry-rounds` says how many it takes.",
    "trial_budget": " `--max-trials` says how many.",
    "proposer_failed": " The journal says why, in its proposals.",
}
"""What a person may want to change, by the reason to stop."""
LONGEST = 400
"""Letters of a line at most."""


class Shown:
    """Tells of a session while it goes on, a line a round."""

    def __init__(self) -> None:
        self._console = Console()
        self._named = ""

    def __call__(self, event: str, payload: Mapping[str, Any]) -> None:
        if event == "session_start":
            market, memory = payload["market"], payload["memory"]
            self._say(f"{market['name']}  {market['first']} .. {market['last']}  {len(payload['folds'])} folds")
            self._say(f"  · trials remembered of this family of markets: {memory['n_trials']:,}", "dim")
            if memory["holdout_spent"]:
                self._say("  · the holdout is spent: it will not be opened again without `--burn-holdout`", "yellow")
            if memory["holdout_looks"]:
                self._say(
                    f"  · {memory['holdout_looks']:,} runs have seen days of the holdout: results will say so", "yellow"
                )
            if payload["config"]["unsafe_no_isolation"]:
                self._say("  · code runs without a sandbox, with all your rights", "bold red")
        elif event == "proposal":
            self._named = _named(payload["proposal"])
        elif event == "reject":
            self._say(f"{payload['round'] + 1:>3}. {self._named}: {payload['reason']}, {payload['detail']}", "dim")
        elif event == "crash":
            self._say(f"{payload['round'] + 1:>3}. {self._named}: broke off, {payload['detail']}", "red")
        elif event == "trial":
            sharpe = payload["oos"]["sharpe"]
            self._named += f", Sharpe {'undefined' if sharpe is None else f'{sharpe:.2f}'} out of sample"
        elif event == "decision":
            style = "bold green" if payload["outcome"] == "advanced" else ""
            why = f": {payload['reasons'][0]}" if payload["reasons"] else ""
            self._say(f"{payload['round'] + 1:>3}. {self._named}: {payload['outcome']}{why}", style)

    def _say(self, text: str, style: str = "") -> None:
        self._console.print(plain(text, LONGEST), style=style, highlight=False, soft_wrap=True)


def _named(proposal: Mapping[str, Any] | None) -> str:
    if proposal is None:
        return "nothing that could be read"
    params = proposal.get("params")
    told = " ".join(f"{name}={value}" for name, value in params.items()) if isinstance(params, Mapping) else ""
    return f"{proposal.get('strategy') or 'code'} {told}".strip()[:100]


def list_line(result: Result) -> str:
    """Return how many candidates there are."""
    if not result.trials:
        return "short list: nothing was evaluated"
    told = "" if result.shortlist else ", a good answer where nothing is better than luck"
    return f"short list: {len(result.shortlist)} of {len(result.trials)} evaluated{told}"


def candidate_line(place: int, listed: Any, reuse: int | None) -> str:
    """Return a candidate in one line, with how often its holdout had been seen."""
    from openoutcry.research.session_report import shown

    verdict = listed.verdict
    told = "holdout shut" if verdict is None else f"holdout {'passed' if verdict.passed else 'failed'}"
    told += f", whose days had been seen {reuse} times before" if verdict is not None and reuse else ""
    dsr = "undefined" if listed.luck.dsr is None else f"{listed.luck.dsr:.3f}"
    named = f"{listed.trial.candidate.name} {shown(listed.trial.validated.params[-1])}"
    beside = "".join(f"; {each}" for each in listed.cautions)
    return f"  {place}. {named}: Sharpe {listed.oos.sharpe:.2f}, DSR {dsr}, {told}{beside}"
