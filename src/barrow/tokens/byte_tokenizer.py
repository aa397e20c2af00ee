"""The tokenizer that needs no file: ids 0 to 255 are bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from barrow.files import make_folder, write_bytes
from barrow.tokens.byte_alphabet import LETTERS
from barrow.tokens.json_tokenizer import JSON_NAME, SETTINGS_NAME
from barrow.tokens.tokenizer import AnyIds, Ids, Offsets, Tokenizer
from barrow.tokens.tokenizer_json import TokenizerJson, byte_level, byte_level_bpe, check

_SPECIALS = {"<|endoftext|>": 256, "<|pad|>": 257, "<|mask|>": 258}


class ByteTokenizer(Tokenizer):
    """Bytes as ids, and three special tokens.

    It is saved as a `tokenizer.json` without merges, which other libraries open as well.
    """

    vocab_size = 259
    specials: Mapping[str, int] = MappingProxyType(_SPECIALS)
    begin, pad, mask = _SPECIALS.values()
    end = None
    encoder = "barrow"

    @cached_property
    def _file(self) -> TokenizerJson:
        letters = {letter: byte for byte, letter in enumerate(LETTERS)}
        cut = byte_level(use_regex=False)
        data = byte_level_bpe(letters, [], pre_tokenizer=cut, specials=_SPECIALS)
        return check(data, "the byte tokenizer")

    @property
    def hash(self) -> str:
        return self._file.hash

    def encode_texts(
        self, text: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]
    ) -> tuple[Ids, Offsets]:
        start, stop = (int(offsets[0]), int(offsets[-1])) if len(offsets) else (0, 0)
        return text[start:stop].astype(np.uint32), np.asarray(offsets, np.int64) - start

    def token_bytes(self, token: int) -> bytes:
        (token,) = self.checked([token])
        return bytes([token]) if token < 256 else b""

    def decode_bytes(self, ids: AnyIds) -> bytes:
        listed = np.array(self.checked(ids), np.int64)
        return listed[listed < 256].astype(np.uint8).tobytes()

    def save(self, folder: Path) -> None:
        folder = make_folder(folder)
        write_bytes(folder / JSON_NAME, (self._file.text() + "\n").encode())
        names = {
            "bos_token": "<|endoftext|>",
            "eos_token": "<|endoftext|>",
            "pad_token": "<|pad|>",
            "mask_token": "<|mask|>",
        }
        settings = {"tokenizer_class": "PreTrainedTokenizerFast", **names}
        write_bytes(folder / SETTINGS_NAME, (json.dumps(settings, indent=1) + "\n").encode())
