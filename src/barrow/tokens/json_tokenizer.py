"""A tokenizer whose file is a `tokenizer.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.errors import TokenizerError
from barrow.files import make_folder, write_bytes
from barrow.tokens.encoders import Encoder, make_encoder, panics_named, read_by_reference
from barrow.tokens.roles import around, roles
from barrow.tokens.token_bytes import TokenBytes, token_bytes
from barrow.tokens.tokenizer import AnyIds, Around, Ids, Offsets, Tokenizer, offsets_of
from barrow.tokens.tokenizer_json import TokenizerJson

JSON_NAME = "tokenizer.json"
SETTINGS_NAME = "tokenizer_config.json"


class JsonTokenizer(Tokenizer):
    """Encodes as the library `tokenizers` does with the same file.

    `settings` are those of a `tokenizer_config.json`, for the roles of special tokens. With `fast`,
    a faster library encodes if it is installed and gives the same ids.
    """

    def __init__(
        self, file: TokenizerJson, *, settings: Mapping[str, Any] | None = None, fast: bool = True
    ) -> None:
        self._file = file
        self._settings = dict(settings or {})
        self._fast = fast
        self.vocab_size = file.vocab_size
        self.specials: Mapping[str, int] = MappingProxyType(
            {token.content: token.id for token in file.added if token.special}
        )
        found = roles(file, self._settings)
        self.begin, self.end = found.begin, found.end
        self.pad, self.mask = found.pad, found.mask

    @property
    def hash(self) -> str:
        return self._file.hash

    @cached_property
    def around(self) -> Around:
        return around(self._file.data, self._file.where)

    @property
    def encoder(self) -> str:
        return self._encoder.name

    @cached_property
    def _encoder(self) -> Encoder:
        return make_encoder(self._file, fast=self._fast)

    @cached_property
    def _bytes(self) -> TokenBytes:
        return token_bytes(self._file)

    @cached_property
    def _library(self) -> Any:
        return read_by_reference(self._file)

    def _found(self, text: str) -> Any:
        with panics_named(self._file.where):
            return self._library.encode(text, add_special_tokens=False)

    def encode_texts(
        self, text: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]
    ) -> tuple[Ids, Offsets]:
        view = np.ascontiguousarray(text).data
        texts = []
        for number, (start, stop) in enumerate(
            zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        ):
            try:
                texts.append(str(view[start:stop], "utf-8"))
            except UnicodeDecodeError as error:
                raise ValueError(f"text {number} is not UTF-8: {error}") from None
        return self._encoder.encode(texts)

    def encode_by_reference(self, text: str) -> Ids:
        return self._encoder.reference.encode([text])[0]

    def encode_named(self, text: str) -> tuple[Ids, npt.NDArray[np.int64]]:
        found = self._found(text)
        return np.array(found.ids, np.uint32), _in_bytes(text, found.offsets)

    def encode_marked(self, text: str) -> Ids:
        around = [[] if token is None else [token] for token in (self.begin, self.end)]
        return np.array([*around[0], *self._found(text).ids, *around[1]], np.uint32)

    def token_bytes(self, token: int) -> bytes:
        (token,) = self.checked([token])
        return self._bytes.table[token]

    def decode_bytes(self, ids: AnyIds) -> bytes:
        table = self._bytes.table
        data = b"".join([table[token] for token in self.checked(ids)])
        return data.removeprefix(b" ") if self._bytes.space_first else data

    def spans(self, text: str) -> npt.NDArray[np.int64] | None:
        return _in_bytes(text, self._found(text).offsets)

    def decode(self, ids: AnyIds) -> str:
        """As in `Tokenizer`; where bytes are unknown, the library decodes."""
        try:
            return super().decode(ids)
        except TokenizerError:
            with panics_named(self._file.where):
                text: str = self._library.decode(self.checked(ids), skip_special_tokens=True)
            return text

    def save(self, folder: Path) -> None:
        folder = make_folder(folder)
        write_bytes(folder / JSON_NAME, (self._file.text() + "\n").encode())
        names = {number: name for name, number in self.specials.items()}
        said = {"bos_token": self.begin, "pad_token": self.pad, "mask_token": self.mask}
        settings = {
            "tokenizer_class": "PreTrainedTokenizerFast",
            **self._settings,
            **{key: names[number] for key, number in said.items() if number in names},
        }
        text = json.dumps(settings, indent=1, ensure_ascii=False)
        write_bytes(folder / SETTINGS_NAME, (text + "\n").encode())


def _in_bytes(text: str, offsets: Sequence[tuple[int, int]]) -> npt.NDArray[np.int64]:
    """Offsets of characters as those of UTF-8."""
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    sizes = 1 + np.searchsorted([0x80, 0x800, 0x10000], points, side="right")
    places = offsets_of(sizes.astype(np.int64))
    return np.asarray(places[np.array(offsets, np.int64).reshape(-1, 2)])
