"""`barrow env`: what a run has here, whether the processes reach each other, how fast it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from barrow.cli.options import AsJson
from barrow.cli.terminal import printable

if TYPE_CHECKING:
    from barrow.launch.environment import Environment


def env(
    test: Annotated[
        bool, typer.Option("--test", help="Join the other processes; add and gather over all.")
    ] = False,
    measure: Annotated[
        bool, typer.Option("--measure", help="Measure how fast the device is, and store it.")
    ] = False,
    limit: Annotated[
        float, typer.Option(help="Seconds in which every process must answer.", min=1)
    ] = 30,
    as_json: AsJson = False,
) -> None:
    """Who started this process, versions, devices, links, and what is not installed.

    barrow launch -n 2 env --test
    """
    import json
    from dataclasses import asdict, replace

    from barrow.launch import constants, environment

    world = environment.self_test(limit=limit) if test else None
    if measure:
        path = constants.store(constants.measure())
        if not as_json:
            typer.echo(f"stored in {path}", err=True)
    found = environment.describe()
    if world is not None:
        found = replace(found, world=world)
    if world is not None and world.process:
        return  # one says it for all
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=1))
        return
    for name, words in _lines(found, environment.EXTRAS):
        typer.echo(printable(f"{name:<12}{words}"))
    if world is not None:
        hosts = ", ".join(dict.fromkeys(world.hosts)) or found.host
        typer.echo(f"self-test   passed by all processes ({world.num}), on {hosts}")


def _lines(found: Environment, gives: dict[str, str]) -> list[tuple[str, str]]:
    world = found.world
    who = f"process {world.process} of {world.num}, {world.address}" if world.num > 1 else "alone"
    kinds: dict[tuple[str, int | None], int] = {}
    for one in found.devices:
        key = (f"{one.kind} ({one.platform})", one.memory)
        kinds[key] = kinds.get(key, 0) + 1
    lines = [("started by", f"{world.by}: {who}"), ("host", found.host)]
    lines += [("versions", ", ".join(f"{n} {v}" for n, v in found.versions.items()))]
    for (kind, memory), num in kinds.items():
        room = "memory not known" if memory is None else f"{memory / 2**30:.1f} GiB each"
        lines.append(("devices", f"{num} × {kind}, {room}"))
    lines += [("links", line) for line in found.links.splitlines()]
    if found.constants is None:
        lines.append(("measured", "no: barrow env --measure"))
    else:
        fast = found.constants
        rates = ", ".join(f"{n} {v / 1e12:.3g} TFLOP/s" for n, v in fast.flops.items())
        link = "".join(
            f", {one.devices} linked {one.bandwidth / 1e9:.3g} GB/s {one.latency * 1e6:.3g} µs"
            for one in fast.links
        )
        moved = (
            f"memory {fast.memory_bandwidth / 1e9:.3g} GB/s, host {fast.host_bandwidth / 1e9:.3g}"
        )
        rates += f", {moved} GB/s{link}, dispatch {fast.dispatch * 1e6:.3g} µs"
        lines.append(("measured", rates))
    lines += [
        ("missing", f"{extra} ({gives[extra]}): {', '.join(names)}")
        for extra, names in found.missing.items()
    ]
    return lines
