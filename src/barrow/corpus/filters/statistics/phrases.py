"""Search for a few phrases, ignoring case, in one pass."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.word_hashes import Offsets, eight_byte_view
from barrow.errors import ConfigError

_HIGH = np.uint64(0x8080808080808080)
_SEVENS = np.uint64(0x7F7F7F7F7F7F7F7F)
_CASE = np.uint64(0x2020202020202020)
_EVERY = 0x0101010101010101
_RAREST_FIRST = "{zqxjkvbpygfwmucldrhsnioate "


class Phrases(NamedTuple):
    """Phrase k is ``letters[offsets[k]:offsets[k + 1]]``, in lower case.

    A phrase is compared with the text only where its rarest letter is met, `anchors[k]` bytes after
    its beginning; `is_anchor` has for each byte whether it is one, in either case;
    `letters_met` are the anchors, each eight times in a number.
    """

    letters: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]
    anchors: npt.NDArray[np.int64]
    is_anchor: npt.NDArray[np.bool_]
    letters_met: npt.NDArray[np.uint64]


@cache
def prepare(phrases: tuple[str, ...]) -> Phrases:
    """Phrases to search for, in ASCII."""
    is_anchor = np.zeros(256, np.bool_)
    rarest: list[str] = []
    for phrase in phrases:
        if not phrase.isascii() or phrase.lower() != phrase or not phrase.strip():
            raise ConfigError(f"a phrase must be ASCII in lower case, got {phrase!r}")
        letter = min(phrase, key=lambda c: _RAREST_FIRST.find(c) % (len(_RAREST_FIRST) + 1))
        rarest.append(letter)
        is_anchor[[ord(letter), ord(letter.upper())]] = True
    return Phrases(
        np.frombuffer("".join(phrases).encode(), np.uint8),
        np.cumsum([0, *map(len, phrases)], dtype=np.int64),
        np.array([p.index(c) for p, c in zip(phrases, rarest, strict=True)], np.int64),
        is_anchor,
        np.array([_EVERY * (ord(letter) | 0x20) for letter in sorted(set(rarest))], np.uint64),
    )


def find_phrases(
    text: npt.NDArray[np.uint8], offsets: Offsets, phrases: tuple[str, ...]
) -> npt.NDArray[np.bool_]:
    """Which of the texts in one UTF-8 buffer have one of the phrases."""
    found = np.empty(len(offsets) - 1, np.bool_)
    _find(text, eight_byte_view(text), offsets, prepare(phrases), found)
    return found


@compiled
def has_phrase(
    text: npt.NDArray[np.uint8],
    eights: npt.NDArray[np.uint64],
    first: np.uint64,
    end: np.uint64,
    phrases: Phrases,
) -> bool:
    """Whether one of the phrases is in ``text[first:end]``; eight bytes at a time."""
    num_eights = np.uint64(len(eights))
    at = first
    while at < end:
        stop = min(end, at + np.uint64(8))
        if at < num_eights:
            met = np.uint64(0)
            for letter in phrases.letters_met:
                # Bytes that are the letter in either case become 0, and so do a few others.
                other = (eights[at] | _CASE) ^ letter
                met |= ~(((other & _SEVENS) + _SEVENS) | other) & _HIGH
            if met == 0:
                at = stop
                continue
        while at < stop:
            if phrases.is_anchor[text[at]] and _is_at(text, first, end, at, phrases):
                return True
            at += np.uint64(1)
    return False


@compiled
def _is_at(
    text: npt.NDArray[np.uint8],
    first: np.uint64,
    end: np.uint64,
    at: np.uint64,
    phrases: Phrases,
) -> bool:
    """Whether one of the phrases has its rarest letter at a place."""
    for k in range(len(phrases.anchors)):
        start = np.int64(at) - phrases.anchors[k]
        size = phrases.offsets[k + 1] - phrases.offsets[k]
        if start < np.int64(first) or start + size > np.int64(end):
            continue
        same = 0
        while same < size:
            byte = text[start + same]
            if 0x41 <= byte <= 0x5A:
                byte |= np.uint8(0x20)
            if byte != phrases.letters[phrases.offsets[k] + same]:
                break
            same += 1
        if same == size:
            return True
    return False


@compiled
def _find(
    text: npt.NDArray[np.uint8],
    eights: npt.NDArray[np.uint64],
    offsets: Offsets,
    phrases: Phrases,
    found: npt.NDArray[np.bool_],
) -> None:
    for document in range(len(offsets) - 1):
        first, end = np.uint64(offsets[document]), np.uint64(offsets[document + 1])
        found[document] = has_phrase(text, eights, first, end, phrases)
