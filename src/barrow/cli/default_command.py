"""A verb with arguments of its own that has further verbs after it: `barrow score`, `… diff`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import typer
import typer.core
import typer.main


def with_verbs(verbs: Mapping[str, Callable[..., Any]]) -> type[typer.core.TyperCommand]:
    """The class of a command that hands over when its first argument is one of some verbs.

    ``app.command("score", cls=with_verbs({"diff": diff}))(score)``. Whatever else comes first is
    the command's own; a path of such a name is written ``./diff``.
    """
    others = {name: _command(name, function) for name, function in verbs.items()}

    class WithVerbs(typer.core.TyperCommand):
        def make_context(
            self, info_name: Any, args: list[str], parent: Any = None, **extra: Any
        ) -> Any:
            if args and args[0] in others:
                name = f"{info_name} {args[0]}"
                return others[args[0]].make_context(name, args[1:], parent=parent, **extra)
            return super().make_context(info_name, args, parent=parent, **extra)

        def format_epilog(self, ctx: Any, formatter: Any) -> None:
            with formatter.section("Commands"):
                formatter.write_dl(
                    [
                        (name, other.get_short_help_str(formatter.width))
                        for name, other in others.items()
                    ]
                )
            super().format_epilog(ctx, formatter)

    return WithVerbs


def _command(name: str, function: Callable[..., Any]) -> Any:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name)(function)
    return typer.main.get_command(app)
