"""The page that trains DQN on a file runs as it is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from train_page import run_page


def test_the_page_runs_on_a_file_with_features_and_a_reward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = run_page("first-learner.md", 1500)
    result = names["result"]
    assert [len(run.nav) for run in result.runs] == [250, 250]
    assert set(names["data"].features) == {"rsi", "sentiment"}
    assert {"learner.html", "learner"} <= {path.name for path in tmp_path.iterdir()}
    weights = np.concatenate([run.weights for run in result.runs])
    assert np.isfinite(weights).all()
