"""The program `barrow`: its verbs in the order of the spine, and how it fails."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
import typer.core

from barrow.cli import (
    board,
    build,
    checkpoint,
    completion,
    demo,
    finetune,
    generate,
    tokenize,
    train,
)
from barrow.cli.corpus import (
    cat,
    classifier,
    diff,
    head,
    pack,
    rejects,
    report,
    stats,
    takedown,
    trace,
    verify,
)
from barrow.cli.model import attention, embed, fill, models, predict, probe, similar, zeroshot
from barrow.cli.score import score
from barrow.cli.terminal import printable
from barrow.cli.tokens import lineage, pairs, stream, tokenizer
from barrow.errors import BarrowError, BudgetExceeded, Diverged
from barrow.malloc import keep_freed_memory

_SPINE = """Raw text from many domains to a scored foundation model.

raw files → corpus → jsonl.zst → tokens → stream → train → score
"""

_INTERRUPTED = 130

# Libraries that whole parts are written in, and what brings them.
_EXTRA_OF = {"jax": "train", "ml_dtypes": "train", "optax": "train", "safetensors": "corpus"}

_VERBS = (
    *("demo", "build", "classifier", "report", "rejects", "trace", "diff", "takedown"),
    *("pack", "stats", "head", "cat", "verify"),
    *("tokenizer", "tokenize", "stream", "pairs", "explain"),
    *("models", "generate", "fill", "embed", "attention", "zeroshot", "similar", "probe"),
    *("train", "finetune", "predict", "checkpoint"),
    *("score", "board"),
    "completion",
)
_WITH_MODELS = {
    *("demo", "generate", "fill", "embed", "attention", "zeroshot", "similar", "probe"),
    *("train", "finetune", "predict", "score"),
}


class _InOrder(typer.core.TyperGroup):
    """Lists verbs in the order of the spine; typer would put groups of verbs behind all others."""

    def list_commands(self, ctx: Any) -> list[str]:
        del ctx
        return [name for name in _VERBS if name in self.commands]


app = typer.Typer(
    name="barrow",
    cls=_InOrder,
    help=_SPINE,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

app.command("demo")(demo.demo)
app.command("build")(build.build)
app.add_typer(classifier.app, name="classifier")
app.command("report")(report.report)
app.command("rejects")(rejects.rejects)
app.command("trace")(trace.trace)
app.command("diff")(diff.diff)
app.command("takedown")(takedown.takedown)
app.command("pack")(pack.pack)
app.command("stats")(stats.stats)
app.command("head")(head.head)
app.command("cat")(cat.cat)
app.command("verify")(verify.verify)
app.add_typer(tokenizer.app, name="tokenizer")
app.command("tokenize")(tokenize.tokenize)
app.command("stream")(stream.stream)
app.add_typer(pairs.app, name="pairs")
app.command("explain")(lineage.explain)
app.add_typer(checkpoint.app, name="checkpoint")
app.add_typer(models.app, name="models")
app.command("generate")(generate.generate)
app.command("fill")(fill.fill)
app.command("embed")(embed.embed)
app.command("attention")(attention.attention)
app.command("train")(train.train)
app.command("finetune")(finetune.finetune)
app.command("predict")(predict.predict)
app.command("score", cls=score.Score)(score.score)
app.command("board")(board.board)
app.command("zeroshot")(zeroshot.zeroshot)
app.command("similar")(similar.similar)
app.command("probe")(probe.probe)
app.command("completion")(completion.completion)


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
        typer.Option("--version", callback=_print_version, is_eager=True, help="Say which barrow."),
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
        result = app(arguments, standalone_mode=False, prog_name="barrow")
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as error:
        # The parser turns a broken pipe into an exit of its own.
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            raise
        # The reader of our output went away, as `head` does; that is no failure of ours.
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
            extra = _EXTRA_OF[error.name]
            return _fail(f"this needs {error.name}: pip install 'barrow[{extra}]'", 1)
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
