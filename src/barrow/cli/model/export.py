"""`barrow export`: a model in a format of others."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from barrow.cli.model.models import at_step, locate_model
from barrow.cli.options import StepOption, Trust
from barrow.cli.terminal import printable


class FormatChoice(StrEnum):
    """What is written."""

    ONNX = "onnx"
    GGUF = "gguf"
    HF = "hf"


class StoredChoice(StrEnum):
    """Types of matrices in a GGUF file."""

    F32 = "f32"
    F16 = "f16"
    Q8_0 = "q8_0"
    Q4_0 = "q4_0"


class BitsChoice(StrEnum):
    """Bits of quantized weights in products of integers."""

    AUTO = "auto"
    SEVEN = "7"
    EIGHT = "8"


def export(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A decoder, RoBERTa or CLIP: a run or checkpoint, a folder, a file; what "
            "`compress` wrote keeps its integers.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(help="The .onnx or .gguf file, or the folder of hf.", show_default=False),
    ],
    to: Annotated[
        FormatChoice,
        typer.Option(help="A graph for ONNX Runtime, a file for llama.cpp, a Hugging Face folder."),
    ] = FormatChoice.ONNX,
    bits: Annotated[
        BitsChoice,
        typer.Option(help="Of int8 weights in a graph; auto: 7 where this CPU lacks VNNI."),
    ] = BitsChoice.AUTO,
    stored: Annotated[
        StoredChoice, typer.Option(help="With gguf: how matrices are stored.")
    ] = StoredChoice.F16,
    step: StepOption = None,
    trust: Trust = None,
) -> None:
    """Write a model for ONNX Runtime, llama.cpp or transformers."""
    path = locate_model(at_step(model, step))
    if to is FormatChoice.HF:
        from barrow.compress.export.hf import export_hf

        export_hf(path, out, trust=trust or ())
        typer.echo(printable(f"{model} → {out}"))
        return
    if to is FormatChoice.GGUF:
        from barrow.compress.export.gguf import export_gguf

        export_gguf(path, out, stored=stored.value, trust=trust or ())
        typer.echo(printable(f"{model} → {out}: {out.stat().st_size:,} bytes"))
        return
    from barrow.compress.export.onnx import export_onnx

    wanted = None if bits is BitsChoice.AUTO else bits is BitsChoice.SEVEN
    is_short = export_onnx(path, out, seven_bits=wanted, trust=trust or ())
    typer.echo(printable(f"{model} → {out}: {out.stat().st_size:,} bytes"))
    if is_short:
        typer.echo(
            "note: integers have 7 bits, as for a processor without VNNI, where 8 bits give wrong "
            "sums; int8 is hardly faster than float32 there"
        )
