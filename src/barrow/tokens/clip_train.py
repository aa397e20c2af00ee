"""Training a tokenizer of CLIP's kind."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from barrow.errors import ConfigError
from barrow.tokens.byte_alphabet import LETTERS, spelled
from barrow.tokens.clip_clean import cleaned, words
from barrow.tokens.clip_merges import END_OF_WORD, NUM_MERGES
from barrow.tokens.clip_tokenizer import ClipTokenizer
from barrow.tokens.encoders import import_tokenizers

_BESIDE_MERGES = 256 + 256 + 2
_CLIP_MIN_COUNT = 2


def train_clip(texts: Iterable[str], *, vocab_size: int) -> ClipTokenizer:
    """Learn merges from texts, cleaned and cut as CLIP does.

    `vocab_size` counts the bytes, the bytes at the end of a word, and start and end of a text.
    There are fewer ids if too few pairs occur twice.
    """
    if not _BESIDE_MERGES < vocab_size <= _BESIDE_MERGES + NUM_MERGES:
        raise ConfigError(
            f"a vocabulary of CLIP's kind has more than {_BESIDE_MERGES} ids (256 bytes, 256 at "
            f"the end of a word, 2 specials) and at most {_BESIDE_MERGES + NUM_MERGES:,}, not "
            f"{vocab_size:,}"
        )
    tokenizers = import_tokenizers()
    library = tokenizers.Tokenizer(tokenizers.models.BPE(end_of_word_suffix=END_OF_WORD))
    library.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=_CLIP_MIN_COUNT,
        initial_alphabet=list(LETTERS),
        end_of_word_suffix=END_OF_WORD,
        show_progress=False,
        special_tokens=[],
    )
    library.train_from_iterator(_spelled(texts), trainer)
    merges = json.loads(library.to_str())["model"]["merges"]
    if not merges:
        raise ConfigError("no pair of letters occurs twice in the texts: there is nothing to learn")
    kept = merges[: vocab_size - _BESIDE_MERGES]
    return ClipTokenizer([(left, right) for left, right in kept])


def _spelled(texts: Iterable[str]) -> Iterator[str]:
    """Words in the byte alphabet, which has no white space, with spaces between them."""
    for text in texts:
        yield " ".join(spelled(word.encode()) for word in words(cleaned(text)))
