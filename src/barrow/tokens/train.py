"""Training a byte-level BPE tokenizer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from barrow.errors import ConfigError
from barrow.tokens.byte_alphabet import LETTERS, spelled
from barrow.tokens.clip.merges import END_OF_WORD, NUM_MERGES
from barrow.tokens.clip.tokenizer import ClipTokenizer, cleaned, words
from barrow.tokens.encoders import import_tokenizers
from barrow.tokens.formats.merges_files import as_roberta
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
    """Learn byte-level BPE: the 256 bytes, then the most frequent pair, repeatedly.

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
        raise ConfigError(
            f"special tokens must have different, non-empty names, got {list(specials)}"
        )
    least = 256 + len(specials)
    if vocab_size < least:
        raise ConfigError(
            f"vocab_size must be ≥ {least} (256 bytes and {len(specials)} special tokens), "
            f"got {vocab_size}"
        )
    if vocab_size > 1 << 24:
        raise ConfigError(f"vocab_size must be ≤ 16,777,216, got {vocab_size:,}")


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


_BESIDE_MERGES = 256 + 256 + 2
_CLIP_MIN_COUNT = 2


def train_clip(texts: Iterable[str], *, vocab_size: int) -> ClipTokenizer:
    """Learn merges from texts, cleaned and cut as CLIP does.

    `vocab_size` counts the bytes, the bytes at the end of a word, and start and end of a text.
    There are fewer ids if too few pairs occur twice.
    """
    if not _BESIDE_MERGES < vocab_size <= _BESIDE_MERGES + NUM_MERGES:
        raise ConfigError(
            f"vocab_size for CLIP must be > {_BESIDE_MERGES} (256 bytes, 256 at the end of "
            f"a word, 2 specials) and ≤ {_BESIDE_MERGES + NUM_MERGES:,}, got {vocab_size:,}"
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


_FIRST = ("<s>", "<pad>", "</s>", "<unk>")
_LAST = "<mask>"
_LEAST = len(_FIRST) + 256 + 1


def train_roberta(texts: Iterable[str], *, vocab_size: int) -> JsonTokenizer:
    """Learn byte-level BPE with RoBERTa's special tokens, where RoBERTa has them.

    <s>, <pad>, </s> and <unk> are 0 to 3, and <mask> is the last. A model counts positions from
    the padding id on: a low one wastes no rows of its table. A text is between <s> and
    </s>. There are fewer ids than asked for if too few pairs occur twice.
    """
    if vocab_size < _LEAST:
        raise ConfigError(
            f"vocab_size for RoBERTa must be ≥ {_LEAST} (256 bytes and {len(_FIRST) + 1} "
            f"special tokens), got {vocab_size}"
        )
    room = vocab_size - len(_FIRST) - 1
    learnt, merges = learn(texts, vocab_size=room, cut=pre_tokenizer("gpt2"))
    names = (*_FIRST, *sorted(learnt, key=lambda token: learnt[token]), _LAST)
    if len(set(names)) != len(names):
        raise ConfigError("the texts contain special tokens so often that one was learned")
    data = as_roberta({name: number for number, name in enumerate(names)}, merges)
    return JsonTokenizer(
        check(data, "the trained tokenizer"),
        settings={
            "bos_token": "<s>",
            "eos_token": "</s>",
            "pad_token": "<pad>",
            "mask_token": "<mask>",
            "unk_token": "<unk>",
        },
    )
