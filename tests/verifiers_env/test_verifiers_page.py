"""The documentation page matches the environment: settings, rewards, the example conversation."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("verifiers", reason="needs the extra `verifiers`")

import hub_tables
from builders import count
from rollout_rows import row_of

from openoutcry.verifiers_env.arena_tasks import ArenaTasksetConfig
from openoutcry.verifiers_env.mandates import MANDATES
from openoutcry.verifiers_env.parser import execute_call, execute_text
from openoutcry.verifiers_env.reward_hacking import REWARD_HACKS
from openoutcry.verifiers_env.rewards import REWARDS
from openoutcry.verifiers_env.rollout_state import RolloutState

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "examples")]
import verifiers_audit as script  # noqa: E402
import verifiers_reinforce as example  # noqa: E402

PAGE = (ROOT / "docs" / "verifiers.md").read_text(encoding="utf-8")


def test_the_table_of_settings_is_complete() -> None:
    # A generated folder.
    assert hub_tables.arguments().replace("`outputs/", "`./outputs/") in PAGE
    assert hub_tables.table_of(("--env.taskset", ArenaTasksetConfig)) in PAGE
    for name, tier in example.TIERS.items():
        assert f"| `{name}` | {tier.n_symbols} | {tier.horizon} |" in PAGE
    for name, mandate in MANDATES.items():
        benchmark = "cash" if mandate.benchmark == "hold-cash" else "equal parts, bought and held"
        assert re.search(rf"^\| `{name}` \| .* \| {benchmark} \|$", PAGE, re.MULTILINE)


def test_every_reward_is_listed_with_weight_and_range() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \| (\S+) to (\S+) \| [^|]+ \| [^|]+ \| [^|]+ \|$", PAGE, re.MULTILINE)
    assert rows == [
        (name, f"{spec.weight:g}", f"{spec.range[0]:g}", f"{spec.range[1]:g}") for name, spec in REWARDS.items()
    ]


def test_the_example_conversation_is_reproducible() -> None:
    """Executing each line of the model returns the line below it, in both styles."""
    (conversation,) = re.findall(r"```text\n(> .*?)```", PAGE, re.DOTALL)
    lines = conversation.splitlines()
    rollout = RolloutState(row_of("pairs", n_symbols=2, horizon=10, lookback=5))
    for said, reply in zip(lines[::2], lines[1::2], strict=True):
        name, _, arguments = said.removeprefix("> ").partition(" ")
        is_call = name in ("trade", "history")
        answered = execute_call(rollout, name, arguments) if is_call else execute_text(rollout, said)
        assert json.loads(answered) == json.loads(reply.removeprefix("< "))


def test_the_page_has_the_figures_of_the_audit() -> None:
    found = json.loads((ROOT / "docs" / "verifiers.json").read_text(encoding="utf-8"))
    assert script.in_a_line(found) in " ".join(PAGE.split())
    assert f"{['fourteen', 'fifteen', 'sixteen'][len(REWARD_HACKS) - 14]} reward hacks on 300 rows" in PAGE


@pytest.mark.skipif(count(1, 0) == 0, reason="needs OPENOUTCRY_FULL=1, a minute")
@pytest.mark.parametrize("market", ["crisis", "pairs"])
def test_the_training_results_of_the_page_are_reproducible(market: str) -> None:
    start = example.np.zeros((len(example.ACTIONS), example.N_FEATURES))
    before = example.judge(market, start, 300)
    after = example.judge(market, example.train(market, 2_400, 0), 300)
    cells = [script.interval(script.cell(values)) for values in (before, after, after - before)]
    wanted = cells if market == "crisis" else [cells[0].split()[0], cells[1]]
    assert all(cell in PAGE for cell in wanted), cells
