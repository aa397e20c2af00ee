"""`barrow launch`: a script or a verb in several processes."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from barrow.cli.terminal import printable


def launch(
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="SCRIPT.py|VERB …",
            help="A Python script, or a verb of barrow, with its arguments.",
            show_default=False,
        ),
    ],
    num: Annotated[int, typer.Option("-n", help="Processes in all.", show_default=False)],
    hosts: Annotated[
        str,
        typer.Option(metavar="A,B", help="Hosts, reached by ssh.", show_default="this machine"),
    ] = "",
    port: Annotated[
        int | None,
        typer.Option(help="Where the first listens.", show_default="a free one", min=1, max=65535),
    ] = None,
    ssh: Annotated[str, typer.Option(help="The command, with its options.")] = "ssh",
    python: Annotated[
        str, typer.Option(help="The interpreter on the hosts.", show_default="this one")
    ] = sys.executable,
) -> None:
    """Run a script or a verb in several processes, which find each other; one fails, all stop.

    barrow launch -n 2 train llama.tiny --store tokens --out run
    """
    from barrow.launch import Failed
    from barrow.launch import launch as start

    first, *rest = command
    given = [first, *rest] if first.endswith(".py") else ["-m", "barrow", first, *rest]
    try:
        start(
            given,
            num=num,
            hosts=[host for host in hosts.split(",") if host],
            port=port,
            ssh=ssh,
            python=python,
            write=lambda line: typer.echo(line, err=True, nl=False),
        )
    except Failed as failed:
        typer.echo(printable(f"barrow: {failed}"), err=True)
        raise typer.Exit(1) from None
