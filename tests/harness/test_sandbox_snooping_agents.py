"""Attacking agents: in the sandbox they earn the return of the honest agent, without it more."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import snooping_agents
from typer.testing import CliRunner

import openoutcry as oo
from openoutcry.cli.commands import app
from openoutcry.cli.sandbox import open_sandbox
from openoutcry.harness import PythonAgent
from openoutcry.harness.sandbox import Profile, Sandbox, Tier, this_host
from openoutcry.scenarios.scenario import Scenario, ScenarioSpec

HOST = this_host()
pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(HOST.tier < Tier.T2, reason=f"T2: {dict(HOST.missing)}"),
]


@pytest.fixture
def den(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The agents' folder with a data file, as the working directory."""
    folder = tmp_path / "den"
    folder.mkdir()
    shutil.copy(snooping_agents.__file__, folder / "zoo.py")
    (folder / "prices.csv").write_text("the future", encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


def run(name: str, sandbox: Sandbox | None) -> oo.RunRecord:
    with PythonAgent(f"zoo:{name}", sandbox=sandbox, show=lambda text: None).start() as agent:
        made = oo.run_backtest(oo.data.load("ecb-fx"), agent, (19, 24), capture=True).record
    assert made is not None
    return made


def weights(record: oo.RunRecord) -> set[float]:
    return {order["target_weight"] for run in record.decisions for text in run for order in json.loads(text)["orders"]}


def sandbox_of(den: Path) -> Sandbox:
    return Sandbox.open(Profile(den, hidden=[den / "prices.csv"], memory_bytes=2**29))


@pytest.mark.parametrize("animal", snooping_agents.ZOO, ids=lambda each: each.__name__)
def test_an_attack_earns_the_return_of_the_honest_agent(animal: Callable[..., Any], den: Path) -> None:
    sandbox = sandbox_of(den)
    assert run(animal.__name__, sandbox).digest == run("honest", sandbox).digest
    assert sorted(path.name for path in den.iterdir() if path.name != "__pycache__") == ["prices.csv", "zoo.py"]


@pytest.mark.parametrize("animal", snooping_agents.ZOO[:-2], ids=lambda each: each.__name__)
def test_without_the_sandbox_the_attack_finds_something(animal: Callable[..., Any], den: Path) -> None:
    assert weights(run(animal.__name__, None)) == {1.0}


def test_the_seed_of_a_market_is_guessed_unless_it_is_sealed(den: Path) -> None:
    """An agent may use the public engine to regenerate a market with a small seed, but not with a 32-byte key."""
    spec = ScenarioSpec(**snooping_agents.MARKET)
    for scenario, expected in ((Scenario(spec, 5), {1.0}), (Scenario.sealed(spec)[0], {snooping_agents.WEIGHT})):
        with PythonAgent("zoo:guesser", sandbox=sandbox_of(den), show=lambda text: None).start() as agent:
            made = oo.run_backtest(scenario.dataset(), agent, (19, 22), capture=True).record
        assert made is not None
        assert weights(made) == expected


def test_the_record_of_an_honest_agent_is_the_same_in_the_sandbox(den: Path) -> None:
    assert run("honest", sandbox_of(den)).digest == run("honest", None).digest


def test_variables_are_passed_on_by_the_profile(den: Path) -> None:
    with pytest.raises(oo.OpenOutcryError, match="`pass_on` must be set in the sandbox's profile"):
        PythonAgent("zoo:honest", ["PATH"], sandbox=sandbox_of(den))


def test_a_missing_agent_is_reported_in_the_sandbox(den: Path) -> None:
    with pytest.raises(oo.OpenOutcryError, match="no module 'nowhere'"):
        PythonAgent("nowhere:decide", sandbox=sandbox_of(den)).check()
    PythonAgent("zoo:honest", sandbox=sandbox_of(den)).check()


def test_the_harness_imports_nothing_from_the_agents_folder(den: Path) -> None:
    """Modules that shadow those of the harness would run in the harness, outside the sandbox."""
    shadow = "import pathlib\npathlib.Path('ran').touch()\nraise ImportError('not what was meant')\n"
    for name in (*sys.stdlib_module_names, "httpx", "pandas", "rich", "typer"):
        (den / f"{name}.py").write_text(shadow, encoding="utf-8")
    (den / "agent.sh").write_text("while read -r line; do echo '{\"orders\": []}'; done", encoding="utf-8")
    command = [Path(sys.executable).with_name("openoutcry"), "run", "--agent", "cmd:bash agent.sh", "--data", "ecb-fx"]
    command += ["--window", "19:24", "--record", "record.jsonl", "--report", "report.html"]
    made = subprocess.run(command, capture_output=True, text=True)
    assert (made.returncode, (den / "ran").exists()) == (0, False), made.stderr


def test_a_harness_that_would_import_from_the_agents_folder_warns(
    den: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for path, is_told in (([], False), ([""], True), ([str(den)], True)):
        monkeypatch.setattr(sys, "path", [each for each in sys.path if each not in ("", str(den))] + path)
        assert open_sandbox("auto", [], [], allow_net=False) is not None
        assert ("would import modules from the agent's folder" in capsys.readouterr().err) == is_told


def test_a_suite_is_run_in_the_sandbox(den: Path) -> None:
    suite = {
        "suite_version": "1.0",
        "name": "sealed",
        "edition": "1",
        "markets": [{"name": "hidden", "scenario": "calm", "windows": [[20, 23]]}],
        "seeds": [1, 2],
    }
    (den / "open.json").write_text(json.dumps(suite), encoding="utf-8")
    runner = CliRunner()
    assert runner.invoke(app, ["suite", "seal", "open.json", "season.json", "--keys", "season.keys"]).exit_code == 0
    # The file of keys is hidden, since the command line names it.
    text = (den / "zoo.py").read_text(encoding="utf-8").replace("prices.csv", "season.keys")
    (den / "zoo.py").write_text(text, encoding="utf-8")
    command = ["suite", "run", "season.json", "--keys", "season.keys", "--agent", "zoo:reader", "--record"]
    for options, expected in (([], {0.5}), (["--sandbox", "T2"], {0.5}), (["--sandbox", "none"], {1.0})):
        name = f"{''.join(options)}.json"
        made = runner.invoke(app, [*command, name, *options])
        assert made.exit_code == 0, made.output
        assert weights(oo.RunRecord.load(name)) == expected
        assert ("sandbox T" in made.stderr) == (expected == {0.5})
    for options in (["--sandbox", "T9"], ["--sandbox", "none", "--allow-net"]):
        assert isinstance(runner.invoke(app, [*command, "no.json", *options]).exception, oo.OpenOutcryError)
