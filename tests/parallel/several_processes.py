"""A module of the tests run as several processes, which know one another."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ended:
    """How a process ended."""

    code: int
    out: str
    err: str


def in_several(
    module: str, *arguments: object, num: int, devices: int, **environment: str
) -> list[Ended]:
    """How each ended. They are started with a port of their coordinator, then their number."""
    port = free_port()
    commands = [["-m", module, port, number, *arguments] for number in range(num)]
    return ended(commands, devices=devices, **environment)


def free_port() -> str:
    """A port that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


def xla_flags(devices: int) -> str:
    """Those of these tests, which compile quickly, but for the number of virtual devices."""
    return re.sub(r"(?<=device_count=)\d+", str(devices), os.environ["XLA_FLAGS"])


def ended(commands: Sequence[Sequence[object]], *, devices: int, **environment: str) -> list[Ended]:
    """How a process of Python ended for each list of arguments, all at the same time."""
    flags = {"XLA_FLAGS": xla_flags(devices), "JAX_PLATFORMS": "cpu"}
    started = [
        subprocess.Popen(
            [sys.executable, *map(str, command)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | flags | environment,
            cwd=Path(__file__).parents[2],
        )
        for command in commands
    ]
    try:
        said = [process.communicate(timeout=500) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    ends = zip(started, said, strict=True)
    return [Ended(process.returncode, out, err) for process, (out, err) in ends]


def in_two(module: str, *arguments: object, **environment: str) -> list[str]:
    """What each of two processes of four devices printed; both end well."""
    both = in_several(module, *arguments, num=2, devices=4, **environment)
    for one in both:
        assert one.code == 0, one.out + one.err
    return [one.out for one in both]
