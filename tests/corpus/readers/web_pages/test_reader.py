"""PILE-8: stored pages, the scores of their links, block lists; nothing raises."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import barrow
from barrow import Document
from barrow.corpus import Domain, Recipe, WebPages, build
from barrow.corpus.readers.reader import Item, Reject
from barrow.engine import Engine

SENTENCE = "The mound on the hill was built long before the village, as everybody there will tell. "


def page(url: str = "https://example.org/mound", text: str = SENTENCE * 3) -> str:
    return (
        f'<html lang="en-GB"><head><title>Mound</title><link rel="canonical" href="{url}"></head>'
        f"<body><nav><a href='/'>Home</a></nav><h1>Mound</h1><p>{text}</p>"
        "<footer>All rights reserved</footer></body></html>"
    )


def jsonl(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def listed_items(reader: WebPages, listed: Path, path: Path) -> list[Item]:
    with reader.open_beside([listed]) as read:
        return list(read(path))


def reasons(items: list[Any]) -> list[str]:
    return [item.reason for item in items if isinstance(item, Reject)]


def test_a_page_without_a_list_has_no_score(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text(page())
    assert list(WebPages().read(path)) == [
        Document(
            (SENTENCE * 3).strip(),
            {"title": "Mound", "url": "https://example.org/mound", "language": "en"},
        )
    ]


@pytest.mark.parametrize("suffix", [".html.gz", ".htm.zst"])
def test_packed_pages(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    pack = gzip.compress if suffix.endswith("gz") else zstandard.compress
    path.write_bytes(pack(page().encode()))
    (item,) = WebPages().read(path)
    assert item.text == (SENTENCE * 3).strip()


def test_what_precedes_damage_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.html.gz"
    text = "".join(f"{k * 7919 % 10007} {SENTENCE}" for k in range(3000))
    path.write_bytes(gzip.compress(page(text=text).encode())[:-1000])
    reject, item = WebPages().read(path)
    assert reject.reason == "truncated"
    assert item.text.startswith(f"0 {SENTENCE}")


def test_scores_of_all_submissions_add_up(tmp_path: Path) -> None:
    """Addresses are the same with www, a slash at the end, http, and tracking."""
    listed = jsonl(
        tmp_path / "RS_2019-01.jsonl",
        [
            {"url": "http://www.example.org/mound/?utm_source=x", "score": 2},
            {"url": "https://example.org/mound#top", "score": 1, "subreddit": "hills"},
            {"url": "https://example.org/mound", "score": 50, "is_self": True},
        ],
    )
    path = tmp_path / "a.html"
    path.write_text(page())
    (item,) = listed_items(WebPages(), listed, path)
    assert (item.meta["score"], item.meta["num_submissions"]) == (3, 2)
    (reject,) = listed_items(WebPages(min_score=4), listed, path)
    assert (reject.reason, reject.cause) == ("low-score", "scores add up to 3, less than 4")


def test_pages_that_the_list_refuses(tmp_path: Path) -> None:
    listed = jsonl(
        tmp_path / "urls.jsonl",
        [
            {"url": "https://example.org/adult", "score": 9, "over_18": True},
            {"url": "https://example.org/adult", "score": 9},
        ],
    )
    path = tmp_path / "a.html"
    path.write_text(page())
    assert reasons(listed_items(WebPages(), listed, path)) == ["not-listed"]
    path.write_text(page("no address"))
    assert reasons(listed_items(WebPages(), listed, path)) == ["no-url"]
    path.write_text(page("https://example.org/adult"))
    assert reasons(listed_items(WebPages(), listed, path)) == ["over-18"]
    assert reasons(listed_items(WebPages(over_18=True), listed, path)) == []


def test_an_index_says_which_file_is_which_page(tmp_path: Path) -> None:
    (tmp_path / "html").mkdir()
    path = tmp_path / "html" / "1.html"
    path.write_text(page())
    index = jsonl(tmp_path / "index.jsonl", [{"file": "html/1.html", "url": "https://a.org/x"}])
    (item,) = listed_items(WebPages(), index, path)
    assert item.meta["url"] == "https://a.org/x"
    assert "score" not in item.meta


def test_another_extractor(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text(page())
    (item,) = WebPages(extract=lambda html, url: f"{url} " * 20).read(path)
    assert item.text == f"{item.meta['url']} " * 20


def test_block_lists(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text(page("https://m.youtube.com/watch"))
    assert reasons(list(WebPages().read(path))) == ["blocked-host"]
    assert reasons(list(WebPages(blocked_hosts=("example.org",)).read(path))) == []
    path.write_text(page("https://example.org/a.PDF?x=1"))
    assert reasons(list(WebPages().read(path))) == ["blocked-extension"]
    assert reasons(list(WebPages(blocked_extensions=()).read(path))) == []
    path.write_text(page("https://example.org/a.cgi"))
    assert reasons(list(WebPages(more_blocked_extensions=("cgi",)).read(path))) == [
        "blocked-extension"
    ]
    assert reasons(list(WebPages(more_blocked_hosts=("example.org",)).read(path))) == [
        "blocked-host"
    ]


def test_lines_of_pages(tmp_path: Path) -> None:
    path = jsonl(
        tmp_path / "pages.jsonl",
        [
            {"url": "https://example.org/1", "html": page()},
            {"url": "https://example.org/2", "text": f"{SENTENCE}\r\n\n\n{SENTENCE}", "title": "T"},
            {"url": "https://example.org/3"},
            {"url": "https://example.org/4", "text": "short"},
            [],
        ],
    )
    with path.open("a") as file:
        file.write("{broken\n")
    first, second, *rest = WebPages().read(path)
    assert first.text == (SENTENCE * 3).strip()
    assert (first.meta["url"], first.meta["member"]) == ("https://example.org/1", "line 1")
    assert second.text == f"{SENTENCE.strip()}\n\n{SENTENCE.strip()}"
    assert second.meta == {"member": "line 2", "title": "T", "url": "https://example.org/2"}
    assert reasons(rest) == ["bad-record", "too-short", "bad-json", "bad-json"]


def test_a_list_tells_only_its_bad_lines(tmp_path: Path) -> None:
    path = tmp_path / "urls.jsonl"
    path.write_text(
        '{"url": "https://a.org/", "score": 3}\n{"url": 3}\nnonsense\n{"is_self":true}\n'
    )
    assert reasons(list(WebPages().read(path))) == ["bad-record", "bad-json"]


def test_bad_files(tmp_path: Path) -> None:
    def outcome(name: str, data: bytes | None, **options: Any) -> list[str]:
        path = tmp_path / name
        if data is not None:
            path.write_bytes(data)
        return reasons(list(WebPages(**options).read(path)))

    assert outcome("missing.html", None) == ["unreadable"]
    assert outcome("empty.html", b"") == ["empty"]
    assert outcome("zeros.html", b"\0" * 500) == ["not-text"]
    assert outcome("long.html", page().encode(), max_bytes=50) == ["too-large"]
    assert outcome("short.html", b"<p>Hello</p>") == ["too-short"]
    assert outcome("bomb.html.gz", gzip.compress(b"<p>" * (1 << 22)), max_bytes=1 << 20) == [
        "too-large"
    ]
    (tmp_path / "folder.html").mkdir()
    assert len(outcome("folder.html", None)) == 1


def test_a_changed_list_reads_the_pages_again(tmp_path: Path) -> None:
    root, out = tmp_path / "raw", tmp_path / "out"
    (root / "web").mkdir(parents=True)
    (root / "web" / "a.html").write_text(page())
    (root / "web" / "b.html").write_text(page("https://example.org/b"))
    recipe = Recipe(name="r", domains={"web": Domain(name="Web", reader=WebPages())})
    engine = Engine(num_workers=0)

    def told() -> tuple[int, int, dict[str, int]]:
        domain = build(recipe, root=root, out=out, engine=engine)["reading"]["web"]
        return domain["files"], domain["documents"], domain["rejects"]

    assert told() == (2, 2, {})
    links = [{"url": "https://example.org/mound", "score": 5}]
    jsonl(root / "web" / "RS_2019", links)
    assert told() == (3, 1, {"not-listed": 1})
    (document,) = barrow.archive.open(out)
    assert document.meta["score"] == 5
    assert document.meta["source"] == "web/a.html"
    assert "sources" not in document.meta
    jsonl(root / "web" / "RS_2019", [*links, {"url": "https://example.org/b", "score": 1}])
    assert told() == (3, 1, {"low-score": 1})


@settings(max_examples=40)
@given(st.binary(max_size=400), st.sampled_from(["a.html", "a.html.gz", "a.jsonl", "urls.jsonl"]))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes, name: str) -> None:
    path = tmp_path_factory.mktemp("any") / name
    path.write_bytes(data)
    for item in WebPages(min_characters=0).read(path):
        assert isinstance(item, Document | Reject)
        if isinstance(item, Document):
            item.text.encode()


@settings(max_examples=60)
@given(st.data())
def test_changed_pages(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    body = bytearray(page().encode())
    for _ in range(data.draw(st.integers(1, 5))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("changed") / "a.html"
    path.write_bytes(bytes(body))
    items = list(WebPages(min_characters=0).read(path))
    assert items == list(WebPages(min_characters=0).read(path))
    for item in items:
        assert isinstance(item, Document | Reject)
