"""Tokenizers in tiktoken's rank files: a token in base64 and its rank, line by line."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from barrow.errors import TokenizerError
from barrow.tokens.byte_alphabet import spelled
from barrow.tokens.patterns import Encoding, guess, pre_tokenizer
from barrow.tokens.tokenizer_json import byte_level_bpe


def read_rank_file(data: bytes, where: str, *, pattern: str | None = None) -> dict[str, Any]:
    """The contents of a `tokenizer.json` that encodes as a rank file does.

    `pattern` names where texts are cut, and by default is guessed from the number of ranks.
    """
    ranks = _ranks(data, where)
    lone = next((byte for byte in range(256) if bytes([byte]) not in ranks), None)
    if lone is not None:
        raise TokenizerError(
            f"{where}: a rank file must have a token for every byte; there is none for {lone:#04x}"
        )
    encoding = guess(len(ranks))
    specials = dict(encoding.specials)
    taken = set(ranks.values())
    if any(number in taken for number in specials.values()):
        raise TokenizerError(
            f"{where}: {', '.join(specials)} would get an id that a token already has: the "
            "ranks have a gap"
        )
    encoding = Encoding(encoding.pattern if pattern is None else pattern, specials)
    merges = ranked_merges(ranks, rank=ranks, parts=ranks)
    vocab = {spelled(token): rank for token, rank in ranks.items()}
    if sorted(specials.values()) != list(range(len(vocab), len(vocab) + len(specials))):
        # Only tokens of the vocabulary keep ids that do not follow the ranks.
        vocab |= specials
    return byte_level_bpe(
        vocab,
        [(spelled(left), spelled(right)) for left, right in merges],
        pre_tokenizer=pre_tokenizer(encoding.pattern),
        specials=encoding.specials,
        ignore_merges=True,
    )


def _ranks(data: bytes, where: str) -> dict[bytes, int]:
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line:
            continue
        try:
            token, rank = line.split()
            ranks_token, value = base64.b64decode(token, validate=True), int(rank)
        except (ValueError, binascii.Error):
            raise TokenizerError(
                f"{where}, line {number}: expected a token in base64, a space and its rank, "
                f"got {line[:60]!r}"
            ) from None
        if not ranks_token or ranks_token in ranks:
            raise TokenizerError(
                f"{where}, line {number}: token {ranks_token!r} is empty or duplicate"
            )
        ranks[ranks_token] = value
    return ranks


_Text = TypeVar("_Text", str, bytes)


def ranked_merges(
    tokens: Iterable[_Text], *, rank: Mapping[_Text, int | float], parts: Mapping[_Text, int]
) -> Sequence[tuple[_Text, _Text]]:
    """All pairs of `parts` that make up one of `tokens`, the lowest rank of the result first.

    Encodings defined by ranks merge the neighbours that give the token of lowest rank, however that
    token was learnt; so every way to split a token in two is a merge, not only the learnt one.
    Splits of the same token come in the order of their halves in `parts`.
    """
    found: list[tuple[_Text, _Text]] = []
    for token in sorted(tokens, key=lambda token: rank[token]):
        ways = [(token[:cut], token[cut:]) for cut in range(1, len(token))]
        ways = [(left, right) for left, right in ways if left in parts and right in parts]
        found += sorted(ways, key=lambda way: (parts[way[0]], parts[way[1]]))
    return found
