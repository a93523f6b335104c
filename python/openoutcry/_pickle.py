from __future__ import annotations

from collections.abc import Callable
from typing import Any


def call(build: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Build an object from keyword arguments: what `__reduce__` alone cannot say."""
    return build(*args, **kwargs)
