"""The log of a run as JSON lines (ACCELERATE-14)."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.errors import WriteFailed
from barrow.train.trackers import JsonLines, read_log


def test_lines(tmp_path: Path) -> None:
    log = JsonLines(tmp_path / "deep" / "log.jsonl")
    log.begin({}, 0)
    log.log(0, {"loss": 1.5, "overflow": "é"})
    # A line is there as soon as it was logged.
    assert read_log(log.path) == [{"step": 0, "loss": 1.5, "overflow": "é"}]
    log.log(3, {"loss": 1.0})
    log.close()
    log.close()
    assert (
        log.path.read_text()
        == '{"step": 0, "loss": 1.5, "overflow": "é"}\n{"step": 3, "loss": 1.0}\n'
    )


@given(
    steps=st.lists(st.integers(0, 50), unique=True).map(sorted),
    start=st.integers(0, 51),
    torn=st.sampled_from([b"", b'{"step": 50', b"{}\n", b"[]\n", b'{"step": "x"}\n', b"\xff\n"]),
)
def test_going_on_cuts_what_is_done_again(
    steps: list[int], start: int, torn: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    log = JsonLines(path)
    log.begin({}, 0)
    for step in steps:
        log.log(step, {})
    log.close()
    with path.open("ab") as file:
        file.write(torn)
    log.begin({}, start)
    log.log(start, {"again": 1})
    log.close()
    wanted = [s for s in steps if s < start]
    assert [line["step"] for line in read_log(path)] == [*wanted, start]


def test_half_a_line_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(b'{"step": 1}\n{"step"')
    assert read_log(tmp_path / "log.jsonl") == [{"step": 1}]


def test_begin_comes_first(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="call begin before log"):
        JsonLines(tmp_path / "log.jsonl").log(0, {})


def test_what_json_cannot_hold(tmp_path: Path) -> None:
    log = JsonLines(tmp_path / "log.jsonl")
    log.begin({}, 0)
    with pytest.raises(ValueError, match="JSON"):
        log.log(0, {"loss": float("nan")})
    log.close()
    assert read_log(log.path) == []


def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = JsonLines(tmp_path / "log.jsonl")
    log.begin({}, 0)
    log.log(0, {})
    write = os.write

    def fill(file: int, data: memoryview) -> int:
        if len(data) < 12:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(file, data[:5])

    monkeypatch.setattr(os, "write", fill)
    with pytest.raises(WriteFailed, match=r"log\.jsonl could not be written: No space left"):
        log.log(1, {})
    assert log.path.read_text() == '{"step": 0}\n{"ste'
    monkeypatch.undo()
    log.close()
    log.begin({}, 1)
    log.close()
    assert log.path.read_text() == '{"step": 0}\n'


@pytest.mark.parametrize("name", ["write", "fsync"])
def test_what_the_disk_says_has_the_name_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    log = JsonLines(tmp_path / "log.jsonl")
    log.begin({}, 0)
    monkeypatch.setattr(os, name, full)
    with pytest.raises(WriteFailed, match=r"log\.jsonl could not be written: No space left"):
        log.log(0, {})
        log.close()
    monkeypatch.undo()
    log.close()


def test_a_reader_sees_whole_lines_while_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    program = (
        "import sys; from barrow.train.trackers.json_lines import JsonLines\n"
        "log = JsonLines(sys.argv[1]); log.begin({}, 0)\n"
        "for step in range(3000): log.log(step, {'text': 'x' * (step % 700)})\n"
    )
    writer = threading.Thread(
        target=subprocess.run,
        args=([sys.executable, "-c", program, str(path)],),
        kwargs={"check": True},
    )
    writer.start()
    while writer.is_alive():
        found = read_log(path) if path.exists() else []
        assert [line["step"] for line in found] == list(range(len(found)))
    writer.join()
    assert len(read_log(path)) == 3000
