from __future__ import annotations

from collections.abc import Callable
from typing import Any


def call(build: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call `build` with keyword arguments, which `__reduce__` does not support."""
    return build(*args, **kwargs)
