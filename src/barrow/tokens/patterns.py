"""How well-known tokenizers split a text before merging bytes, and their special tokens.

A `.tiktoken` file holds neither; both belong to the name of the encoding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from barrow.errors import ConfigError, nearest
from barrow.tokens.tokenizer_json import byte_level

_ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_UPPER, _LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"


def _numbers_of(digits: str, first: str = "") -> str:
    return rf"{first}{_ENDINGS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{digits}|{_REST}"


# The expression of each; None is GPT-2's own, which the byte-level component has built in.
# tiktoken's own cl100k keeps white space at the end of a text in one piece; Llama 3's, else the
# same, does not.
PATTERNS: Mapping[str, str | None] = {
    "gpt2": None,
    "cl100k": _numbers_of("{1,3}", r"\s++\z|"),
    "llama3": _numbers_of("{1,3}"),
    "qwen": _numbers_of(""),
    "o200k": "|".join(
        (
            rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]*[{_LOWER}]+{_ENDINGS}?",
            rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]+[{_LOWER}]*{_ENDINGS}?",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+|\s+(?!\S)|\s+",
        )
    ),
}


@dataclass(frozen=True)
class Encoding:
    """The pattern and the special tokens of a rank file."""

    pattern: str
    specials: Mapping[str, int]


_FIM = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")
_GPT2 = Encoding("gpt2", {"<|endoftext|>": 50256})
# Of published files, by the number of their ranks.
_PUBLISHED: Mapping[int, Encoding] = {
    50256: _GPT2,
    50280: _GPT2,
    100256: Encoding(
        "cl100k",
        {
            "<|endoftext|>": 100257,
            **{name: 100258 + number for number, name in enumerate(_FIM)},
            "<|endofprompt|>": 100276,
        },
    ),
    128000: Encoding("llama3", {"<|begin_of_text|>": 128000, "<|end_of_text|>": 128001}),
    151643: Encoding(
        "qwen", {"<|endoftext|>": 151643, "<|im_start|>": 151644, "<|im_end|>": 151645}
    ),
    199998: Encoding("o200k", {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}),
}


def guess(num_ranks: int) -> Encoding:
    """The encoding of a rank file by its size: a published one, or the nearest in kind, with
    `<|endoftext|>` after the last rank.
    """
    if num_ranks in _PUBLISHED:
        return _PUBLISHED[num_ranks]
    pattern = "gpt2" if num_ranks < 80_000 else "cl100k" if num_ranks < 160_000 else "o200k"
    return Encoding(pattern, {"<|endoftext|>": num_ranks})


def pre_tokenizer(pattern: str) -> dict[str, Any]:
    """The component of a `tokenizer.json` that cuts as a named pattern does."""
    if pattern not in PATTERNS:
        raise ConfigError(f"no pattern {pattern!r}; {nearest(pattern, PATTERNS)}")
    expression = PATTERNS[pattern]
    if expression is None:
        return byte_level(use_regex=True)
    cut = {
        "type": "Split",
        "pattern": {"Regex": expression},
        "behavior": "Isolated",
        "invert": False,
    }
    return {"type": "Sequence", "pretokenizers": [cut, byte_level(use_regex=False)]}
