"""`barrow serve`: a model over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from barrow.cli.model.open import open_text_model
from barrow.cli.options import DtypeOption, TokenizerOption, Trust

# Requests that may wait, besides those being answered.
_WAITING = 256
_LOCAL = ("127.0.0.1", "::1", "localhost")


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
    tokenizer: TokenizerOption = None,
    dtype: DtypeOption = None,
    trust: Trust = None,
) -> None:
    """Answer requests for completions over HTTP, as OpenAI's API does."""
    import uvicorn

    from barrow.models import Decoder
    from barrow.models.open_model import of_kind
    from barrow.serve import Engine, EngineSettings
    from barrow.serve.http.app import ServerSettings, app
    from barrow.serve.http.service import Service

    key = None if api_key_file is None else api_key_file.read_text().strip()
    if key == "":
        raise ValueError(f"{api_key_file} is empty; write a key into it")
    if host not in _LOCAL and key is None:
        raise ValueError(f"--host {host} can be reached by others; pass --api-key-file")
    settings = EngineSettings(slots=slots, max_tokens_in_flight=max_tokens_in_flight, exact=exact)
    loaded, reader = open_text_model(model, tokenizer=tokenizer, dtype=dtype, trust=trust)
    writer = of_kind(loaded, model, Decoder)
    engine = Engine(writer, loaded.params, settings=settings, tokenizer=reader)
    name = Path(model).name
    service = Service(engine, most=engine.programs.num_slots + _WAITING)
    served = app(service, reader, ServerSettings(name, key=key, stops=loaded.stops))
    typer.echo(f"{name} at http://{host}:{port}/v1; Ctrl-C ends it", err=True)
    uvicorn.run(
        served,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=30,
    )
