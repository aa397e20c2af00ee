from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from barrow import Document
from barrow.corpus.readers.markdown import Markdown
from barrow.corpus.readers.reader import Reject

PAGE = """---
title: "A page"
date: 2024-05-06
lang: de
license: CC-BY-4.0
tags: [a, b]
---

# Heading

Text with `code`.

    indented()
"""


def only(tmp_path: Path, text: str) -> Document:
    path = tmp_path / "x.md"
    path.write_text(text)
    (document,) = Markdown().read(path)
    assert isinstance(document, Document)
    return document


def test_front_matter_goes_into_meta(tmp_path: Path) -> None:
    document = only(tmp_path, PAGE)
    assert document.text == "# Heading\n\nText with `code`.\n\n    indented()"
    assert document.meta == {
        "title": "A page",
        "date": "2024-05-06",
        "language": "de",
        "licence": "CC-BY-4.0",
        "tags": "[a, b]",
    }


def test_titles(tmp_path: Path) -> None:
    assert only(tmp_path, "intro\n\n## The title ##\n").meta == {"title": "The title"}
    assert only(tmp_path, "The title\n=========\n\ntext\n").meta == {"title": "The title"}
    assert only(tmp_path, "no heading here\n").meta == {}


def test_a_rule_is_no_front_matter(tmp_path: Path) -> None:
    text = "---\nnot closed: ever\n\nfurther text"
    assert only(tmp_path, text).text == text


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_any_text(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.md"
    path.write_bytes(b"---\n" + text.encode())
    for item in Markdown().read(path):
        assert isinstance(item, Document | Reject)
