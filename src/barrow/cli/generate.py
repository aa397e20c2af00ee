"""`barrow generate`: completions of a prompt."""

from __future__ import annotations

from itertools import chain
from typing import Annotated, Any

import typer

from barrow.cli.model.open import open_text_model
from barrow.cli.options import AsJson, DtypeOption, TokenizerOption, Trust
from barrow.cli.terminal import printable

_DEFAULT_TOKENS = 128


def generate(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A run or checkpoint, a Hugging Face folder, a .gguf or llama2.c file, or what "
            "`model get` fetched.",
            show_default=False,
        ),
    ],
    prompt: Annotated[str, typer.Option(help="The beginning of the text.")] = "",
    max_tokens: Annotated[
        int | None, typer.Option(help="New tokens at most.", show_default=str(_DEFAULT_TOKENS))
    ] = None,
    temperature: Annotated[float, typer.Option(help="0 always takes the likeliest token.")] = 0.0,
    top_k: Annotated[int | None, typer.Option(help="Draw from so many likeliest.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Draw from this share of likelihood.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed draws the same text.")] = 0,
    begin: Annotated[
        bool, typer.Option(help="Put the tokenizer's begin token before the prompt.")
    ] = True,
    tokenizer: TokenizerOption = None,
    dtype: DtypeOption = None,
    trust: Trust = None,
    as_json: AsJson = False,
) -> None:
    """Complete a prompt, token by token."""
    from barrow.models import Decoder, Sampling, stream
    from barrow.models.open_model import of_kind
    from barrow.models.text import prompt_tokens, text_pieces

    sampling = Sampling(temperature, top_k, top_p)
    loaded, reader = open_text_model(model, tokenizer=tokenizer, dtype=dtype, trust=trust)
    writer = of_kind(loaded, model, Decoder)
    ids = prompt_tokens(reader, prompt, begin=begin)
    room = writer.config.context - len(ids)
    num = min(_DEFAULT_TOKENS, max(room, 1)) if max_tokens is None else max_tokens
    pieces = (
        piece[0].tolist()
        for piece in stream(
            writer,
            loaded.params,
            [ids],
            max_tokens=num,
            sampling=sampling,
            seed=seed,
            stops=loaded.stops,
        )
    )
    if as_json:
        import json

        tokens = [token for piece in pieces for token in piece]
        stopped = bool(tokens) and tokens[-1] in loaded.stops
        written = tokens[:-1] if stopped else tokens
        result: dict[str, Any] = {
            "prompt": prompt,
            "text": "".join(text_pieces(reader, [written], prompt=ids)),
            "reason": "stop" if stopped else "length",
            "prompt_tokens": ids,
            "tokens": written,
        }
        typer.echo(json.dumps(result, ensure_ascii=False))
        return
    texts = text_pieces(reader, pieces, prompt=ids)
    first = next(texts, "")  # errors come before the prompt is shown
    typer.echo(printable(prompt), nl=False)
    for text in chain([first], texts):
        typer.echo(printable(text), nl=False)
    typer.echo()
