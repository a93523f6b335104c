"""Secrets on the command line of an agent are shown and recorded nowhere; the agent gets them."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
from command_line import typed
from hypothesis import given
from hypothesis import strategies as st

from openoutcry.errors import OpenOutcryError
from openoutcry.harness import CommandAgent, connect
from openoutcry.harness.agent_lookup import public_name
from openoutcry.harness.command_secrets import MASK, public_command, public_words, without_secrets

SECRET = "hunter2hunter2"
AGENT = f"""import sys
assert sys.argv[2] == {SECRET!r}
for line in sys.stdin:
    print('{{"orders": []}}', flush=True)
"""


@pytest.mark.parametrize(
    "command",
    [
        f"python a.py --api-key {SECRET}",
        f"python a.py --api-key={SECRET} --fast 5",
        f"python a.py -token {SECRET}",
        f"env OPENAI_API_KEY={SECRET} python a.py",
        f"API_TOKEN={SECRET} python a.py",
        f"PGPASSWORD={SECRET} python a.py",
        f"python a.py --apiKey {SECRET}",
        f"python a.py --db.password {SECRET}",
        f"curl -H 'Authorization: Bearer {SECRET}'",
        f"python a.py --url https://me:{SECRET}@host/x",
        f"bash -c 'TOKEN={SECRET} exec python a.py'",
        f"bash -c 'python a.py --secret {SECRET} --say \"hi there\"'",
        f"python a.py sk-{SECRET}{SECRET}",
        f"python 'a.py --token {SECRET}",
    ],
)
def test_the_value_of_a_secret_is_masked(command: str) -> None:
    shown = public_command(command)
    assert SECRET not in shown
    assert MASK in shown or "https://host/x" in shown
    assert SECRET not in public_name(f"cmd:{command}")
    assert public_command(shown) == shown


@pytest.mark.parametrize(
    "command",
    [
        "python a.py --max-tokens 100",
        "python a.py --tokenizer=gpt2 --seed 5",
        "python a.py --api-key-file secrets/key.txt",
        "node agent.js --key-path=keys/a.pem",
        "python a.py --password --fast 5",
        "python -m my.agent host:8080  'two words'",
    ],
)
def test_other_commands_are_shown_as_they_are(command: str) -> None:
    assert public_command(command) == command


@given(st.lists(st.text(max_size=12), max_size=5))
def test_any_words_can_be_shown_twice(words: list[str]) -> None:
    shown = public_words(words)
    assert len(shown) == len(words)
    assert public_words(shown) == shown
    public_command(" ".join(words))
    without_secrets("text", [f"cmd:{' '.join(words)}"])


def test_errors_of_a_command_repeat_no_secret() -> None:
    for command in (f"TOKEN={SECRET} python", f"python 'x --token {SECRET}"):
        with pytest.raises(OpenOutcryError) as error:
            connect(f"cmd:{command}").check()
        assert SECRET not in str(error.value)
    assert SECRET not in repr(CommandAgent(["python", "--token", SECRET]))


@pytest.mark.parametrize("sandbox", ["none", "auto"])
def test_a_run_with_a_secret_writes_it_nowhere(sandbox: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Record, ledger, page and output have the mask; the agent, which checks it, has the value."""
    agent = tmp_path / "agent.py"
    agent.write_text(AGENT)
    monkeypatch.setenv("OPENOUTCRY_LEDGER", str(tmp_path / "ledger"))
    command = f"cmd:{shlex.quote(sys.executable)} agent.py --api-key {SECRET}"
    words = ("--agent", command, "--window", "19:24", "--sandbox", sandbox, "--ledger")
    done = typed("run", *words, "--record", "run.jsonl", "--report", "run.html", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert MASK in json.loads(done.stdout)["agent"]
    verified = typed("replay", "run.jsonl", "--data", "ecb-fx", cwd=tmp_path)
    assert verified.returncode == 0, verified.stdout
    wrong = typed("run", "--agent", command, "--record", f"{SECRET}/run.jsonl", cwd=tmp_path)
    texts = [done.stdout, done.stderr, verified.stdout, wrong.stdout, wrong.stderr]
    files = [
        path for path in tmp_path.rglob("*") if path.is_file() and path != agent and "__pycache__" not in path.parts
    ]
    assert {path.name for path in files} >= {"run.jsonl", "run.html", "00000.jsonl", "index.sqlite"}
    assert [path.name for path in files if SECRET.encode() in path.read_bytes()] == []
    assert [text for text in texts if SECRET in text] == []
