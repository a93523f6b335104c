"""The public names of the package, its imports, and its settings."""

from __future__ import annotations

import ast
import pickle
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import openoutcry as oo

NAMES = {
    "CONTRACT_VERSION",
    "CostModel",
    "Dataset",
    "Limits",
    "OpenOutcryEnv",
    "OpenOutcryError",
    "OpenOutcryVectorEnv",
    "Run",
    "RunRecord",
    "Score",
    "TradingEnv",
    "Window",
    "agents",
    "data",
    "replay",
    "run_backtest",
    "run_sweep",
    "score",
    "score_run",
}


# Names that the verifiers framework looks for are listed only if it is installed.
OF_VERIFIERS = {"VerifiersEnv", "VerifiersHarness", "VerifiersTaskset"}


def test_the_public_names_are_frozen_and_at_most_twenty() -> None:
    assert set(oo.__all__) - OF_VERIFIERS == NAMES
    assert len(NAMES) <= 20
    assert all(getattr(oo, name) is not None for name in NAMES)
    assert set(oo.__all__) >= OF_VERIFIERS or find_spec("verifiers") is None
    assert set(dir(oo)) >= NAMES


@pytest.mark.parametrize("has_verifiers", [False, True])
def test_a_star_import_works_with_and_without_verifiers(has_verifiers: bool) -> None:
    if has_verifiers and find_spec("verifiers") is None:
        pytest.skip("verifiers is not installed here")
    hide = "import sys; sys.modules['verifiers'] = None\n" * (not has_verifiers)
    code = f"{hide}from openoutcry import *\nprint('Dataset' in dir(), 'VerifiersTaskset' in dir())"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert shown.split() == ["True", str(has_verifiers)]


@pytest.mark.parametrize("has_module", [False, True])
def test_a_star_import_ignores_another_package_called_verifiers(tmp_path: Path, has_module: bool) -> None:
    (tmp_path / "verifiers").mkdir()
    if has_module:
        (tmp_path / "verifiers" / "__init__.py").write_text("", "utf-8")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nfrom openoutcry import *; print(Dataset.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("Dataset", "")


def test_importing_the_package_does_not_import_verifiers() -> None:
    code = "import openoutcry, sys; print('verifiers' in sys.modules, 'openoutcry.verifiers_env' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert shown.split() == ["False", "False"]


def test_the_environment_without_verifiers_names_the_extra() -> None:
    code = "import sys; sys.modules['verifiers'] = None\nimport openoutcry.verifiers_env as env; env.load_environment"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install openoutcry[verifiers]" in done.stderr.splitlines()[-1]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = oo.nothing  # type: ignore[attr-defined]


def test_importing_the_package_imports_only_the_standard_library_and_numpy() -> None:
    code = "import sys, openoutcry; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout.split()
    foreign = {name for name in loaded if name not in sys.stdlib_module_names and not name.startswith("_")}
    assert foreign <= {"openoutcry", "numpy"} | _site_hooks()


def _site_hooks() -> set[str]:
    """Return the modules that site hooks of this environment import at start-up."""
    code = "import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout.split())


def test_costs_and_limits_are_values() -> None:
    costs, limits = oo.CostModel(fee_bps=3.0), oo.Limits(max_weight=0.5, max_participation=0.1)
    assert costs == oo.CostModel(fee_bps=3.0) != oo.CostModel()
    assert hash(costs) == hash(oo.CostModel(fee_bps=3.0))
    assert pickle.loads(pickle.dumps(costs)) == costs
    assert pickle.loads(pickle.dumps(limits)) == limits
    assert "fee_bps=3.0" in repr(costs)
    assert set(oo.CostModel.zero().to_dict().values()) == {0.0, 1e6}
    assert oo.Limits.off().max_gross == float("inf")
    with pytest.raises(AttributeError):
        costs.fee_bps = 1.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("build", "slug", "message"),
    [
        (
            lambda: oo.CostModel(fee_bps=-1.0),
            "cost_invalid",
            "`fee_bps` must be a finite number of at least 0 and at most 1e6; received -1",
        ),
        (
            lambda: oo.CostModel(slippage_jitter=1.5),
            "cost_invalid",
            "`slippage_jitter` must be in [0, 1]; received 1.5",
        ),
        (
            lambda: oo.CostModel(capital=float("nan")),
            "cost_invalid",
            "`capital` must be a finite number of at least 1e-6 and at most 1e18; received NaN",
        ),
        (lambda: oo.Limits(max_weight=-1.0), "limit_invalid", "`max_weight` must be at least 0"),
        (
            lambda: oo.Limits(maintenance_margin=1.0),
            "limit_invalid",
            "`maintenance_margin` must be in [0, 1); received 1",
        ),
        (lambda: oo.TradingEnv(window_start=119), "window_invalid", "received 119:120"),
        (lambda: oo.TradingEnv(n_days=1), "dataset_too_small", "at least 2 bars"),
        (lambda: oo.TradingEnv(n_symbols=2**63, n_days=2), "dataset_too_large", "received 9223372036854775808 symbols"),
        (lambda: oo.Dataset.synthetic(10**6, 10**6), "dataset_too_large", "at most 268435456"),
    ],
)
def test_a_bad_setting_is_refused_with_its_slug(build: object, slug: str, message: str) -> None:
    with pytest.raises(oo.OpenOutcryError) as refused:
        build()  # type: ignore[operator]
    assert refused.value.slug == slug
    assert message in str(refused.value)


def test_the_contract_version_is_that_of_the_contract_folder() -> None:
    version = Path(__file__).resolve().parents[2] / "contract" / "VERSION"
    assert version.read_text(encoding="utf-8") == oo.CONTRACT_VERSION + "\n"


def test_a_refusal_can_be_pickled() -> None:
    with pytest.raises(oo.OpenOutcryError) as refused:
        oo.TradingEnv().step("{}")
    back = pickle.loads(pickle.dumps(refused.value))
    assert (type(back), str(back), back.slug) == (oo.OpenOutcryError, str(refused.value), "missing_field")


def test_narrow_buffers_are_refused() -> None:
    import numpy as np

    env = oo.TradingEnv()
    with pytest.raises(oo.OpenOutcryError, match="shape_mismatch: `history` must have shape"):
        env.observe_into(np.zeros(4), np.zeros(4), np.zeros(4, np.int8), np.zeros((5, 1)))


def test_an_order_on_a_tiny_volume_is_not_filled() -> None:
    rows = "".join(f"2020-01-{day:02d},A,100,100,1e-15\n" for day in range(1, 6))
    env = oo.TradingEnv.from_csv("date,symbol,close,open,volume\n" + rows, max_participation=0.1)
    for _ in range(4):
        observation, reward, _, _ = env.step('{"orders": [{"symbol": "A", "action": "buy", "target_weight": 0.5}]}')
        assert "NaN" not in observation
        assert abs(reward) < 1e-9


def test_weights_with_other_dates_are_refused() -> None:
    pd = pytest.importorskip("pandas")
    dataset = oo.Dataset.synthetic(2, 60, 1)
    frame = pd.DataFrame(0.5, index=pd.DatetimeIndex(dataset.dates), columns=list(dataset.symbols))
    assert oo.run_backtest(dataset, frame).nav[0] == 1.0
    for other in (frame.iloc[::-1], frame.set_axis(frame.index + pd.Timedelta(days=1), axis=0)):
        with pytest.raises(oo.OpenOutcryError, match=r"the index of `weights` must be `dataset\.dates`"):
            oo.run_backtest(dataset, other)


def test_cash_at_a_constant_rate_has_no_sharpe_ratio() -> None:
    run = oo.run_backtest(oo.data.load("ecb-fx"), "hold-cash", costs=oo.CostModel(cash_bps=100.0))
    assert run.metrics["sharpe"] is None
    assert "vary" in run.undefined["sharpe"]


def test_a_ticker_named_low_is_a_symbol_of_a_wide_file() -> None:
    assert oo.Dataset.from_csv("date,AAPL,LOW\n2020-01-01,1,2\n2020-01-02,1,2\n").symbols == ("AAPL", "LOW")


@pytest.mark.parametrize("rules", [oo.CostModel(), oo.Limits()], ids=["CostModel", "Limits"])
def test_the_docs_state_every_default_with_its_reason(rules: oo.CostModel | oo.Limits) -> None:
    page = (Path(__file__).parents[2] / "docs" / "backtest.md").read_text(encoding="utf-8")
    table = page.split(f"| `{type(rules).__name__}` | default | reason |")[1].split("\n\n")[0]
    stated = dict(re.findall(r"^\| `(\w+)` \| (\S+) \| \S", table, re.MULTILINE))
    # The options of contract 1.1 are absent from the fields of a record where they are off.
    assert set(stated) - set(rules.to_dict()) <= {"cash_account", "stop_gap"}
    assert {name: ast.literal_eval(value) for name, value in stated.items()} == {
        **rules.to_dict(),
        **{name: getattr(rules, name) for name in stated},
    }
