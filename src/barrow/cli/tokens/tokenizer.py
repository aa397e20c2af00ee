"""`barrow tokens train` and `show`: train a tokenizer, and see what one does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barrow.cli.options import AsJson, OnBad, OnBadChoice, Source, TextKey, open_archive, report_bad
from barrow.cli.progress import progress_bar
from barrow.cli.terminal import printable
from barrow.files import local_path

if TYPE_CHECKING:
    from barrow.tokens import Sample, Tokenizer
    from barrow.tokens.clip.tokenizer import ClipTokenizer

_TEXT = "It's 1,024 naïve mounds; 日本語 and 🙂 too.\n\n\tdef f(x): return x"


def train(
    corpus: Source,
    vocab: Annotated[int, typer.Option(min=1, help="Ids, special tokens and bytes among them.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where it goes.", show_default=False)],
    special: Annotated[
        list[str] | None,
        typer.Option(
            help="A special token; the first begins every document. May be given again. "
            "[default: <|endoftext|>]",
            show_default=False,
        ),
    ] = None,
    weights: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DOMAIN=WEIGHT",
            help="A domain's part of the sample; those without one are left out. May be given "
            "again. [default: as in the corpus]",
            show_default=False,
        ),
    ] = None,
    sample_bytes: Annotated[int, typer.Option(min=1, help="Text to learn from.")] = 500_000_000,
    pattern: Annotated[
        str, typer.Option(help="Where texts are cut first: gpt2, cl100k, llama3, qwen, o200k.")
    ] = "gpt2",
    clip: Annotated[
        bool,
        typer.Option(
            "--clip", help="Of CLIP's kind: lower case, for captions; see barrow model zeroshot."
        ),
    ] = False,
    roberta: Annotated[
        bool,
        typer.Option("--roberta", help="With RoBERTa's special tokens, for masked models."),
    ] = False,
    by: Annotated[str, typer.Option(help="Key of meta that names the domain.")] = "pile_set_name",
    seed: Annotated[int, typer.Option(help="Decides which documents are sampled.")] = 0,
    as_json: AsJson = False,
    text_key: TextKey = "text",
    on_bad: OnBad = OnBadChoice.RAISE,
) -> None:
    """Learn byte-level BPE from a sample of a corpus; writes a standard tokenizer.json."""
    import msgspec

    from barrow.tokens import draw_sample
    from barrow.tokens import train as learn
    from barrow.tokens.clip.tokenizer import ClipTokenizer
    from barrow.tokens.train import train_clip, train_roberta

    local_path(out)
    if clip and roberta:
        raise typer.BadParameter("one of --clip and --roberta")
    if (clip or roberta) and (special is not None or pattern != "gpt2"):
        kind = "--clip" if clip else "--roberta"
        raise typer.BadParameter(f"{kind} has its own pattern and special tokens")
    archive = open_archive(corpus, text_key=text_key, on_bad=on_bad)
    with progress_bar("Counting", None) as advance:
        sample = draw_sample(
            archive,
            num_bytes=sample_bytes,
            weights=_parsed(weights) if weights else None,
            seed=seed,
            by=by,
            on_progress=advance,
        )
    report_bad(archive.bad)
    again = open_archive(corpus, text_key=text_key, on_bad=on_bad)
    with progress_bar("Learning", None) as advance:
        texts = sample.texts(again, on_progress=advance)
        trained: Tokenizer | ClipTokenizer
        if clip:
            trained = train_clip(texts, vocab_size=vocab)
        elif roberta:
            trained = train_roberta(texts, vocab_size=vocab)
        else:
            specials = special if special is not None else ("<|endoftext|>",)
            trained = learn(texts, vocab_size=vocab, specials=specials, pattern=pattern)
    trained.save(out)
    if as_json:
        taken = {"sample": {"seed": seed, "bytes": dict(sample.taken)}}
        facts = _clip_facts(trained) if isinstance(trained, ClipTokenizer) else _facts(trained)
        typer.echo(msgspec.json.encode({**facts, **taken}).decode())
        return
    _print_sample(sample)
    if trained.vocab_size < vocab:
        typer.echo(
            f"{trained.vocab_size:,} ids instead of {vocab:,}: no other pair occurs twice in the "
            "sample; take a larger one with --sample-bytes",
            err=True,
        )
    typer.echo(f"{out} written: {trained.vocab_size:,} ids, hash {trained.hash}")


def show(
    tokenizer: Annotated[
        str,
        typer.Argument(metavar="TOKENIZER", help="A file, a folder, or bytes.", show_default=False),
    ],
    text: Annotated[str, typer.Option(help="A text to cut.")] = _TEXT,
    pattern: Annotated[
        str | None,
        typer.Option(
            help="Of a .tiktoken file: gpt2, cl100k, llama3, qwen, o200k.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The vocabulary, the special tokens, the hash, and how a text is cut."""
    import msgspec

    import barrow.tokens

    loaded = barrow.tokens.load(tokenizer, pattern=pattern)
    ids = loaded.encode(text)
    size = len(text.encode())
    per_token = size / len(ids) if len(ids) else 0.0
    if as_json:
        result = {"text": text, "ids": ids.tolist(), "bytes_per_token": per_token}
        typer.echo(msgspec.json.encode({**_facts(loaded), **result}).decode())
        return
    for name, value in _facts(loaded).items():
        if name == "specials":
            value = ", ".join(f"{token} {number}" for token, number in value.items())
        typer.echo(f"{name:10} {'none' if value in (None, '') else printable(str(value))}")
    typer.echo(f"{'text':10} {size} bytes, {len(ids)} tokens, {per_token:.2f} bytes per token")
    typer.echo("|".join(_shown(loaded, token) for token in ids.tolist()))


def _parsed(weights: list[str]) -> dict[str, float]:
    parsed = {}
    for weight in weights:
        name, _, value = weight.rpartition("=")
        try:
            parsed[name] = float(value)
        except ValueError:
            name = ""
        if not name:
            raise typer.BadParameter(f"--weights must be DOMAIN=WEIGHT, got {weight!r}")
    return parsed


def _facts(tokenizer: Tokenizer) -> dict[str, Any]:
    return {
        "vocab_size": tokenizer.vocab_size,
        "specials": dict(tokenizer.specials),
        "begin": tokenizer.begin,
        "end": tokenizer.end,
        "pad": tokenizer.pad,
        "mask": tokenizer.mask,
        "hash": tokenizer.hash,
        "encoder": tokenizer.encoder,
    }


def _clip_facts(tokenizer: ClipTokenizer) -> dict[str, Any]:
    return {
        "vocab_size": tokenizer.vocab_size,
        "start": tokenizer.start,
        "end": tokenizer.end,
        "hash": tokenizer.hash,
    }


def _print_sample(sample: Sample) -> None:
    total = sum(sample.taken.values())
    for name, size in sorted(sample.taken.items(), key=lambda item: -item[1]):
        of_domain = size / sample.sizes[name] if sample.sizes[name] else 0.0
        typer.echo(
            f"{printable(name)}: {size:,} bytes, {size / total:.1%} of the sample, "
            f"{of_domain:.1%} of the domain"
        )


def _shown(tokenizer: Tokenizer, token: int) -> str:
    from barrow.errors import TokenizerError

    try:
        data = tokenizer.token_bytes(token)
    except TokenizerError:
        return printable(tokenizer.decode([token]))
    # repr shows line feeds, and bytes that are no character of their own.
    try:
        return repr(data.decode())[1:-1]
    except UnicodeDecodeError:
        return repr(data)[2:-1]
