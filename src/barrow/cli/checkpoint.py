"""`barrow checkpoint`: show, compare and convert checkpoints."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barrow.cli.model.models import at_step
from barrow.cli.options import AsJson, StepOption, Trust
from barrow.cli.terminal import print_table, printable

if TYPE_CHECKING:
    from barrow.checkpoint.index import Index
    from barrow.weights import Tensors

Where = Annotated[
    Path,
    typer.Argument(
        metavar="RUN|CHECKPOINT",
        help="A run, a folder of checkpoints (the newest is meant), or one checkpoint.",
        show_default=False,
    ),
]


class SourceFormat(StrEnum):
    """Formats that parameters are read from."""

    CHECKPOINT = "checkpoint"
    SAFETENSORS = "safetensors"
    MSGPACK = "msgpack"
    TORCH = "torch"


class TargetFormat(StrEnum):
    """Formats that parameters are written in."""

    CHECKPOINT = "checkpoint"
    SAFETENSORS = "safetensors"
    MSGPACK = "msgpack"
    HF = "hf"


def show(path: Where, as_json: AsJson = False) -> None:
    """Steps of a run, and what its newest complete checkpoint holds."""
    from barrow.checkpoint.folder import find_checkpoint, open_index

    steps = _steps(path)
    whole = [entry["step"] for entry in steps if entry["problem"] is None]
    found = find_checkpoint(path, step=whole[-1] if whole else None)
    index = open_index(found)
    if as_json:
        import json

        result = {"folder": str(found), "steps": steps, **_as_dict(index)}
        typer.echo(json.dumps(result, indent=1))
        return
    for entry in steps:
        problem = f"  {printable(entry['problem'])}" if entry["problem"] else ""
        size = f"{entry['bytes']:>15,}" if entry["bytes"] is not None else f"{'?':>15}"
        typer.echo(f"step {entry['step']:>9}  {size} bytes{problem}")
    if steps:
        typer.echo()
    step = "of no step" if index.step is None else f"of step {index.step}"
    typer.echo(f"{found}, {step}: {len(index.leaves):,} arrays, {index.num_bytes:,} bytes")
    for key, value in index.about.items():
        typer.echo(f"{printable(key)}: {printable(_short(value))}")
    _print_leaves(index)


def diff(
    first: Where,
    second: Where,
    as_json: AsJson = False,
) -> None:
    """Arrays that differ: the largest |a − b|, and ‖a − b‖ / ‖a‖. Exits 1 if any do."""
    from dataclasses import asdict

    from barrow.checkpoint.diff import differences

    a, b = _open_both(first, second)
    found = list(differences(a, b))
    if as_json:
        import json

        typer.echo(json.dumps([asdict(entry) for entry in found], indent=1))
    else:
        for entry in found:
            name = printable(entry.path)
            if entry.first is None or entry.second is None:
                only = "second" if entry.first is None else "first"
                typer.echo(f"{name}: only in the {only}, {entry.first or entry.second}")
            elif entry.max_abs is None:
                typer.echo(f"{name}: {entry.first} and {entry.second}")
            else:
                typer.echo(f"{name}: max {entry.max_abs:.3g}, relative {entry.relative:.3g}")
        typer.echo(f"{len(found):,} of {len(set(a) | set(b)):,} arrays differ")
    raise typer.Exit(1 if found else 0)


def convert(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|CHECKPOINT|FILE",
            help="A run or checkpoint, or a .safetensors, .msgpack or .pt file.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="Where to; not there yet.", show_default=False)],
    to: Annotated[TargetFormat, typer.Option(help="What to write.")] = TargetFormat.CHECKPOINT,
    source_format: Annotated[
        SourceFormat | None,
        typer.Option("--from", help="The source's format, where its name does not show it."),
    ] = None,
    step: StepOption = None,
    trust: Trust = None,
) -> None:
    """Write the parameters, and nothing else, in another format."""
    from barrow.models.convert import convert as convert_params

    num = convert_params(
        at_step(str(source), step),
        out,
        to=to.value,
        source_format=None if source_format is None else source_format.value,
        trust=trust or (),
    )
    typer.echo(f"{num:,} parameters written to {out}")


def _steps(path: Path) -> list[dict[str, Any]]:
    from barrow.checkpoint.folder import listed, locate, open_index
    from barrow.errors import CheckpointError

    result: list[dict[str, Any]] = []
    for folder in (path / "checkpoints", path):
        for step in listed(folder):
            entry: dict[str, Any] = {"step": step, "bytes": None, "problem": None}
            try:
                entry["bytes"] = open_index(locate(folder, step)).num_bytes
            except CheckpointError as error:
                entry["problem"] = error.cause
            except OSError as error:  # it was removed meanwhile
                entry["problem"] = str(error)
            result.append(entry)
    return result


def _open_both(first: Path, second: Path) -> tuple[Tensors, Tensors]:
    """All arrays of two checkpoints; beside a file of parameters, a checkpoint's parameters."""
    from barrow.checkpoint.sources import format_of, open_params

    if format_of(first) == format_of(second) == "checkpoint":
        return _open_all(first), _open_all(second)
    return open_params(first), open_params(second)


def _open_all(path: Path) -> Tensors:
    from barrow.checkpoint.sources import open_verified

    return open_verified(path).tensors()


def _as_dict(index: Index) -> dict[str, Any]:
    return {
        "step": index.step,
        "bytes": index.num_bytes,
        "about": dict(index.about),
        "files": {name: file.sha256 for name, file in index.files.items()},
        "leaves": {
            path: {
                "dtype": leaf.kind.key_dtype or leaf.kind.dtype,
                "shape": list(leaf.kind.shape),
                "pieces": len(leaf.pieces),
            }
            for path, leaf in index.leaves.items()
        },
    }


def _short(value: Any) -> str:
    import json

    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 400 else f"{text[:400]}…"


def _print_leaves(index: Index) -> None:
    import math

    print_table(
        ("array", "type", "shape", "elements", "pieces"),
        (
            (
                path,
                leaf.kind.key_dtype or leaf.kind.dtype,
                str(list(leaf.kind.shape)),
                f"{math.prod(leaf.kind.shape):,}",
                str(len(leaf.pieces)),
            )
            for path, leaf in index.leaves.items()
        ),
    )
