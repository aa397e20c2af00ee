"""`barrow attention`: every attention map of an encoder for a text, as a page and as arrays."""

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
        Path | None, typer.Option(help="The page, one .html file.", show_default=False)
    ] = None,
    arrays: Annotated[
        Path | None,
        typer.Option(help="The maps as a .safetensors file.", show_default=False),
    ] = None,
    truncate: Truncate = False,
    tokenizer: TokenizerOption = None,
    dtype: DtypeOption = None,
    trust: Trust = None,
) -> None:
    """Show which tokens each head of each layer reads."""
    import numpy as np

    from barrow.files import write_bytes
    from barrow.models.roberta.attention_maps import attention_maps
    from barrow.models.roberta.attention_page import attention_page
    from barrow.models.rows import marked_row
    from barrow.weights.safetensors_write import write_safetensors

    if out is None and arrays is None:
        raise typer.BadParameter("say where the maps go: --out PAGE.html or --arrays A.safetensors")
    if arrays is not None and arrays.suffix != ".safetensors":
        raise typer.BadParameter(f"arrays are written to a .safetensors file, unlike {arrays}")
    encoder, params, reader = open_encoder(model, tokenizer=tokenizer, dtype=dtype, trust=trust)
    row = marked_row(reader, text, config=encoder.config, truncate=truncate)
    maps = np.asarray(attention_maps(encoder, params, row.tokens[None]))[:, 0]
    names = [reader.decode_marked([int(token)]) for token in row.tokens]
    cut = f"{row.num_cut:,} tokens past the model's positions were cut." if row.num_cut else ""
    if out is not None:
        page = attention_page(maps, names, text=text, model=Path(model).name, note=cut)
        write_bytes(out, page.encode())
        typer.echo(f"{maps.shape[0]} layers × {maps.shape[1]} heads → {out}")
    if arrays is not None:
        write_safetensors(arrays, {"attention": maps, "tokens": row.tokens})
        typer.echo(f"attention {list(maps.shape)} → {arrays}")
    if cut:
        typer.echo(cut, err=True)
