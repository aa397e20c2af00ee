"""`barrow serve`: a model over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barrow.cli.model.models import at_step, locate_model
from barrow.cli.model.open import open_text_model
from barrow.cli.options import StepOption, TokenizerOption, Trust

if TYPE_CHECKING:
    from collections.abc import Collection

    from barrow.serve import EngineSettings
    from barrow.serve.http.served import Served

# Of a body with images.
_MOST_BYTES = 16 << 20


def serve(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A run or checkpoint, a Hugging Face folder, a .gguf or llama2.c file, or what "
            "`model get` fetched.",
            show_default=False,
        ),
    ],
    port: Annotated[int, typer.Option(min=1, max=65535, help="Of the server.")] = 8000,
    host: Annotated[
        str, typer.Option(help="Address to listen on; another than this needs --api-key-file.")
    ] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Another name that callers may use, such as that of a proxy; may be repeated.",
        ),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN",
            help="Pages elsewhere that may ask, as https://example.org; may be repeated.",
        ),
    ] = None,
    api_key_file: Annotated[
        Path | None,
        typer.Option(help="A file with the key that callers must send.", show_default="no key"),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Answers do not depend on the others, in any bit.")
    ] = False,
    slots: Annotated[
        int | None,
        typer.Option(
            min=1, help="Requests that are computed at a time.", show_default="8 on a CPU, else 256"
        ),
    ] = None,
    max_tokens_in_flight: Annotated[
        int | None,
        typer.Option(
            help="Room for keys and values, in tokens.", show_default="what memory allows"
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds until an answer is given up.")
    ] = 600.0,
    tokenizer: TokenizerOption = None,
    dtype: Annotated[
        str | None,
        typer.Option(
            help="float32, bfloat16 (bf16), float16; or int8: weights in 8 bits, a scale for each "
            "channel.",
            show_default="that of the file; float32 on a CPU",
        ),
    ] = None,
    cache_dtype: Annotated[
        str | None,
        typer.Option(
            help="Of keys and values: float32, bfloat16, float16 or int8.",
            show_default="the model's",
        ),
    ] = None,
    step: StepOption = None,
    trust: Trust = None,
) -> None:
    """Answer requests over HTTP as OpenAI's API does; a page at / to try the model."""
    from barrow.pages.callers import Callers
    from barrow.serve import EngineSettings
    from barrow.serve.http.run import Server
    from barrow.serve.http.served import ServerSettings

    key = None if api_key_file is None else api_key_file.read_text().strip()
    if key == "":
        raise ValueError(f"{api_key_file} is empty; write a key into it")
    callers = Callers(host, tuple(allow_host or ()), tuple(allow_origin or ()))
    if not callers.is_local and key is None:
        raise ValueError(f"--host {host} can be reached by others; pass --api-key-file")
    settings = EngineSettings(
        slots=slots,
        max_tokens_in_flight=max_tokens_in_flight,
        exact=exact,
        cache_dtype=cache_dtype,
        int8_weights=dtype == "int8",
        reads_prompts=True,
    )
    kind = {"bf16": "bfloat16", "int8": None}.get(dtype or "", dtype)
    offered = _opened(at_step(model, step), settings, tokenizer=tokenizer, dtype=kind, trust=trust)
    most = ServerSettings.most_bytes if offered.writer is not None else _MOST_BYTES
    limits = ServerSettings(key=key, callers=callers, timeout=timeout, most_bytes=most)
    shown = f"[{host}]" if ":" in host else host
    typer.echo(f"{offered.name} at http://{shown}:{port}/v1; Ctrl-C ends it", err=True)
    Server(offered, limits, port=port).run()


def _opened(
    model: str,
    settings: EngineSettings,
    *,
    tokenizer: str | None,
    dtype: str | None,
    trust: Collection[str] | None,
) -> Served:
    from barrow.models.open_model import is_clip
    from barrow.serve.http.embedders import clip_embedder
    from barrow.serve.http.open import served
    from barrow.serve.http.served import Served

    name = Path(model).resolve().name
    path = locate_model(model)
    if is_clip(Path(path)):
        from barrow.models.clip.load import load

        clip, preprocess = load(weights=path, bpe=tokenizer, dtype=dtype or "float32")
        return Served(name, embedder=clip_embedder(clip, preprocess))
    loaded, reader = open_text_model(model, tokenizer=tokenizer, dtype=dtype, trust=trust)
    return served(loaded, reader, name=name, settings=settings)
