from __future__ import annotations

from pathlib import Path

import pytest

from barrow.cli.options import OnBadChoice, open_archive, report_bad


def test_what_was_counted_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("bad\nbad\n[]\n")
    archive = open_archive(str(path), text_key="text", on_bad=OnBadChoice.COUNT)
    assert list(archive) == []
    report_bad(archive.bad)
    err = capsys.readouterr().err
    assert "2 × not-json (first: x.jsonl, frame 0, document 0" in err
    assert "1 × not-an-object" in err


def test_a_reason_that_comes_late(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("bad\n" * 150 + "{}\n")
    archive = open_archive(str(path), text_key="text", on_bad=OnBadChoice.COUNT)
    list(archive)
    report_bad(archive.bad)
    assert "1 × no-text" in capsys.readouterr().err
