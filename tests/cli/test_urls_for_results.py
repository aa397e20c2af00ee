"""Nothing writes to a URL: every verb says so before it works, and makes no folder `s3:`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

URL = "s3://bucket/x"


@pytest.mark.parametrize(
    "arguments",
    [
        ["demo", "--out", URL],
        ["corpus", "classifier", "train", "a.jsonl", "a.jsonl", "--out", URL],
        ["build", "pile", "--root", "raw", "--out", URL],
        ["tokenize", "corpus", "--tokenizer", "bytes", "--out", URL],
        ["corpus", "pack", "a.jsonl", "--out", URL],
        ["corpus", "unigrams", "a.jsonl", "--out", URL],
        ["score", "unigram", "a.jsonl", "--train", "a.jsonl", "--out", URL],
        ["train", "gpt2.tiny", "--store", "store", "--out", URL],
        ["finetune", "--task", "tag", "--train", "a.jsonl", "--model", "m", "--out", URL],
        ["tokens", "pairs", "index", "images", "--out", URL],
        ["tokens", "train", "a.jsonl", "--vocab", 300, "--out", URL],
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_a_url_is_refused(
    arguments: list[Any], barrow: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("raw", "images"):
        (tmp_path / folder).mkdir()
    (tmp_path / "images" / "a.png").write_bytes(b"")
    (tmp_path / "a.jsonl").write_text('{"text": "some words of text"}\n' * 50)
    code, _, err = barrow(*arguments)
    assert (code, "is a URL, but results are only written to local disks" in err) == (1, True), err
    assert not list(tmp_path.glob("s3*"))
