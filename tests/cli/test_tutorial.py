"""The tutorial, as it is printed: its files, its recipe, its commands and what they answer."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tutorial-corpus.md"
# Compressed bytes, and so the names of shards, may differ with the version of zstandard.
_SHARD = re.compile(r"\b\d{5}-[0-9a-f]{8}\b|[\d,]+ bytes on disk, compression ratio [\d.]+")


def lines(text: str) -> list[str]:
    return [_SHARD.sub("NAME", line.rstrip()) for line in text.rstrip("\n").split("\n")]


def test_the_tutorial(barrow: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(), re.S | re.M)
    said = ""
    checked = 0
    for kind, block in blocks[1:]:  # the first installs barrow
        if kind == "sh":
            subprocess.run(["bash", "-ec", block], check=True)
        elif kind == "python" and "def recipe()" in block:
            Path("hill.py").write_text(block)
        elif kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(block, str(PAGE), "exec"), {})
            said = out.getvalue()
        elif not block.startswith("$ "):
            assert lines(said) == lines(block)
            checked += 1
        else:
            for command, answer in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
                words = shlex.split(command)
                if words[0] == "barrow":
                    here = ["--workers", "0"] if words[1] == "build" else []
                    code, out, err = barrow(*words[1:], *here)
                    assert code == 0, err
                else:
                    out = subprocess.run(
                        command, shell=True, check=True, capture_output=True, text=True
                    ).stdout
                assert lines(out) == lines(answer), command
                checked += 1
    assert checked == 10
