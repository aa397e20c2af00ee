"""A second, simple implementation of scoring: token by token from the definition, in floats.

It shares no code with `score.windows`, which computes whole windows at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from barrow.score.card import Window
from barrow.score.conformance.models import BEGIN, END, Rule

PREFIXES = {"begin": BEGIN, "end": END, "none": None}


def seen_before(ids: Sequence[int], place: int, window: Window) -> list[int] | None:
    """What a model sees before it predicts ids[place]; None for nothing.

    The first window takes as much as the model can see. After it, each `stride` of tokens is scored
    by a window that ends with them, or with the document.
    """
    prefix = PREFIXES[window.prefix]
    first = [] if prefix is None else [prefix]
    head = window.context + 1 - len(first)
    if place < head:
        return first + list(ids[:place]) or None
    turn = (place - head) // window.stride
    end = min(len(ids), head + (turn + 1) * window.stride)
    again = first if window.prefix_in == "every" else []
    # The window's last token is predicted and not seen.
    begin = max(0, end - 1 - (window.context - len(again)))
    return again + list(ids[begin:place])


def token_nats(ids: Sequence[int], window: Window, rule: Rule, vocab_size: int) -> list[float]:
    """Nats of every token of a document; uniform for a token that has nothing before it."""
    nats = []
    for place, token in enumerate(ids):
        seen = seen_before(ids, place, window)
        guess = math.log(vocab_size)
        nats.append(guess if seen is None else rule([*seen, token], len(seen)))
    return nats


def bits_per_byte(nats: Sequence[float], num_bytes: int) -> float:
    """−Σ log p / (bytes · ln 2), the sum exact to the last digit."""
    return math.fsum(nats) / (num_bytes * math.log(2))
