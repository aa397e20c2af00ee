"""Comparing two results, against sums by hand (BEYOND-1, BEYOND-8)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.score.scored_results import DOMAINS, TEXTS, make_result

from barrow.config import to_json
from barrow.errors import NotFound, ScoreError
from barrow.score.card import Window
from barrow.score.diff import compare, read_scored
from barrow.score.result import documents_path, write_result

NUM = len(TEXTS)
A = [2.0 + 0.1 * i for i in range(NUM)]
B = [1.9 + 0.1 * i if i % 4 else 2.3 + 0.1 * i for i in range(NUM)]
WINDOW = Window(1024, 512, "begin")


def bits(values: list[float], domain: str | None = None) -> tuple[float, int]:
    rows = [
        (value * len(text), len(text))
        for value, (name, text) in zip(values, TEXTS, strict=True)
        if domain in (None, name)
    ]
    return sum(row[0] for row in rows), sum(row[1] for row in rows)


def test_figures_are_totals_divided() -> None:
    found = compare(make_result("a", bits=A), make_result("b", bits=B))
    total = bits(A)[0] - bits(B)[0]
    for row, domain in [*zip(found.domains, DOMAINS, strict=True), (found.overall, None)]:
        (first, size), (second, _) = bits(A, domain), bits(B, domain)
        assert row.name == (domain or "overall")
        assert row.bytes == size
        assert row.first == pytest.approx(first / size)
        assert row.second == pytest.approx(second / size)
        assert row.difference == pytest.approx((first - second) / size)
        assert row.share == pytest.approx((first - second) / total)
    assert sum(row.share or 0 for row in found.domains) == pytest.approx(1)
    assert sum(row.share or 0 for row in found.kinds) == pytest.approx(1)
    assert found.overall.share == 1
    assert found.overall.documents == NUM


def test_kinds_of_text() -> None:
    found = compare(make_result("a", bits=A), make_result("b", bits=B))
    letters, others = found.kinds
    assert (letters.name, others.name) == ("letters", "others")
    assert letters.bytes == sum(sum(map(str.isalpha, text)) for _, text in TEXTS)
    assert letters.bytes + others.bytes == found.overall.bytes
    assert letters.first == pytest.approx(2 * (others.first or 0), rel=0.1)


@pytest.mark.parametrize(
    "order",
    [np.random.default_rng(0).permutation(NUM).tolist(), list(range(NUM))[::-1]],
    ids=["shuffled", "other domain first"],
)
def test_documents_are_paired_by_text_in_any_order(order: list[int]) -> None:
    straight = compare(make_result("a", bits=A), make_result("b", bits=B))
    shuffled = make_result("b", bits=[B[i] for i in order], texts=[TEXTS[i] for i in order])
    assert to_json(compare(make_result("a", bits=A), shuffled)) == to_json(straight)
    turned = compare(make_result("b", bits=B), make_result("a", bits=A))
    assert turned.overall.difference == pytest.approx(-(straight.overall.difference or 0))
    assert turned.overall.p == straight.overall.p
    assert turned.overall.low == pytest.approx(-(straight.overall.high or 0))


def test_a_model_beside_itself() -> None:
    found = compare(make_result("a", bits=A), make_result("a", bits=A))
    assert (found.overall.difference, found.overall.p, found.overall.share) == (0.0, 1.0, None)
    assert found.worst == ()
    assert found.note is None


def test_what_is_always_so_is_sure_and_what_is_not_is_not() -> None:
    always = compare(make_result("a", bits=A), make_result("b", bits=[a - 0.01 for a in A]))
    assert always.overall.p is not None
    assert always.overall.p < 0.001
    assert (always.overall.low or 0) > 0
    either = compare(
        make_result("a", bits=A),
        make_result("b", bits=[a + (-1) ** i * 0.1 for i, a in enumerate(A)]),
    )
    assert either.overall.p is not None
    assert either.overall.p > 0.1


def test_the_worst_documents() -> None:
    values = list(A)
    values[5] += 3
    values[9] += 1
    values[2] -= 5
    found = compare(make_result("a", bits=values), make_result("b", bits=A), num_worst=3)
    assert [entry.number for entry in found.worst] == [5, 9]
    worst = found.worst[0]
    assert worst.lost_bits == pytest.approx(3 * len(TEXTS[5][1]))
    assert (worst.domain, worst.bytes) == (TEXTS[5][0], len(TEXTS[5][1]))
    assert worst.first - worst.second == pytest.approx(3)
    assert len(worst.text) == 32


def test_documents_alike_are_paired_too() -> None:
    texts = [*TEXTS, TEXTS[0], ("prose", "")]
    a = make_result("a", bits=[*A, A[0], 0.0], texts=texts)
    found = compare(a, make_result("b", bits=[*B, B[0], 0.0], texts=texts))
    assert found.overall.documents == NUM + 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"texts": TEXTS[1:], "bits": A[1:]}, "other documents were scored"),
        ({"likelihood": "pseudo"}, "pseudo-likelihood"),
        ({"window": replace(WINDOW, stride=1024)}, "other windows"),
        ({"scope": "domain", "likelihood": "compressed"}, "one compressed whole domains"),
    ],
)
def test_other_cards_are_refused(change: dict, words: str) -> None:
    a = make_result("a", bits=A, window=WINDOW)
    b = make_result("b", **{"bits": A, "window": WINDOW, **change})
    with pytest.raises(ScoreError, match=f"a and b cannot be compared: .*{words}"):
        compare(a, b)


def test_a_compressor_has_no_kinds_and_a_note() -> None:
    a = make_result("a", bits=A, window=WINDOW)
    found = compare(a, make_result("xz", bits=B, likelihood="compressed"))
    assert found.kinds == ()
    assert found.note is not None
    assert "A is causal, context 1,024, stride 512" in found.note
    assert "B is compressed, sees the whole document so far" in found.note
    note = compare(a, make_result("ngram", bits=B)).note
    assert note is not None
    assert "the whole document so far" in note


def test_figures_of_domains_alone_cannot_be_paired() -> None:
    a = make_result("whole:xz", bits=A, likelihood="compressed", scope="domain")
    with pytest.raises(ScoreError, match="whole:xz has no figures per document"):
        compare(a, a)


def test_documents_that_belie_their_card() -> None:
    a, b = make_result("a", bits=A), make_result("b", bits=B)
    assert b.documents is not None
    text = b.documents.text.copy()
    text[3, 0] ^= 1
    changed = replace(b, documents=replace(b.documents, text=text))
    with pytest.raises(ScoreError, match="differ, although their cards are the same"):
        compare(a, changed)


def test_read_from_disk(tmp_path: Path) -> None:
    path = write_result(tmp_path / "a", make_result("a", bits=A))
    other = write_result(tmp_path / "b", make_result("b", bits=B))
    found = compare(read_scored(path), read_scored(other.parent))
    assert to_json(found) == to_json(compare(make_result("a", bits=A), make_result("b", bits=B)))
    documents_path(path).unlink()
    with pytest.raises(NotFound, match="a/documents.safetensors does not exist; it is written"):
        read_scored(path)


def test_one_document_has_no_interval() -> None:
    found = compare(
        make_result("a", bits=A[:1], texts=TEXTS[:1]), make_result("b", bits=B[:1], texts=TEXTS[:1])
    )
    assert (found.overall.low, found.overall.high, found.overall.p) == (None, None, None)
    assert found.overall.difference == pytest.approx(A[0] - B[0])
