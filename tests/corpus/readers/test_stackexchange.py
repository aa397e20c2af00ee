"""PILE-6: Stack Exchange."""

from __future__ import annotations

import bz2
import gzip
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from barrow import Document
from barrow.corpus.readers.reader import Item, Reject
from barrow.corpus.readers.stackexchange import StackExchange

DATE = "2014-01-21T20:26:05.383"


def row(**attributes: object) -> str:
    return f"  <row {' '.join(f'{k}={quoteattr(str(v))}' for k, v in attributes.items())} />\n"


def question(number: int, **more: object) -> str:
    given = {"Title": f"Title {number}", "Body": f"<p>Question {number}?</p>", "Score": 1}
    given |= {"CreationDate": DATE, "Tags": "<a><b-c>"}
    return row(Id=number, PostTypeId=1, **(given | more))


def answer(number: int, parent: object, score: object = 5, **more: object) -> str:
    given = {"Body": f"<p>Answer {number}.</p>", "CreationDate": DATE}
    return row(Id=number, PostTypeId=2, ParentId=parent, Score=score, **(given | more))


def posts(*rows: str) -> bytes:
    text = '\ufeff<?xml version="1.0" encoding="utf-8"?>\n<posts>\n' + "".join(rows) + "</posts>"
    return text.encode()


@pytest.fixture
def read_posts(tmp_path: Path) -> Callable[..., list[Item]]:
    def read_posts(data: bytes, *, folder: str = "data", **options: int) -> list[Item]:
        path = tmp_path / folder / "Posts.xml"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        return list(StackExchange(**options).read(path))

    return read_posts


ReadPosts = Callable[..., list[Item]]


def reasons(items: list[Item]) -> dict[str, str]:
    return {item.member: item.reason for item in items if isinstance(item, Reject)}


def documents(items: list[Item]) -> list[Document]:
    return [item for item in items if isinstance(item, Document)]


def test_a_question_and_its_best_answers(read_posts: ReadPosts) -> None:
    """PILE-6: text and meta exactly; the accepted answer first, then by score, then by number."""
    data = posts(
        answer(2, 1, 3),
        question(1, AcceptedAnswerId=6, Score=18, OwnerDisplayName="Ann"),
        answer(3, 1, 2),
        answer(4, 1, 9),
        answer(5, 1, 3),
        answer(6, 1, -1, Body="<pre><code>if x:\n    y\n</code></pre>"),
    )
    items = read_posts(data, folder="beer")
    assert documents(items) == [
        Document(
            "Q:\n\nTitle 1\n\nQuestion 1?\n\nA:\n\nif x:\n    y\n\nA:\n\nAnswer 4."
            "\n\nA:\n\nAnswer 2.",
            {
                "title": "Title 1",
                "url": "https://beer.stackexchange.com/q/1",
                "date": DATE,
                "by": "Ann",
                "licence": "CC-BY-SA-3.0",
                "member": "1",
                "tags": ["a", "b-c"],
                "score": 18,
                "answers": [6, 4, 2],
            },
        )
    ]
    assert reasons(items) == {"3": "low-score", "5": "surplus-answer"}


def test_what_is_dropped_says_why(read_posts: ReadPosts) -> None:
    data = posts(
        question(1),
        question(2),
        answer(3, 2, 2),
        answer(4, 99),
        row(Id=5, PostTypeId=5, Body="a wiki"),
        question(6, AcceptedAnswerId=7),
        answer(7, 6, Body="<p> </p>"),
        question(8, Body=""),
        answer(9, 8),
        question(8),
        answer(9, 8),
        row(Id="x", PostTypeId=1),
        row(Id=10, PostTypeId=2, Body="no parent"),
        row(PostTypeId="", Body="nothing"),
        row(Id="9" * 30, PostTypeId=1),
        answer(-5, 8),
    )
    items = read_posts(data)
    assert [d.text for d in documents(items)] == ["Q:\n\nTitle 8\n\nA:\n\nAnswer 9."]
    rejects = [item for item in items if isinstance(item, Reject)]
    assert sorted((reject.member, reject.reason) for reject in rejects) == [
        *(("", "bad-row"),) * 4,
        ("1", "no-good-answer"),
        ("10", "bad-row"),
        ("2", "no-good-answer"),
        ("3", "low-score"),
        ("4", "answer-without-question"),
        ("5", "other-post-type"),
        ("6", "no-good-answer"),
        ("7", "empty-body"),
        ("8", "duplicate-id"),
        ("9", "duplicate-id"),
    ]
    assert all(reject.cause for reject in rejects)
    assert next(r for r in rejects if r.member == "5").excerpt == "a wiki"


def test_documents_come_in_the_order_of_their_numbers(read_posts: ReadPosts) -> None:
    rows = [text for n in (30, 4, 200) for text in (answer(n + 1, n), question(n))]
    found = documents(read_posts(posts(*rows)))
    assert [document.meta["member"] for document in found] == ["4", "30", "200"]


def test_an_answer_may_be_older_than_its_question(read_posts: ReadPosts) -> None:
    """As happens where questions were merged."""
    (document,) = read_posts(posts(answer(3, 7), question(7)))
    assert isinstance(document, Document)


def test_thresholds_are_options(read_posts: ReadPosts) -> None:
    data = posts(question(1), answer(2, 1, 1), answer(3, 1, 2), answer(4, 1, 0))
    (document,) = documents(read_posts(data, min_score=1, max_answers=1))
    assert document.meta["answers"] == [3]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [("<a><c#>", ["a", "c#"]), ("|a|c++|", ["a", "c++"]), ("", []), ("a", ["a"])],
)
def test_tags_in_either_form(read_posts: ReadPosts, tags: str, expected: list[str]) -> None:
    (document,) = documents(read_posts(posts(question(1, Tags=tags), answer(2, 1))))
    assert document.meta["tags"] == expected


@pytest.mark.parametrize(
    ("asked", "answered", "expected"),
    [
        ({"CreationDate": "2011-04-07T23:59:59.999"}, {}, "CC-BY-SA-2.5 AND CC-BY-SA-3.0"),
        ({"CreationDate": "2011-04-08T00:00:00.000"}, {}, "CC-BY-SA-3.0"),
        ({"CreationDate": "2018-05-01T23:59:59.999"}, {}, "CC-BY-SA-3.0"),
        ({"CreationDate": "2018-05-02T00:00:00.000"}, {}, "CC-BY-SA-3.0 AND CC-BY-SA-4.0"),
        ({"ContentLicense": "CC BY-SA 4.0"}, {"ContentLicense": "CC BY-SA 4.0"}, "CC-BY-SA-4.0"),
        ({"CreationDate": "no date"}, {}, None),
    ],
)
def test_the_licence_is_the_rows_or_that_of_the_day(
    read_posts: ReadPosts, asked: dict[str, str], answered: dict[str, str], expected: str | None
) -> None:
    data = posts(question(1, **asked), answer(2, 1, **answered))
    (document,) = documents(read_posts(data))
    assert document.meta.get("licence") == expected


@pytest.mark.parametrize(
    ("folder", "site"),
    [
        ("coffee", "https://coffee.stackexchange.com"),
        ("beer.stackexchange.com", "https://beer.stackexchange.com"),
        ("beer.meta.stackexchange.com", "https://beer.meta.stackexchange.com"),
        ("stackoverflow.com-Posts", "https://stackoverflow.com"),
        ("mathoverflow", "https://mathoverflow.net"),
        ("pt.stackoverflow.com", "https://pt.stackoverflow.com"),
        ("meta.superuser.com", "https://meta.superuser.com"),
        ("raw", None),
        ("evil.com", None),
        ("stackexchange.com.evil.org", None),
    ],
)
def test_the_folder_tells_the_site(read_posts: ReadPosts, folder: str, site: str | None) -> None:
    (document,) = documents(read_posts(posts(question(7), answer(8, 7)), folder=folder))
    assert document.meta.get("url") == (f"{site}/q/7" if site else None)


@pytest.mark.parametrize(
    ("ending", "pack"),
    [
        ("", bytes),
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".zst", zstandard.ZstdCompressor().compress),
    ],
)
def test_compressed_files(tmp_path: Path, ending: str, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / f"Posts.xml{ending}"
    path.write_bytes(pack(posts(question(1), answer(2, 1))))
    assert len(documents(list(StackExchange().read(path)))) == 1
    assert any(path.match(pattern) for pattern in StackExchange.patterns)


def test_what_precedes_an_error_is_kept(read_posts: ReadPosts) -> None:
    whole = posts(question(1), answer(2, 1), question(3), answer(4, 3))
    cut = whole[: whole.index(b'Id="4"')]
    items = read_posts(cut)
    assert [document.meta["member"] for document in documents(items)] == ["1"]
    assert reasons(items) == {"after row 3": "bad-xml", "3": "no-good-answer"}
    items = read_posts(whole.replace(b'<row Id="3"', b"<row Id=3"))
    assert len(documents(items)) == 1
    assert "bad-xml" in reasons(items).values()
    items = read_posts(gzip.compress(whole)[:-20])
    assert "truncated" in reasons(items).values()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"not XML", "bad-xml"),
        (b"<html></html>", "no-rows"),
        (b"<a>" * 100_000, "bad-xml"),
        (b'<?xml version="1.0" encoding="no-such"?><posts/>', "bad-xml"),
        (b'<!DOCTYPE a [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><posts>&c;</posts>', "bad-xml"),
        ("<posts><row Id='1' Body='é'/></posts>".encode("latin-1"), "bad-xml"),
    ],
)
def test_bad_files(read_posts: ReadPosts, data: bytes, reason: str) -> None:
    (item,) = read_posts(data)
    assert isinstance(item, Reject)
    assert item.reason == reason
    assert item.cause


def test_what_is_no_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        (item,) = StackExchange().read(path)
        assert isinstance(item, Reject)
        assert item.reason == "unreadable"


def test_a_body_nested_deep_is_read(read_posts: ReadPosts) -> None:
    data = posts(question(1, Body="<div>" * 100_000 + "x"), answer(2, 1))
    (document,) = documents(read_posts(data))
    assert document.text == "Q:\n\nTitle 1\n\nx\n\nA:\n\nAnswer 2."


VALID = posts(question(1, AcceptedAnswerId=2), answer(2, 1), question(3), answer(4, 3))


def check_any(items: list[Item]) -> None:
    for item in items:
        assert isinstance(item, Document | Reject)
        if isinstance(item, Document):
            item.text.encode()


@given(st.binary(max_size=300))
def test_any_bytes(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "Posts.xml"
    for content in (data, b"<posts>" + data):
        path.write_bytes(content)
        check_any(list(StackExchange().read(path)))


@given(st.integers(0, len(VALID) - 1), st.integers(0, 40), st.binary(max_size=8))
def test_damaged_files(tmp_path: Path, at: int, num_lost: int, put: bytes) -> None:
    path = tmp_path / "Posts.xml"
    path.write_bytes(VALID[:at] + put + VALID[at + num_lost :])
    items = list(StackExchange().read(path))
    check_any(items)
    assert items == list(StackExchange().read(path))


def test_every_post_is_in_a_document_or_rejected(read_posts: ReadPosts) -> None:
    """PILE-6: nothing is lost silently."""
    rows = [question(n) if n % 3 == 1 else answer(n, n - n % 2 - 1, n % 7) for n in range(1, 400)]
    items = read_posts(posts(*rows))
    seen = Counter(item.member for item in items if isinstance(item, Reject))
    for document in documents(items):
        seen.update([document.meta["member"], *map(str, document.meta["answers"])])
    assert seen == Counter(str(n) for n in range(1, 400))


PEAK = """
import functools, re, sys
from pathlib import Path
from barrow.corpus.readers import stackexchange as module
module.temporary_database = functools.partial(module.temporary_database, cache_bytes=1 << 20)
num = sum(1 for _ in module.StackExchange().read(Path(sys.argv[1])))
peak = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]
print(num, int(peak) << 10)
"""


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """PILE-4: a file of three times the size takes no more memory."""
    path = tmp_path / "Posts.xml"
    body = "<p>" + "some words of a post " * 300 + "</p>"
    peaks = []
    for num in (600, 1_800):
        with path.open("w") as file:
            file.write("<posts>")
            for number in range(1, num, 2):
                file.write(question(number, Body=body))
                file.write(answer(number + 1, num - number, Body=body))
            file.write("</posts>")
        run = subprocess.run(
            [sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True
        )
        found, peak = map(int, run.stdout.split())
        assert found == num // 2
        peaks.append(peak)
    assert path.stat().st_size > 10e6
    assert peaks[1] - peaks[0] < 3e6
