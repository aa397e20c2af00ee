"""Merges of byte pairs from the ranks of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

_Text = TypeVar("_Text", str, bytes)


def ranked_merges(
    tokens: Iterable[_Text], *, rank: Mapping[_Text, int | float], parts: Mapping[_Text, int]
) -> Sequence[tuple[_Text, _Text]]:
    """All pairs of `parts` that make up one of `tokens`, the lowest rank of the result first.

    Encodings defined by ranks join whichever neighbours give the token of lowest rank, however that
    token came to be; so every way to cut a token in two is a merge, not only the one it was learnt
    by. Ways of the same token come in the order of their halves in `parts`.
    """
    found: list[tuple[_Text, _Text]] = []
    for token in sorted(tokens, key=lambda token: rank[token]):
        ways = [(token[:cut], token[cut:]) for cut in range(1, len(token))]
        ways = [(left, right) for left, right in ways if left in parts and right in parts]
        found += sorted(ways, key=lambda way: (parts[way[0]], parts[way[1]]))
    return found
