from __future__ import annotations

import math
import resource
from pathlib import Path

import pytest

from barrow.errors import ScoreError, WriteFailed
from barrow.score.part_file import PartFile, Scored, read_part

ABOUT = {"model": "m", "window": [4, 2, "begin", "every"]}


def scored(number: int) -> Scored:
    nats = 0.1 + number / 3
    return Scored(number, "Ü", "ab" * 32, 5, 3, nats, "bytes", 0.25, (2, 3), (nats, math.nan))


def test_groups_come_back_exactly(tmp_path: Path) -> None:
    path = tmp_path / "x.part"
    part = PartFile(path, ABOUT)
    part.add([scored(0), scored(1)])
    part.add([scored(2)])
    part.close()
    again = PartFile(path, ABOUT)
    assert repr(list(again.before())) == repr([[scored(0), scored(1)], [scored(2)]])
    again.add([scored(3)])
    again.end()
    groups = read_part(path, ABOUT)
    assert groups is not None
    assert [s.number for group in groups for s in group] == [0, 1, 2, 3]


def test_a_group_that_was_cut_short_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "x.part"
    part = PartFile(path, ABOUT)
    part.add([scored(0)])
    part.add([scored(1)])
    part.close()
    whole = path.read_bytes()
    for cut in (1, 20):
        path.write_bytes(whole[:-cut])
        again = PartFile(path, ABOUT)
        assert len(list(again.before())) == 1
        again.add([scored(1)])
        again.close()
        assert path.read_bytes() == whole
    path.write_bytes(whole + b"[[" + b"9" * 999)
    again = PartFile(path, ABOUT)
    again.end()
    assert path.read_bytes() == whole + b'{"end": true}\n'
    path.write_bytes(b'{"mod')
    again = PartFile(path, ABOUT)
    assert list(again.before()) == []
    again.close()


def test_a_part_that_has_not_ended_is_none(tmp_path: Path) -> None:
    path = tmp_path / "x.part"
    assert read_part(path, ABOUT) is None
    part = PartFile(path, ABOUT)
    part.add([scored(0)])
    assert read_part(path, ABOUT) is None
    part.end()
    assert read_part(path, ABOUT) is not None


def test_another_run_is_not_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "x.part"
    PartFile(path, ABOUT).close()
    with pytest.raises(ScoreError, match="left by another run: model differ"):
        PartFile(path, {**ABOUT, "model": "other"})
    path.write_bytes(path.read_bytes() + b"[[1, 2]]\n")
    part = PartFile(path, ABOUT)
    with pytest.raises(ScoreError, match="remove it to start again"):
        list(part.before())
    part.close()
    path.write_bytes(b"what\n")
    with pytest.raises(ScoreError, match="remove it to start again"):
        PartFile(path, ABOUT)


def test_a_long_line_that_was_cut_short(tmp_path: Path) -> None:
    """It is looked for from the end, a piece at a time."""
    path = tmp_path / "x.part"
    part = PartFile(path, ABOUT)
    part.add([scored(0)])
    part.close()
    whole = path.read_bytes()
    path.write_bytes(whole + b"[[" + b"9" * (1 << 18))
    again = PartFile(path, ABOUT)
    assert len(list(again.before())) == 1
    again.close()
    assert path.read_bytes() == whole
    path.write_bytes(whole[: whole.index(b"\n") + 1] + b"9" * (1 << 18))
    again = PartFile(path, ABOUT)
    assert list(again.before()) == []
    again.close()


def test_a_disk_that_takes_no_more_is_named(tmp_path: Path) -> None:
    """The operating system itself refuses: files may not grow over a limit."""
    part = PartFile(tmp_path / "x.part", ABOUT)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(WriteFailed, match=r"x\.part could not be written: File too large"):
            part.add([scored(0)])
        part.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
