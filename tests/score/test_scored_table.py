from __future__ import annotations

import hashlib
import random

import numpy as np

from barrow.score.card import corpus_hash
from barrow.score.kinds import KINDS
from barrow.score.part_file import Scored
from barrow.score.scored_table import ScoredTable


def scored(number: int) -> Scored:
    digest = hashlib.sha256(bytes([number])).hexdigest()
    kinds = tuple(range(number, number + len(KINDS)))
    how = "offsets" if number % 5 == 0 else "bytes"
    domain = f"domain {number % 3}"
    nats = tuple(value / 7 for value in kinds)
    return Scored(number, domain, digest, number, 2 * number, number / 3, how, 0.5, kinds, nats)


def test_columns_by_number_whatever_the_order_and_the_groups() -> None:
    listed = [scored(number) for number in range(40)]
    mixed = random.Random(0).sample(listed, 40)
    made = ScoredTable()
    made.add(mixed[:7])
    made.add(mixed[7:])
    documents, seconds = made.documents()
    assert len(made) == len(documents) == 40
    assert made.num_bytes == sum(range(40))
    assert made.projections == {"bytes": 32, "offsets": 8}
    assert made.digest == corpus_hash((s.domain, bytes.fromhex(s.sha256)) for s in listed)
    assert documents.domains == ("domain 0", "domain 1", "domain 2")
    assert [documents.domains[i] for i in documents.domain] == [s.domain for s in listed]
    assert documents.bytes.tolist() == [s.bytes for s in listed]
    assert documents.tokens.tolist() == [s.tokens for s in listed]
    assert documents.nats.tolist() == [s.nats for s in listed]
    assert [row.tobytes().hex() for row in documents.text] == [s.sha256[:32] for s in listed]
    assert documents.kind_bytes.tolist() == [list(s.kind_bytes) for s in listed]
    assert documents.kind_nats.tolist() == [list(s.kind_nats) for s in listed]
    assert seconds.tolist() == [0.5] * 40
    assert documents.domain.dtype == np.int16


def test_nothing() -> None:
    made = ScoredTable()
    assert (len(made), made.num_bytes) == (0, 0)
