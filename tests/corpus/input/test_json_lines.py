from __future__ import annotations

import gzip
from pathlib import Path

from barrow.corpus.input.json_lines import json_lines
from barrow.corpus.readers.reader import Reject


def test_lines_and_what_is_wrong_with_them(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a":1}\n\n[1]\n{"b":\n{"c":"' + b"x" * 50 + b'"}\n{"d":2}'))
    found = [
        (line.reason, line.member) if isinstance(line, Reject) else line
        for line in json_lines(path, max_line=40)
    ]
    assert found == [
        (1, {"a": 1}),
        ("bad-json", "line 3"),
        ("bad-json", "line 4"),
        ("too-long", "line 5"),
        (6, {"d": 2}),
    ]


def test_deep_and_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a":' * 100_000)
    (reject,) = json_lines(path)
    assert isinstance(reject, Reject)
    assert reject.reason == "bad-json"
    (missing,) = json_lines(tmp_path / "none")
    assert isinstance(missing, Reject)
    assert missing.reason == "unreadable"
