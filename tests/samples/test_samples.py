"""What goes into a sample comes out of its reader: the readers know nothing of the samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.samples.pieces import Article, Piece, spoken
from tests.samples.table import SAMPLES, Sample

from barrow import Document, corpus
from barrow.corpus import (
    DmMathematics,
    GitHub,
    Html,
    Latex,
    Markdown,
    PlainText,
    Reader,
    StackExchange,
    Warc,
    Wikipedia,
)
from barrow.corpus.readers.reader import Item

NUM = 105  # a second file of every sample, so that every form of each is made
CODE = 'def heap(stones):\n    if stones < 2 & 1:\n        return "<none>"\n    return stones'
# Signs that mean something in one format or another.
TRICKY = (
    "From the top & the bottom, a mound_of stones < 10 feet high; it isn't 100% safe #1 -- really.",
    "It's [[not]] a link, 'quoted' words = ''no italics'', and *no* list (e.g. none, cf. above).",
    'The second~one cost 5^2 "coins" -> that is what they said: <nobody> knows; see a/b and c|d.',
)
# What the readers leave out on purpose, by sample.
REJECTS = {
    "crawl": {"http-error": 5},
    "shared_pages": {"low-score": 5},
    "grants": {"empty": 2},
    "questions": {"low-score": NUM},
    "forum": {"deleted": NUM},
    "wiki": {"redirect": 10},
    "books": {"boilerplate": NUM},
    "records": {"no-text": 2},
}


def articles() -> list[Article]:
    """Articles of three pieces each; every paragraph is unlike all others."""
    found = []
    for number in range(NUM):
        said = [
            f"Barrow {number} of part {part} was raised by people of valley {9 * number + part}. "
            f"Nobody has counted all of its {1000 * number + part} stones, which lie in rows. "
            f"On the side of the hill it is {7 * number + part} feet high and covered with grass."
            for part in range(6)
        ]
        tricky = f"Number {number}: {TRICKY[number % 3]}"
        first = Piece("hills.long_barrow", (said[0], tricky), CODE if number % 2 else "")
        others = Piece("hills.RoundBarrow", tuple(said[1:5])), Piece("hills", (said[5],))
        found.append(Article((first, *others)))
    return found


def read(sample: Sample, root: Path) -> Iterator[Item]:
    """All items of a folder, as a build reads them."""
    reader = sample.reader
    paths = sorted({path for pattern in reader.patterns for path in root.glob(pattern)})
    beside = sorted({path for pattern in reader.beside for path in root.glob(pattern)})
    with reader.open_beside(beside) as read_one:
        for group in reader.group(paths):
            yield from reader.read_group(group) if len(group) > 1 else read_one(group[0])


def squeezed(text: str) -> str:
    """Without white space and the marks of quoted lines."""
    return "".join(text.replace(">", " ").split())


def made(sample: Sample, root: Path) -> None:
    for name, data in sample.files(iter(articles())):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        assert not path.exists(), f"{name} is made twice"
        path.write_bytes(data)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.folder)
def test_the_reader_gives_the_text_back(sample: Sample, tmp_path: Path) -> None:
    """PILE-6: one document for each article, with all that it says, in order; nothing lost."""
    made(sample, tmp_path)
    items = list(read(sample, tmp_path))
    documents = [item for item in items if isinstance(item, Document)]
    rejects = Counter(item.reason for item in items if not isinstance(item, Document))
    assert rejects == REJECTS.get(sample.folder, {})
    texts = [squeezed(document.text) for document in documents]
    assert len(texts) == len(articles())
    for article in articles():
        said = [squeezed(sentence) for sentence in article.sentences]
        (text,) = [text for text in texts if said[0] in text]
        places = [text.find(sentence) for sentence in said]
        assert -1 not in places, f"lost: {article.sentences[places.index(-1)]}"
        assert places == sorted(places)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.folder)
def test_what_stands_around_the_text_goes(sample: Sample, tmp_path: Path) -> None:
    """PILE-6: none of the structure is left in the text."""
    made(sample, tmp_path)
    leftovers = (
        *("</", "/>", "&lt;", "&amp;", "&#", "WARC", "HTTP/", "Privacy", "Search", "Read next"),
        *("\\section", "\\begin", "\\input", "thanks nobody", "provided by applicant"),
        *("-->", "WEBVTT", "has joined", "Content-Type", "PROJECT GUTENBERG", "ISBN", "Infobox"),
        *("[[Category", "<ref", "In short", "put to use", "Have you looked", "Pocket Papers"),
        *("a licence would", "with colours", "too old to show", "Unpublished", "a demonstration."),
    )
    for item in read(sample, tmp_path):
        if isinstance(item, Document):
            said = item.text
            for tricky in TRICKY:
                said = said.replace(tricky, "")
            assert [mark for mark in leftovers if mark in said] == []


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.folder)
def test_the_same_articles_give_the_same_bytes(sample: Sample) -> None:
    assert list(sample.files(iter(articles()))) == list(sample.files(iter(articles())))


def test_code_goes_where_formats_have_a_place_for_it(tmp_path: Path) -> None:
    for sample in SAMPLES:
        if sample.reader in (Html(), Latex(), Markdown(), StackExchange(), Wikipedia(), Warc()):
            made(sample, tmp_path / sample.folder)
            items = read(sample, tmp_path / sample.folder)
            texts = [item.text for item in items if isinstance(item, Document)]
            assert sum(CODE in text for text in texts) == NUM // 2, sample.folder


@pytest.mark.parametrize("folder", ["tex_papers", "journal", "letters", "questions", "books"])
def test_titles_are_found(folder: str, tmp_path: Path) -> None:
    (sample,) = [sample for sample in SAMPLES if sample.folder == folder]
    made(sample, tmp_path)
    documents = [item for item in read(sample, tmp_path) if isinstance(item, Document)]
    assert all("Long barrow (hills)" in document.meta["title"] for document in documents)


def test_a_forum_has_threads(tmp_path: Path) -> None:
    (sample,) = [sample for sample in SAMPLES if sample.folder == "forum"]
    made(sample, tmp_path)
    for item in read(sample, tmp_path):
        if isinstance(item, Document):
            assert (item.text.count("\n~~~\n"), item.text.count("\n------\n")) == (4, 2)


def test_every_reader_has_a_sample() -> None:
    """A new reader needs a file here and a line in the table; three read files as they are."""
    used = {type(sample.reader) for sample in SAMPLES} | {DmMathematics, GitHub, PlainText}
    exported = [getattr(corpus, name) for name in corpus.__all__]
    classes = [made for made in exported if isinstance(made, type)]
    assert used == {made for made in classes if Reader in made.__mro__[1:]}


def test_headings() -> None:
    assert spoken("email.utils.parse_date") == "Parse date (email.utils)"
    assert spoken("hills.RoundBarrow") == "Round barrow (hills)"
    assert spoken("hills") == "Hills"
    assert spoken("a.__") == "About (a)"
