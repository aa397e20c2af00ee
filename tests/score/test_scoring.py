from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from barrow import Document
from barrow.errors import ScoreError
from barrow.score import (
    PROTOCOLS,
    Model,
    ModelInfo,
    Result,
    ScoredCorpus,
    Share,
    TextScore,
    read_documents,
    read_result,
    score,
)

LN2 = math.log(2)


class Bytes(Model):
    """Two bits for a byte of even value, four for the others."""

    info = ModelInfo("bytes", "baseline", "b" * 64)
    group_bytes = 64

    def __init__(self, after: int | None = None) -> None:
        self.calls = 0
        self._after = after

    def score(self, texts: Sequence[bytes]) -> list[TextScore]:
        if self.calls == self._after:
            raise KeyboardInterrupt
        self.calls += 1
        found = []
        for text in texts:
            nats = np.where(np.frombuffer(text, np.uint8) % 2, 4.0, 2.0) * LN2
            found.append(TextScore(float(nats.sum()), len(text), nats))
        return found


def scored(*arguments: Any, **options: Any) -> Result:
    result = score(*arguments, **options)
    assert result is not None
    return result


def figures(result: Result) -> Any:
    """All but times."""
    data = result.as_dict()
    for row in [*data["domains"], data["overall"]]:
        del row["seconds"]
    del data["seconds"]
    return data


def test_bits_over_bytes_by_domain(few: list[Document]) -> None:
    """PILE-2: documents are counted, the empty one too; bytes are those of the raw text."""
    result = scored(Bytes(), few)
    assert sum(row.documents for row in result.domains) == len(few)
    for row in (*result.domains, result.overall):
        texts = [d.text.encode() for d in few if row.name in ("overall", d.domain)]
        joined = np.frombuffer(b"".join(texts), np.uint8)
        bits = int((np.where(joined % 2, 4, 2)).sum())
        assert row.bytes == len(joined)
        assert row.bpb == pytest.approx(bits / len(joined), rel=1e-12)
    assert result.card.ground.documents == len(few)
    assert result.card.window is None
    assert result.documents is not None
    assert result.documents.bytes.tolist() == [len(d.text.encode()) for d in few]
    np.testing.assert_array_equal(result.documents.kind_bytes.sum(axis=1), result.documents.bytes)
    np.testing.assert_allclose(result.documents.kind_nats.sum(axis=1), result.documents.nats)


def test_order_changes_no_figure_and_no_card(few: list[Document]) -> None:
    assert figures(scored(Bytes(), few)) == figures(scored(Bytes(), few[::-1]))


def test_a_model_of_tokens_is_invariant_to_groups_and_order(
    windowed: Callable[..., Any], few: list[Document]
) -> None:
    """PILE-2: how documents are put into groups and batches does not matter."""
    model = windowed(PROTOCOLS["barrow"])
    whole = scored(model, few)
    model.group_bytes = 50
    apart = scored(model, few[::-1])
    model.group_bytes = Model.group_bytes
    assert apart.card == whole.card
    assert apart.overall.bpb == pytest.approx(whole.overall.bpb, rel=1e-6)
    assert whole.card.window is not None
    assert whole.card.window.context == 32


def test_files(tmp_path: Path, few: list[Document]) -> None:
    out = tmp_path / "deep" / "result"
    result = scored(Bytes(), ScoredCorpus("pocket", "test", few), out=out, settings={"a": 1})
    assert sorted(path.name for path in out.iterdir()) == ["documents.safetensors", "scores.json"]
    back = read_result(out)
    assert back.as_dict() == result.as_dict()
    assert back.settings["a"] == 1
    held = read_documents(out, back)
    assert result.documents is not None
    np.testing.assert_array_equal(held.nats, result.documents.nats)
    assert held.domains == result.documents.domains
    assert json.loads((out / "scores.json").read_text())["format"] == "barrow-score-1"


def test_a_killed_run_goes_on_and_gives_the_same(tmp_path: Path, few: list[Document]) -> None:
    whole = scored(Bytes(), few, out=tmp_path / "whole")
    for after in (1, 3):
        out = tmp_path / f"killed{after}"
        with pytest.raises(KeyboardInterrupt):
            score(Bytes(after), few, out=out)
        assert not (out / "scores.json").exists()
        model = Bytes()
        again = scored(model, few, out=out)
        uninterrupted = Bytes()
        scored(uninterrupted, few)
        assert model.calls == uninterrupted.calls - after
        assert figures(again) == figures(whole)
        assert not list(tmp_path.rglob("*.part*"))


def test_two_runs_do_not_write_to_one_result(tmp_path: Path, few: list[Document]) -> None:
    out = tmp_path / "x"
    refused: list[str] = []

    def second(_: int) -> None:
        try:
            score(Bytes(), few, out=out)
        except FileExistsError as error:
            refused.append(str(error))

    first = scored(Bytes(), few, out=out, on_progress=second)
    assert set(refused) == {
        f"{out / 'scores.part'}: another process is scoring to it; wait until it has finished"
    }
    assert read_result(out).as_dict() == first.as_dict()
    assert not list(tmp_path.rglob("*.part*"))
    assert figures(scored(Bytes(), few, out=out)) == figures(first), "the lock is free again"


def test_a_run_does_not_go_on_with_another_model_or_corpus(
    tmp_path: Path, few: list[Document]
) -> None:
    out = tmp_path / "x"
    with pytest.raises(KeyboardInterrupt):
        score(Bytes(2), few, out=out)
    other = Bytes()
    other.info = ModelInfo("other", "baseline", "c" * 64)
    with pytest.raises(ScoreError, match="left by another run: model differ"):
        score(other, few, out=out)
    changed = [*few[:1], Document("changed", few[1].meta), *few[2:]]
    with pytest.raises(
        ScoreError, match=r"document 1 \(B, id id-1\) differs from what.*corpus changed"
    ):
        score(Bytes(), changed, out=out)
    with pytest.raises(ScoreError, match="corpus changed"):
        score(Bytes(), few[:2], out=out)


def test_processes_together_give_what_one_gives(tmp_path: Path, few: list[Document]) -> None:
    """Documents i mod n; process 0 joins, whoever is first."""
    whole = scored(Bytes(), few)
    out = tmp_path / "x"
    late = threading.Timer(0.3, lambda: score(Bytes(), few, out=out, share=Share(2, 3)))
    assert score(Bytes(), few, out=out, share=Share(1, 3)) is None
    late.start()
    joined = scored(Bytes(), few, out=out, share=Share(0, 3, patience=30))
    late.join()
    assert figures(joined) == figures(whole)
    assert sorted(p.name for p in out.iterdir()) == ["documents.safetensors", "scores.json"]


def test_a_process_that_never_comes_is_named(tmp_path: Path, few: list[Document]) -> None:
    with pytest.raises(ScoreError, match="process 1 of 2 has not finished"):
        score(Bytes(), few, out=tmp_path / "x", share=Share(0, 2, patience=0.05))
    with pytest.raises(ValueError, match="several processes exchange results through files"):
        score(Bytes(), few, share=Share(0, 2))
    with pytest.raises(ValueError, match="rank must be from 0 to 1, got 2"):
        Share(2, 2)


class Answering(Bytes):
    def __init__(self, change: Callable[[TextScore], TextScore | None]) -> None:
        super().__init__()
        self._change = change

    def score(self, texts: Sequence[bytes]) -> list[TextScore]:
        changed = [self._change(found) for found in super().score(texts)]
        return [found for found in changed if found is not None]


def nan(found: TextScore) -> TextScore:
    return TextScore(math.nan, found.tokens, found.byte_nats) if found.tokens == 10 else found


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (nan, r"document 1 \(A, id two\): bytes gives nan nats"),
        (lambda f: TextScore(math.inf, f.tokens), r"document 0 .*gives inf nats"),
        (lambda f: TextScore(f.nats, 0, f.byte_nats), "document 0 .* no token of its 1 bytes"),
        (lambda f: TextScore(f.nats, f.tokens, np.zeros(3)), "has 1 bytes, and bytes gives.* 3"),
        (lambda f: None, "returned 0 results for 2 documents"),
    ],
)
def test_bad_answers_name_the_document(
    change: Callable[[TextScore], TextScore | None], words: str, tmp_path: Path
) -> None:
    documents = [
        Document("a", {"pile_set_name": "A", "id": "one"}),
        Document("b" * 10, {"pile_set_name": "A", "id": "two"}),
    ]
    with pytest.raises(ScoreError, match=words):
        score(Answering(change), documents, out=tmp_path / "x")
    assert not (tmp_path / "x" / "scores.json").exists()


def test_an_empty_document_is_charged_nothing() -> None:
    charged = Answering(lambda found: TextScore(1.0, 1))
    with pytest.raises(ScoreError, match=r"document 0 .* is empty, but got"):
        score(charged, [Document("")])
    only = scored(Bytes(), [Document(""), Document("a")])
    assert (only.overall.documents, only.overall.bytes, only.overall.bpb) == (2, 1, 4.0)


@pytest.mark.parametrize(
    ("documents", "words"),
    [([], "has no documents"), ([Document(""), Document("")], "2 documents, all of them empty")],
)
def test_nothing_to_divide_by(documents: list[Document], words: str) -> None:
    with pytest.raises(ScoreError, match=words):
        score(Bytes(), documents)


def test_weights_contamination_and_progress_are_kept(few: list[Document]) -> None:
    told: list[int] = []
    weights = {"A": 1.0, "B": 1.0, "Ünïcode": 2.0}
    receipt = {"ngram": 13, "documents": 0}
    result = scored(Bytes(), few, weights=weights, contamination=receipt, on_progress=told.append)
    assert result.weighted is not None
    assert result.weighted.weights["Ünïcode"] == 0.5
    assert result.contamination == receipt
    assert sum(told) == result.overall.bytes
    assert len(told) > 1


def test_weights_of_other_domains_are_refused_before_anything_is_scored(
    few: list[Document],
) -> None:
    class Never(Bytes):
        def score(self, texts: Sequence[str]) -> list[TextScore]:
            raise AssertionError("it was asked")

    for weights, words in (
        ({"A": 1.0}, "no weight for"),
        ({"A": 0.0, "B": 0.0, "Ünïcode": 0.0}, "sum"),
    ):
        with pytest.raises(ValueError, match=words):
            scored(Never(), few, weights=weights)
