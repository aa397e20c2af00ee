"""Processes that are started together end together (ACCELERATE-15)."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from barrow.errors import ConfigError
from barrow.launch import Failed, launch
from barrow.launch.workers import _PASSED_ON

# Every process says that it runs, and where; then it does what its number says.
BEGIN = """
import os, pathlib, signal, subprocess, sys, time
rank = int(os.environ["BARROW_PROCESS"])
pathlib.Path(f"{rank}.pid.new").write_text(str(os.getpid()))
os.rename(f"{rank}.pid.new", f"{rank}.pid")
def wait_for(*names):
    while not all(pathlib.Path(name).exists() for name in names):
        time.sleep(0.01)
wait_for("0.pid", "1.pid")
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    monkeypatch.chdir(tmp_path)

    def written(text: str) -> list[str]:
        (tmp_path / "script.py").write_text(BEGIN + text)
        return ["script.py"]

    return written


def are_gone(folder: Path, *, within: float = 60) -> bool:
    """Whether the processes that said their numbers end."""
    pids = [int(file.read_text()) for file in sorted(folder.glob("*.pid"))]
    assert pids
    end = time.monotonic() + within
    while any(_runs(pid) for pid in pids):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_each_has_its_number(script: Callable[[str], list[str]], tmp_path: Path) -> None:
    said: list[str] = []
    text = """
names = ("PROCESSES", "ADDRESS", "LOCAL_PROCESS", "LOCAL_PROCESSES")
print(rank, *(os.environ[f"BARROW_{name}"] for name in names), file=sys.stderr)
"""
    launch(script(text), num=2, write=said.append)
    first, second = sorted(said, key=lambda line: line.startswith("[1] "))
    number, num, address, *places = first.split()
    assert (number, num, places) == ("0", "2", ["0", "2"])
    assert second == f"[1] 1 2 {address} 1 2\n"


def test_one_fails_and_the_others_are_stopped(
    script: Callable[[str], list[str]], tmp_path: Path
) -> None:
    """Its traceback comes first, and nothing that others started is left."""
    said: list[str] = []
    text = """
if rank == 1:
    wait_for("child.pid")
    raise RuntimeError("planted")
subprocess.Popen([sys.executable, "-c", "import os, pathlib, time\\n"
    "pathlib.Path('child').write_text(str(os.getpid())); os.rename('child', 'child.pid')\\n"
    "time.sleep(600)"])
time.sleep(600)
"""
    with pytest.raises(Failed, match="process 1 of 2 failed with exit code 1") as failed:
        launch(script(text), num=2, write=said.append)
    assert failed.value.code == 1
    assert said[0] == "[1] Traceback (most recent call last):\n"
    assert said[-1] == "[1] RuntimeError: planted\n"
    assert are_gone(tmp_path)


def test_who_heard_of_a_failure_is_not_its_cause(
    script: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barrow.launch.workers._TOGETHER", 60)
    said: list[str] = []
    text = """
class PeerFailed(Exception): pass
if rank == 0:
    raise PeerFailed("process 1 failed")
time.sleep(0.1)  # so that it is usually the second
raise ValueError("planted")
"""
    with pytest.raises(Failed, match="process 1 of 2"):
        launch(script(text), num=2, write=said.append)
    assert said[0].startswith("[1] ")
    assert said[-1].endswith("PeerFailed: process 1 failed\n")


def test_killed(script: Callable[[str], list[str]], tmp_path: Path) -> None:
    text = "os.kill(os.getpid(), signal.SIGKILL) if rank else time.sleep(600)"
    with pytest.raises(Failed, match=r"process 1 of 2 was ended by SIGKILL; .*memory is short"):
        launch(script(text), num=2, write=lambda _: None)
    assert are_gone(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_launching_program_ends(
    number: signal.Signals, script: Callable[[str], list[str]], tmp_path: Path
) -> None:
    """By Ctrl-C or kill -9: no process stays, even one that ignores SIGTERM."""
    text = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)"
    command = [sys.executable, "-m", "barrow", "launch", "-n", "2", *script(text)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as started:
        while not all((tmp_path / f"{rank}.pid").exists() for rank in range(2)):
            time.sleep(0.01)
        started.send_signal(number)
        _, said = started.communicate(timeout=60)
    if number == signal.SIGINT:
        assert (started.returncode, said) == (130, "barrow: interrupted\n")
    assert are_gone(tmp_path)


def test_hosts(script: Callable[[str], list[str]], tmp_path: Path) -> None:
    """Two hosts, by a stand-in for ssh that runs the command here."""
    fake = tmp_path / "ssh"
    fake.write_text('#!/bin/sh\nshift 4; host=$1; shift; HOST=$host exec sh -c "$*"\n')
    fake.chmod(0o755)
    said: list[str] = []
    text = """
names = ("HOST", "BARROW_ADDRESS", "BARROW_LOCAL_PROCESS", "HF_HUB_OFFLINE")
print(rank, *(os.environ[name] for name in names), file=sys.stderr)
"""
    launch(script(text), num=2, hosts=["me@a", "b"], port=77, ssh=str(fake), write=said.append)
    said.sort(key=lambda line: line.startswith("[1]"))
    assert said == ["0 me@a a:77 0 1\n", "[1] 1 b a:77 0 1\n"]
    assert "HF_" in _PASSED_ON
    # One that does not answer.
    fake.write_text('#!/bin/sh\nshift 4; [ "$1" = b ] && exit 255; shift; exec sh -c "$*"\n')
    with pytest.raises(Failed, match="process 1 of 2 on b could not be reached by ssh"):
        launch(script("time.sleep(600)"), num=2, hosts=["a", "b"], ssh=str(fake), write=said.append)


def test_bad_input(script: Callable[[str], list[str]]) -> None:
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port} is in use on this machine"):
            launch(script(""), num=2, port=port)
    with pytest.raises(ConfigError, match="-n must be ≥ 1, got 0"):
        launch(script(""), num=0)
    with pytest.raises(ConfigError, match="-n must be a multiple of the 2 hosts, got 3"):
        launch(script(""), num=3, hosts=["a", "b"])


def test_processes_meet_and_end(tmp_path: Path) -> None:
    """Real processes of JAX: one ends early, one fails or exits while the other waits for it."""
    (tmp_path / "sums.py").write_text(
        "import sys\n"
        "from barrow.launch import join\n"
        "world = join()\n"
        "import jax.numpy as jnp\n"
        "from jax.experimental.multihost_utils import process_allgather\n"
        "if world.process == 1 and 'fail' in sys.argv: raise RuntimeError('planted')\n"
        "if world.process == 1 and 'exit' in sys.argv: raise SystemExit(3)\n"
        "print('sum', int(process_allgather(jnp.array([world.process + 1])).sum()))\n"
        "if world.process == 1: sys.exit()\n"
        "client = __import__('jax')._src.distributed.global_state.client\n"
        "client.blocking_key_value_get('barrow/watch/finished/1', 60_000)\n"
        "print('still here')\n"
    )
    ended = {}
    for word in ("", "fail", "exit"):
        ended[word] = subprocess.run(
            [sys.executable, "-m", "barrow", "launch", "-n", "2", "sums.py", word],
            cwd=tmp_path,
            env=os.environ | {"XLA_FLAGS": "", "JAX_PLATFORMS": "cpu"},
            capture_output=True,
            text=True,
            timeout=100,  # JAX alone would wait for 300 s
            check=False,
        )
    assert ended[""].returncode == 0, ended[""].stderr
    assert ended[""].stdout.splitlines()[-2:] == ["sum 3", "still here"]
    lines = ended["fail"].stderr.splitlines()
    assert lines[0] == "[1] Traceback (most recent call last):"
    assert 'File "sums.py", line 6, in <module>' in lines[1]
    assert lines[-1].startswith("barrow: process 1 of 2 failed with exit code 1")
    assert "process 1 of 2 failed with exit code 3; all others were" in ended["exit"].stderr
    assert ended["fail"].returncode == ended["exit"].returncode == 1


@pytest.mark.soak
def test_torchrun(tmp_path: Path) -> None:
    """The real one, whose own store listens at MASTER_PORT."""
    (tmp_path / "sums.py").write_text(
        "from barrow.launch import join\n"
        "world = join()\n"
        "import jax.numpy as jnp\n"
        "from jax.experimental.multihost_utils import process_allgather\n"
        "print(world.by, int(process_allgather(jnp.array([world.process + 1])).sum()))\n"
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--nnodes=1", "--nproc-per-node=2"]
    done = subprocess.run(
        [*command, "sums.py"],
        cwd=tmp_path,
        env=os.environ | {"XLA_FLAGS": "", "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("torchrun 3") == 2
