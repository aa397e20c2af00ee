"""The processes of a world meet before JAX connects them.

JAX ends a process, without an error that could be caught, when another does not come or counts
otherwise. Here the first process listens where JAX will; the others say who they are, and all hear
whether everyone is there.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from typing import Any

from barrow.errors import ConfigError
from barrow.launch.world import World

_RETRY = 0.1  # seconds until the first process is tried again
_WORDS = 10.0  # seconds in which who is connected must say who it is


def meet(world: World, *, timeout: float) -> tuple[str, ...]:
    """The names of the hosts of all processes; `ConfigError` in all if one is missing or differs.

    The others hear of a missing one from the first, so they wait a little longer.
    """
    end = time.monotonic() + timeout
    hosts, wrong = _receive(world, end) if world.process == 0 else _visit(world, end, timeout)
    if wrong:
        raise ConfigError(f"{wrong} (started by {world.by}); BARROW_SINGLE=1 runs alone")
    return hosts


def _receive(world: World, end: float) -> tuple[tuple[str, ...], str]:
    """What the first process does: the hosts, or what is wrong."""
    port = int(world.address.rpartition(":")[2])
    hosts = {0: socket.gethostname()}
    wrong = ""
    with contextlib.ExitStack() as stack:
        try:
            is_both = socket.has_dualstack_ipv6()
            family = socket.AF_INET6 if is_both else socket.AF_INET
            server = socket.create_server(("", port), family=family, dualstack_ipv6=is_both)
        except OSError as error:
            cause = os.strerror(error.errno or 0)
            return (), f"port {port} cannot be used on {hosts[0]}: {cause}; pass another"
        stack.enter_context(server)
        visitors = []
        while len(hosts) < world.num and not wrong:
            server.settimeout(max(0.001, end - time.monotonic()))
            try:
                visitor = stack.enter_context(server.accept()[0])
            except TimeoutError:
                missing = [n for n in range(world.num) if n not in hosts]
                wrong = f"{_named(missing)} of {world.num} did not come to {world.address} in time"
                break
            try:
                visitor.settimeout(_WORDS)
                said = _read(visitor)
                process, num, host = said["process"], said["num"], said["host"]
            except (OSError, ValueError, KeyError, TypeError):  # not one of us
                continue
            visitors.append(visitor)
            if num != world.num:
                wrong = f"process {process} on {host} counts {num} processes, the first {world.num}"
            elif process in hosts:
                wrong = f"process {process} is there twice, on {hosts[process]} and {host}"
            hosts[process] = host
        names = [hosts.get(n, "") for n in range(world.num)]
        for visitor in visitors:
            with contextlib.suppress(OSError):
                visitor.sendall(json.dumps([names, wrong]).encode() + b"\n")
        return tuple(names), wrong


def _visit(world: World, end: float, timeout: float) -> tuple[tuple[str, ...], str]:
    """What the others do."""
    host, _, port = world.address.rpartition(":")
    cause = "no answer"
    while (left := end - time.monotonic()) > 0:
        try:
            with socket.create_connection((host.strip("[]"), int(port)), min(left, 10.0)) as first:
                mine = {"process": world.process, "num": world.num, "host": socket.gethostname()}
                first.sendall(json.dumps(mine).encode() + b"\n")
                first.settimeout(left + _WORDS)
                names, wrong = _read(first)
                return tuple(names), wrong
        except (OSError, ValueError) as error:
            cause = getattr(error, "strerror", None) or str(error) or cause
            time.sleep(_RETRY)
    return (), (
        f"process {world.process} of {world.num} could not reach the first at {world.address} in "
        f"{timeout:g} s: {cause}; is it running, with the same address?"
    )


def _read(connection: socket.socket) -> Any:
    with connection.makefile("rb") as lines:
        return json.loads(lines.readline(1 << 20))


def _named(processes: list[int]) -> str:
    some = ", ".join(map(str, processes[:8])) + (", …" if len(processes) > 8 else "")
    return f"process {some}" if len(processes) == 1 else f"processes {some}"
