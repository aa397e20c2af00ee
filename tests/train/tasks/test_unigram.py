from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from barrow.tokens import open_store
from barrow.train.tasks.token_data import unigram_entropy


def test_against_counting(store: Path) -> None:
    opened = open_store(store)
    ids = [
        int(i)
        for domain in range(len(opened.domains))
        for i in opened.read(domain, 0, opened.domain_tokens(domain))
    ]
    shares = [count / len(ids) for count in Counter(ids).values()]
    wanted = -math.fsum(p * math.log(p) for p in shares)
    assert unigram_entropy(opened) == pytest.approx(wanted, abs=1e-12)


def sequences(*domains: list[int]) -> Any:
    return SimpleNamespace(
        vocab_size=10,
        domains=tuple("AB"[: len(domains)]),
        domain_tokens=lambda domain: len(domains[domain]),
        read=lambda domain, start, stop: np.array(domains[domain][start:stop], np.uint16),
    )


def test_corners() -> None:
    assert unigram_entropy(sequences([3] * 50)) == 0
    assert unigram_entropy(sequences([1, 2], [3, 4])) == pytest.approx(math.log(4))
    assert unigram_entropy(sequences([])) == 0


def test_of_large_stores_a_part_is_counted() -> None:
    """A share of each domain, from its beginning."""
    large = sequences([1] * 10 + [5] * 90, [2] * 10 + [6] * 90)
    assert unigram_entropy(large, most=20) == pytest.approx(math.log(2))
    assert unigram_entropy(large) > math.log(2)
