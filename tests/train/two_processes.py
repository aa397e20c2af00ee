"""A module of the tests run as two processes of four devices, which know one another."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path


def in_two(module: str, *arguments: object, **environment: str) -> list[str]:
    """What each printed. They are started with a port of their coordinator, then their number."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = str(found.getsockname()[1])
    flags = "--xla_force_host_platform_device_count=4"
    started = [
        subprocess.Popen(
            [sys.executable, "-m", module, port, str(number), *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"} | environment,
            cwd=Path(__file__).parents[2],
        )
        for number in range(2)
    ]
    try:
        said = [process.communicate(timeout=500) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    for process, (out, err) in zip(started, said, strict=True):
        assert process.returncode == 0, out + err
    return [out for out, _ in said]
