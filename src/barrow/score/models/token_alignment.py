r"""Alignment of a server's tokens with the text.

A token that ends inside a character is returned with U+FFFD in it, or as ``bytes:\xe2``: its text
cannot be matched, so such tokens and the characters they share are one span. All possible
alignments are followed at once; usually there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from barrow.errors import ScoreError

_UNKNOWN = "\ufffd"
_BYTES = "bytes:\\x"


def is_partial(token: str) -> bool:
    """Whether a token cuts a character, so that its text may be inexact."""
    return _UNKNOWN in token or token.startswith(_BYTES)


def token_ends(text: str, tokens: Sequence[str]) -> npt.NDArray[np.int64]:
    """The character after the last of every token; tokens of one span end where it does."""
    places = [{0}]
    for token in tokens:
        places.append(_after(text, token, places[-1]))
        if not places[-1]:
            raise _apart(text, max(places[-2]), token)
    end = len(text)
    if end not in places[-1]:
        raise ScoreError(
            f"the server's tokens cover {max(places[-1]):,} of the text's {end:,} "
            "characters: it truncates long texts; pass a tokenizer to score them in "
            "windows"
        )
    ends = np.zeros(len(tokens), np.int64)
    for number in range(len(tokens) - 1, -1, -1):
        ends[number] = end
        # Where a character may belong to several tokens, it is the first one's.
        end = max(p for p in places[number] if end in _after(text, tokens[number], {p}))
    return ends


def spread(
    text: str, ends: npt.NDArray[np.int64], nats: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Nats of tokens spread evenly over the bytes of their spans.

    Tokens that end at one place share a span; those before the first byte go with what comes next.
    """
    widths = np.array([len(character.encode()) for character in text], np.int64)
    places = np.concatenate([[0], np.cumsum(widths)])[ends]
    byte_nats = np.zeros(int(widths.sum()))
    last = np.flatnonzero((np.diff(places, append=-1) != 0) & (places > 0))  # of each span
    totals = np.diff(np.cumsum(nats)[last], prepend=0.0)
    stops = [0, *places[last].tolist()]
    for (start, stop), total in zip(pairwise(stops), totals.tolist(), strict=True):
        byte_nats[start:stop] = total / (stop - start)
    return byte_nats


def _after(text: str, token: str, places: set[int]) -> set[int]:
    """Where a token may end that begins at one of some places.

    U+FFFD is a part of a character: it matches one character, or none.
    """
    after = {p + len(token) for p in places if text.startswith(token, p)}
    if token.startswith(_BYTES):
        after |= {p + k for p in places for k in range(token.count("\\x") + 1)}
    elif _UNKNOWN in token:
        for number, known in enumerate(token.split(_UNKNOWN)):
            if number:
                places = places | {p + 1 for p in places}
            places = {p + len(known) for p in places if text.startswith(known, p)}
        after |= places
    return {p for p in after if p <= len(text)}


def _apart(text: str, at: int, token: str) -> ScoreError:
    return ScoreError(
        f"the server's tokens do not spell the text: at character {at:,} it has "
        f"{text[at : at + 20]!r}, the server {token!r}"
    )
