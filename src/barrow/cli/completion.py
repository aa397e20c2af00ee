"""`barrow completion`: the completion script of a shell."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import (  # type: ignore[attr-defined]
    completion_init,
    get_completion_script,
)

# Lets the program answer a shell's requests for completions.
completion_init()


class Shell(StrEnum):
    """Supported shells."""

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
