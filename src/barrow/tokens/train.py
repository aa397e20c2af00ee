"""Training a byte-level BPE tokenizer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from barrow.errors import ConfigError
from barrow.tokens.byte_alphabet import LETTERS
from barrow.tokens.encoders import import_tokenizers
from barrow.tokens.json_tokenizer import JsonTokenizer
from barrow.tokens.patterns import pre_tokenizer
from barrow.tokens.tokenizer_json import byte_level_bpe, check

_MIN_COUNT = 2


def train(
    texts: Iterable[str],
    *,
    vocab_size: int,
    specials: Sequence[str] = ("<|endoftext|>",),
    pattern: str = "gpt2",
) -> JsonTokenizer:
    """Learn byte-level BPE: the 256 bytes, then the pair that is most frequent, again and again.

    `vocab_size` counts the special tokens too, which get the last ids; the first begins every
    document, and so ends the one before. Pairs are counted within the pieces that `pattern` cuts.
    Which of equally frequent pairs comes first is fixed, so the result depends on the texts alone,
    not on their order or the number of threads. It has fewer ids than asked for if too few pairs
    occur twice.
    """
    _refuse(vocab_size, specials)
    cut = pre_tokenizer(pattern)
    vocab, merges = learn(texts, vocab_size=vocab_size - len(specials), cut=cut)
    data = byte_level_bpe(
        vocab,
        merges,
        pre_tokenizer=cut,
        specials={name: len(vocab) + number for number, name in enumerate(specials)},
    )
    # It separates documents, so it also ends them. Only others read eos_token: see `roles`.
    settings = dict.fromkeys(("bos_token", "eos_token"), specials[0]) if specials else {}
    return JsonTokenizer(check(data, "the trained tokenizer"), settings=settings)


def learn(
    texts: Iterable[str], *, vocab_size: int, cut: Mapping[str, Any]
) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Tokens by name, the 256 bytes first, and the merges that lead to the others."""
    tokenizers = import_tokenizers()
    library = tokenizers.Tokenizer(tokenizers.models.BPE())
    library.pre_tokenizer = tokenizers.Tokenizer.from_str(_untrained(cut)).pre_tokenizer
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=_MIN_COUNT,
        initial_alphabet=list(LETTERS),
        show_progress=False,
        special_tokens=[],
    )
    counted = _Counted(texts)
    library.train_from_iterator(counted, trainer)
    if not counted.num_characters:
        raise ConfigError("there is no text to train a tokenizer on: every text is empty")
    model = json.loads(library.to_str())["model"]
    return _in_byte_order(model["vocab"], model["merges"])


class _Counted:
    """Texts, and how many characters they had."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = texts
        self.num_characters = 0

    def __iter__(self) -> Iterator[str]:
        for text in self._texts:
            self.num_characters += len(text)
            yield text


def _refuse(vocab_size: int, specials: Sequence[str]) -> None:
    if len(set(specials)) != len(specials) or not all(specials):
        raise ConfigError(f"special tokens have names, each its own, unlike {list(specials)}")
    least = 256 + len(specials)
    if vocab_size < least:
        raise ConfigError(
            f"a vocabulary has the 256 bytes and {len(specials)} special tokens, so at least "
            f"{least} ids; {vocab_size} are too few"
        )
    if vocab_size > 1 << 24:
        raise ConfigError(f"a vocabulary of {vocab_size:,} ids is more than 16,777,216")


def _untrained(cut: object) -> str:
    model = {"type": "BPE", "vocab": {}, "merges": []}
    return json.dumps({"version": "1.0", "pre_tokenizer": cut, "model": model})


def _in_byte_order(
    vocab: dict[str, int], merges: Sequence[Sequence[str]]
) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """The same with the bytes as ids 0 to 255, and the merged tokens after them as they were."""
    learnt = sorted((token for token in vocab if len(token) > 1), key=lambda token: vocab[token])
    ordered = {token: number for number, token in enumerate((*LETTERS, *learnt))}
    return ordered, [(left, right) for left, right in merges]
