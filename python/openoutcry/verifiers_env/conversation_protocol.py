"""Interface between the harness and a conversation task."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import verifiers.v1 as vf


class ConversationState(vf.State):
    """State of a conversation; it is not part of a record."""

    @property
    @abstractmethod
    def is_over(self) -> bool:
        """Whether the conversation has ended."""

    @property
    @abstractmethod
    def tools(self) -> list[dict[str, Any]]:
        """Tools that the model may call."""

    @abstractmethod
    def receive(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        """Process a message of the model, and return the messages that follow it.

        Args:
            message: A chat completions message.
        """
