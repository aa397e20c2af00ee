"""The base of all tokenizers: text to ids and back, with the exact bytes of each id."""

from __future__ import annotations

import abc
import copy
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt

Ids: TypeAlias = npt.NDArray[np.uint32]
Offsets: TypeAlias = npt.NDArray[np.int64]
# Those before a text and those after it.
Around: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
AnyIds: TypeAlias = Sequence[int] | npt.NDArray[np.integer]


class Tokenizer(abc.ABC):
    """Text to ids and back, exactly.

    `vocab_size` is one more than the largest id. `specials` are ids that no text is encoded to, by
    name. `begin` and `end` are the ids that a document begins and ends with in a token store, `pad`
    and `mask` are the padding and mask ids; each may be None. `around` are the ids before and after
    a text that is no document of a store, such as a prompt. `hash` is the sha256 of what determines
    the ids of a text: two tokenizers with the same hash are the same. `encoder` names the
    implementation.
    """

    vocab_size: int
    specials: Mapping[str, int]
    begin: int | None
    end: int | None
    pad: int | None
    mask: int | None

    @cached_property
    def around(self) -> Around:
        """The ids its file puts around a text; without a file, the begin of a document."""
        return (() if self.begin is None else (self.begin,)), ()

    def with_around(self, before: Sequence[int], after: Sequence[int] = ()) -> Self:
        """The same tokenizer with other ids around a prompt."""
        other = copy.copy(self)
        other.around = tuple(before), tuple(after)
        return other

    @property
    @abc.abstractmethod
    def hash(self) -> str: ...

    @property
    @abc.abstractmethod
    def encoder(self) -> str: ...

    @abc.abstractmethod
    def encode_texts(
        self, text: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]
    ) -> tuple[Ids, Offsets]:
        """Encode many texts in one UTF-8 buffer, such as a block.

        Text i is ``text[offsets[i]:offsets[i + 1]]``; its ids are ``ids[starts[i]:starts[i + 1]]``
        of the ``(ids, starts)`` that come back. Nothing is added, and what looks like a special
        token is plain text.
        """

    @abc.abstractmethod
    def token_bytes(self, token: int) -> bytes:
        """The bytes of an id; none for special tokens and unused ids.

        Raises `TokenizerError` where the kind of tokenizer does not have them.
        """

    @abc.abstractmethod
    def decode_bytes(self, ids: AnyIds) -> bytes:
        """The UTF-8 bytes of a text, from its beginning; special tokens have none.

        A space that the tokenizer puts before every text is removed. For ids from the
        middle of a text, join `token_bytes`.
        """

    @abc.abstractmethod
    def save(self, folder: Path) -> None:
        """Write files to a folder, made if need be, that `load` opens as the same tokenizer."""

    def encode(self, text: str) -> Ids:
        """The ids of one text, as `encode_texts`."""
        data = np.frombuffer(_utf8(text), np.uint8)
        return self.encode_texts(data, np.array([0, len(data)], np.int64))[0]

    def encode_named(self, text: str) -> tuple[Ids, npt.NDArray[np.int64]]:
        """The ids of a text with special tokens by name, and their UTF-8 offsets, [tokens, 2]."""
        names = sorted(self.specials, key=len, reverse=True)
        pattern = "|".join(map(re.escape, names))
        parts: list[Ids] = [np.empty(0, np.uint32)]
        sizes: list[int] = []
        for part in re.split(f"({pattern})", text) if names else [text]:
            known = self.specials.get(part)
            ids = self.encode(part) if known is None else np.array([known], np.uint32)
            parts.append(ids)
            sizes += [len(part.encode())] if known is not None else self.num_bytes[ids].tolist()
        places = offsets_of(np.array(sizes, np.int64))
        return np.concatenate(parts), np.stack([places[:-1], places[1:]], axis=1)

    def encode_marked(self, text: str) -> Ids:
        """The ids of a text, with special tokens by name, and begin and end tokens around it."""
        around = [np.array([] if x is None else [x], np.uint32) for x in (self.begin, self.end)]
        return np.concatenate([around[0], self.encode_named(text)[0], around[1]])

    def encode_prompt(self, text: str) -> Ids:
        """The ids of a prompt as `transformers` has them: special tokens by name, and `around`."""
        _utf8(text)
        before, after = (np.array(edge, np.uint32) for edge in self.around)
        return np.concatenate([before, self.encode_named(text)[0], after])

    def decode_marked(self, ids: AnyIds) -> str:
        """The text of ids, special tokens by their names."""
        names = {number: name.encode() for name, number in self.specials.items()}
        listed = self.checked(ids)
        data = b"".join(names[i] if i in names else self.token_bytes(i) for i in listed)
        return data.decode(errors="replace")

    def encode_by_reference(self, text: str) -> Ids:
        """`encode`, by the reference library."""
        return self.encode(text)

    def spans(self, text: str) -> npt.NDArray[np.int64] | None:
        """The UTF-8 offsets of each token of a text, [tokens, 2]; None if unknown.

        For tokenizers that change the text, where `token_bytes` does not apply.
        """
        del text
        return None

    def decode(self, ids: AnyIds) -> str:
        """`decode_bytes` as text; bytes that are not UTF-8 become U+FFFD."""
        return self.decode_bytes(ids).decode(errors="replace")

    @cached_property
    def num_bytes(self) -> npt.NDArray[np.uint32]:
        """The number of `token_bytes` for every id."""
        sizes = (len(self.token_bytes(token)) for token in range(self.vocab_size))
        return np.fromiter(sizes, np.uint32, self.vocab_size)

    def checked(self, ids: AnyIds) -> list[int]:
        """Ids as a list, all of them below `vocab_size`."""
        listed: list[int] = np.asarray(ids).reshape(-1).tolist()
        for token in (min(listed, default=0), max(listed, default=0)):
            if not 0 <= token < self.vocab_size:
                raise ValueError(
                    f"ids must be from 0 to {self.vocab_size - 1}, got {token}; was the "
                    "text encoded with another tokenizer?"
                )
        return listed


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"character {error.start} is half of a surrogate pair, which UTF-8 cannot "
            "encode; read the text with errors='replace', or put the halves together"
        ) from None


def offsets_of(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The start of each of some consecutive items, and the end of the last."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
