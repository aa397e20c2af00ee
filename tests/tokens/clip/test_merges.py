from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from barrow.errors import NotFound, TokenizerError
from barrow.tokens.clip.merges import FILE_NAME, NUM_MERGES, find_merges, read_merges

MERGES = (("a", "b"), ("ab", "c</w>"))
LINES = "#version: 0.2\na b\nab c</w>\n"


def test_every_kind_of_file(tmp_path: Path) -> None:
    (tmp_path / "v.txt.gz").write_bytes(gzip.compress(LINES.encode()))
    (tmp_path / "v.txt").write_text(LINES)
    (tmp_path / "bare.txt").write_text(LINES.split("\n", 1)[1])
    model = {"end_of_word_suffix": "</w>", "merges": ["a b", ["ab", "c</w>"]]}
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": model}))
    for name in ("v.txt.gz", "v.txt", "bare.txt", "tokenizer.json", "."):
        assert read_merges(tmp_path / name) == MERGES
    (tmp_path / "merges.txt").write_text(LINES.replace("ab c</w>\n", ""))
    assert read_merges(tmp_path) == MERGES[:1]


def test_of_the_published_file_the_first_are_used() -> None:
    """CLIP-3: 48,894 of 262,144."""
    assert len(read_merges(find_merges([]))) == NUM_MERGES


def test_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_merges([tmp_path]).parent.name == "open_clip"
    (tmp_path / FILE_NAME).write_text(LINES)
    assert find_merges([tmp_path / "none", tmp_path]) == tmp_path / FILE_NAME
    monkeypatch.setattr("barrow.tokens.clip.merges._PACKAGES", ("nosuchpackage",))
    with pytest.raises(NotFound, match=r"not in /x nor in installed packages; .* with --tokenizer"):
        find_merges([Path("/x")])


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("v.txt", b"#version\na b c\n", "merge 1 must be two tokens, got 'a b c'"),
        ("v.txt", b"#version\nxy b\n", "merge 1 joins 'xy', which is neither a byte"),
        ("v.txt", b"#version\na b\na b\n", "duplicate merge"),
        ("v.txt", b"\xff\xfe", "is not a CLIP vocabulary"),
        ("v.txt.gz", gzip.compress(LINES.encode())[:-9], "is not a CLIP vocabulary"),
        ("tokenizer.json", b"{}", "is not a tokenizer.json with merges"),
        ("tokenizer.json", b'{"model": {"merges": []}}', "words of CLIP's vocabulary to end with"),
    ],
)
def test_what_is_no_vocabulary(tmp_path: Path, name: str, data: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(TokenizerError, match=words):
        read_merges(tmp_path / name)


def test_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barrow.tokens.clip.merges._MAX_BYTES", 1000)
    (tmp_path / "v.gz").write_bytes(gzip.compress(b"a b\n" * 1000))
    with pytest.raises(TokenizerError, match="inflates to more than 1,000 bytes"):
        read_merges(tmp_path / "v.gz")


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"v\.gz does not exist; CLIP's vocabulary is"):
        read_merges(tmp_path / "v.gz")
    with pytest.raises(NotFound, match=r"has none of merges\.txt"):
        read_merges(tmp_path)
