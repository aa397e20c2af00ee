"""Texts to ids by one library or another, always with the same ids.

`tokenizers` is the reference. `fastokens`, when it is installed, does the same many times faster
for the byte-level kinds that were compared on every code point and on fuzzed text, see
`docs/tokens.md`. It is compared with the reference when it is first used and, on a sample, always.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from barrow.errors import MissingExtra, TokenizerError
from barrow.tokens.patterns import PATTERNS, pre_tokenizer
from barrow.tokens.tokenizer import Ids, Offsets
from barrow.tokens.tokenizer_json import TokenizerJson, components

_COMPARED_EVERY = 1 << 20
_COMPARED_SIZE = 768


class Encoder(Protocol):
    """Encodes texts; `name` is the implementation, and why no faster one is used."""

    @property
    def name(self) -> str: ...

    @property
    def reference(self) -> Reference: ...

    def encode(self, texts: Sequence[str]) -> tuple[Ids, Offsets]: ...


@dataclass(frozen=True)
class Reference:
    """The library `tokenizers`."""

    library: Any
    name: str
    where: str

    @property
    def reference(self) -> Reference:
        return self

    def encode(self, texts: Sequence[str]) -> tuple[Ids, Offsets]:
        with panics_named(self.where):
            encodings = self.library.encode_batch_fast(texts, add_special_tokens=False)
        return joined([np.array(encoding.ids, np.uint32) for encoding in encodings])


@dataclass(frozen=True)
class Fast:
    """The library `fastokens`; texts that it encodes differently go to the reference."""

    library: Any
    reference: Reference
    name: str
    leaves_out: Callable[[str], bool]

    def encode(self, texts: Sequence[str]) -> tuple[Ids, Offsets]:
        """Text by text, so that as many processes as cores do not each start as many threads."""
        with panics_named(self.reference.where):
            parts = [
                self.reference.encode([text])[0] if self.leaves_out(text) else self._ids(text)
                for text in texts
            ]
        self.compare(_samples(texts))
        return joined(parts)

    def _ids(self, text: str) -> Ids:
        return np.frombuffer(self.library.encode_batch_flat([text])[0], np.uint32)

    def compare(self, texts: Iterator[str]) -> None:
        """Raise `TokenizerError` if the ids of a text differ."""
        for text in texts:
            if self.leaves_out(text):
                continue
            ours, theirs = self._ids(text), self.reference.encode([text])[0]
            if not np.array_equal(ours, theirs):
                raise TokenizerError(
                    f"{self.name} and {self.reference.name} give different ids for {text[:40]!r}; "
                    "load the tokenizer with fast=False and encode the whole corpus again"
                )


def make_encoder(file: TokenizerJson, *, fast: bool) -> Encoder:
    """The fastest encoder for a tokenizer that gives the reference's ids."""
    library = read_by_reference(file)
    library.encode_special_tokens = True
    name = f"tokenizers {import_tokenizers().__version__}"
    reference = Reference(library, name, file.where)
    try:
        return _fast(file, reference) if fast else reference
    except _NotFast as reason:
        return replace(reference, name=f"{name} ({reason})")


def import_tokenizers() -> Any:
    """The library `tokenizers`, or an error that says how to install it."""
    try:
        return importlib.import_module("tokenizers")
    except ImportError:
        raise MissingExtra("tokenizers", "tokens", "a tokenizer other than bytes") from None


def read_by_reference(file: TokenizerJson) -> Any:
    """The tokenizer of the library `tokenizers`."""
    tokenizers = import_tokenizers()
    try:
        with panics_named(file.where):
            return tokenizers.Tokenizer.from_str(file.text())
    except TokenizerError:
        raise
    except Exception as error:  # noqa: BLE001 - it raises nothing more special
        raise TokenizerError(
            f"{file.where}: the tokenizers library cannot read it: {error}; was the file "
            "written by a newer one?"
        ) from None


@contextlib.contextmanager
def panics_named(where: str) -> Iterator[None]:
    """Turn a panic of the Rust library (not an `Exception`) into an error with the file."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise TokenizerError(
            f"{where}: the tokenizers library failed: {error}; a pattern in the file may "
            "backtrack without end on some texts"
        ) from None


def joined(parts: Sequence[Ids]) -> tuple[Ids, Offsets]:
    """Arrays one after another, and where each begins."""
    starts = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    return np.concatenate([np.empty(0, np.uint32), *parts]), starts


class _NotFast(Exception):
    """Why the reference is used."""


def _fast(file: TokenizerJson, reference: Reference) -> Fast:
    pattern = supported_pattern(file)
    if pattern is None:
        raise _NotFast("no faster encoder is known to give the same ids for this kind")
    try:
        fastokens = importlib.import_module("fastokens")
        version = importlib.metadata.version("fastokens")
    except ImportError:
        raise _NotFast("fastokens is not installed: pip install '.[fast]' in a checkout") from None
    try:
        known = _in_known_form(file) if pattern == "cl100k" else file
        with panics_named(file.where):
            library = fastokens.Tokenizer.from_json_str(known.text(without_specials=True))
        leaves_out = _LEFT_OUT.get(pattern, _nothing)
        encoder = Fast(library, reference, f"fastokens {version}", leaves_out)
        encoder.compare(_strange_texts())
    except (TokenizerError, ValueError, RuntimeError) as error:
        raise _NotFast(f"fastokens {version} is not used: {error}") from None
    return encoder


def _in_known_form(file: TokenizerJson) -> TokenizerJson:
    """With the pattern of Llama 3, which the fast library knows, in place of tiktoken's cl100k."""
    return replace(file, data={**file.data, "pre_tokenizer": pre_tokenizer("llama3")})


def _nothing(text: str) -> bool:
    del text
    return False


def _has_long_s(text: str) -> bool:
    """Among o200k's optional endings of words, the two libraries see 'ſ differently."""
    return "ſ" in text


def _ends_in_indentation(text: str) -> bool:
    """Whether blanks follow the last line break of the white space at the end."""
    end = text[len(text.rstrip()) :]
    return bool(end) and end[-1] not in "\r\n" and ("\n" in end or "\r" in end)


_LEFT_OUT: Mapping[str, Callable[[str], bool]] = {
    "cl100k": _ends_in_indentation,
    "o200k": _has_long_s,
}


def supported_pattern(file: TokenizerJson) -> str | None:
    """The name of the pattern of a tokenizer that was compared with the reference; else None."""
    model = file.model
    marks = ("continuing_subword_prefix", "end_of_word_suffix", "byte_fallback", "unk_token")
    if model["type"] != "BPE" or any(model.get(mark) for mark in marks):
        return None
    if file.data.get("normalizer") is not None or not all(t.special for t in file.added):
        return None
    links = [_cutting(link) for link in components(file.data.get("pre_tokenizer"))]
    for name in PATTERNS:
        if links == [_cutting(link) for link in components(pre_tokenizer(name))]:
            return name
    return None


def _cutting(link: Any) -> Any:
    return {"use_regex": True} | {key: link[key] for key in link if key != "trim_offsets"}


def _samples(texts: Sequence[str]) -> Iterator[str]:
    """A few hundred characters from about every MiB, from places that only sizes decide."""
    total = 0
    for text in texts:
        before, total = total, total + len(text)
        if before // _COMPARED_EVERY != total // _COMPARED_EVERY or not before:
            start = (len(text) * 0x9E3779B1 >> 8) % max(1, len(text) - _COMPARED_SIZE)
            yield text[start : start + _COMPARED_SIZE]


def _strange_texts() -> Iterator[str]:
    """Code points of every script between letters, digits and marks, and runs of many lengths.

    Libraries differ first where they know different versions of Unicode, so the sample goes
    through all planes that have letters, in steps that meet every range of newer versions.
    """
    for first in range(0, 0x33480, 11 * 512):
        points = range(first, min(first + 11 * 512, 0x33480), 11)
        letters = [chr(point) for point in points if not 0xD800 <= point < 0xE000]
        yield "".join(f"a{letter}1" for letter in letters)
    for unit in (
        " ",
        "\n",
        "\r\n",
        "\t ",
        "a",
        "é",
        "'",
        "'s",
        "7",
        "=",
        "\0",
        "日",
        "🏽",
        "\u0301",
    ):
        for length in (1, 2, 3, 16, 33, 257):
            yield f"{unit * length}'ll {unit * length}b{unit * length}"
    yield "We'Ve it's THEY'RE I'm x'ſ 12345 x_y <|endoftext|></s>\u2028\u3000\u200b\ufeff ."
