"""`barrow board`: results of `barrow score` as a page, in a file or while they arrive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from barrow.cli.terminal import printable


def board(
    results: Annotated[
        list[Path],
        typer.Argument(help="Results of barrow score, or folders of them."),
    ],
    out: Annotated[Path | None, typer.Option(help="Write the page to this file.")] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Show it on this machine, new results as they arrive.")
    ] = False,
    port: Annotated[
        int, typer.Option(help="With --serve: the port; 0 takes one that is free.")
    ] = 8765,
    open_: Annotated[bool, typer.Option("--open", help="Show it in a browser.")] = False,
) -> None:
    """Make a leaderboard of results: one page, which fetches nothing."""
    if serve == (out is not None):
        raise typer.BadParameter("give one of --out FILE and --serve")
    if out is not None:
        write_board(results, out)
        if open_:
            _show(out.resolve().as_uri())
    else:
        _serve(results, port, open_=open_)


def write_board(results: list[Path], out: Path) -> None:
    """The page of results, in a file; its name is printed."""
    from barrow.corpus.build.publish import write_if_changed
    from barrow.errors import NotFound, ScoreError
    from barrow.score.board import board_data, gather, page

    gathered = gather(results)
    named = [f"{one.file} {one.reason}" for one in gathered.left_out if one.named]
    if named:
        raise ScoreError(f"nothing was written: {'; '.join(named)}")
    for one in gathered.left_out:
        typer.echo(printable(f"barrow: left out: {one.file} {one.reason}"), err=True)
    if not gathered.found:
        raise NotFound(
            f"no results in {', '.join(map(str, results))}; barrow score MODEL CORPUS --out DIR "
            "makes one"
        )
    if not out.parent.is_dir():
        raise NotFound(f"{out.parent} is not a folder to write {out.name} to")
    write_if_changed(out, page(board_data(gathered)))
    typer.echo(out)


def _serve(results: list[Path], port: int, *, open_: bool) -> None:
    from barrow.score.board import board_server

    with board_server(results, port=port) as server:
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        typer.echo(f"{address} (Ctrl-C ends it)")
        if open_:
            _show(address)
        server.serve_forever()


def _show(address: str) -> None:
    import webbrowser

    webbrowser.open(address)
