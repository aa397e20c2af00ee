from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from tests.interrupted import dropped

from barrow import cli
from barrow.cli.corpus import stats
from barrow.cli.main import main

PIPELINE = [
    "demo",
    "build",
    "tokenize",
    "plan",
    "train",
    "finetune",
    "align",
    "score",
    "board",
    "mix",
    "launch",
    "generate",
    "compress",
    "export",
    "serve",
]
TOOLS = ["corpus", "tokens", "model", "checkpoint", "env", "verify", "completion"]


def program(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "barrow", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]


def test_help_shows_the_spine_in_order(barrow: Callable) -> None:
    code, out, err = barrow("--help")
    assert (code, err) == (0, "")
    assert "raw files → corpus → jsonl.zst → tokens → stream → train → score" in out
    listed = [line.split() for line in out.split("Pipeline:")[1].splitlines() if line.strip()]
    assert [words[0] for words in listed] == [*PIPELINE, "Tools:", *TOOLS]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["explain", "run"], "explain is now `barrow tokens lineage` (see barrow --help)"),
        (["tokenizer", "train"], "tokenizer is now `barrow tokens`"),
        (["models", "get", "gpt2"], "models is now `barrow model`"),
        (["stats", "x"], "stats is now `barrow corpus stats`"),
        (["corpus", "verify", "x"], "corpus verify is now `barrow verify`"),
        (["predict", "x"], "predict is now `barrow model predict`"),
        (["build", "pile", "root=raw", "out=x"], "root is an option now: pass --root raw"),
        (["build", "pile", "--root", "raw", "out=x"], "out is an option now: pass --out x"),
        (
            ["train", "gpt2.tiny", "validation=x"],
            "validation is an option now: pass --validation x",
        ),
    ],
)
def test_an_old_spelling_names_the_new_one(
    arguments: list[str], words: str, barrow: Callable
) -> None:
    code, out, err = barrow(*arguments)
    assert (code, out) == (2, "")
    assert words in err


@pytest.mark.parametrize(
    ("words", "kept"),
    [(["--debug", "train", "--help"], 1), (["score", "--help"], 1), (["corpus", "--help"], 0)],
)
def test_verbs_with_models_keep_freed_memory(
    words: list[str], kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    module = sys.modules["barrow.cli.main"]
    monkeypatch.setattr(module, "keep_freed_memory", lambda: calls.append(1))
    monkeypatch.setenv("BARROW_DEBUG", "")
    with pytest.raises(SystemExit):
        main(words)
    assert len(calls) == kept


def test_version(barrow: Callable) -> None:
    assert barrow("--version") == (0, f"barrow {version('barrow')}\n", "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nosuch"], "nosuch"),
        (["corpus", "stats"], "PATH"),
        (["corpus", "stats", "x", "--nosuch"], "--nosuch"),
        (["corpus", "head", "x", "-n", "many"], "integer"),
        (["completion", "tcsh"], "tcsh"),
        (["corpus", "pack", "x"], "--out"),
        (["corpus", "cat", "x", "--on-bad", "ignore"], "ignore"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(
    arguments: list[str], words: str, barrow: Callable
) -> None:
    code, out, err = barrow(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("barrow: ")
    assert err.count("\n") == 1
    assert words in err
    assert "--help" in err


def test_failure_is_one_line_and_exit_1(barrow: Callable, tmp_path: Path) -> None:
    code, out, err = barrow("corpus", "stats", tmp_path / "none.jsonl.zst")
    assert (code, out) == (1, "")
    assert err == f"barrow: {tmp_path}/none.jsonl.zst does not exist\n"


def test_permissions(tmp_path: Path, barrow: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "x.jsonl")

    (tmp_path / "x.jsonl").write_text("{}")
    monkeypatch.setattr(Path, "open", refuse)
    assert barrow("corpus", "head", tmp_path / "x.jsonl") == (
        1,
        "",
        "barrow: x.jsonl, document 0: cannot be read (Permission denied)\n",
    )


def test_a_traceback_only_when_asked(tmp_path: Path, barrow: Callable) -> None:
    plain = barrow("corpus", "stats", tmp_path / "none")
    assert plain.code == 1
    assert "Traceback" not in plain.err
    debug = program("--debug", "corpus", "stats", tmp_path / "none")
    assert debug.returncode == 1
    assert "Traceback" in debug.stderr
    assert "NotFound" in debug.stderr


def test_what_nobody_foresaw_is_one_line_too(
    barrow: Callable, shard: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import barrow.archive as archive

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(archive, "open", broken)
    code, _, err = barrow("corpus", "head", shard)
    assert code == 1
    assert err == "barrow: unexpected ZeroDivisionError: oh; run with --debug for more\n"


def test_a_reader_that_goes_away_is_no_failure(shard: Path) -> None:
    command = f"{sys.executable} -m barrow corpus cat {shard} | head -c 10; echo ${{PIPESTATUS[0]}}"
    run = subprocess.run(["bash", "-c", command], capture_output=True, check=True)
    assert run.stdout.endswith(b"0\n")
    assert run.stderr == b""


def test_interruption(tmp_path: Path) -> None:
    fifo = tmp_path / "endless.jsonl"
    os.mkfifo(fifo)
    command = [sys.executable, "-m", "barrow", "corpus", "stats", str(fifo)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    with fifo.open("w"):  # it is reading now
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert err.strip().endswith("barrow: interrupted")
    assert "Traceback" not in err


def test_an_interruption_that_was_dropped(
    barrow: Callable[..., Any], shard: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even as the last thing that happened."""
    monkeypatch.setattr(stats, "print_table", lambda *_, **__: dropped())
    code, _, err = barrow("corpus", "stats", shard)
    assert (code, err) == (130, "barrow: interrupted\n")


def test_an_interruption_that_was_dropped_by_an_import(monkeypatch: pytest.MonkeyPatch) -> None:
    class Module:
        def __getattr__(self, name: str) -> None:
            if name == "main":
                dropped()

    monkeypatch.setitem(sys.modules, "barrow.cli.main", Module())
    source = Path(cli.__file__).read_text()
    with pytest.raises(KeyboardInterrupt):
        exec(compile(source, cli.__file__, "exec"), {})


def test_progress_is_silent_when_not_a_terminal(shard: Path) -> None:
    run = program("verify", shard)
    assert run.stderr == ""


@pytest.mark.parametrize(
    "words", [("train", "gpt2.tiny", "--store", "x", "--out", "y"), ("model", "list")]
)
def test_a_library_that_an_extra_brings(words: tuple[str, ...], tmp_path: Path) -> None:
    """Without JAX, what needs it says how to get it."""
    code = "import sys; sys.modules['jax'] = None; from barrow.cli import main; main(sys.argv[1:])"
    run = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert run.returncode == 1
    assert run.stderr == "barrow: this needs jax: pip install '.[train]' in a checkout of barrow\n"
