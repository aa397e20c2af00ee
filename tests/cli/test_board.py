from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.score.board.made_results import result, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "results", {"one": result("one", 1.0), "two": result("two", 2.0)})


def test_a_page_of_a_folder(folder: Path, tmp_path: Path, barrow: Callable) -> None:
    out = tmp_path / "board.html"
    assert barrow("board", folder, "--out", out) == (0, f"{out}\n", "")
    text = out.read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert "2 results of 2 models on 1 text." in text
    assert "data-live" not in text.partition(">")[2][:200]
    assert str(tmp_path) not in text


def test_foreign_files_of_a_folder_are_named(
    folder: Path, tmp_path: Path, barrow: Callable
) -> None:
    (folder / "manifest.json").write_text("{}")
    code, _, err = barrow("board", folder, "--out", tmp_path / "board.html")
    assert code == 0
    assert err.startswith("barrow: left out: manifest.json is not a result of `barrow score`")
    assert "manifest.json" in (tmp_path / "board.html").read_text()


def test_a_bad_file_that_was_asked_for(folder: Path, tmp_path: Path, barrow: Callable) -> None:
    bad, out = folder / "bad.json", tmp_path / "board.html"
    bad.write_text("{")
    code, _, err = barrow("board", folder / "one.json", bad, "--out", out)
    assert code == 1
    assert err.startswith("barrow: nothing was written: bad.json is not JSON")
    assert not out.exists()


def test_nothing_to_show(tmp_path: Path, barrow: Callable) -> None:
    code, _, err = barrow("board", tmp_path, "--out", tmp_path / "board.html")
    assert code == 1
    assert err.startswith(f"barrow: no results in {tmp_path}; barrow score MODEL CORPUS")
    code, _, err = barrow("board", tmp_path / "none", "--out", tmp_path / "board.html")
    assert code == 1
    assert "none does not exist" in err


def test_where_to(folder: Path, tmp_path: Path, barrow: Callable) -> None:
    code, _, err = barrow("board", folder, "--out", tmp_path / "no" / "board.html")
    assert code == 1
    assert "is not a folder to write board.html to" in err
    for wrong in ([], ["--serve", "--out", "x"]):
        code, _, err = barrow("board", folder, *wrong)
        assert code == 2
        assert "one of --out FILE and --serve" in err


def test_serving(folder: Path) -> None:
    command = [sys.executable, "-m", "barrow", "board", str(folder), "--serve", "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout is not None
        line = process.stdout.readline()
        address = line.split()[0]
        assert line == f"{address} (Ctrl-C ends it)\n"
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(address + "version") as answer:
            assert len(answer.read()) == 16
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert err == "barrow: interrupted\n"
