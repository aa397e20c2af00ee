from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from barrow import Document
from barrow.cli.score.table import cautions, print_result
from barrow.score import Result, open_model, score


@pytest.fixture(scope="module")
def result() -> Result:
    documents = [Document("a b c", {"pile_set_name": "A"}), Document("é", {"pile_set_name": "B"})]
    found = score(open_model("xz"), documents)
    assert found is not None
    return found


def test_what_has_no_tokens_or_interval_is_a_dash(
    result: Result, capsys: pytest.CaptureFixture[str]
) -> None:
    print_result(result, None)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("xz: bits per byte, compressed (compressor")
    assert lines[2].split()[0] == "A"
    assert "–" in lines[2]
    assert lines[5].startswith("card ")


def test_cautions(result: Result) -> None:
    assert cautions(result) == []
    card = replace(result.card, likelihood="pseudo")
    settings: dict[str, Any] = {"projection": {"bytes": 1, "offsets": 2, "document": 3}}
    receipt = {"documents": 1, "ngram": 13, "train": "corpus", "share": 0.015}
    lines = cautions(replace(result, card=card, settings=settings, contamination=receipt))
    assert len(lines) == 3
    assert "not comparable with bits per byte of causal models" in lines[0]
    assert lines[1].startswith("5 documents are not what their tokens spell")
    assert "1 of 2 documents share 13 words in a row with corpus (1.50%" in lines[2]
    for share, shown in ((0.0, "(0.00% "), (9e-5, "(< 0.01% "), (1e-4, "(0.01% ")):
        (line,) = cautions(replace(result, contamination={**receipt, "share": share}))
        assert shown in line
