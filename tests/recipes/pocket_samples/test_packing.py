from __future__ import annotations

import gzip
import io
import tarfile
import zipfile

from barrow.recipes.pocket_samples.packing import gzipped, tarred, zipped

FILES = [("mimetype", b"application/epub+zip"), ("a/b.txt", b"mound " * 100)]


def test_what_is_packed_comes_out_again() -> None:
    assert gzip.decompress(gzipped(b"mound")) == b"mound"
    with zipfile.ZipFile(io.BytesIO(zipped(FILES))) as archive:
        assert [(name, archive.read(name)) for name in archive.namelist()] == FILES
        assert [entry.compress_type for entry in archive.infolist()] == [0, 8]
    with tarfile.open(fileobj=io.BytesIO(tarred(FILES))) as tar:
        found = [(entry.name, tar.extractfile(entry).read()) for entry in tar]
    assert found == FILES


def test_no_clock_and_no_owner() -> None:
    with tarfile.open(fileobj=io.BytesIO(tarred(FILES))) as tar:
        assert {(entry.mtime, entry.uid, entry.uname) for entry in tar} == {(0, 0, "")}
    with zipfile.ZipFile(io.BytesIO(zipped(FILES))) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert gzipped(b"mound")[4:8] == bytes(4)
