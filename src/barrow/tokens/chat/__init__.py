"""Conversations as text: the chat template of a model, rendered in a process with limits."""

from __future__ import annotations

from barrow.tokens.chat.template import ChatTemplate, Encoded, find_template

__all__ = ["ChatTemplate", "Encoded", "find_template"]
