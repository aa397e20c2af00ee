"""`barrow train` in two processes, which find each other by their variables."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.parallel.several_processes import Ended, ended, free_port

from barrow import Document
from barrow.train.trackers import read_log

SMALL = ["model.width=16", "model.heads=2", "model.hidden=32", "model.layers=1", "steps=3"]
SMALL += ["data.seq_len=16", "data.batch=4", "log_every=1"]


@pytest.fixture
def store(barrow: Callable, write: Callable, tmp_path: Path) -> Path:
    texts = [Document(f"stone upon stone {n} " * 9, {"pile_set_name": "A"}) for n in range(30)]
    shard = write(texts, "archive")
    code, _, err = barrow(
        "tokenize", shard, "--tokenizer", "bytes", "--out", tmp_path / "s", "--workers", 0
    )
    assert code == 0, err
    return tmp_path / "s"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """`barrow` as one of several processes, as `barrow launch` starts it."""
    (tmp_path / "one_of_many.py").write_text(
        "import os, sys\n"
        "names = ('BARROW_ADDRESS', 'BARROW_PROCESSES', 'BARROW_PROCESS')\n"
        "os.environ |= dict(zip(names, sys.argv[1:4]))\n"
        "from barrow.cli.main import main\n"
        "main(sys.argv[4:])\n"
    )
    return tmp_path / "one_of_many.py"


def started(script: Path, *each: list[str]) -> list[Ended]:
    """The script as a process for each list of arguments."""
    address = f"127.0.0.1:{free_port()}"
    commands = [
        [script, address, len(each), number, *arguments] for number, arguments in enumerate(each)
    ]
    return ended(commands, devices=1)


def test_one_tells_and_trouble_of_one_is_heard_by_all(
    script: Path, store: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    arguments = ["train", "gpt2.tiny", "--store", store, "--out", out, *SMALL]
    elsewhere = [tmp_path / "nowhere" if a is store else a for a in arguments]
    first, second = started(script, arguments, elsewhere)
    assert (first.code, first.out, second.code, second.out) == (1, "", 1, "")
    # JAX may have words of its own, about processes that leave.
    (why,) = re.findall(r"^barrow: (.* is not a token store: no such folder.*)$", second.err, re.M)
    assert f"barrow: process 1 failed: NotFound: {why}" in first.err.splitlines()
    assert not out.exists()

    first, second = started(script, arguments, arguments)
    assert first.code == 0, first.err
    assert "loss of the last step" in first.out
    assert re.findall(r"^step (\S+)  loss", first.err, re.M) == ["0/3", "1/3", "2/3"]
    assert [line["step"] for line in read_log(out / "log.jsonl")] == [0, 1, 2]
    # Gloo, through which devices of CPUs talk, says so itself.
    heard = [line for line in second.out.splitlines() if not line.startswith("[Gloo]")]
    assert (second.code, heard) == (0, [])
    assert not re.search(r"^step", second.err, re.M)
