"""Hosts through real servers of ssh on the loopback (ACCELERATE-15)."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.launch.test_workers import BEGIN, are_gone

from barrow.launch import Failed, launch

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
HOSTS = ("127.0.0.1", "127.0.0.2")
pytestmark = pytest.mark.skipif(
    SSHD is None or not shutil.which("ssh"), reason="there is no sshd here"
)


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The processes of two servers, each for one address; ssh is configured to reach them."""
    assert SSHD is not None
    monkeypatch.chdir(tmp_path)
    for name in ("host", "user"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", name]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    shutil.copy("user.pub", "authorized")
    if not os.getuid():
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # a root's server wants it
    started = []
    config = (
        f"User {getpass.getuser()}\nIdentityFile {tmp_path}/user\nIdentitiesOnly yes\n"
        "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n"
    )
    try:
        for host in HOSTS:
            with socket.socket() as found:
                found.bind((host, 0))
                port = found.getsockname()[1]
            settings = tmp_path / f"sshd-{host}"
            settings.write_text(
                f"ListenAddress {host}\nPort {port}\nHostKey {tmp_path}/host\nPidFile none\n"
                f"AuthorizedKeysFile {tmp_path}/authorized\nStrictModes no\nUsePAM no\n"
                "PasswordAuthentication no\nPermitRootLogin prohibit-password\n"
            )
            command = [SSHD, "-D", "-e", "-f", str(settings)]
            started.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
            config += f"Host {host}\n  Port {port}\n"
            while True:  # until it listens
                try:
                    socket.create_connection((host, port)).close()
                    break
                except ConnectionRefusedError:
                    assert started[-1].poll() is None, "sshd did not start"
                    time.sleep(0.01)
        (tmp_path / "ssh_config").write_text(config)
        yield [one.pid for one in started]
    finally:
        for one in started:
            kill(one.pid)
            one.wait()


def kill(pid: int) -> None:
    """End a server and its part of every connection, but not what runs through them."""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        name = Path(f"/proc/{child}/comm").read_text()
        if name.startswith("sshd"):
            kill(int(child))
    os.kill(pid, signal.SIGKILL)


def test_a_server_that_is_killed(servers: list[int], tmp_path: Path) -> None:
    """Both run their process; when one is gone, that is said, and no process is left."""
    said: list[str] = []
    (tmp_path / "script.py").write_text(
        BEGIN + "print(os.environ['SSH_CONNECTION'].split()[2], file=sys.stderr)\ntime.sleep(600)\n"
    )

    def hear(line: str) -> None:
        said.append(line)
        if len(said) == 2:
            kill(servers[1])

    ssh = f"ssh -F {tmp_path}/ssh_config"
    with pytest.raises(
        Failed, match=r"process 1 of 2 on 127.0.0.2 could not be reached by ssh, or"
    ):
        launch(["script.py"], num=2, hosts=HOSTS, ssh=ssh, write=hear)
    assert sorted(said[:2]) == ["127.0.0.1\n", "[1] 127.0.0.2\n"]
    assert are_gone(tmp_path)
    # It does not answer any more.
    with pytest.raises(
        Failed, match=r"process 1 of 2 on 127.0.0.2 could not be reached by ssh, or"
    ):
        launch(["script.py"], num=2, hosts=HOSTS, ssh=ssh, write=said.append)


@pytest.mark.soak
def test_processes_of_two_hosts_meet(servers: list[int], tmp_path: Path) -> None:
    """JAX on both: the self-test of `barrow env`."""
    command = [sys.executable, "-m", "barrow", "launch", "-n", "2", "--hosts", ",".join(HOSTS)]
    command += ["--ssh", f"ssh -F {tmp_path}/ssh_config", "env", "--test"]
    done = subprocess.run(
        command,
        env=os.environ | {"XLA_FLAGS": "", "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "self-test   passed by all processes (2), on " in done.stdout
    assert "process 0 of 2, 127.0.0.1:" in done.stdout
