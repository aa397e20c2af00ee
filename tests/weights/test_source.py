from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.weights.source import OneFile, Repository, read_source


def test_what_can_be_asked_for() -> None:
    assert read_source("owner/model") == Repository("owner/model")
    assert read_source("owner/model@v1.0") == Repository("owner/model", "v1.0")
    assert read_source("gpt2") == Repository("openai-community/gpt2")
    url = "https://host/a/b/m%20x.gguf?download=true"
    assert read_source(url, sha256="A" * 64) == OneFile(url, "A" * 64)
    assert read_source(url) == OneFile(url)
    assert OneFile(url).file_name == "m_x.gguf"
    assert OneFile("https://host/").file_name == "file"
    assert OneFile("https://host/..").file_name == "file"


def test_a_name_brings_its_digest() -> None:
    source = read_source("clip-ViT-B-32")
    assert isinstance(source, OneFile)
    assert source.sha256 in source.url


def test_where_a_repository_lies() -> None:
    source = Repository("a/b", "refs/pr/1")
    assert (
        source.url("config.json", hub="https://h")
        == "https://h/a/b/resolve/refs%2Fpr%2F1/config.json"
    )
    assert Repository("a/b").folder == "a--b@main"
    assert Repository("a/b", "x/y").folder != Repository("a/b", "x_y").folder
    assert "/" not in source.folder


@pytest.mark.parametrize(
    ("what", "sha256", "words"),
    [
        ("gtp2", None, "got 'gtp2'; did you mean gpt2"),
        ("", None, "expected a known name, a URL or OWNER/MODEL, got ''"),
        ("../x", None, "expected a known name"),
        ("a/..", None, "expected a known name"),
        ("a/b@../c", None, "expected a known name"),
        ("ftp://host/x", None, "expected an http or https URL, got 'ftp://host/x'"),
        ("file:///etc/passwd", None, "expected an http or https URL"),
        ("http:///x", None, "expected an http or https URL"),
        ("https://h/x", "abc", "sha256 is 64 hexadecimal digits, not 'abc'"),
        ("a/b", "0" * 64, "sha256 is of one file, and a/b is a repository"),
    ],
)
def test_what_cannot(what: str, sha256: str | None, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_source(what, sha256=sha256)


@given(st.text(max_size=30))
def test_no_text_leads_out_of_the_cache(text: str) -> None:
    for what in (text, f"a/{text}", f"a/b@{text}", f"http://h/{text}"):
        try:
            source = read_source(what)
        except ValueError:
            continue
        names = [source.folder, source.file_name if isinstance(source, OneFile) else "x"]
        for name in names:
            assert name
            assert not set(name) & set("/\\\0")
            assert not name.startswith(".")
