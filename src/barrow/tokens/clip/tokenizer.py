"""CLIP's tokenizer: lower-cased byte-pair encoding, whose tokens know where a word ends."""

from __future__ import annotations

import hashlib
import heapq
import html
import importlib
import json
import warnings
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.errors import MissingExtra
from barrow.files import make_folder, write_bytes
from barrow.tokens.byte_alphabet import LETTERS, spelled, unspelled
from barrow.tokens.clip.merges import END_OF_WORD, Merge, read_merges

CONTEXT = 77
START, END = "<|startoftext|>", "<|endoftext|>"
_MAX_CACHED = 1 << 16
# Contractions, runs of letters, single digits, runs of anything else but white space.
_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


class ClipTokenizer:
    """Texts to rows of ids.

    Ids are the 256 bytes in the order of the byte alphabet, the same at the end of a word, the
    merges, the start and the end of a text: 49,408 with OpenAI's 48,894 merges. What looks like a
    special token in a text is plain text.
    """

    def __init__(self, merges: Sequence[Merge]) -> None:
        self.merges = tuple(merges)
        letters = _in_clip_order()
        tokens = [*letters, *(letter + END_OF_WORD for letter in letters)]
        tokens += [left + right for left, right in self.merges]
        # Where two merges make the same token, the later number counts, as in the reference.
        self._ids = {token: number for number, token in enumerate(tokens)}
        self._tokens = [*tokens, START, END]
        self._ranks = {merge: number for number, merge in enumerate(self.merges)}
        self.vocab_size = len(self._tokens)
        self.start, self.end = self.vocab_size - 2, self.vocab_size - 1
        self._known: dict[str, tuple[int, ...]] = {}

    @classmethod
    def load(cls, path: str | Path) -> ClipTokenizer:
        """From a vocabulary file or a folder; see `clip_merges.read_merges`."""
        return cls(read_merges(path))

    @cached_property
    def hash(self) -> str:
        """The sha256 of the merges."""
        text = "\n".join(f"{left} {right}" for left, right in self.merges)
        return hashlib.sha256(text.encode()).hexdigest()

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without start and end."""
        return [token for word in words(cleaned(text)) for token in self._word(word)]

    def rows(
        self, texts: Sequence[str], *, context: int = CONTEXT, truncate: bool = False
    ) -> npt.NDArray[np.int32]:
        """Ids [texts, context]: start, the text, end, zeros.

        A text that is too long is an error. With `truncate` it is cut, the end stays, and a warning
        says how many were.
        """
        if isinstance(texts, str):
            raise ValueError("expected a list of texts, got one text: put it in a list")
        ids = np.zeros((len(texts), context), np.int32)
        cut: list[str] = []
        for row, text in zip(ids, texts, strict=True):
            found = [self.start, *self.encode(text), self.end]
            if len(found) > context:
                if not truncate:
                    raise ValueError(
                        f"expected at most {context} tokens, start and end included, got "
                        f"{len(found)}: {text[:60]!r}; shorten the text, or pass "
                        "truncate=True (--truncate)"
                    )
                cut.append(text)
                found = [*found[: context - 1], self.end]
            row[: len(found)] = found
        if cut:
            warnings.warn(
                f"{len(cut)} of {len(texts)} texts were cut to {context} tokens, the first of them "
                f"{cut[0][:60]!r}",
                stacklevel=2,
            )
        return ids

    def decode(self, ids: Sequence[int] | npt.NDArray[np.integer]) -> str:
        """Words of ids, a space between them, up to the end of the text; start is left out."""
        listed: list[int] = np.asarray(ids).reshape(-1).tolist()
        if listed and not 0 <= min(listed) <= max(listed) < self.vocab_size:
            raise ValueError(f"ids must be from 0 to {self.vocab_size - 1}, got {listed[:8]}")
        end = listed.index(self.end) if self.end in listed else len(listed)
        data = b""
        for token in (self._tokens[i] for i in listed[:end] if i != self.start):
            data += (unspelled(token.removesuffix(END_OF_WORD)) or b"") + (
                b" " if token.endswith(END_OF_WORD) else b""
            )
        return data.decode(errors="replace").rstrip(" ")

    def save(self, folder: str | Path) -> None:
        """Write merges.txt and what `transformers.CLIPTokenizer` needs beside it."""
        folder = make_folder(folder)
        lines = ["#version: 0.2", *(f"{left} {right}" for left, right in self.merges)]
        write_bytes(folder / "merges.txt", ("\n".join(lines) + "\n").encode())
        ids = {**self._ids, START: self.start, END: self.end}
        text = json.dumps(ids, ensure_ascii=False)
        write_bytes(folder / "vocab.json", (text + "\n").encode())
        settings = {
            "tokenizer_class": "CLIPTokenizer",
            "bos_token": START,
            "eos_token": END,
            "unk_token": END,
            "pad_token": END,
            "model_max_length": CONTEXT,
            "do_lower_case": True,
        }
        text = json.dumps(settings, indent=1)
        write_bytes(folder / "tokenizer_config.json", (text + "\n").encode())

    def _word(self, word: str) -> tuple[int, ...]:
        found = self._known.get(word)
        if found is None:
            found = tuple(self._ids[token] for token in self._merged(spelled(word.encode())))
            if len(self._known) < _MAX_CACHED:
                self._known[word] = found
        return found

    def _merged(self, letters: str) -> list[str]:
        """The tokens of a word: the pair of lowest rank is merged everywhere, repeatedly.

        Pairs wait in a heap, so that a long run costs n·log n, not n². All pairs of a rank are
        joined, from the left, before the pairs that result: as the reference does.
        """
        parts: list[str] = [*letters[:-1], letters[-1] + END_OF_WORD]
        after = [*range(1, len(parts)), -1]
        before = [*range(-1, len(parts) - 1)]
        heap: list[tuple[int, int]] = []

        def propose(left: int) -> None:
            if left >= 0 and after[left] >= 0:
                rank = self._ranks.get((parts[left], parts[after[left]]))
                if rank is not None:
                    heapq.heappush(heap, (rank, left))

        for left in range(len(parts) - 1):
            propose(left)
        while heap:
            rank = heap[0][0]
            pair = self.merges[rank]
            joined = []
            while heap and heap[0][0] == rank:
                _, left = heapq.heappop(heap)
                right = after[left]
                if right < 0 or (parts[left], parts[right]) != pair:
                    continue  # one of the two is part of another token by now
                parts[left], parts[right] = parts[left] + parts[right], ""
                after[left] = after[right]
                if after[right] >= 0:
                    before[after[right]] = left
                after[right] = -1
                joined.append(left)
            for left in joined:
                propose(before[left])
                propose(left)
        return [part for part in parts if part]


def _in_clip_order() -> list[str]:
    """Printable letters first, as in OpenAI's table; then the others."""
    plain = [letter for byte, letter in enumerate(LETTERS) if letter == chr(byte)]
    return plain + [letter for byte, letter in enumerate(LETTERS) if letter != chr(byte)]


def cleaned(text: str) -> str:
    """The text as CLIP's tokenizer sees it.

    The encoding is repaired by `ftfy`, HTML entities are decoded twice (captions of the web are
    often escaped twice), runs of white space become one space, letters become lower case.
    """
    repaired: str = _library("ftfy").fix_text(text)
    return " ".join(html.unescape(html.unescape(repaired)).split()).lower()


def words(text: str) -> list[str]:
    """The pieces within which tokens are merged, of a normalised text."""
    found: list[str] = _pattern().findall(text)
    return found


@cache
def _pattern() -> Any:
    regex = _library("regex")
    return regex.compile(_WORDS, regex.IGNORECASE)


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtra(name, "clip", "CLIP's tokenizer") from None
