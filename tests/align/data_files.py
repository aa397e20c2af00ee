"""Small files of chats, pairs and prompts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def write(path: Path, records: Iterable[Any]) -> str:
    """A .jsonl file."""
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return str(path)


def chat(question: str, answer: str) -> dict[str, Any]:
    """A chat of two messages."""
    return {
        "messages": [
            {"role": "user", "content": question},
            {"role": "assistant", "content": answer},
        ]
    }


def chats(num: int) -> list[dict[str, Any]]:
    """Chats of different lengths."""
    return [chat(f"say {number}", "yes " * (1 + number % 5)) for number in range(num)]


def pairs(num: int) -> list[dict[str, Any]]:
    """Pairs in which the polite answer was chosen."""
    return [
        {"prompt": f"question {n}?", "chosen": f" please {n}", "rejected": f" no {n}!"}
        for n in range(num)
    ]
