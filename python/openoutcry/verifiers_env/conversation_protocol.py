"""What a conversation is to the harness, whatever it is about."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import verifiers.v1 as vf


class TalkingState(vf.State):
    """A conversation under way; it is no part of a record."""

    @property
    @abstractmethod
    def is_over(self) -> bool:
        """Whether the model is asked nothing more."""

    @property
    @abstractmethod
    def tools(self) -> list[dict[str, Any]]:
        """What a model may call."""

    @abstractmethod
    def heard(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        """Take a message of the model, and return those that it is told.

        Args:
            message: In the form of chat completions.
        """
