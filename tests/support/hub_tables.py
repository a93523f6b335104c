"""Generated tables of the Hub package's README; `python tests/support/hub_tables.py` updates them.

Each is enclosed by `<!-- name -->` and `<!-- end -->`.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from openoutcry.verifiers_env.rewards import REWARDS, RewardTerms
from openoutcry.verifiers_env.scripted_policies import BASELINES
from openoutcry.verifiers_env.task_rows import TIERS

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "examples" / "hub" / "openoutcry" / "README.md"
AUDIT = ROOT / "docs" / "verifiers.json"


def docstrings(config: type) -> Iterator[tuple[str, str]]:
    """Yield each field that a class declares, with its docstring."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(config))).body
    for field, after in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr):
            yield field.target.id, after.value.value


def default(config: type, name: str) -> str:
    """Return the default of a field in command line syntax."""
    field = config.model_fields[name]
    value = field.default_factory() if field.default_factory else field.default
    return str(value).lower() if isinstance(value, bool) else str(value)


def arguments() -> str:
    from openoutcry.verifiers_env.trading_tasks import TradingTaskConfig, VerifiersTasksetConfig

    return table_of(("--env.taskset", VerifiersTasksetConfig), ("--env.taskset.task", TradingTaskConfig))


def table_of(*configs: tuple[str, type]) -> str:
    """Return a table of settings, from pairs of prefix and configuration."""
    rows = ["| argument | default | meaning |", "| --- | --- | --- |"]
    for prefix, config in configs:
        rows += [
            f"| `{prefix}.{name}` | `{default(config, name)}` | {' '.join(text.split())} |"
            for name, text in docstrings(config)
            if name != "task"
        ]
    return "\n".join(rows)


def rewards() -> str:
    rows = ["| name | weight | range | reward |", "| --- | ---: | --- | --- |"]
    terms = RewardTerms()
    for name, spec in REWARDS.items():
        low, high = spec.range
        rows.append(f"| `{name}` | {spec.weight:g} | {low:g} to {high:g} | {terms.describe(name)} |")
    return "\n".join(rows)


def tiers() -> str:
    rows = ["| tier | symbols | decisions |", "| --- | ---: | ---: |"]
    return "\n".join(rows + [f"| `{name}` | {tier.n_symbols} | {tier.horizon} |" for name, tier in TIERS.items()])


def baselines() -> str:
    """Return the mean default reward of baselines, as measured by the audit."""
    rows = ["| market | policy | n | mean reward | 95 % interval |", "| --- | --- | ---: | ---: | --- |"]
    found = json.loads(AUDIT.read_text(encoding="utf-8"))["baselines"] if AUDIT.is_file() else {}
    for market, named in found.items():
        for name in BASELINES:
            each: dict[str, Any] = named[name]
            mean, low, high = (signed(each[key]) for key in ("mean", "low", "high"))
            rows.append(f"| `{market}` | {name} | {each['n']} | {mean} | {low} to {high} |")
    return "\n".join(rows)


def signed(value: float) -> str:
    shown = f"{value:+.3f}"
    return "0.000" if float(shown) == 0.0 else shown


TABLES = {"arguments": arguments, "rewards": rewards, "tiers": tiers, "baselines": baselines}


def place(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- {name} -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def table(name: str) -> str:
    """Return a table of the README."""
    found = place(name).search(README.read_text(encoding="utf-8"))
    assert found is not None, f"the README must have a table `{name}`"
    return found[2].removesuffix("\n")


if __name__ == "__main__":
    text = README.read_text(encoding="utf-8")
    for each in TABLES:
        made = TABLES[each]()
        found = place(each).search(text)
        assert found is not None
        text = text[: found.start(2)] + made + "\n" + text[found.end(2) :]
    README.write_text(text, encoding="utf-8")
