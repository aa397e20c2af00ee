"""PILE-9: HackerNews trees."""

from __future__ import annotations

import bz2
import gzip
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from barrow import Document
from barrow.corpus.readers.hackernews import HackerNews
from barrow.corpus.readers.reader import Item, Reject

ReadItems = Callable[..., list[Item]]


def story(number: int, **more: Any) -> dict[str, Any]:
    given = {"id": number, "type": "story", "by": "ann", "time": 1364829350, "title": "A title"}
    return given | more


def comment(number: int, parent: int, **more: Any) -> dict[str, Any]:
    given = {"id": number, "type": "comment", "by": f"user{number}", "parent": parent}
    return given | {"time": 1364829350, "text": f"Comment {number}."} | more


@pytest.fixture
def read_items(tmp_path: Path) -> ReadItems:
    def read_items(value: object, name: str = "items.json", **options: Any) -> list[Item]:
        path = tmp_path / name
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        path.write_bytes(data)
        return list(HackerNews(**options).read(path))

    return read_items


def documents(items: list[Item]) -> list[Document]:
    return [item for item in items if isinstance(item, Document)]


def texts(items: list[Item]) -> list[str]:
    return [document.text for document in documents(items)]


def reasons(items: list[Item]) -> dict[str, str]:
    return {item.member: item.reason for item in items if isinstance(item, Reject)}


# 1 ─┬─ 2 ─┬─ 4
#    │     └─ 5 ── 6
#    └─ 3
TREE = [
    story(1, url="https://e.org/x", text="Asked <i>here</i>.", score=7, kids=[3, 2]),
    comment(2, 1, kids=[4, 5], text="One.<p>Two: <a href='https://e.org/long'>https://e.o...</a>"),
    comment(3, 1),
    comment(4, 2),
    comment(5, 2, kids=[6]),
    comment(6, 5, text="<pre><code>  x = 1\n</code></pre>"),
]
TEXT = (
    "A title - ann\nhttps://e.org/x\n\nAsked here.\n======\n"
    "user3\nComment 3.\n\n------\n"
    "user2\nOne.\n\nTwo: https://e.org/long\n\n~~~\nuser5\nComment 5.\n\n~~~\nuser6\n  x = 1"
)
META = {
    "title": "A title",
    "url": "https://e.org/x",
    "date": "2013-04-01T15:15:50Z",
    "score": 7,
    "by": "ann",
    "member": "1",
    "num_comments": 4,
}


def test_a_story_and_the_replies_that_lead_furthest(read_items: ReadItems) -> None:
    """PILE-9: follow the child with most descendants; the site's order at the top."""
    items = read_items(TREE)
    assert documents(items) == [Document(TEXT, META)]
    assert reasons(items) == {"4": "not-followed"}


def test_all_replies_depth_first(read_items: ReadItems) -> None:
    items = read_items(TREE, all_replies=True)
    assert texts(items) == [TEXT + "\n\n~~~\nuser4\nComment 4."]
    assert not reasons(items)
    assert documents(items)[0].meta["num_comments"] == 5


def nested(number: int) -> dict[str, Any]:
    item = next(item for item in TREE if item["id"] == number)
    kids = [nested(kid["id"]) for kid in TREE if kid.get("parent") == number]
    return item | {"kids": kids[::-1] if number == 1 else kids}


def algolia(number: int) -> dict[str, Any]:
    item = next(item for item in TREE if item["id"] == number)
    kids = [algolia(kid["id"]) for kid in TREE if kid.get("parent") == number]
    return {
        "id": number,
        "created_at": "2013-04-01T15:15:50.000Z",
        "author": item["by"],
        "points": item.get("score"),
        "parent_id": item.get("parent"),
        "children": kids[::-1] if number == 1 else kids,
        **{key: item.get(key) for key in ("type", "title", "url", "text")},
    }


LINES = "\n".join(map(json.dumps, reversed(TREE))).encode()


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (TREE, "items.json"),
        ([nested(1)], "items.json"),
        (nested(1), "items.json"),
        (algolia(1), "items.json"),
        ({"items": TREE}, "items.json"),
        ({"comments": TREE}, "items.json"),
        (json.dumps(TREE, indent=2).encode(), "items.json"),
        (LINES, "items.json"),
        (LINES, "items.jsonl"),
        (b"\xef\xbb\xbf" + LINES + b"\n\n", "items.ndjson"),
        (gzip.compress(LINES), "items.jsonl.gz"),
        (bz2.compress(LINES), "items.jsonl.bz2"),
        (zstandard.ZstdCompressor().compress(json.dumps(TREE).encode()), "items.json.zst"),
    ],
)
def test_forms(read_items: ReadItems, value: object, name: str) -> None:
    """PILE-9: every accepted form gives the same document."""
    assert documents(read_items(value, name)) == [Document(TEXT, META)]
    assert any(Path(name).match(pattern.removeprefix("**/")) for pattern in HackerNews.patterns)


def test_what_was_removed_is_dropped_and_replies_move_up(read_items: ReadItems) -> None:
    items = read_items(
        [
            story(1),
            {"id": 2, "type": "comment", "parent": 1, "deleted": True},
            comment(3, 2),
            comment(4, 3, dead=True),
            comment(5, 4),
            comment(6, 1, text=" "),
        ]
    )
    assert texts(items) == ["A title - ann\n======\nuser3\nComment 3.\n\n~~~\nuser5\nComment 5."]
    assert reasons(items) == {"2": "deleted", "4": "dead", "6": "no-text"}


def test_a_removed_story_takes_its_comments_with_it(read_items: ReadItems) -> None:
    items = read_items([story(1, dead=True), comment(2, 1), comment(3, 2)])
    assert not documents(items)
    assert reasons(items) == {"1": "dead", "2": "removed-story", "3": "removed-story"}


def test_a_comment_without_its_parent_begins_a_document(read_items: ReadItems) -> None:
    items = read_items({"comments": [comment(12, 9), comment(11, 9), comment(13, 11)]})
    assert texts(items) == [
        "user11\nComment 11.\n\n~~~\nuser13\nComment 13.",
        "user12\nComment 12.",
    ]
    assert documents(items)[0].meta == {
        "date": "2013-04-01T15:15:50Z",
        "by": "user11",
        "parent": 9,
        "member": "11",
        "num_comments": 2,
    }


def test_replies_to_a_removed_comment_without_parent_begin_documents(
    read_items: ReadItems,
) -> None:
    items = read_items([comment(2, 1, deleted=True), comment(3, 2), comment(4, 2)])
    assert texts(items) == ["user3\nComment 3.", "user4\nComment 4."]
    assert reasons(items) == {"2": "deleted"}


def test_polls_and_jobs(read_items: ReadItems) -> None:
    items = read_items(
        [
            {"id": 1, "type": "poll", "by": "ann", "title": "Tabs &amp; spaces", "parts": [2, 3]},
            {"id": 2, "type": "pollopt", "poll": 1, "text": "Tabs", "score": 3},
            {"id": 3, "type": "pollopt", "poll": 1, "text": "Spaces"},
            comment(4, 1),
            {"id": 5, "type": "job", "by": "bob", "title": "Hiring", "text": "Work.<p>Here."},
            {"id": 6, "type": "pollopt", "poll": 5000, "text": "lost"},
            story(7),
        ]
    )
    assert texts(items) == [
        "Tabs & spaces - ann\n\n- Tabs\n- Spaces\n======\nuser4\nComment 4.",
        "Hiring - bob\n\nWork.\n\nHere.",
    ]
    # Its poll has a higher number, so that it can not belong to it.
    assert reasons(items) == {"6": "option-without-poll", "7": "no-text"}


def test_circles_are_broken(read_items: ReadItems) -> None:
    items = read_items([comment(1, 2), comment(2, 1), comment(3, 3)])
    assert texts(items) == ["user1\nComment 1.\n\n~~~\nuser2\nComment 2.", "user3\nComment 3."]


def test_bad_items_and_their_neighbours(read_items: ReadItems) -> None:
    lines = [
        b'{"id": 1, "text": "kept", "type": "comment"}',
        b'{"id": 2, "text": "cut',
        b"null",
        b'{"id": "x"}',
        b'{"id": true}',
        b'{"id": 99999999999999999999999}',
        b'{"id": 1, "text": "again"}',
        b'{"id": 3, "text": "caf\xe9"}',
        b'{"id": 4, "text": "\\ud800 alone"}',
        b'{"id": 5, "text": ["no", "text"], "type": 7, "kids": [null, "6", {"no": "id"}]}',
        b"[" * 100_000,
        b'{"id": "8", "text": "a\\u0000b", "type": "comment", "time": 1e300, "by": null}',
    ]
    items = read_items(b"\n".join(lines), "items.jsonl")
    assert texts(items) == ["kept", "ab"]
    found = Counter(item.reason for item in items if isinstance(item, Reject))
    assert found == {"bad-json": 4, "bad-item": 5, "duplicate-id": 1, "no-text": 1}


def test_a_tree_too_large_is_refused(read_items: ReadItems) -> None:
    items = read_items([story(1), *(comment(n, 1) for n in range(2, 6))], max_comments=3)
    assert reasons(items) == {"1": "too-many-comments"}
    assert len(documents(read_items(TREE, max_comments=5))) == 1


def test_a_chain_of_replies_may_be_long(read_items: ReadItems) -> None:
    items = read_items([story(1), *(comment(n, n - 1) for n in range(2, 20_000))])
    assert texts(items)[0].count("\n~~~\n") == 19_997


def test_what_precedes_an_error_is_kept(read_items: ReadItems) -> None:
    whole = json.dumps([comment(1, 0), comment(2, 0), comment(3, 0)]).encode()
    items = read_items(whole[:-30])
    assert len(documents(items)) == 2
    assert {"truncated", "bad-json"} == set(reasons(items).values())
    items = read_items(gzip.compress(LINES)[:-10], "items.jsonl.gz")
    assert "truncated" in reasons(items).values()
    assert documents(items)


def test_bad_files(read_items: ReadItems, tmp_path: Path) -> None:
    assert set(reasons(read_items(b"")).values()) == {"empty"}
    assert set(reasons(read_items(b"\x1f\x8b nothing")).values()) == {"corrupt"}
    for path in (tmp_path, tmp_path / "missing.json"):
        (item,) = HackerNews().read(path)
        assert isinstance(item, Reject)
        assert item.reason == "unreadable"


def check_any(items: list[Item]) -> None:
    for item in items:
        assert isinstance(item, Document | Reject)
        if isinstance(item, Document):
            item.text.encode()


@given(st.binary(max_size=300))
def test_any_bytes(tmp_path: Path, data: bytes) -> None:
    for name in ("x.json", "x.jsonl"):
        (tmp_path / name).write_bytes(data)
        check_any(list(HackerNews().read(tmp_path / name)))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "id",
                    "parent",
                    "kids",
                    "children",
                    "comments",
                    "items",
                    "by",
                    "text",
                    "title",
                    "type",
                ]
            )
            | st.sampled_from(
                ["time", "created_at", "points", "score", "deleted", "dead", "poll", "url"]
            ),
            inner | st.integers(0, 9),
            max_size=8,
        )
    ),
    max_leaves=30,
)


@given(VALUES)
def test_any_json(tmp_path: Path, value: object) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(value))
    items = list(HackerNews().read(path))
    check_any(items)
    assert items == list(HackerNews().read(path))


@given(st.integers(0, len(LINES) - 1), st.integers(0, 40), st.binary(max_size=8))
def test_damaged_files(tmp_path: Path, at: int, num_lost: int, put: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(LINES[:at] + put + LINES[at + num_lost :])
    check_any(list(HackerNews().read(path)))


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=30), st.booleans())
def test_every_comment_is_written_or_rejected(
    tmp_path: Path, drawn: list[tuple[int, bool]], all_replies: bool
) -> None:
    """PILE-9: nothing is lost silently, and nothing written twice."""
    path = tmp_path / "x.json"
    things = [comment(n + 1, parent, dead=dead) for n, (parent, dead) in enumerate(drawn)]
    path.write_text(json.dumps(things))
    items = list(HackerNews(all_replies=all_replies).read(path))
    seen = Counter(f"Comment {item.member}." for item in items if isinstance(item, Reject))
    for text in texts(items):
        seen.update(line for line in text.split("\n") if line.startswith("Comment"))
    assert seen == Counter(f"Comment {thing['id']}." for thing in things)
    if all_replies:
        assert "not-followed" not in reasons(items).values()


PEAK = """
import functools, re, sys
from pathlib import Path
from barrow.corpus.readers import hackernews as module
module.temporary_database = functools.partial(module.temporary_database, cache_bytes=1 << 20)
num = sum(1 for _ in module.HackerNews().read(Path(sys.argv[1])))
peak = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]
print(num, int(peak) << 10)
"""


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """PILE-4: a file of three times the size takes no more memory."""
    path = tmp_path / "x.jsonl"
    text = "some words of a comment " * 250
    peaks = []
    for half in (300, 900):
        with path.open("w") as file:
            for number in range(1, 2 * half + 1):
                thing = story(number) if number <= half else comment(number, number - half)
                file.write(json.dumps(thing | {"text": text}) + "\n")
        run = subprocess.run(
            [sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True
        )
        num, peak = map(int, run.stdout.split())
        assert num == half
        peaks.append(peak)
    assert path.stat().st_size > 10e6
    assert peaks[1] - peaks[0] < 3e6
