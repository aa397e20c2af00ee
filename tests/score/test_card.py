"""The score card: which results may be compared (BEYOND-1)."""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import replace
from typing import Any

import pytest

from barrow.score.card import Card, CorpusDigest, Window, card_from_dict, comparable, corpus_hash

GROUND = CorpusDigest("pocket", "test", 10, 1000, "ab" * 32)
WINDOW = Window(1024, 512, "begin", "every", "barrow")
CARD = Card(GROUND, "causal", WINDOW)


def with_window(**changes: Any) -> Card:
    return replace(CARD, window=replace(WINDOW, **changes))


def test_the_hash_knows_everything_but_names() -> None:
    assert len(CARD.hash) == 12
    same = [
        replace(CARD, ground=replace(GROUND, corpus="other", split=None)),
        with_window(protocol="sliding"),
    ]
    assert {card.hash for card in same} == {CARD.hash}
    other = [
        replace(CARD, ground=replace(GROUND, documents=11)),
        replace(CARD, ground=replace(GROUND, bytes=1001)),
        replace(CARD, ground=replace(GROUND, digest="cd" * 32)),
        replace(CARD, ground=replace(GROUND, unit="characters")),
        replace(CARD, likelihood="pseudo"),
        replace(CARD, window=None),
        replace(CARD, scope="domain"),
        replace(CARD, version=2),
        with_window(context=1023),
        with_window(stride=511),
        with_window(prefix="end"),
        with_window(prefix="none"),
        with_window(prefix_in="first"),
    ]
    assert len({card.hash for card in [CARD, *other]}) == len(other) + 1


def test_where_a_prefix_stands_is_nothing_without_one() -> None:
    bare = with_window(prefix="none")
    assert bare.hash == with_window(prefix="none", prefix_in="first").hash


def test_json_and_back() -> None:
    data = json.loads(json.dumps(CARD.as_dict()))
    assert data["hash"] == CARD.hash
    assert data["window"]["protocol"] == "barrow"
    assert card_from_dict(data) == CARD
    data["window"]["stride"] = 1
    with pytest.raises(ValueError, match="it was changed"):
        card_from_dict(data)
    with pytest.raises(ValueError, match="a JSON object, got list"):
        card_from_dict([])


def test_the_digest_is_free_of_order_and_of_nothing_else() -> None:
    rows = [(d, hashlib.sha256(t).digest()) for d, t in (("A", b"1"), ("B", b"2"), ("A", b"1"))]
    digest = corpus_hash(rows)
    assert corpus_hash(reversed(rows)) == digest
    assert corpus_hash(rows[:2]) != digest
    assert corpus_hash([("B", rows[0][1]), *rows[1:]]) != digest


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (CARD, None),
        (replace(CARD, ground=replace(GROUND, corpus="renamed")), None),
        (replace(CARD, window=None, likelihood="compressed"), None),
        (replace(CARD, window=None), None),
        (replace(CARD, ground=replace(GROUND, digest="cd" * 32)), "other documents were scored"),
        (replace(CARD, likelihood="pseudo"), "pseudo-likelihood"),
        (replace(CARD, window=None, likelihood="compressed", scope="domain"), "whole domains"),
        (with_window(stride=1024), "other windows: context 1,024, stride 512.*disjoint"),
        (with_window(prefix="end"), "other windows"),
        (replace(CARD, version=2), "version 1 and 2"),
    ],
)
def test_what_may_be_compared(other: Card, reason: str | None) -> None:
    found = comparable(CARD, other)
    if reason is None:
        assert found is None
        assert comparable(other, CARD) is None
    else:
        import re

        assert found is not None
        assert re.search(reason, found)
        assert comparable(other, CARD) is not None


def test_one_line() -> None:
    assert str(CARD) == (
        f"card {CARD.hash}: pocket test, 10 documents, 1,000 bytes, causal, "
        "protocol barrow: context 1,024, stride 512, prefix begin in every window"
    )
    whole = replace(CARD, window=None, likelihood="compressed", scope="domain")
    assert "compressed, domains compressed whole, no windows" in str(whole)


def test_ground_digest_is_that_of_the_sorted_rows() -> None:
    """By its definition, in plain Python."""
    rng = random.Random(0)
    documents = [(rng.choice("AB"), rng.randbytes(32)) for _ in range(50)] + [("A", bytes(32))] * 2
    rows = sorted(hashlib.sha256(domain.encode()).digest() + sha for domain, sha in documents)
    expected = hashlib.sha256(b"".join(rows)).hexdigest()
    assert corpus_hash(documents) == expected
    assert corpus_hash(documents[::-1]) == expected
    assert corpus_hash([]) == hashlib.sha256().hexdigest()
