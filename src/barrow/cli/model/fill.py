"""`barrow model fill`: the likeliest words for the masks in a text."""

from __future__ import annotations

from typing import Annotated

import typer

from barrow.cli.model.open import ModelOption, Truncate, open_encoder
from barrow.cli.options import AsJson, DtypeOption, TokenizerOption, Trust
from barrow.cli.terminal import printable


def fill(
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT",
            help='With one or more masks: "Paris is the <mask> of France."',
            show_default=False,
        ),
    ],
    model: ModelOption,
    top: Annotated[int, typer.Option(min=1, help="Words for each mask.")] = 5,
    truncate: Truncate = False,
    tokenizer: TokenizerOption = None,
    dtype: DtypeOption = None,
    trust: Trust = None,
    as_json: AsJson = False,
) -> None:
    """List the likeliest words for each mask of a text."""
    from barrow.models.roberta.fill import fill as likeliest

    encoder, params, reader = open_encoder(model, tokenizer=tokenizer, dtype=dtype, trust=trust)
    found = likeliest(encoder, params, reader, text, top=top, truncate=truncate)
    if as_json:
        import json

        # As transformers' pipeline has it: one list for one mask, else a list of lists.
        lists = [
            [
                {"score": f.score, "token": f.token, "token_str": f.token_text, "sequence": f.text}
                for f in fillings
            ]
            for fillings in found
        ]
        typer.echo(json.dumps(lists[0] if len(lists) == 1 else lists, ensure_ascii=False, indent=1))
        return
    for number, fillings in enumerate(found, 1):
        if len(found) > 1:
            typer.secho(f"mask {number}", bold=True)
        for filling in fillings:
            shown = filling.text if len(found) == 1 else filling.token_text
            typer.echo(f"{filling.score:8.4f}  {_on_one_line(shown)}")


def _on_one_line(text: str) -> str:
    """A token may be a line break or a tab, which would break the table."""
    return printable(text.translate({ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}))
