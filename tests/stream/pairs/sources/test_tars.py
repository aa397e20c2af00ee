from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.stream.pairs.conftest import write_tar

from barrow.errors import StoreError
from barrow.stream.pairs.sources.found import Found, LeftOut
from barrow.stream.pairs.sources.tars import from_tars


def things(path: Path, **options: object) -> list[Found | LeftOut]:
    return list(from_tars(path.parent, [path], **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_members_are_found_where_they_are(form: int, tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    long = "folder/" * (30 if form != tarfile.USTAR_FORMAT else 10)
    members = [
        ("a.jpg", b"A" * 700),
        ("a.txt", b"one\ntwo\n"),
        (f"{long}b.seg.png", b"B"),
        (f"{long}b.json", b'{"text": "three"}'),
        ("c.txt", b"alone"),
        ("d.webp", b"D"),
        ("e.png", b"E"),
        ("e.json", b"[]"),
    ]
    write_tar(path, members, format=form)
    found = things(path)
    data = path.read_bytes()
    pairs = [one for one in found if isinstance(one, Found)]
    assert [data[one.offset : one.offset + one.length] for one in pairs] == [b"A" * 700, b"B"]
    assert [one.captions for one in pairs] == [("one", "two"), ("three",)]
    assert pairs[1].name == f"x.tar: {long}b.seg.png"
    left = [(one.name, one.reason) for one in found if isinstance(one, LeftOut)]
    assert left == [
        ("x.tar: c", "no-image"),
        ("x.tar: d.webp", "no-caption"),
        ("x.tar: e.png", "bad-caption"),
    ]


def test_captions_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    """CLIP-12: nothing is guessed into a caption; a good member beside a bad one is taken."""
    members = [
        *(("a.png", b"A"), ("a.txt", b"caf\xe9")),
        *(("b.png", b"B"), ("b.json", b"{no json")),
        *(("c.png", b"C"), ("c.json", b'{"caption": "yes"}'), ("c.txt", b"\xff")),
        *(("d.png", b"D"), ("d.txt", b" ")),
    ]
    write_tar(tmp_path / "x.tar", members)
    a, b, c, d = things(tmp_path / "x.tar")
    assert a == LeftOut("x.tar: a.png", "bad-caption", "its .txt is not UTF-8")
    assert b == LeftOut("x.tar: b.png", "bad-caption", "its .json is not a JSON object")
    assert isinstance(c, Found)
    assert c.captions == ("yes",)
    assert isinstance(d, LeftOut)
    assert d.reason == "no-caption"


def test_a_key_of_the_record(tmp_path: Path) -> None:
    write_tar(tmp_path / "x.tar", [("a.png", b"A"), ("a.json", b'{"caption": "no", "alt": "yes"}')])
    (one,) = things(tmp_path / "x.tar", caption_key="alt")
    assert isinstance(one, Found)
    assert one.captions == ("yes",)


def test_links_and_folders_are_no_images(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        link = tarfile.TarInfo("a.png")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
        text = tarfile.TarInfo("a.txt")
        text.size = 1
        tar.addfile(text, io.BytesIO(b"x"))
    assert [one.reason for one in things(tmp_path / "x.tar") if isinstance(one, LeftOut)] == [
        "no-image"
    ]


def sample(path: Path) -> bytes:
    members = [(f"{n}.{kind}", b"x" * 600) for n in range(4) for kind in ("png", "txt")]
    write_tar(path, members)
    return path.read_bytes()


def test_damage_is_an_error_and_no_silent_end(tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    whole = sample(path)
    broken = bytearray(whole)
    broken[3 * 1536 + 5] ^= 0xFF
    path.write_bytes(broken)
    with pytest.raises(StoreError, match="x.tar: .*damaged header at byte 4,608"):
        things(path)
    path.write_bytes(whole[: 3 * 1536])
    with pytest.raises(StoreError, match="x.tar: .*truncated"):
        things(path)
    path.write_bytes(whole[: 3 * 1536 + 100])
    with pytest.raises(StoreError, match="x.tar: "):
        things(path)
    path.write_bytes(whole[: 3 * 1536 + 700])
    with pytest.raises(StoreError, match="unexpected end of data|truncated"):
        things(path)


def test_a_compressed_tar_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    path.write_bytes(gzip.compress(sample(path)))
    with pytest.raises(StoreError, match="it is compressed: unpack it to a plain tar first"):
        things(path)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=20))
def test_whatever_is_in_a_tar(tmp_path: Path, at: int, junk: bytes) -> None:
    path = tmp_path / "x.tar"
    data = bytearray(sample(path))
    data[at : at + len(junk)] = junk
    path.write_bytes(data)
    try:
        found = things(path)
    except StoreError:
        return
    assert all(one.offset + one.length <= len(data) for one in found if isinstance(one, Found))
