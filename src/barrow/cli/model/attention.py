"""`barrow model attention`: every attention map of an encoder for a text, as a page or arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from barrow.cli.model.open import ModelOption, Truncate, open_encoder
from barrow.cli.options import DtypeOption, TokenizerOption, Trust


def attention(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What is read.", show_default=False)],
    model: ModelOption,
    out: Annotated[
        list[Path],
        typer.Option(
            help="A page, NAME.html, or the maps, NAME.safetensors; may be repeated.",
            show_default=False,
        ),
    ],
    truncate: Truncate = False,
    tokenizer: TokenizerOption = None,
    dtype: DtypeOption = None,
    trust: Trust = None,
) -> None:
    """Show which tokens each head of each layer attends to."""
    import numpy as np

    from barrow.files import write_bytes
    from barrow.models.roberta.attention_maps import attention_maps, attention_page
    from barrow.models.rows import marked_row
    from barrow.weights.safetensors_write import write_safetensors

    for file in out:
        if file.suffix not in (".html", ".safetensors"):
            raise typer.BadParameter(f"--out must be a .html or a .safetensors file, got {file}")
    encoder, params, reader = open_encoder(model, tokenizer=tokenizer, dtype=dtype, trust=trust)
    row = marked_row(reader, text, config=encoder.config, truncate=truncate)
    maps = np.asarray(attention_maps(encoder, params, row.tokens[None]))[:, 0]
    names = [reader.decode_marked([int(token)]) for token in row.tokens]
    cut = f"{row.num_cut:,} tokens past the model's positions were cut." if row.num_cut else ""
    for file in out:
        if file.suffix == ".html":
            page = attention_page(maps, names, text=text, model=Path(model).name, note=cut)
            write_bytes(file, page.encode())
        else:
            write_safetensors(file, {"attention": maps, "tokens": row.tokens})
        typer.echo(f"{maps.shape[0]} layers × {maps.shape[1]} heads → {file}")
    if cut:
        typer.echo(cut, err=True)
