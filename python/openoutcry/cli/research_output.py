"""Terminal output of `openoutcry research`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openoutcry.cli.run_table import plain
from openoutcry.untrusted.rich_console import Console

if TYPE_CHECKING:
    from openoutcry.research.trial import Result

HINTS = {
    "dry_rounds": " `--max-dry-rounds` sets how many.",
    "trial_budget": " `--max-trials` sets how many.",
    "proposer_failed": " The `proposal` events of the journal hold the reasons.",
}
"""Hints by stop reason: the option to change."""
LONGEST = 600
"""Maximum length of a line."""


class ProgressPrinter:
    """Prints the progress of a session, one line per round."""

    def __init__(self) -> None:
        self._console = Console()
        self._named = ""

    def __call__(self, event: str, payload: Mapping[str, Any]) -> None:
        from openoutcry.untrusted.counted_nouns import counted

        if event == "session_start":
            market, prior_trials = payload["market"], payload["memory"]
            n_folds = counted(len(payload["folds"]), "fold")
            self._say(f"{market['name']}  {market['first']} .. {market['last']}  {n_folds}")
            self._say(f"  · prior trials on this family of markets: {prior_trials['n_trials']:,}", "dim")
            self._show_power(payload.get("holdout_power"))
            if prior_trials["holdout_spent"]:
                self._say("  · the holdout is spent: it stays closed without `--burn-holdout`", "yellow")
            if prior_trials["holdout_looks"]:
                runs = counted(prior_trials["holdout_looks"], "run has", "runs have")
                self._say(f"  · {runs} seen days of the holdout; results record it", "yellow")
            if payload["config"]["unsafe_no_isolation"]:
                self._say("  · code runs without a sandbox, with all rights of your user", "bold red")
        elif event == "proposal":
            self._named = _named(payload["proposal"])
        elif event == "reject":
            self._say(f"{payload['round'] + 1:>3}. {self._named}: {payload['reason']}, {payload['detail']}", "dim")
        elif event == "crash":
            self._say(f"{payload['round'] + 1:>3}. {self._named}: failed with {payload['detail']}", "red")
        elif event == "trial":
            sharpe = payload["oos"]["sharpe"]
            self._named += f", Sharpe {'undefined' if sharpe is None else f'{sharpe:.2f}'} out of sample"
            for caution in payload.get("cautions", ()):
                self._say(f"     caution: {caution}", "yellow")
        elif event == "decision":
            style = "bold green" if payload["outcome"] == "advanced" else ""
            why = f": {payload['reasons'][0]}" if payload["reasons"] else ""
            self._say(f"{payload['round'] + 1:>3}. {self._named}: {payload['outcome']}{why}", style)

    def _show_power(self, declared: Mapping[str, Any] | None) -> None:
        """Show how often luck and skill pass the holdout, if the journal declares it."""
        from openoutcry.research.holdout_power import HoldoutPower

        if declared is not None:
            power = HoldoutPower.of_json(declared)
            self._say(f"  · holdout test: {power.sentence}", "dim")
            if power.notice:
                self._say(f"  · {power.notice}", "yellow")

    def _say(self, text: str, style: str = "") -> None:
        self._console.print(plain(text, LONGEST), style=style, highlight=False, soft_wrap=True)


def _named(proposal: Mapping[str, Any] | None) -> str:
    if proposal is None:
        return "unreadable proposal"
    params = proposal.get("params")
    text = " ".join(f"{name}={value}" for name, value in params.items()) if isinstance(params, Mapping) else ""
    return f"{proposal.get('strategy') or 'code'} {text}".strip()[:100]


def result_lines(result: Result, written: Sequence[Path]) -> list[str]:
    """Return the lines of a result with its candidates and their files."""
    from openoutcry.research.session_report import STOPPED
    from openoutcry.untrusted.counted_nouns import counted

    before = result.n_trials - result.n_session
    lines = [
        STOPPED[result.stopped_reason] + HINTS.get(result.stopped_reason, ""),
        f"trials counted: {result.n_trials:,}, including {counted(before, 'prior trial')} of the ledger",
        list_line(result),
    ]
    for rank, listed in enumerate(result.shortlist, 1):
        lines += [*candidate_lines(rank, listed, result.holdout_reuse), f"     file: {written[rank - 1]}"]
    if result.holdout_note:
        lines.append(f"holdout: {result.holdout_note}")
    return [*lines, *holdout_lines(result)]


def list_line(result: Result) -> str:
    """Return a line with the number of candidates."""
    from openoutcry.untrusted.counted_nouns import counted

    if not result.trials:
        return "short list: no trial was evaluated"
    text = "" if result.shortlist else ", which is correct if no strategy is better than chance"
    return f"short list: {len(result.shortlist)} of {counted(len(result.trials), 'trial')}{text}"


def holdout_lines(result: Result) -> list[str]:
    """Return the power of an opened holdout, and the limits of the family count."""
    from openoutcry.ledger import FAMILY_LIMITS

    if result.holdout_reuse is None:
        return []
    power = result.holdout_power
    return [*([] if power is None else [f"holdout test: {power.sentence}"]), f"holdout: {FAMILY_LIMITS}"]


def candidate_lines(rank: int, listed: Any, reuse: int | None) -> list[str]:
    """Return a line with a candidate and its holdout result, and a line per caution."""
    from openoutcry.research.parameter_maps import shown
    from openoutcry.untrusted.counted_nouns import counted

    verdict = listed.verdict
    text = "holdout closed" if verdict is None else f"holdout {'passed' if verdict.passed else 'failed'}"
    text += f", its days seen {counted(reuse, 'time')} before" if verdict is not None and reuse else ""
    dsr = "undefined" if listed.luck.dsr is None else f"{listed.luck.dsr:.3f}"
    named = f"{listed.trial.candidate.name} {shown(listed.trial.validation.params[-1])}".rstrip()
    line = f"  {rank}. {named}: Sharpe {listed.oos.sharpe:.2f}, DSR at all trials {dsr}, {text}"
    return [line, *(f"     caution: {each}" for each in listed.cautions)]
