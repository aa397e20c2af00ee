"""PILE-9: chat, a channel's week a document."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow import Document
from barrow.corpus.readers.reader import Reject
from barrow.corpus.readers.ubuntu_irc import UbuntuIrc

Save = Callable[..., Path]
LOG = (
    "=== ann [~ann@host.example]  has joined #ubuntu\n"
    "[00:01] <ann> hi <b>all</b>\n"
    "=== carl waves\n"
    "[00:02]  * bob is back at 10:30 <soon>\n"
    "[00:02] <x[away] > \x0304red\x03 and \x02bold\x02  \n"
    "=== ann is now known as ann_\n"
    "[00:03] -ChanServ:#ubuntu- Welcome\n"
    '=== x[away]  [n=x@y]  has left #ubuntu ["bye"]\n'
)
TEXT = "<ann> hi <b>all</b>\n* carl waves\n* bob is back at 10:30 <soon>\n<x[away]> red and bold"


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def save(data: str | bytes = LOG, name: str = "log.txt") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return save


def test_a_log(save: Save) -> None:
    assert list(UbuntuIrc().read(save())) == [Document(TEXT, {"channel": "#ubuntu"})]


@pytest.mark.parametrize(
    "line",
    [
        "=== mode/#ubuntu [+o ann] by ChanServ",
        "=== ..[topic/#ubuntu:ann] : Official help",
        "=== ann changed the topic of #ubuntu to: help",
        "=== Topic for #ubuntu: help",
        "=== [cc] smart [n=x@y]  has joined #ubuntu",
        "=== Bob left the room (quit: Client Quit).",
        "=== Bob entered the room.",
        "=== signoff: bob (bye)",
        "===",
        "[00:01] -!- bob [b@c] has quit",
        "*** bob joined",
        "[00:01] <bob>",
        "[00:01] <bob>  ",
    ],
)
def test_the_server_is_not_heard(save: Save, line: str) -> None:
    [document] = UbuntuIrc().read(save(f"[00:00] <ann> hi\n{line}\n"))
    assert isinstance(document, Document)
    assert document.text == "<ann> hi"


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("[10:01] <ann> x", "<ann> x"),
        ("[10:01:59] <@ann> x", "<ann> x"),
        ("10:01 < ann> x", "<ann> x"),
        ("2004-11-15 10:01:59 <ann> x", "<ann> x"),
        ("<ann>  12:00 - indented", "<ann>  12:00 - indented"),
        ("[10:01] * ann has a topic", "* ann has a topic"),
        ("=== ann has left the building", "* ann has left the building"),
        ("=== [cc] smart  sighs", "* [cc]smart sighs"),
        (f"[10:01] <ann> a\tb {'!' * 50} \x00", f"<ann> a\tb {'!' * 50}"),
    ],
)
def test_people_are(save: Save, line: str, kept: str) -> None:
    [document] = UbuntuIrc().read(save(line + "\r\n"))
    assert isinstance(document, Document)
    assert document.text == kept


def test_a_week_of_a_channel(save: Save) -> None:
    days = {"2010/12/26": "g", "2010/12/20": "a", "2010/12/27": "x", "2011/01/01": "y"}
    paths = [save(f"[00:00] <n> {t}\n", f"{day}/#ubuntu-eu.txt") for day, t in days.items()]
    other = save("[00:00] <n> o\n", "2010/12/20/%23ubuntu.txt")
    groups = UbuntuIrc().group([*paths, other, *paths])
    assert groups == UbuntuIrc().group([other, *reversed(paths)])
    assert groups == [(other,), (paths[1], paths[0]), (paths[2], paths[3])]
    [[first], [second], [third]] = [list(UbuntuIrc().read_group(group)) for group in groups]
    assert first == Document(
        "<n> o", {"channel": "#ubuntu", "week": "2010-W51", "date": "2010-12-20"}
    )
    assert second == Document(
        "<n> a\n\n<n> g", {"channel": "#ubuntu-eu", "week": "2010-W51", "date": "2010-12-20"}
    )
    assert third == Document(
        "<n> x\n\n<n> y", {"channel": "#ubuntu-eu", "week": "2010-W52", "date": "2010-12-27"}
    )


@pytest.mark.parametrize(
    ("name", "meta"),
    [
        (
            "#ubuntu-2005-01-01.log",
            {"channel": "#ubuntu", "week": "2004-W53", "date": "2005-01-01"},
        ),
        ("ubuntu_20050102.log", {"channel": "ubuntu", "week": "2004-W53", "date": "2005-01-02"}),
        ("2005-01-03_12.raw.txt", {"week": "2005-W01", "date": "2005-01-03"}),
        ("2005-01-03.train-c.raw.txt", {"week": "2005-W01", "date": "2005-01-03"}),
        (
            "2005-01-03/kubuntu.txt",
            {"channel": "kubuntu", "week": "2005-W01", "date": "2005-01-03"},
        ),
        ("2005/13/45/#ubuntu.txt", {"channel": "#ubuntu"}),
        ("pilot.txt", {}),
    ],
)
def test_what_the_path_says(save: Save, name: str, meta: dict[str, str]) -> None:
    [document] = UbuntuIrc().read(save("[00:00] <n> a\n", name))
    assert document == Document("<n> a", meta)


def test_what_may_not_belong_together_is_kept_apart(save: Save) -> None:
    names = ["2005-01-03_1.txt", "2005-01-04_2.txt", "a.txt", "b.txt"]
    paths = [save(name=name) for name in names]
    assert UbuntuIrc().group(paths) == [(path,) for path in paths]
    together = [save(name=name) for name in ("2005-01-03.txt", "2005-01-04.txt")]
    assert UbuntuIrc().group(together) == [tuple(together)]
    written_otherwise = [save(name=name) for name in ("x/20050103.txt", "x/2005-01-04.txt")]
    assert UbuntuIrc().group(written_otherwise) == [tuple(written_otherwise)]


def test_lines_in_different_encodings(save: Save) -> None:
    lines = [
        "<a> naïve café".encode(),
        "<b> où est-il passé ?".encode("cp1252"),
        "<c> 日本".encode(),
    ]
    [document] = UbuntuIrc().read(save(b"\n".join(lines)))
    assert document == Document("<a> naïve café\n<b> où est-il passé ?\n<c> 日本", {})
    russian = [f"<d> {text}".encode("cp1251") for text in ("Привет всем", "Не работает звук")]
    [document] = UbuntuIrc().read(save(b"\n".join(russian + lines[:1])))
    assert document == Document("<d> Привет всем\n<d> Не работает звук\n<a> naïve café", {})


def reasons(*paths: Path, **options: int) -> list[str]:
    items = UbuntuIrc(**options).read_group(paths)
    return [item.reason if isinstance(item, Reject) else "" for item in items]


def test_bad_files(save: Save, tmp_path: Path) -> None:
    assert reasons(tmp_path) == ["not-a-file"]
    assert reasons(tmp_path / "none") == ["unreadable"]
    assert reasons(save("", "empty.txt")) == ["empty"]
    assert reasons(save("Just text.\n")) == ["not-a-log"]
    assert reasons(save("=== a [b@c]  has joined #x\n")) == ["not-a-log"]
    assert reasons(save(random.Random(0).randbytes(5000))) == ["not-text"]
    assert reasons(save(), max_bytes=10) == ["too-large"]
    assert reasons(save(name=os.fsdecode(b"caf\xe9.txt"))) == [""]
    assert reasons() == []


def test_what_is_bad_does_not_spoil_the_week(save: Save, tmp_path: Path) -> None:
    good, empty = save(name="2005-01-03.txt"), save("", "2005-01-04.txt")
    odd = save("[00:00] <n> a\nstray\nlines\n", "2005-01-05.txt")
    document, first, second = UbuntuIrc().read_group([good, empty, odd])
    assert isinstance(document, Document)
    assert document.text == TEXT + "\n\n<n> a"
    assert first == Reject("empty", "the file is empty", "2005-01-04.txt")
    lines = Reject("unknown-lines", "2 lines of unknown form", "2005-01-05.txt", "stray\nlines")
    assert second == lines


def check(path: Path) -> None:
    items = list(UbuntuIrc().read(path))
    assert items
    assert items == list(UbuntuIrc().read(path))
    for item in items:
        assert isinstance(item, Document | Reject)
        texts = [item.text, *item.meta.values()] if isinstance(item, Document) else []
        texts += [item.cause, item.excerpt] if isinstance(item, Reject) else []
        for text in texts:
            text.encode()


@given(data=st.binary(max_size=300))
def test_any_bytes(save: Save, data: bytes) -> None:
    check(save(b"=" + data))


@given(seed=st.integers(0, 1 << 30))
def test_mutated_logs(save: Save, seed: int) -> None:
    rng = random.Random(seed)
    data = bytearray(LOG.encode())
    for _ in range(rng.randrange(1, 12)):
        place = rng.randrange(len(data))
        data[place : place + rng.randrange(3)] = rng.choices(b"\0\n\r<>[]*=:# \xc3\xff", k=2)
    check(save(bytes(data)))


@given(st.lists(st.from_regex(r"([0-9]{4}[-/]?){0,2}[0-9#a-z/.-]{1,20}", fullmatch=True)))
def test_every_path_is_in_one_group(names: list[str]) -> None:
    paths = {Path("x") / name.strip("/.") for name in names}
    grouped = [path for group in UbuntuIrc().group(sorted(paths)) for path in group]
    assert sorted(grouped) == sorted(paths)


def test_the_reader() -> None:
    assert UbuntuIrc.extractor == "ubuntu_irc/2"
