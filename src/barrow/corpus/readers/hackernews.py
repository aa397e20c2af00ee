"""Hacker News: items of its API, one document per story with its comments.

Items are objects with an id, as Firebase gives them (`by`, `time`, `parent`, `kids`) or Algolia
(`author`, `created_at`, `parent_id`, `points`), one per line, in an array, under `comments` or
`items`, or nested in one another. As in The Pile a document is the title and author, the address,
the text, a line ``======``, then comments under their authors' names. Each top-level comment is
followed down by the reply with most descendants; ``~~~`` separates replies, ``------`` top-level
comments. The replies not followed are dropped, unless `all_replies` is set.

What was deleted or killed is dropped; replies to it move up to what it answered. All comments of a
story that was removed are dropped. A comment whose parent is not in the file begins its own
document: dumps are cut by date or by kind, and such comments are mostly still useful. A story with
neither text nor comments is a title only, and dropped.

There is no licence: comments belong to those who wrote them, and the site's terms apply.
"""

from __future__ import annotations

import datetime
import html
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from barrow.archive import Document
from barrow.archive.foreign.files import whole_lines
from barrow.archive.foreign.json_values import split_values
from barrow.archive.piece import BadLine
from barrow.corpus.input.spill import temporary_database
from barrow.corpus.input.unpack import BadArchive, open_unpacked
from barrow.corpus.readers.reader import Item, Reader, Reject, excerpt
from barrow.corpus.text.html.text import html_to_text
from barrow.errors import DamagedShard

_MAX_VALUE = 1 << 28
_PIECE = 1 << 18
_LINES = (".jsonl", ".ndjson")
_NESTED = ("kids", "children", "comments")
_WRAPPERS = ("comments", "items", "stories")


class Post(msgspec.Struct, array_like=True, gc=False):
    """A story, comment, job, poll or poll option, whichever API it came from."""

    id: int
    parent: int | None
    kind: str
    by: str
    date: str
    title: str
    text: str
    url: str
    score: int | None
    kids: list[int]
    removed: str


_ENDINGS = (".json", ".jsonl", ".ndjson")


@dataclass(frozen=True)
class HackerNews(Reader):
    """Hacker News items (API JSON): each story with its comments, in order of number.

    A comment whose parent is missing begins a document.

    `all_replies` writes, after the reply followed, the others too, depth first. A tree of more than
    `max_comments` is refused, since it must fit in memory.
    """

    all_replies: bool = False
    max_comments: int = 100_000

    extractor = "hackernews/1"
    patterns = tuple(
        f"**/*{ending}{packed}" for ending in _ENDINGS for packed in ("", ".gz", ".bz2", ".zst")
    )

    def read(self, path: Path) -> Iterator[Item]:
        with temporary_database() as database:
            database.execute(
                "CREATE TABLE item (id INTEGER PRIMARY KEY, parent INTEGER, record BLOB)"
            )
            for item in _posts(path):
                reject = item if isinstance(item, Reject) else _keep(database, item)
                if reject is not None:
                    yield reject
            database.execute("CREATE INDEX by_parent ON item (parent)")
            roots = database.execute(
                "SELECT id FROM item WHERE parent IS NULL"
                " OR parent NOT IN (SELECT id FROM item) ORDER BY id"
            )
            for (root,) in roots:
                yield from _tree(
                    _descendants(database, root, self.max_comments),
                    self.max_comments,
                    self.all_replies,
                )


# Items --------------------------------------------------------------------------------------------


def _values(path: Path) -> Iterator[Any]:
    """The JSON values of a file, an array's one by one; a `Reject` for what is not JSON."""

    def content() -> Iterator[memoryview | DamagedShard]:
        try:
            with open_unpacked(path) as file:
                while data := file.read(_PIECE):
                    yield memoryview(data)
        except BadArchive as error:
            yield DamagedShard(str(error), reason=error.reason, shard=path.name)

    is_lines = any(suffix in _LINES for suffix in path.suffixes[-2:])
    values = content() if is_lines else split_values(content(), path.name, max_value=_MAX_VALUE)
    number = 0
    for part in whole_lines(values, _MAX_VALUE):
        if isinstance(part, DamagedShard | BadLine):
            yield Reject(part.reason, part.cause, f"after value {number}")
            continue
        for line in part.split(b"\n"):
            if not line.strip():
                continue
            number += 1
            try:
                yield msgspec.json.decode(line.removeprefix(b"\xef\xbb\xbf"))
            except (ValueError, RecursionError) as error:
                yield Reject("bad-json", str(error), f"value {number}", excerpt(line))


def _posts(path: Path) -> Iterator[Post | Reject]:
    """All items, nested ones too, parents first."""
    for value in _values(path):
        waiting: list[tuple[Any, int | None]] = [(value, None)]
        while waiting:
            thing, parent = waiting.pop()
            if isinstance(thing, Reject):
                yield thing
            elif isinstance(thing, list):
                waiting.extend((inner, parent) for inner in reversed(thing))
            elif not isinstance(thing, dict):
                yield Reject("bad-item", "expected an object", excerpt=excerpt(repr(thing)))
            elif wrapped := [thing[key] for key in _WRAPPERS if key in thing and "id" not in thing]:
                waiting.extend((inner, parent) for inner in wrapped)
            elif (post := _post(thing, parent)) is None:
                shown = excerpt(repr(list(thing)[:100]))  # its keys; values may be deeply nested
                yield Reject("bad-item", "expected an item with a number as its id", excerpt=shown)
            else:
                yield post
                inside = _listed(thing)
                waiting.extend((i, post.id) for i in reversed(inside) if isinstance(i, dict))


def _post(thing: dict[str, Any], parent: int | None) -> Post | None:
    id_ = _number(thing.get("id"))
    if id_ is None:
        return None
    for key in ("parent", "parent_id", "poll"):
        parent = _number(thing.get(key)) if parent is None else parent
    title = " ".join(html.unescape(_text(thing.get("title"))).split())
    kind = _text(thing.get("type")) or ("comment" if parent is not None else "story")
    inner = (i.get("id") if isinstance(i, dict) else i for i in _listed(thing))
    score = _number(thing.get("score"))
    return Post(
        id=id_,
        # An item cannot reply to a later one; so there are no cycles.
        parent=parent if parent is not None and parent < id_ else None,
        kind=kind,
        by=_text(thing.get("by") or thing.get("author")),
        date=_date(thing.get("time") or thing.get("created_at_i") or thing.get("created_at")),
        title=title,
        text=_text(thing.get("text")),
        url=_text(thing.get("url")).strip(),
        score=_number(thing.get("points")) if score is None else score,
        kids=[number for i in inner if (number := _number(i)) is not None],
        removed="deleted" if thing.get("deleted") else "dead" if thing.get("dead") else "",
    )


def _listed(thing: dict[str, Any]) -> list[Any]:
    lists = (thing.get(key) for key in _NESTED)
    return [inner for listed in lists if isinstance(listed, list) for inner in listed]


def _text(value: object) -> str:
    return value.replace("\0", "") if isinstance(value, str) else ""


def _number(value: object) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) < 19:
        value = int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63
    return value if is_number else None  # type: ignore[return-value]


def _date(value: object) -> str:
    try:
        if isinstance(value, str) and not value.isdecimal():
            date = datetime.datetime.fromisoformat(value)
        elif (seconds := _number(value)) is not None:
            date = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
        else:
            return ""
    except (ValueError, OverflowError, OSError):
        return ""
    return date.isoformat(timespec="seconds").replace("+00:00", "Z")


def _keep(database: sqlite3.Connection, post: Post) -> Reject | None:
    row = (post.id, post.parent, msgspec.msgpack.encode(post))
    if database.execute("INSERT OR IGNORE INTO item VALUES (?, ?, ?)", row).rowcount:
        return None
    return _reject("duplicate-id", "an item of this number came before", post)


# Trees --------------------------------------------------------------------------------------------


def _descendants(database: sqlite3.Connection, root: int, limit: int) -> list[Post]:
    """An item and its descendants, parents first, at most `limit` + 2."""
    rows = database.execute(
        "WITH RECURSIVE tree (id) AS (VALUES (?) UNION ALL"
        " SELECT item.id FROM tree JOIN item ON item.parent = tree.id)"
        " SELECT record FROM tree JOIN item USING (id) LIMIT ?",
        (root, limit + 2),
    )
    decoder = msgspec.msgpack.Decoder(Post)
    return [decoder.decode(record) for (record,) in rows]


def _tree(posts: list[Post], max_comments: int, all_replies: bool) -> Iterator[Item]:
    """The documents of a tree (one, unless its root is dropped) and the rejects."""
    root = posts[0]
    if len(posts) > max_comments + 1:
        cause = f"more than {max_comments:,} comments; raise max_comments= if this is intended"
        yield _reject("too-many-comments", cause, root)
        return
    thread = _Thread()
    for post in posts:
        text = html_to_text(post.text)
        if why := _why_dropped(post, text, root):
            thread.leave_out(post, is_root=post is root)
            yield _reject(*why, post)
        else:
            thread.add(post, text, is_root=post is root)
    thread.count()
    for top in thread.tops:
        yield from thread.document(top, all_replies=all_replies)


def _why_dropped(post: Post, text: str, root: Post) -> tuple[str, str] | None:
    """Reason and cause, if an item is to be dropped."""
    if post.removed == "deleted":
        return "deleted", "its author deleted it"
    if post.removed == "dead":
        return "dead", "killed by users' flags, by moderators or by software"
    if root.removed and root.kind != "comment":
        return "removed-story", f"the story, {root.id}, was removed"
    if post.kind == "pollopt" and post is root:
        return "option-without-poll", "the poll it belongs to is not in the file"
    if post.kind in ("comment", "pollopt") and not text:
        return "no-text", "nothing to read in it"
    return None


class _Thread:
    """What is left of a tree, added parents first."""

    def __init__(self) -> None:
        self.tops: list[Post] = []
        self._texts: dict[int, str] = {}
        self._replies: dict[int, list[Post]] = {}
        self._answers: dict[int, int | None] = {}  # of each item, its nearest kept ancestor
        self._left_out: set[int] = set()
        self._sizes: dict[int, int] = {}  # items below, and the item itself

    def _above(self, post: Post, is_root: bool) -> int | None:
        if is_root or post.parent is None:
            return None
        return self._answers[post.parent] if post.parent in self._left_out else post.parent

    def leave_out(self, post: Post, *, is_root: bool) -> None:
        """Drop an item; replies to it move up."""
        self._answers[post.id] = self._above(post, is_root)
        self._left_out.add(post.id)

    def add(self, post: Post, text: str, *, is_root: bool) -> None:
        above = self._answers[post.id] = self._above(post, is_root)
        self._texts[post.id] = text
        self._replies[post.id] = []
        if above is None:
            self.tops.append(post)
        else:
            self._replies[above].append(post)

    def count(self) -> None:
        """Count the descendants of each item, children before their parents."""
        self._sizes = dict.fromkeys(self._texts, 1)
        for number in reversed(self._texts):
            above = self._answers[number]
            if above is not None:
                self._sizes[above] += self._sizes[number]

    def _in_order(self, post: Post) -> list[Post]:
        """Replies as the site ranks them; those it does not list come last, by number."""
        place = {kid: at for at, kid in enumerate(post.kids)}
        return sorted(self._replies[post.id], key=lambda r: (place.get(r.id, len(place)), r.id))

    def _follow(self, comment: Post, *, all_replies: bool) -> Iterator[Post | Reject]:
        """A comment and the replies below it that are written; rejects for the others."""
        waiting = [(comment, True)]
        while waiting:
            post, is_written = waiting.pop()
            yield (
                post
                if is_written
                else _reject(
                    "not-followed", "another reply beside or above it has more descendants", post
                )
            )
            replies = sorted(self._in_order(post), key=lambda r: -self._sizes[r.id])
            first = replies[:1]
            waiting += [(reply, is_written and all_replies) for reply in reversed(replies[1:])]
            waiting += [(reply, is_written) for reply in first]

    def document(self, top: Post, *, all_replies: bool) -> Iterator[Item]:
        """The rejects, then the document of a story or of a comment that begins one."""
        is_comment = top.kind == "comment"
        below = [top] if is_comment else self._in_order(top)
        threads: list[list[Post]] = []
        for comment in below:
            if comment.kind == "pollopt":
                continue
            threads.append([])
            for post in self._follow(comment, all_replies=all_replies):
                if isinstance(post, Reject):
                    yield post
                else:
                    threads[-1].append(post)
        options = [self._texts[post.id] for post in below if post.kind == "pollopt"]
        said = "\n\n------\n".join(
            "\n\n~~~\n".join(map(self._comment, thread)) for thread in threads
        )
        if is_comment:
            text = said
        elif not (said or options or self._texts[top.id]):
            yield _reject("no-text", "a title without text or comments", top)
            return
        else:
            head = self._head(top, options)
            text = f"{head}\n======\n{said}" if said else head
        yield Document(text, _meta(top, sum(map(len, threads))))

    def _comment(self, post: Post) -> str:
        return "\n".join(filter(None, (post.by, post.title, self._texts[post.id])))

    def _head(self, story: Post, options: list[str]) -> str:
        title = " - ".join(filter(None, (story.title, story.by)))
        first = "\n".join(filter(None, (title, story.url)))
        listed = "\n".join(f"- {option}" for option in options)
        return "\n\n".join(filter(None, (first, self._texts[story.id], listed)))


def _meta(top: Post, num_comments: int) -> dict[str, Any]:
    meta = {
        "title": top.title,
        "url": top.url,
        "date": top.date,
        "score": top.score,
        "by": top.by,
        "parent": top.parent,
    }
    known = {key: value for key, value in meta.items() if value not in (None, "")}
    return known | {"member": str(top.id), "num_comments": num_comments}


def _reject(reason: str, cause: str, post: Post) -> Reject:
    return Reject(reason, cause, str(post.id), excerpt(post.text or post.title))
