"""The program `barrow`: its verbs in the order of the pipeline, and its errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
import typer.core

from barrow.cli import (
    board,
    build,
    checkpoint,
    completion,
    compress,
    demo,
    finetune,
    generate,
    mix,
    score,
    serve,
    train,
    verify,
)
from barrow.cli.align import results, rollouts, static
from barrow.cli.corpus import (
    cat,
    classifier,
    diff,
    head,
    pack,
    parts,
    rejects,
    report,
    stats,
    takedown,
    trace,
    unigrams,
)
from barrow.cli.hardware import env, launch, plan
from barrow.cli.model import (
    attention,
    embed,
    export,
    fill,
    models,
    predict,
    probe,
    similar,
    zeroshot,
)
from barrow.cli.terminal import printable, warnings_in_words
from barrow.cli.tokens import lineage, pairs, stream, tokenize, tokenizer
from barrow.errors import BarrowError, BudgetExceeded, Diverged
from barrow.interrupt import remembered
from barrow.malloc import keep_freed_memory

_INTERRUPTED = 130

# Libraries that whole parts need, and the extras that install them.
_EXTRA_OF = {"jax": "train", "ml_dtypes": "train", "optax": "train", "safetensors": "corpus"}
_EXTRA_OF |= {"starlette": "serve", "uvicorn": "serve", "onnx": "onnx", "onnxruntime": "onnx"}

_PIPELINE = {
    "demo": demo.demo,
    "build": build.build,
    "tokenize": tokenize.tokenize,
    "plan": plan.plan,
    "train": train.train,
    "finetune": finetune.finetune,
    "align": {
        "sft": static.sft,
        "reward": static.reward,
        "dpo": static.dpo,
        "ppo": rollouts.ppo,
        "grpo": rollouts.grpo,
        "card": results.card,
        "adapter": results.adapter,
        "merge": results.merge,
    },
    "score": score.score,
    "board": board.board,
    "mix": {"search": mix.search, "show": mix.show, "fit": mix.fit},
    "launch": launch.launch,
    "generate": generate.generate,
    "compress": compress.compress,
    "export": export.export,
    "serve": serve.serve,
}
_TOOLS: dict[str, Any] = {
    "corpus": {
        "stats": stats.stats,
        "head": head.head,
        "cat": cat.cat,
        "pack": pack.pack,
        "rejects": rejects.rejects,
        "trace": trace.trace,
        "diff": diff.diff,
        "takedown": takedown.takedown,
        "report": report.report,
        "classifier": {"train": classifier.train, "score": classifier.score},
        "unigrams": unigrams.unigrams,
        "readers": parts.readers,
        "filters": parts.filters,
    },
    "tokens": {
        "train": tokenizer.train,
        "show": tokenizer.show,
        "stream": stream.stream,
        "pairs": {"index": pairs.index, "show": pairs.show},
        "lineage": lineage.lineage,
    },
    "model": {
        "list": models.list_models,
        "get": models.get,
        "where": models.where,
        "show": models.show,
        "fill": fill.fill,
        "embed": embed.embed,
        "attention": attention.attention,
        "zeroshot": zeroshot.zeroshot,
        "similar": similar.similar,
        "probe": probe.probe,
        "predict": predict.predict,
    },
    "checkpoint": {
        "show": checkpoint.show,
        "diff": checkpoint.diff,
        "convert": checkpoint.convert,
    },
    "env": env.env,
    "verify": verify.verify,
    "completion": completion.completion,
}
_HELP = {
    "barrow": "Raw text from many domains to a scored foundation model.\n\n"
    "raw files → corpus → jsonl.zst → tokens → stream → train → score",
    "align": "From a base model to one that follows: chats, preferences and rewards.",
    "mix": "Which mixture of domains to train on: search with small models, and predict.",
    "corpus": "A corpus: look at it, check it, compare it, remove documents from it.",
    "classifier": "Train a quality classifier, and see how a corpus scores with it.",
    "tokens": "Tokenizers and batches: train a tokenizer, plan batches, trace them to documents.",
    "pairs": "Image–text pairs: index them for training, and look at an index.",
    "model": "Models: what opens, published weights, and what a model makes of text and images.",
    "checkpoint": "Checkpoints: what is in them, how two differ, and other formats.",
}
_MOVED = {
    **{verb: f"corpus {verb}" for verb in _TOOLS["corpus"]},
    **{verb: f"model {verb}" for verb in _TOOLS["model"]},
    "stream": "tokens stream",
    "pairs": "tokens pairs",
    "explain": "tokens lineage",
    "tokenizer": "tokens",
    "models": "model",
    "corpus verify": "verify",
}
_WITH_MODELS = {
    "demo",
    "mix",
    "train",
    "finetune",
    "align",
    "score",
    "generate",
    "compress",
    "serve",
    "model",
}


class _Group(typer.core.TyperGroup):
    """Verbs by section, in the order of our tables; typer would put groups after all others."""

    sections: Mapping[str, Mapping[str, Any]]

    def list_commands(self, ctx: Any) -> list[str]:
        del ctx
        return [name for verbs in self.sections.values() for name in verbs]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        del ctx
        width = max(map(len, self.commands))
        for title, verbs in self.sections.items():
            with formatter.section(title):
                room = formatter.width - width - 6
                said = [(f"{v:<{width}}", self.commands[v].get_short_help_str(room)) for v in verbs]
                formatter.write_dl(said)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = f"{ctx.command_path} {args[0]}".partition(" ")[2]
        if name in _MOVED:
            ctx.fail(f"{name} is now `barrow {_MOVED[name]}`")
        return super().resolve_command(ctx, args)


def _make(name: str, **sections: Mapping[str, Any]) -> typer.Typer:
    made = typer.Typer(
        name=name,
        cls=type("_Group", (_Group,), {"sections": sections}),
        help=_HELP[name],
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    for verb, does in (item for verbs in sections.values() for item in verbs.items()):
        if isinstance(does, Mapping):
            made.add_typer(_make(verb, Commands=does))
        else:
            # What follows a command to be launched is its own.
            own = {"allow_interspersed_args": False} if does is launch.launch else {}
            kind = score.Score if does is score.score else None
            made.command(verb, cls=kind, context_settings=own)(does)
    return made


app = _make("barrow", Pipeline=_PIPELINE, Tools=_TOOLS)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"barrow {version('barrow')}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print version."),
    ] = False,
) -> None:
    del version
    if debug:
        os.environ["BARROW_DEBUG"] = "1"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program; exit 0 when done, 1 on failure, 2 on wrong usage, 130 on Ctrl-C."""
    given = sys.argv[1:] if arguments is None else arguments
    verb = next((word for word in given if not word.startswith("-")), "")
    if verb in _WITH_MODELS:
        keep_freed_memory()
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code. Errors are one line on stderr."""
    try:
        with remembered(), warnings_in_words():
            result = app(arguments, standalone_mode=False, prog_name="barrow")
            sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as error:
        # The parser turns a broken pipe into an exit.
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            raise
        # The reader of our output ended, as `head` does; that is not a failure.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, typer.Abort):
        result = _INTERRUPTED
    except (BarrowError, OSError, ValueError) as error:
        if os.environ.get("BARROW_DEBUG"):
            raise
        return _fail(_in_words(error), 1)
    except Exception as error:
        # The parser's own errors, whichever library they come from, know their exit code.
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):
            context = getattr(error, "ctx", None)
            command = context.command_path if context is not None else "barrow"
            return _fail(f"{error.format_message()} (see {command} --help)", 2)
        if os.environ.get("BARROW_DEBUG"):
            raise
        if isinstance(error, ModuleNotFoundError) and error.name in _EXTRA_OF:
            how = f"pip install '.[{_EXTRA_OF[error.name]}]' in a checkout of barrow"
            return _fail(f"this needs {error.name}: {how}", 1)
        return _fail(f"unexpected {type(error).__name__}: {error}; run with --debug for more", 1)
    if result == _INTERRUPTED:
        return _fail("interrupted", _INTERRUPTED)
    return result if isinstance(result, int) else 0


def _in_words(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, BudgetExceeded | Diverged):  # their samples are lines of their own
        return printable(str(error))
    return " ".join(str(error).split()) or type(error).__name__


def _fail(message: str, code: int) -> int:
    typer.echo(f"barrow: {message}", err=True)
    return code
