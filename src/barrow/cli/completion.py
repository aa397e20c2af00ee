"""`barrow completion`: the script that teaches a shell our verbs and options."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import (  # type: ignore[attr-defined]
    completion_init,
    get_completion_script,
)

# Lets the program answer when a shell asks it how to go on.
completion_init()


class Shell(StrEnum):
    """Shells that can be taught."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(help="bash, zsh or fish.", show_default=False)],
) -> None:
    """Print a completion script, for example: eval "$(barrow completion bash)"."""
    script = get_completion_script(
        prog_name="barrow", complete_var="_BARROW_COMPLETE", shell=shell.value
    )
    typer.echo(script)
