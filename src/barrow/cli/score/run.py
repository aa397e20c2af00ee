"""`barrow score`: bits per byte of a model on a corpus."""

from __future__ import annotations

import os
import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barrow.cli.model.models import at_step, locate_model
from barrow.cli.options import (
    AsJson,
    DtypeOption,
    StepOption,
    TensorOption,
    TextKey,
    TokenizerOption,
    Trust,
)
from barrow.cli.progress import progress_bar
from barrow.cli.score.table import print_result
from barrow.cli.terminal import printable
from barrow.files import local_path

if TYPE_CHECKING:
    from barrow.score import DomainModel, Model, ModelOptions, ScoredCorpus, Share


class ProtocolChoice(StrEnum):
    """How documents become windows."""

    BARROW = "barrow"
    PILE = "pile"
    SLIDING = "sliding"


class PrefixChoice(StrEnum):
    """Which special token precedes the text."""

    BEGIN = "begin"
    END = "end"
    NONE = "none"


def score(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A run or checkpoint, a Hugging Face folder, a .gguf or llama2.c file, what "
            "`model get` fetched; uniform, unigram, ngram:5, zstd:19, xz, brotli, ppmd, whole:xz; "
            "the address of a server; or module:function.",
            show_default=False,
        ),
    ],
    corpus: Annotated[
        str,
        typer.Argument(
            metavar="CORPUS",
            help="A built corpus, a folder of shards, or a file of records.",
            show_default=False,
        ),
    ],
    split: Annotated[
        str | None,
        typer.Option(help="Which split of the corpus.", show_default="test, where there are any"),
    ] = None,
    protocol: Annotated[
        ProtocolChoice, typer.Option(help="How documents become windows.")
    ] = ProtocolChoice.BARROW,
    context: Annotated[
        int | None, typer.Option(help="Tokens seen at once, in place of the protocol's.")
    ] = None,
    stride: Annotated[
        int | None, typer.Option(help="Tokens charged by each later window, likewise.")
    ] = None,
    prefix: Annotated[
        PrefixChoice | None, typer.Option(help="Token before the text, likewise.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The folder of the result.", show_default="scores/MODEL-CORPUS-…"),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(help="A recipe whose weights make a mean over domains; also a JSON of them."),
    ] = None,
    train: Annotated[
        str | None,
        typer.Option(
            help="What the model was trained on: baselines train on it, and its overlap with what "
            "is scored is counted.",
            show_default="for baselines, the corpus's train split; for runs, what they know of",
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Only so many documents.")] = None,
    dtype: DtypeOption = None,
    batch_tokens: Annotated[int | None, typer.Option(help="Tokens computed at once.")] = None,
    tensor: TensorOption = 1,
    tokenizer: TokenizerOption = None,
    server_model: Annotated[
        str | None, typer.Option(help="A server's name for its model, if it has several.")
    ] = None,
    key_variable: Annotated[
        str | None, typer.Option(help="Environment variable that holds a server's key.")
    ] = None,
    process: Annotated[
        str | None,
        typer.Option(metavar="I/N", help="Of N processes that share the work, this is number I."),
    ] = None,
    text_key: TextKey = "text",
    step: StepOption = None,
    trust: Trust = None,
    as_json: AsJson = False,
) -> None:
    """Bits per byte of a model on a corpus, by domain and overall, with intervals.

    A run that was stopped resumes when it is given the same arguments.
    """
    from barrow.score import ModelOptions, Share, open_corpus, score
    from barrow.score.protocol import named_protocol
    from barrow.score.training_corpus import receipt_or_hint

    model = at_step(model, step)
    rules = named_protocol(protocol.value).changed(
        context=context, stride=stride, prefix=None if prefix is None else prefix.value
    )
    scored = open_corpus(corpus, split=split, limit=limit, text_key=text_key)
    own_train = corpus if _has_train_split(corpus, scored.split) else None
    if out is not None and out.suffix == ".json":
        raise typer.BadParameter(f"--out is a folder now: pass --out {out.with_suffix('')}")
    where = local_path(out or default_out(model, scored, rules.name))
    options = ModelOptions(
        protocol=rules,
        dtype=dtype,
        batch_tokens=batch_tokens,
        tokenizer=tokenizer,
        train=train or own_train,
        cache=where.parent / "baselines",
        server_model=server_model,
        key_variable=key_variable,
        trust=tuple(trust or ()),
        tensor=tensor,
    )
    opened = _open(model, options)
    shares = _recipe_weights(weights)
    share = _share(process) or Share()
    with progress_bar("Looking for what is scored in the training corpus", None) as advance:
        receipt, hint = (
            (None, None)
            if share.rank
            else receipt_or_hint(scored, opened.info, train, on_progress=advance)
        )
    with progress_bar(f"Scoring {opened.info.name}", _own_bytes(corpus, scored, share)) as advance:
        result = score(
            opened,
            scored,
            out=where,
            weights=shares,
            contamination=receipt,
            settings={"limit": limit, "batch_tokens": batch_tokens, "processes": process},
            share=share,
            on_progress=advance,
        )
    if result is None:
        return
    if as_json:
        import json

        typer.echo(json.dumps(result.as_dict(), indent=1, ensure_ascii=False))
    else:
        print_result(result, where)
        if hint is not None:
            typer.echo(printable(hint))


def default_out(model: str, corpus: ScoredCorpus, protocol: str) -> Path:
    """A folder of its own for each model, corpus and protocol."""
    from barrow.checkpoint.folder import name_of

    name = model if "://" in model else name_of(Path(model))
    parts = [name, corpus.name, corpus.split, protocol]
    parts.append(None if corpus.limit is None else f"first{corpus.limit}")
    plain = (re.sub(r"[^\w.]+", "_", part).strip("_") for part in parts if part)
    return Path("scores") / ("-".join(plain))


def _open(name: str, options: ModelOptions) -> Model | DomainModel:
    from barrow.score import open_model
    from barrow.score.baselines.baselines import is_baseline
    from barrow.score.baselines.compressors import is_compressor

    if is_baseline(name) or is_compressor(name) or "://" in name:
        return open_model(name, options)
    if not Path(name).expanduser().exists() and ":" in name:
        return open_model(name, options)
    path = locate_model(name)
    from barrow.models.compile_cache import keep_compiled
    from barrow.weights.hub.cache import cache_folder

    keep_compiled(cache_folder(os.environ) / "compiled")
    return open_model(os.fspath(path), options)


def _has_train_split(corpus: str, split: str | None) -> bool:
    """Whether a corpus has documents to train on that are not those scored."""
    return split not in (None, "train") and (Path(corpus) / "manifest.json").is_file()


def _recipe_weights(name: str | None) -> dict[str, float] | None:
    if name is None:
        return None
    from barrow.cli.recipe import load_recipe
    from barrow.config import parse_json

    if name.endswith(".json"):
        data = parse_json(Path(name).read_bytes(), name)
        if isinstance(data, dict) and all(
            isinstance(value, int | float) for value in data.values()
        ):
            return {key: float(value) for key, value in data.items()}
    found = {
        domain.name: domain.weight
        for domain in load_recipe(name, trust=None).domains.values()
        if domain.weight is not None
    }
    if not found:
        raise typer.BadParameter(f"the recipe {name!r} gives its domains no weights")
    return found


def _own_bytes(path: str, corpus: ScoredCorpus, share: Share) -> int | None:
    """About how much text this process scores; None if unknown."""
    from barrow.score.scored_corpus import text_size

    size = None if corpus.limit is not None else text_size(path, corpus.split)
    return None if size is None else size // share.of


def _share(process: str | None) -> Share | None:
    from barrow.score import Share

    if process is None:
        return None
    found = re.fullmatch(r"(\d+)/(\d+)", process)
    if found is None:
        raise typer.BadParameter(f"--process is as 0/4, not {process!r}")
    return Share(int(found[1]), int(found[2]))
