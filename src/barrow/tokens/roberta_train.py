"""Training a tokenizer of RoBERTa's kind."""

from __future__ import annotations

from collections.abc import Iterable

from barrow.errors import ConfigError
from barrow.tokens.json_tokenizer import JsonTokenizer
from barrow.tokens.merges_files import as_roberta
from barrow.tokens.patterns import pre_tokenizer
from barrow.tokens.tokenizer_json import check
from barrow.tokens.train import learn

_FIRST = ("<s>", "<pad>", "</s>", "<unk>")
_LAST = "<mask>"
_LEAST = len(_FIRST) + 256 + 1


def train_roberta(texts: Iterable[str], *, vocab_size: int) -> JsonTokenizer:
    """Learn byte-level BPE with RoBERTa's special tokens, where RoBERTa has them.

    <s>, <pad>, </s> and <unk> are 0 to 3, and <mask> is the last. A model counts positions from
    the padding id on: one that is low wastes no rows of its table. A text stands between <s> and
    </s>. There are fewer ids than asked for if too few pairs occur twice.
    """
    if vocab_size < _LEAST:
        raise ConfigError(
            f"a vocabulary of RoBERTa's kind has the 256 bytes and {len(_FIRST) + 1} special "
            f"tokens, so at least {_LEAST} ids; {vocab_size} are too few"
        )
    room = vocab_size - len(_FIRST) - 1
    learnt, merges = learn(texts, vocab_size=room, cut=pre_tokenizer("gpt2"))
    names = (*_FIRST, *sorted(learnt, key=lambda token: learnt[token]), _LAST)
    if len(set(names)) != len(names):
        raise ConfigError("the texts spell out special tokens so often that one was learnt")
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
