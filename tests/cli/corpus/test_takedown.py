from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barrow.files import locked


@pytest.fixture
def corpus(made: Any, tmp_path: Path) -> Path:
    folder: Path = made.make_corpus(tmp_path)
    return folder


def test_look_then_take_down(barrow: Callable, made: Any, corpus: Path) -> None:
    before = made.digests(corpus)
    code, out, _ = barrow("corpus", "takedown", corpus, "--url", "example.org/a", "--dry-run")
    assert code == 0
    assert "15 documents and 0 rejects" in out
    assert made.digests(corpus) == before
    code, out, err = barrow(
        *(
            "corpus",
            "takedown",
            corpus,
            "--url",
            "example.org/a",
            "--yes",
            "--reason",
            "court order",
        ),
        *("--by", "A. Lawyer", "--date", "2024-05-06"),
    )
    assert (code, err) == (0, "")
    assert "version 2" in out
    record = json.loads((corpus / "takedowns.jsonl").read_text())
    assert (record["date"], record["by"], record["reason"]) == (
        *("2024-05-06", "A. Lawyer", "court order"),
    )
    code, out, _ = barrow("verify", corpus, "--deep")
    assert (code, out[:4]) == (0, "ok: ")
    assert "36 documents" in out, "35 documents and a reject"
    code, _, err = barrow("corpus", "takedown", corpus, "--url", "example.org/a", "--yes")
    assert code == 1
    assert "nothing was changed" in err


def test_match_a_file(barrow: Callable, made: Any, corpus: Path, tmp_path: Path) -> None:
    texts = tmp_path / "theirs.txt"
    texts.write_text(made.sentence("note 8").upper().replace(" ", ",\n"))
    assert barrow("corpus", "takedown", corpus, "--match", texts, "--yes").code == 0
    assert made.titled(corpus, "note 8") == []
    texts.write_text("")
    code, _, err = barrow("corpus", "takedown", corpus, "--match", texts, "--yes")
    assert (code, "the file is empty" in err) == (1, True)


def test_ids(barrow: Callable, made: Any, corpus: Path) -> None:
    name = made.titled(corpus, "note 8")[0].meta["id"]
    before = made.digests(corpus)
    unknown = "0123456789abcdef-01234567"
    code, _, err = barrow("corpus", "takedown", corpus, "--doc", name, "--doc", unknown, "--yes")
    assert code == 1
    assert f"no document {unknown}" in err
    assert barrow("corpus", "takedown", corpus, "--doc", "8", "--yes").code == 1
    assert made.digests(corpus) == before
    assert barrow("corpus", "takedown", corpus, "--doc", name, "--yes").code == 0
    code, _, err = barrow("corpus", "takedown", corpus, "--doc", name, "--yes")
    assert (code, "taken down already" in err) == (1, True)


def test_everything_is_asked_for(barrow: Callable, made: Any, corpus: Path) -> None:
    both = ("--domain", "Letters", "--domain", "Notes", "--yes")
    code, _, err = barrow("corpus", "takedown", corpus, *both)
    assert (code, "--everything" in err) == (2, True)
    assert barrow("corpus", "takedown", corpus, *both, "--everything").code == 0
    code, out, _ = barrow("verify", corpus)
    assert code == 0
    assert "0 documents" in out


def test_it_asks(
    barrow: Callable, made: Any, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    before = made.digests(corpus)
    for answer, code, changes in (("n\n", 130, False), ("y\n", 0, True)):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        assert barrow("corpus", "takedown", corpus, "--domain", "Notes").code == code
        assert (made.digests(corpus) != before) is changes


def test_wrong_usage(barrow: Callable, corpus: Path, tmp_path: Path) -> None:
    assert barrow("corpus", "takedown", corpus).code == 2
    assert barrow("corpus", "takedown", corpus, "--domain", "Notes", "--date", "today").code == 2
    assert barrow("corpus", "takedown", tmp_path, "--domain", "Notes").code == 1
    with locked(corpus, is_shared=True):
        code, _, err = barrow("corpus", "takedown", corpus, "--domain", "Notes", "--yes")
    assert (code, "another process is writing" in err) == (1, True)
