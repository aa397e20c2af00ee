"""`barrow generate`: completions of a prompt, or of a file of prompts."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from barrow.cli.model.models import at_step
from barrow.cli.model.open import open_text_model
from barrow.cli.options import AsJson, DtypeOption, StepOption, TensorOption, TokenizerOption, Trust
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
    prompt: Annotated[
        str | None, typer.Option(help="The beginning of the text.", show_default="none")
    ] = None,
    prompts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help='Many prompts: a .jsonl file with a line {"prompt": "…"} for each; needs --out.',
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A .jsonl file for the answers to --prompts, in their order; the same command "
            "resumes an interrupted one.",
            show_default=False,
        ),
    ] = None,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact", help="With --prompts: answers do not depend on the others, in any bit."
        ),
    ] = False,
    max_tokens: Annotated[
        int | None, typer.Option(help="New tokens at most.", show_default=str(_DEFAULT_TOKENS))
    ] = None,
    temperature: Annotated[float, typer.Option(help="0 always takes the likeliest token.")] = 0.0,
    top_k: Annotated[int | None, typer.Option(help="Draw from so many likeliest.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Draw from this share of likelihood.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed draws the same text.")] = 0,
    begin: Annotated[
        bool,
        typer.Option(
            help="Put around the prompt what its tokenizer puts there, such as a begin token."
        ),
    ] = True,
    tokenizer: TokenizerOption = None,
    dtype: DtypeOption = None,
    tensor: TensorOption = 1,
    step: StepOption = None,
    trust: Trust = None,
    as_json: AsJson = False,
) -> None:
    """Complete a prompt token by token, or many prompts at a time."""
    if (prompts is None) != (out is None) or (prompts is not None and prompt is not None):
        raise typer.BadParameter("pass --prompt, or --prompts with --out")
    model = at_step(model, step)
    if prompts is not None and out is not None:
        _answer_file(
            model,
            prompts,
            out,
            asked={
                "max_tokens": max_tokens,
                "temperature": temperature,
                "top_k": top_k,
                "top_p": top_p,
                "seed": seed,
                "begin": begin,
                "tokenizer": tokenizer,
                "dtype": dtype,
                "exact": exact,
            },
            trust=trust,
        )
        return
    if exact:
        raise typer.BadParameter("--exact needs --prompts: one prompt has no neighbours")
    prompt = prompt or ""
    from barrow.models import Decoder, Sampling, stream
    from barrow.models.open_model import of_kind
    from barrow.models.text import prompt_tokens, text_pieces

    sampling = Sampling(temperature, top_k, top_p)
    loaded, reader = open_text_model(
        model, tokenizer=tokenizer, dtype=dtype, trust=trust, tensor=tensor
    )
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


def _answer_file(
    model: str, prompts: Path, out: Path, *, asked: dict[str, Any], trust: list[str] | None
) -> None:
    from hashlib import sha256

    from barrow.cli.progress import staged_progress
    from barrow.models import Decoder
    from barrow.models.open_model import of_kind
    from barrow.models.text import prompt_tokens
    from barrow.serve import Choice, Engine, EngineSettings, Request
    from barrow.serve.offline import AnswersFile, answers_in_order, read_prompts
    from barrow.serve.requests import check

    choice = {name: asked[name] for name in ("temperature", "top_k")}
    choice["top_p"] = 1.0 if asked["top_p"] is None else asked["top_p"]
    Choice(**choice)
    texts = read_prompts(prompts)
    about = {"model": model, "prompts": sha256(prompts.read_bytes()).hexdigest(), **asked}
    file = AnswersFile(out, about)
    loaded, reader = open_text_model(
        model, tokenizer=asked["tokenizer"], dtype=asked["dtype"], trust=trust
    )
    writer = of_kind(loaded, model, Decoder)
    context, vocab = writer.config.context, writer.config.vocab_size
    requests = []
    for number, text in enumerate(texts):
        ids = prompt_tokens(reader, text, begin=asked["begin"])
        num = asked["max_tokens"] or min(_DEFAULT_TOKENS, max(context - len(ids), 1))
        how = Choice(**choice, seed=(asked["seed"] + number) % 2**32)
        requests.append(Request(ids, num, how, stops=loaded.stops))
        try:
            check(requests[-1], vocab=vocab, context=context)
        except ValueError as error:
            raise ValueError(f"{prompts}:{number + 1}: {error}") from None
    left = requests[file.num :]
    settings = EngineSettings(exact=asked["exact"])
    with staged_progress() as progress:
        sizes = [len(text.encode()) for text in texts]
        progress.on_plan(f"answers to {prompts.name}", sum(sizes))
        progress.on_bytes(sum(sizes[: file.num]))
        if left:
            engine = Engine(writer, loaded.params, settings=settings, tokenizer=reader)
            for answer in answers_in_order(engine, left):
                file.add(
                    {
                        "prompt": texts[file.num],
                        "text": answer.text,
                        "reason": answer.reason,
                        "tokens": answer.tokens,
                    }
                )
                progress.on_bytes(sizes[file.num - 1])
    file.publish()
    typer.echo(f"{len(texts):,} answers in {out}")
