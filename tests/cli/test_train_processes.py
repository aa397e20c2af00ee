"""`barrow train` in two processes, by the script that the page on training shows."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from barrow import Document
from barrow.train.trackers import read_log

PAGE = Path(__file__).parents[2] / "docs" / "train.md"
SMALL = ["model.width=16", "model.heads=2", "model.hidden=32", "model.layers=1", "steps=3"]
SMALL += ["data.seq_len=16", "data.batch=4", "log_every=1"]


@pytest.fixture
def store(barrow: Callable, write: Callable, tmp_path: Path) -> Path:
    texts = [Document(f"stone upon stone {n} " * 9, {"pile_set_name": "A"}) for n in range(30)]
    shard = write(texts, "archive")
    code, _, err = barrow("tokenize", shard, "-t", "bytes", "-o", tmp_path / "s", "--workers", 0)
    assert code == 0, err
    return tmp_path / "s"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    part = PAGE.read_text().partition("## Several processes")[2]
    found = re.search(r"```python\n(.*?)```", part, re.S)
    assert found is not None
    (tmp_path / "one_of_many.py").write_text(found[1])
    return tmp_path / "one_of_many.py"


def started(script: Path, *each: list[str]) -> list[tuple[int, str, str]]:
    """Code, output and errors of a process for each list of arguments."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{found.getsockname()[1]}"
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=1", "JAX_PLATFORMS": "cpu"}
    processes = [
        subprocess.Popen(
            [sys.executable, script, address, str(len(each)), str(number), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | flags,
        )
        for number, arguments in enumerate(each)
    ]
    try:
        said = [process.communicate(timeout=300) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return [(p.returncode, *told) for p, told in zip(processes, said, strict=True)]


def test_one_tells_and_trouble_of_one_is_heard_by_all(
    script: Path, store: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    arguments = ["train", "gpt2.tiny", f"store={store}", f"out={out}", *SMALL]
    elsewhere = [a.replace("store=", "store=no") for a in arguments]
    (code, told, err), second = started(script, arguments, elsewhere)
    assert (code, told, second[0], second[1]) == (1, "", 1, "")
    # JAX may have words of its own, about processes that leave.
    (why,) = re.findall(r"^barrow: (.* is no token store: no such folder.*)$", second[2], re.M)
    assert f"barrow: process 1 failed: NotFound: {why}" in err.splitlines()
    assert not out.exists()

    (code, told, err), second = started(script, arguments, arguments)
    assert code == 0, err
    assert "loss of the last step" in told
    assert re.findall(r"^step (\S+)  loss", err, re.M) == ["0/3", "1/3", "2/3"]
    assert [line["step"] for line in read_log(out / "log.jsonl")] == [0, 1, 2]
    # Gloo, through which devices of CPUs talk, says so itself.
    heard = [line for line in second[1].splitlines() if not line.startswith("[Gloo]")]
    assert (second[0], heard) == (0, [])
    assert not re.search(r"^step", second[2], re.M)
