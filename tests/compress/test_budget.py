"""DEEPSPEED-4: the smallest model within a budget."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from barrow.compress.budget import _fewest, parse_budget, within_budget
from barrow.compress.compressed import Measuring, compress
from barrow.compress.scheme import Scheme
from barrow.errors import ScoreError
from barrow.score import ModelOptions, open_corpus, open_model, score

FEW = Measuring(documents=3, rows=4, length=32, speeds=False)


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus whose calibration and test documents share no sentence."""
    folder = tmp_path_factory.mktemp("split")
    words = {"validation": "stone mound cart", "test": "river boat shore"}
    for name, text in words.items():
        (folder / name).mkdir()
        lines = [
            {"text": f"{domain} {n}: " + text[n % 5 :] * 3, "meta": {"pile_set_name": domain}}
            for domain in ("Books", "Code", "Letters", "Mail", "News")
            for n in range(3)
        ]
        path = folder / name / "texts.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def worst_of(small: Path, folder: Path, split: Path) -> float:
    """By `barrow score` alone, on the test split."""
    options = ModelOptions(dtype="float32")
    found = [
        score(open_model(str(path), options), open_corpus(split, split="test"))
        for path in (small, folder)
    ]
    after, before = ({d.name: d.bpb for d in one.domains} for one in found if one is not None)
    assert len(before) == 5
    return max(after[name] - bits for name, bits in before.items())  # type: ignore[operator]


def test_the_smallest_within_the_budget(folder: Path, split: Path, tmp_path: Path) -> None:
    """Between int4, which loses more, and int8, which is larger; on text calibration never saw."""
    sizes, losses = {}, {}
    for bits, method in (("int4", "gptq"), ("int8", "mse")):
        out = tmp_path / bits
        made = compress(folder, out, Scheme(bits, method), split, measuring=FEW)  # type: ignore[arg-type]
        sizes[bits], losses[bits] = made.bytes_after, worst_of(out, folder, split)
    assert losses["int4"] > losses["int8"]
    limit = (losses["int4"] + max(losses["int8"], 0)) / 2
    said: list[str] = []
    card = within_budget(folder, tmp_path / "b", limit, split, measuring=FEW, say=said.append)
    assert worst_of(tmp_path / "b", folder, split) <= limit
    assert sizes["int4"] < card.bytes_after <= sizes["int8"]
    assert "weights int4" in card.scheme
    assert "weights int8" in card.scheme
    assert len(said) >= 2


def test_nothing_fits(folder: Path, tmp_path: Path) -> None:
    """Rounding even one weight loses something in one of many domains."""
    corpus = tmp_path / "many.jsonl"
    lines = [
        {"text": chr(33 + n) * 9 + "!?"[again], "meta": {"pile_set_name": f"{n:02}"}}
        for n in range(60)
        for again in range(2)
    ]
    corpus.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(ScoreError, match="no quantized model of .* loses at most 1e-12 bits"):
        within_budget(folder, tmp_path / "b", 1e-12, corpus, measuring=FEW)
    assert list(tmp_path.iterdir()) == [corpus]


def test_bisection_and_parsing() -> None:
    for fewest in range(9):
        assert _fewest(lambda n, k=fewest: 0.0 if n >= k else 1.0, 8, 0.5) == fewest
    assert parse_budget("max-domain-dbpb=0.01") == 0.01
    with pytest.raises(ValueError, match="--budget is max-domain-dbpb=0.01, got 'bits=1'"):
        parse_budget("bits=1")
    with pytest.raises(ValueError, match="must be bits per byte > 0, got 'x'"):
        parse_budget("max-domain-dbpb=x")
