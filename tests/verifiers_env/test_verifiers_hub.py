"""The Environments Hub package and the prime-rl configuration match the environment."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import tomllib
from hub_tables import README, ROOT, TABLES, table
from packaging.requirements import Requirement

from openoutcry.verifiers_env import row_markets
from openoutcry.verifiers_env.rollout_state import MAX_READS
from openoutcry.verifiers_env.task_rows import SPLITS

vf = pytest.importorskip("verifiers.v1")
from model_endpoint import Reply, serve  # noqa: E402

from openoutcry.verifiers_env.chat_harness import VerifiersHarness  # noqa: E402
from openoutcry.verifiers_env.scripted_policies import baseline, play  # noqa: E402
from openoutcry.verifiers_env.trading_tasks import VerifiersTaskset, VerifiersTasksetConfig, _metrics  # noqa: E402
from openoutcry.verifiers_env.verifiers_environment import VerifiersEnv  # noqa: E402

pytestmark = pytest.mark.once

HUB = README.parent
MODULE = "openoutcry_trading"
PAGE = README.read_text(encoding="utf-8")
PACKAGE = tomllib.loads((HUB / "pyproject.toml").read_text(encoding="utf-8"))
MAIN = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
GRPO = tomllib.loads((ROOT / "examples" / "prime-rl" / "grpo.toml").read_text(encoding="utf-8"))
SOURCES = {name: GRPO["orchestrator"][name]["source"][0] for name in ("train", "eval")}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_the_readme_is_up_to_date(name: str) -> None:
    assert table(name) == TABLES[name](), "run `python tests/support/hub_tables.py`"


def test_the_readme_names_every_metric() -> None:
    (found,) = re.findall(r"Metrics without a reward:\n\n(.*?)\n\n", PAGE, re.DOTALL)
    named = re.findall(r"`(\w+)`", "\n".join(line.split("|")[1] for line in found.splitlines()[2:]))
    row = VerifiersTaskset(VerifiersTasksetConfig(id="openoutcry", tier="easy")).row(0)
    assert sorted(named) == sorted(_metrics(play(row, baseline("do-nothing", row))))


def test_the_readme_gives_the_split_boundaries_of_real_data() -> None:
    shares = [round(100 * (last - first)) for first, last in (row_markets._ENDS[split] for split in SPLITS)]
    assert re.findall(r"^\| `([a-z-]+)` \| own keys; the (?:first|next|last) (\d+) %", PAGE, re.MULTILINE) == [
        (split, str(share)) for split, share in zip(SPLITS, shares, strict=True)
    ]


def test_the_module_is_found_by_name_with_its_own_harness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(HUB)
    for name in ("openoutcry-trading", "owner/openoutcry-trading", "owner/openoutcry-trading@0.1.0"):
        config = vf.resolve_env_config({"taskset": {"id": name}})
        env = vf.load_environment(config)
        assert (type(env), type(env.taskset)) == (VerifiersEnv, VerifiersTaskset)
        assert vf.default_harness_id(name) == name
        assert config.agent.runtime.type == "subprocess"
        (harness,) = config.agent_harnesses().values()
        assert isinstance(vf.load_harness(harness), VerifiersHarness)


def test_the_name_does_not_shadow_the_wheel() -> None:
    assert PACKAGE["project"]["name"].replace("-", "_") == MODULE != MAIN["name"]
    # The Hub expects a module, or a package in the same folder.
    assert sorted(path.name for path in HUB.iterdir() if path.name != "__pycache__") == [
        "README.md",
        f"{MODULE}.py",
        "pyproject.toml",
    ]


def test_the_package_has_the_requirements_of_the_wheel() -> None:
    project = PACKAGE["project"]
    required = {each.name: each for each in map(Requirement, project["dependencies"])}
    assert set(required) == {"openoutcry", "verifiers"}
    assert required["openoutcry"].extras == {"verifiers"}
    assert required["openoutcry"].specifier.contains(MAIN["version"])
    assert required["verifiers"].specifier.contains(version("verifiers"))
    for text in MAIN["optional-dependencies"].get("verifiers", []):
        each = Requirement(text)
        assert each.name != "verifiers" or each.specifier == Requirement("verifiers>=0.4,<0.5").specifier
    assert project["license"] == MAIN["license"]
    assert f"- {project['version']}: " in PAGE
    assert {"trading", "multi-turn", "tool-use", "train", "eval"} <= set(project["tags"])
    assert set(PACKAGE["tool"]["verifiers"]["eval"]) == {"num_examples", "rollouts_per_example"}


def built(folder: Path) -> Path:
    """Return the wheel that an installed builder makes of the package."""
    shutil.copytree(HUB, folder / "hub", ignore=shutil.ignore_patterns("__pycache__"))
    uv = shutil.which("uv")
    if uv is not None:
        command = [uv, "build", "--wheel", "--out-dir", str(folder / "dist")]
    elif importlib.util.find_spec("hatchling") is not None:
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    else:
        pytest.skip("needs `uv` or hatchling")
    done = subprocess.run(command, cwd=folder / "hub", capture_output=True, text=True, check=False)
    if "Failed to fetch" in done.stderr:
        pytest.skip("`uv` needs a network for hatchling")
    assert done.returncode == 0, done.stderr
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


def test_it_builds_as_a_pure_wheel_with_one_module(tmp_path: Path) -> None:
    wheel = built(tmp_path)
    assert wheel.name == f"{MODULE}-{PACKAGE['project']['version']}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (archive.read(name).decode() for name in names if name.endswith("/METADATA"))
    assert [name for name in names if ".dist-info/" not in name] == [f"{MODULE}.py"]
    assert "Requires-Dist: openoutcry[verifiers]>=0.1.0" in metadata
    assert PAGE.strip() in metadata


def shell(folder: Path, command: str, *options: str) -> subprocess.CompletedProcess[str]:
    where = os.pathsep.join([str(ROOT / "python"), str(HUB)])
    program = f"import sys; from verifiers.v1.cli.{command} import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", program, "openoutcry-trading", *options],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": where, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_vf_eval_runs_it_offline_by_name(tmp_path: Path) -> None:
    with serve(lambda body: Reply(calls=(("trade", '{"orders":[]}'),))) as endpoint:
        options = ["--client.base-url", endpoint.url, "--no-push", "--no-rich", "-o", "outputs", "--run.dir", "one"]
        done = shell(tmp_path, "eval.main", "-n", "1", "-r", "1", "-m", "scripted", *options)
    assert done.returncode == 0, done.stderr
    (line,) = (tmp_path / "outputs" / "one" / "traces.jsonl").read_text(encoding="utf-8").splitlines()
    episode = json.loads(line)
    (trace,) = episode["traces"]
    assert episode["ok"]
    assert trace["agent"]["config"]["harness"]["id"] == "openoutcry-trading"
    assert trace["info"]["openoutcry"]["n_answers"] == 20
    assert (tmp_path / trace["info"]["openoutcry"]["record"]).is_file()


@pytest.mark.parametrize("name", SOURCES)
def test_a_prime_rl_source_is_an_environment(name: str) -> None:
    config = vf.resolve_env_config(SOURCES[name]["env"])
    env = vf.load_environment(config)
    assert type(env) is VerifiersEnv
    assert config.taskset.split == {"train": "train", "eval": "validation"}[name]
    row = env.taskset.row(0)
    assert config.agent.max_turns >= row.horizon * row.n_windows * (MAX_READS + 2)
    (task,) = env.taskset.take(1)
    assert task.data.row == row
    assert len(list(env.taskset.take(3))) == 3


def test_training_and_evaluation_use_different_splits() -> None:
    def fingerprints(source: dict[str, Any]) -> set[str]:
        taskset = vf.load_environment(vf.resolve_env_config(source["env"])).taskset
        return {row_markets.draw(taskset.row(index), 0).fingerprint for index in range(20)}

    trained, evaluated = (fingerprints(SOURCES[name]) for name in ("train", "eval"))
    assert len(trained) == len(evaluated) == 20
    assert trained.isdisjoint(evaluated)
    assert GRPO["orchestrator"]["train"]["group_size"] > 1
    assert SOURCES["eval"]["num_examples"] <= SOURCES["eval"]["env"]["taskset"]["num_tasks"]
