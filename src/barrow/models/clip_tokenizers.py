"""CLIP's tokenizers by name."""

from __future__ import annotations

import os

from barrow.models.clip_load import bpe_folders
from barrow.tokens.clip_merges import find_merges
from barrow.tokens.clip_tokenizer import ClipTokenizer

# A tokenizer that needs no file: each byte is a token. For few captions of few words.
BYTES = "bytes"


def named_tokenizer(name: str) -> ClipTokenizer:
    """The tokenizer of a file or folder; ``bytes`` has no merges; "" is OpenAI's, looked for in the
    standard places.
    """
    if name == BYTES:
        return ClipTokenizer(())
    return ClipTokenizer.load(name or find_merges(bpe_folders(os.environ)))
