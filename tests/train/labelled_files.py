"""Small labelled files: words of eight, and something to say of them."""

from __future__ import annotations

import json
import random
from pathlib import Path

WORDS = ["red", "green", "blue", "stone", "cart", "mound", "fox", "dog"]


def word_lists(num: int, seed: int) -> list[list[str]]:
    rng = random.Random(seed)
    return [[rng.choice(WORDS) for _ in range(rng.randint(1, 2))] for _ in range(num)]


def classes(path: Path, num: int = 40, seed: int = 0) -> Path:
    """Whether a stone comes before a fox would: the first word decides."""
    rows = [
        {"text": " ".join(words), "label": "early" if words[0] < "g" else "late"}
        for words in word_lists(num, seed)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def tags(path: Path, num: int = 40, seed: int = 0) -> Path:
    """Animals, by word."""
    rows = [
        {"tokens": words, "tags": ["B-ANIMAL" if word in WORDS[-2:] else "O" for word in words]}
        for words in word_lists(num, seed)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def numbers(path: Path, num: int = 40, seed: int = 0) -> Path:
    """How many words, in a table."""
    rows = [f"{' '.join(words)},{len(words) / 4}" for words in word_lists(num, seed)]
    path.write_text("\n".join(["text,label", *rows]) + "\n")
    return path
