"""Packed files against tarfile and zipfile, and against those who mean harm."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import stat
import struct
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.input import decompress
from barrow.corpus.input.unpack import (
    BadArchive,
    Limits,
    Member,
    kind_of,
    members,
    open_unpacked,
    walk,
)
from barrow.corpus.readers.reader import Reject

NOISE = random.Random(0).randbytes(3000)
TEXT = "".join(f"line {i} of a naïve text\n" for i in range(20_000)).encode()


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd,
}
packings = pytest.mark.parametrize("pack", PACKERS.values(), ids=lambda p: p.__name__)
compressions = pytest.mark.parametrize(
    "pack", list(PACKERS.values())[1:], ids=lambda p: p.__module__ + p.__name__
)

FILES = {
    "plain.txt": b"hello\n",
    "empty": b"",
    "a/b/c.bin": bytes(range(256)) * 700,
    "na\u00efve/日本語.txt": b"x" * 512,
    "long/" + "x" * 80 + "/" + "y" * 140: b"a name over 100 characters",
}


def tar_of(files: dict[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def zip_of(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return buffer.getvalue()


def read_all(path: Path, **limits: float) -> tuple[dict[str, bytes], list[Reject], str | None]:
    """Members with their content, rejects, and the reason of the error at the end."""
    found: dict[str, bytes] = {}
    rejects: list[Reject] = []
    try:
        source = walk if path.is_dir() else members
        for item in source(path, limits=Limits(**limits)):  # type: ignore[arg-type]
            if isinstance(item, Reject):
                rejects.append(item)
                continue
            try:
                found[item.name] = item.read()
            except BadArchive as error:
                rejects.append(error.as_reject(item.name))
    except BadArchive as error:
        return found, rejects, error.reason
    return found, rejects, None


def read_slowly(path: Path, **limits: float) -> tuple[bytes, str | None]:
    """What comes before the first error, and its reason."""
    data = b""
    try:
        with open_unpacked(path, **limits) as file:  # type: ignore[arg-type]
            while piece := file.read(1000):
                data += piece
    except BadArchive as error:
        return data, error.reason
    return data, None


# One compressed file ------------------------------------------------------------------------------


@packings
def test_open_by_magic(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    """The name says nothing; several streams one after another are one file."""
    path = tmp_path / "file.dat"
    path.write_bytes(pack(TEXT))
    with open_unpacked(path) as file:
        assert file.read() == TEXT
    with open_unpacked(path) as file:
        assert list(file) == TEXT.splitlines(keepends=True)
    with open_unpacked(path) as file:
        assert file.readline(4) == b"line"
        assert file.read1(3) == b" 0 "
        assert io.TextIOWrapper(file, "utf-8").readline() == "of a naïve text\n"
    path.write_bytes(pack(TEXT) + pack(b"") + pack(b"more"))
    with open_unpacked(path) as file:
        assert file.read() == TEXT + b"more"


def test_padding_and_skippable_frames(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(gzip.compress(b"a") + bytes(200_000) + gzip.compress(b"b") + bytes(7))
    assert read_slowly(path) == (b"ab", None)
    skippable = struct.pack("<2L", 0x184D2A53, 3) + b"abc"
    path.write_bytes(skippable + zstd(b"a") + skippable + zstd(b"b"))
    assert read_slowly(path) == (b"ab", None)


@compressions
def test_truncation_is_seen(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "x"
    packed = pack(TEXT[:100_000]) + pack(NOISE) + pack(TEXT)
    for cut in (1, 5, 100, len(pack(TEXT)) - 9):
        path.write_bytes(packed[:-cut])
        data, reason = read_slowly(path)
        assert reason == "truncated"
        assert data[:100_000] == TEXT[:100_000], "what precedes the damage is kept"


@compressions
def test_damage_is_seen(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "x"
    for mend in (lambda b: b[:-40] + bytes([b[-40] ^ 255]) + b[-39:], lambda b: b + b"rubbish"):
        path.write_bytes(pack(TEXT[:100_000]) + mend(pack(NOISE)))
        data, reason = read_slowly(path)
        # A changed byte of bzip2 may also hide where the stream ends.
        assert reason in ("corrupt", "truncated")
        assert data.startswith(TEXT[:100_000])


@compressions
def test_bombs(
    tmp_path: Path, pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty million zeros pass in little memory, and not past the bound."""
    monkeypatch.setattr(decompress, "_RATIO_FROM", 10_000_000)
    path = tmp_path / "x"
    path.write_bytes(pack(bytes(20_000_000)))
    assert read_slowly(path, max_bytes=1_000_000)[1] == "bomb"
    num_read = 0
    tracemalloc.start()
    with open_unpacked(path, max_ratio=100) as file, pytest.raises(BadArchive) as caught:
        while piece := file.read(1 << 16):
            num_read += len(piece)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert caught.value.reason == "bomb"
    assert 5_000_000 < num_read <= 10_000_000
    assert peak < 10_000_000


def test_an_error_stays(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(gzip.compress(b"a\nb")[:-3])
    with open_unpacked(path) as file:
        assert file.readline() == b"a\n"
        assert file.readline() == b"b"
        for _ in range(2):
            with pytest.raises(BadArchive, match="middle of the gzip"):
                file.readline()
    with open_unpacked(path) as file, pytest.raises(BadArchive):
        file.read()  # a part is not all
    with pytest.raises(ValueError, match="closed"):
        file.read(1)


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in ("pipe", "dangling", "missing", ".", "a\0b", "n" * 1000):
        with pytest.raises(BadArchive) as caught:
            open_unpacked(tmp_path / name)
        assert caught.value.reason == "unreadable"
    (tmp_path / "empty").touch()
    with pytest.raises(BadArchive) as caught:
        open_unpacked(tmp_path / "empty")
    assert caught.value.reason == "empty"


# Tar and zip --------------------------------------------------------------------------------------


@packings
@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_tar(tmp_path: Path, pack: Callable[[bytes], bytes], form: int) -> None:
    files = {k: v for k, v in FILES.items() if form != tarfile.USTAR_FORMAT or len(k) < 100}
    files["p" * 90 + "/" + "n" * 90] = b"a prefix in ustar"
    path = tmp_path / "x"
    path.write_bytes(pack(tar_of(files, form)))
    assert kind_of(path) == "tar"
    assert read_all(path) == (files, [], None)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_zip(tmp_path: Path, method: int) -> None:
    path = tmp_path / "x"
    path.write_bytes(zip_of(FILES, method))
    assert kind_of(path) == "zip"
    assert read_all(path) == (FILES, [], None)
    path.write_bytes(zip_of({}))
    assert read_all(path) == ({}, [], None)


def test_zip_streamed_and_wide(tmp_path: Path) -> None:
    """Sizes behind the data, and the wide fields that large files have."""
    path = tmp_path / "x"

    class Unseekable(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def tell(self) -> int:
            raise OSError

        def seek(self, *_: int) -> int:
            raise OSError

    buffer = Unseekable()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("wide", "w", force_zip64=True) as file:
            file.write(TEXT)
        archive.comment = b"PK\5 a comment " * 100
    path.write_bytes(buffer.getvalue())
    assert read_all(path) == ({"wide": TEXT}, [], None)
    many = {f"{i}": b"" for i in range(0x10005)}  # more than the narrow count holds
    data = bytearray(zip_of(many))
    narrow = data.rindex(b"PK\5\6")
    data[narrow + 12 : narrow + 20] = b"\xff" * 8  # size and place only in the wide record
    path.write_bytes(bytes(data))
    assert len(zipfile.ZipFile(path).namelist()) == 0x10005
    assert len(read_all(path)[0]) == 0x10005


def test_members_are_read_in_turn(tmp_path: Path) -> None:
    for data in (tar_of(FILES), zip_of(FILES)):
        path = tmp_path / "x"
        path.write_bytes(data)
        found = [item for item in members(path) if isinstance(item, Member)]
        assert [item.size for item in found] == [len(data) for data in FILES.values()]
        with pytest.raises(ValueError, match="before asking for the next"):
            found[0].read()
        stream = members(path)
        next(stream), next(stream)
        member = next(stream)
        assert isinstance(member, Member)
        assert member.read(3) == b"\0\1\2"
        assert member.read(2) == b"\3\4"
        after = next(stream)
        assert isinstance(after, Member)
        assert after.read() == b"x" * 512


def test_tar_entries_that_are_no_files(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    kinds = {
        "link": tarfile.SYMTYPE,
        "hard": tarfile.LNKTYPE,
        "device": tarfile.CHRTYPE,
        "pipe": tarfile.FIFOTYPE,
        "folder": tarfile.DIRTYPE,
        "strange": b"Z",
    }
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, kind in kinds.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            tar.addfile(info)
        for name in ("/etc/cron", "a/../../b", "..", "C:\\boot.ini", "x\\..\\y", "./ok//file"):
            info = tarfile.TarInfo(name)
            info.size = 3
            tar.addfile(info, io.BytesIO(b"abc"))
    path = tmp_path / "x"
    path.write_bytes(buffer.getvalue())
    found, rejects, error = read_all(path)
    assert (found, error) == ({"ok/file": b"abc"}, None)
    assert [(reject.member, reject.reason) for reject in rejects] == [
        *(("link", "link"), ("hard", "link"), ("device", "special-file")),
        *(("pipe", "special-file"), ("strange", "special-file")),
        *((name, "unsafe-name") for name in ("/etc/cron", "a/../../b", "..")),
        *(("C:\\boot.ini", "unsafe-name"), ("x\\..\\y", "unsafe-name")),
    ]
    assert sorted(os.listdir(tmp_path)) == ["x"], "nothing is extracted"


def test_sizes_in_pax_headers(tmp_path: Path) -> None:
    """Files of 8 GiB and more have their size there, and zeros in the plain header."""
    record = b"16 size=0000600\n"
    extended = tarfile.TarInfo("x")
    extended.type, extended.size = tarfile.XHDTYPE, len(record)
    header = extended.tobuf(tarfile.USTAR_FORMAT) + record.ljust(512, b"\0")
    content = (b"1" * 600).ljust(1024, b"\0")
    whole = header + tarfile.TarInfo("big").tobuf(tarfile.USTAR_FORMAT) + content
    path = tmp_path / "x"
    path.write_bytes(whole + tar_of({"after": b"!"}))
    assert read_all(path) == ({"big": b"1" * 600, "after": b"!"}, [], None)
    with tarfile.open(path) as tar:
        assert [info.size for info in tar] == [600, 1]


def test_sparse_files_are_not_blown_up(tmp_path: Path) -> None:
    """A header of 512 bytes may stand for terabytes of zeros, with a map in more headers."""
    header = bytearray(tarfile.TarInfo("s").tobuf(tarfile.GNU_FORMAT))
    header[156:157] = b"S"
    header[482] = 1  # another block of map follows
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    path = tmp_path / "x"
    path.write_bytes(bytes(header) + bytes(512) + tar_of({"after": b"!"}))
    found, rejects, error = read_all(path)
    assert (found, [r.reason for r in rejects], error) == ({"after": b"!"}, ["special-file"], None)


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    info = tarfile.TarInfo("caf\udce9.txt")
    block = info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
    path = tmp_path / "x"
    path.write_bytes(block + tar_of({"after": b"!"}))
    found, rejects, error = read_all(path)
    assert (found, error) == ({"after": b"!"}, None)
    assert rejects == [Reject("bad-name", "the name is not UTF-8", "caf\\xe9.txt")]
    data = zip_of({"caf\u00e9": b"1", "b": b"2"})
    path.write_bytes(data.replace("caf\u00e9".encode(), b"caf\xe9!"))
    assert [r.reason for r in read_all(path)[1]] == ["bad-name"]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("cafe", b"1")
    path.write_bytes(path.read_bytes().replace(b"cafe", b"caf\x82"))
    assert read_all(path)[0] == {"caf\u00e9": b"1"}, "without a word on it, a name is in cp437"


def test_zip_entries_that_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x"
    link = zipfile.ZipInfo("link")
    link.create_system = 3
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(link, "/etc/passwd")
        archive.writestr("../up", b"1")
        archive.writestr("folder/", b"")
        archive.writestr("secret", b"2")
        archive.writestr("odd", b"3")
        archive.writestr("good", b"4")
    data = bytearray(path.read_bytes())
    directory = data.index(b"PK\1\2")
    for name, offset, value in ((b"secret", 8, 1), (b"odd", 10, 99)):
        at = data.index(name, directory) - 46
        data[at + offset] = value
    path.write_bytes(bytes(data))
    found, rejects, error = read_all(path)
    assert (found, error) == ({"good": b"4"}, None)
    assert [(r.member, r.reason) for r in rejects] == [
        *(("link", "link"), ("../up", "unsafe-name")),
        *(("secret", "encrypted"), ("odd", "unsupported")),
    ]


@packings
def test_limits_of_a_tar(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "x"
    path.write_bytes(pack(tar_of({"a": b"1" * 100, "b": b"2" * 2000, "c": b"3"})))
    found, rejects, error = read_all(path, max_member=1000)
    assert list(found) == ["a", "c"]
    assert [(r.reason, r.member) for r in rejects] == [("too-large", "b")]
    assert error is None
    assert read_all(path, max_entries=3)[2] is None
    found, _, error = read_all(path, max_entries=2)
    assert (list(found), error) == (["a", "b"], "bomb")
    found, rejects, error = read_all(path, max_bytes=1500)
    assert list(found) == ["a"]
    assert error == "bomb"


def test_limits_of_a_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decompress, "_RATIO_FROM", 6_700_000)
    path = tmp_path / "x"
    path.write_bytes(zip_of({"a": b"1" * 100, "b": b"2" * 2000, "c": b"3"}))
    found, rejects, _ = read_all(path, max_member=1000)
    assert list(found) == ["a", "c"]
    assert [(r.reason, r.member) for r in rejects] == [("too-large", "b")]
    found, _, error = read_all(path, max_entries=2)
    assert (list(found), error) == (["a", "b"], "bomb")
    found, rejects, _ = read_all(path, max_bytes=1500)
    assert [(r.reason, r.member) for r in rejects] == [("bomb", "b"), ("bomb", "c")]
    path.write_bytes(zip_of({str(i): bytes(2_000_000) for i in range(5)}))
    assert [r.reason for r in read_all(path, max_ratio=100)[1]] == ["bomb", "bomb"]


def test_zip_that_lies(tmp_path: Path) -> None:
    """Sizes and checksums in the directory are checked against what comes out."""
    path = tmp_path / "x"
    data = zip_of({"a": b"1" * 1000})
    at = data.index(b"PK\1\2")
    for offset, value in ((24, 999), (24, 1001), (16, 12345), (42, 5), (42, 0x7FFFFFFF)):
        changed = bytearray(data)
        struct.pack_into("<L", changed, at + offset, value)
        path.write_bytes(bytes(changed))
        found, rejects, _ = read_all(path)
        assert not found
        assert rejects[0].reason in ("corrupt", "truncated")


def test_broken_tars(tmp_path: Path) -> None:
    whole = tar_of({"a": b"1" * 1000, "b": b"2" * 1000})
    path = tmp_path / "x"
    for cut in (600, 1536, 1600, 2000, 2400):
        path.write_bytes(whole[:cut])
        found, _, error = read_all(path)
        assert error == "truncated"
        assert found == ({"a": b"1" * 1000} if cut >= 1536 else {})
        if cut == 600:
            stream = members(path)
            member = next(stream)
            assert isinstance(member, Member)
            assert member.open().read(500) == b"1" * 88, "what precedes can be had by reading on"
            with pytest.raises(BadArchive):
                member.read(500)
    path.write_bytes(whole[:1536] + b"x" * 512 + whole[2048:])
    found, _, error = read_all(path)
    assert (list(found), error) == (["a"], "corrupt")
    path.write_bytes(bytes(10240))
    assert read_all(path) == ({}, [], None)
    path.write_bytes(b"")
    assert read_all(path)[2] == "empty"
    path.write_bytes(b"hello" * 1000)
    assert read_all(path)[2] == "not-an-archive"
    path.write_bytes(zip_of(FILES)[:-30])
    assert read_all(path)[2] == "truncated"
    with pytest.raises(BadArchive, match="folder"):
        list(members(tmp_path))


def test_extended_headers_are_bounded(tmp_path: Path) -> None:
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 1 << 40
    path = tmp_path / "x"
    path.write_bytes(info.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    assert read_all(path)[2] == "bomb"
    info.size = 0
    path.write_bytes(info.tobuf(tarfile.GNU_FORMAT) * 5000 + tar_of({"a": b""}))
    assert read_all(path)[1:] == ([Reject("unsafe-name", "the name leads out of the archive, or "
                                          "nowhere", "")], None)  # fmt: skip
    assert read_all(path, max_entries=4000)[2] == "bomb"
    for record in (b"99 path=x\n", b"x path=y\n", b"9 pathxy\n", b"-1 a=b\n", b"0 a=b\n"):
        info.type, info.size = tarfile.XHDTYPE, len(record)
        padded = record.ljust(512, b"\0")
        path.write_bytes(info.tobuf(tarfile.GNU_FORMAT) + padded + tar_of({"a": b""}))
        assert read_all(path)[2] == "corrupt"


def test_a_large_tar_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "x"
    entry = tar_of({"a": b"1" * 100})[:1024]
    path.write_bytes(gzip.compress(entry * 10_000 + bytes(1024)))
    tracemalloc.start()
    count = sum(1 for _ in members(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 10_000
    assert peak < 500_000


@given(st.data())
def test_whatever_the_bytes(tmp_path: Path, data: st.DataObject) -> None:
    """Random bytes, and good archives with bytes changed: members, rejects, BadArchive, no more."""
    path = tmp_path / "fuzz"
    sources = [tar_of(FILES), tar_of(FILES, tarfile.GNU_FORMAT), zip_of(FILES), b""]
    good = bytearray(PACKERS[data.draw(st.sampled_from(list(PACKERS)))](sources[0]))
    good = data.draw(st.sampled_from([good, *map(bytearray, sources)]))
    for at, value in data.draw(st.lists(st.tuples(st.integers(0), st.integers(0, 255)))):
        if good:
            good[at % len(good)] = value
    cut = data.draw(st.integers(0, len(good)) | st.none())
    path.write_bytes(bytes(good[:cut]) + data.draw(st.binary(max_size=600)))
    assert read_all(path) == read_all(path)
    read_slowly(path)


# Folders ------------------------------------------------------------------------------------------


def test_walk(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for name in ("b.txt", "a/z.txt", "a/b/c.txt", "a.txt", "B.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(name.encode())
    (root / "link").symlink_to(tmp_path)
    (root / "loop").symlink_to(".")
    os.mkfifo(root / "pipe")
    (root / "z.gz").write_bytes(gzip.compress(b"as it is"))
    (Path(os.fsdecode(bytes(root) + b"/caf\xe9"))).write_bytes(b"x")
    found, rejects, error = read_all(root)
    assert error is None
    assert list(found) == ["B.txt", "a/b/c.txt", "a/z.txt", "a.txt", "b.txt", "z.gz"]
    assert all(data == name.encode() for name, data in found.items() if name != "z.gz")
    assert found["z.gz"] == gzip.compress(b"as it is")
    assert [(r.reason, r.member) for r in rejects] == [
        *(("bad-name", "caf\\xe9"), ("link", "link")),
        *(("link", "loop"), ("special-file", "pipe")),
    ]
    assert read_all(root, max_entries=3)[2] == "bomb"
    assert [r.reason for r in read_all(root, max_member=5)[1]].count("too-large") == 3
    with pytest.raises(BadArchive, match="folder"):
        list(walk(root / "b.txt"))


def test_walk_past_what_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "locked").mkdir()
    (tmp_path / "z").write_bytes(b"1")
    scandir = os.scandir

    def refuse(path: Path) -> object:  # root reads everything
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found, rejects, _ = read_all(tmp_path)
    assert (list(found), [r.reason for r in rejects]) == (["z"], ["unreadable"])


def test_a_file_that_goes_away(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "b").write_bytes(b"2")
    stream = walk(tmp_path)
    member = next(stream)
    (tmp_path / "a").unlink()
    (tmp_path / "a").symlink_to("b")  # swapped for a link meanwhile
    assert isinstance(member, Member)
    with pytest.raises(BadArchive, match="cannot be read"):
        member.read()
    assert isinstance(next(stream), Member)
