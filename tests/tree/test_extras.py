"""A module that needs an extra names it if the package is missing. `tests/train` tests the modules."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("openoutcry.sb3", "stable_baselines3", "train"),
        ("openoutcry.puffer", "pufferlib", "puffer"),
        ("openoutcry.arena.log.signed_notes", "cryptography", "arena"),
        ("openoutcry.arena.sources", "feedparser", "arena"),
        ("openoutcry.arena.snapshots.compression", "brotli", "arena"),
        # Its other imports need a package that the floor environment lacks.
        pytest.param("openoutcry.harness.mcp.mcp_server", "mcp", "mcp", marks=pytest.mark.once),
    ],
)
def test_a_missing_package_names_the_extra(
    module: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A None entry in `sys.modules` makes the import fail.
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(ModuleNotFoundError, match=rf"{module} needs `pip install openoutcry\[{extra}\]`") as caught:
        import_module(module)
    assert str(caught.value.name).split(".")[0] == package
