"""Models made for checks: their nats follow a rule that can be computed by hand."""

from __future__ import annotations

import math
import zlib
from array import array
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from barrow.tokens import Tokenizer
from barrow.tokens.byte_alphabet import LETTERS
from barrow.tokens.json_tokenizer import JsonTokenizer
from barrow.tokens.tokenizer_json import byte_level, byte_level_bpe, check

# Nats of row[i], given row[:i].
Rule = Callable[[Sequence[int], int], float]

# Pairs that become one token, in this order: many are parts of characters or cross their borders.
_PAIRS = (
    (b" ", b"\xc3"),
    (b"\xa9", b" "),
    (b"\x9f", b"\x99"),
    (b"\xe6", b"\x97"),
    (b"t", b"h"),
    (b"th", b"e"),
    (b"1", b" "),
    (b"2", b"3"),
    (b"23", b" "),
    (b"a", b"a"),
)
# The specials come last: where the library `tokenizers` puts them, whatever a file says.
BEGIN, END = 256 + len(_PAIRS), 257 + len(_PAIRS)


class RuleModel:
    """A `TokenModel` by a rule; `longest` is the longest row that it was given."""

    def __init__(self, tokenizer: Tokenizer, rule: Rule, *, max_length: int | None = None) -> None:
        self.tokenizer = tokenizer
        self.max_length = max_length
        self.longest = 0
        self._rule = rule

    def log_probs(self, rows: Sequence[npt.NDArray[np.int32]]) -> list[npt.NDArray[np.float64]]:
        """As in `TokenModel`."""
        self.longest = max([self.longest, *map(len, rows)])
        return [self._logs(row.tolist()) for row in rows]

    def _logs(self, row: list[int]) -> npt.NDArray[np.float64]:
        return np.array([-self._rule(row, i) for i in range(1, len(row))], np.float64)


def split_tokenizer() -> Tokenizer:
    """Bytes, tokens of several bytes that split characters, and two specials: begin and end."""
    letters = {letter: byte for byte, letter in enumerate(LETTERS)}
    merges = [(_letters(left), _letters(right)) for left, right in _PAIRS]
    merged = {left + right: 256 + i for i, (left, right) in enumerate(merges)}
    data = byte_level_bpe(
        {**letters, **merged},
        merges,
        pre_tokenizer=byte_level(use_regex=False),
        specials={"<s>": BEGIN, "</s>": END},
    )
    return JsonTokenizer(check(data, "the tokenizer of the self-test"), fast=False)


def uniform_rule(num: int) -> Rule:
    """All of `num` are equally likely."""

    def rule(row: Sequence[int], i: int) -> float:
        del row, i
        return math.log(num)

    return rule


def witness(row: Sequence[int], i: int) -> float:
    """From 0.5 to 6.5 nats by a hash of all that is seen: any other conditioning is another number.

    It is not a distribution, which sums of nats do not need.
    """
    return 0.5 + 6 * zlib.crc32(array("q", row[: i + 1]).tobytes()) / 2**32


def _letters(piece: bytes) -> str:
    return "".join(LETTERS[byte] for byte in piece)
