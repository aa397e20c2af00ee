"""Every verb that writes, killed before any change of the disk: the same command goes on.

What is then there has the bytes of a command that nobody disturbed, but for the times in it, and
nothing is left over. In `make test` a copy of what a kill at one moment leaves is gone on with; in
`make soak` processes are killed. Inputs are those that an earlier version wrote.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.earlier.folders import earlier_folders
from tests.train import labelled_files

from barrow.files import disk

_SMALL = "model.width=16 model.layers=1 model.heads=2 model.hidden=32 model.context=32"
_FEW = "data.seq_len=32 data.batch=4 steps=2 checkpoint.every=1 checkpoint.keep_last=1"
_LLAMA = f"llama.tiny --store store --validation valid {_SMALL} model.kv_heads=1 {_FEW}"
_CHATS = "chats.jsonl steps=2 data.length=31 data.batch=4 data.template=template.jinja"
_MEASURED = "--calibrate corpus --no-speed --documents 4 --rows 4 --length 32"
_SEARCH = "--proxies 5x1k --tokens-per-param 1 --max-epochs 100000 --seq-len 16 --confirm none"
# By a name: the command; what it writes is `out` or begins with it. Those of FAST use no JAX.
FAST = {
    "build": "build recipe.json --root raw --out out --workers 0",
    "build again": "build recipe.json --root raw --out corpus --workers 0",
    "takedown": "corpus takedown corpus --licence CC0-1.0 --by me --date 2026-01-01 --yes",
    "tokenize": "tokenize corpus --tokenizer tok --out out --workers 0",
    "tokenize bytes": "tokenize corpus --tokenizer bytes --out out --workers 0",
    "tokens train": "tokens train corpus --out out --vocab 300",
    "tokens stream": "tokens stream store seq_len=16 batch=4 --out out.json",
    "tokens pairs": "tokens pairs index pictures --out out --check",
    "pack": "corpus pack corpus --out out --shard-size 2000",
    "pack shard": "corpus pack corpus --out out.jsonl.zst",
    "pack parquet": "corpus pack corpus --out out.parquet --overwrite",
    "pack parquets": "corpus pack corpus --out out --parquet --overwrite",
    "pack rejects": "corpus pack bad.jsonl --out out --on-bad count --rejects out.rejects",
    "report": "corpus report corpus --out out.html",
    "unigrams": "corpus unigrams corpus --out out.tsv",
    "classifier": "corpus classifier train good.jsonl worse.jsonl --out out.safetensors",
    "score ngram": "score ngram:3 corpus --out out --train corpus",
    "score whole": "score whole:xz corpus --out out",
    "board": "board scores/run scores/ngram --out out.html",
}
JAX = {
    "train": f"train {_LLAMA} --out out",
    "finetune": "finetune --train tags.jsonl --task tag --model masked --out out data.epochs=1",
    "align sft": f"align sft run {_CHATS} --out out lora.rank=2",
    "align adapter": "align adapter sft --out out",
    "align merge": "align merge sft --out out",
    "score": "score run corpus --out out",
    "generate": "generate run --prompts prompts.jsonl --max-tokens 4 --out out.jsonl",
    "compress": f"compress run --out out --to int8 {_MEASURED}",
    "export hf": "export int8 --to hf --out out",
    "export onnx": "export run --out out.onnx",
    "export gguf": "export hf --to gguf --out out.gguf",
    "convert": "checkpoint convert run --out out",
    "convert hf": "checkpoint convert run --to hf --out out",
    "convert shards": "checkpoint convert run --to safetensors --out out",
    "convert file": "checkpoint convert run --to safetensors --out out.safetensors",
    "convert msgpack": "checkpoint convert run --to msgpack --out out.msgpack",
    "embed": "model embed texts.txt --model masked --out out.safetensors",
    "mix search": f"mix search store --validation corpus --out out {_SEARCH}",
}
VERBS = FAST | JAX
# Elsewhere in `make test`: tests/align/test_killed.py, tests/mix/test_search.py.
SLOW = ("align sft", "mix search")
# What a command that has ended says when it is given again.
ENDED = re.compile(r"already|exists|nothing in corpus matches")
# `versions` are of the libraries that were loaded, and a command that goes on may need fewer.
_TIME = re.compile(r"second|time|memory|_per_|^date$|peak|^versions$")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = earlier_folders(tmp_path_factory.mktemp("earlier"))
    from PIL import Image

    (folder / "pictures").mkdir()
    for name in ("red", "green"):
        Image.new("RGB", (9, 5), name).save(folder / "pictures" / f"{name}_thing.png")
    (folder / "pictures/bad.png").write_text("<html>")
    (folder / "bad.jsonl").write_text('{"text": "good"}\n{"text": 1}\n{"text": "more"}\n')
    for file, word in (("good", "river"), ("worse", "stone")):
        lines = [json.dumps({"text": f"{word} {k} " * 20}) + "\n" for k in range(30)]
        (folder / f"{file}.jsonl").write_text("".join(lines))
    (folder / "texts.txt").write_text("a letter\nanother letter\n")
    (folder / "prompts.jsonl").write_text('{"prompt": "a"}\n{"prompt": "the b"}\n')
    labelled_files.tags(folder / "tags.jsonl", 16)
    return folder


def begin(inputs: Path, folder: Path, command: str) -> None:
    """Fill the folder in which a command runs: links, but for a corpus that it changes."""
    folder.mkdir()
    for path in inputs.iterdir():
        if path.name == "corpus" and not command.startswith("score"):
            shutil.copytree(path, folder / path.name)
        else:
            (folder / path.name).symlink_to(path)


def contents(folder: Path) -> dict[str, object]:
    """What a command left, without times; of .work only that it is there."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink() or path.is_dir() or "/.work/" in name or path.stem == "times":
            continue
        data = path.read_bytes()
        if path.suffix in (".json", ".jsonl") and _TIME.search(data.decode()):
            found[name] = [_untimed(json.loads(line)) for line in _documents(data)]
        else:
            found[name] = data
    return found


def _documents(data: bytes) -> list[bytes]:
    try:
        json.loads(data)
    except ValueError:
        return data.splitlines()
    return [data]


def _untimed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _untimed(v) for key, v in value.items() if not _TIME.search(key)}
    return [_untimed(v) for v in value] if isinstance(value, list) else value


def check(name: str, code: int, said: str, folder: Path, whole: dict[str, object]) -> None:
    """After the second command."""
    assert code == 0 or ENDED.search(said), said
    found = contents(folder)
    assert list(found) == list(whole), name
    assert [n for n in found if found[n] != whole[n]] == [], name
    left = [str(p) for p in folder.rglob(".*") if p.name.endswith((".writing", ".part", ".gone"))]
    left += [str(p) for p in folder.rglob(".unfinished*")]
    assert left == [], name


@pytest.mark.usefixtures("one_device")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.soak) if n in SLOW else n for n in VERBS]
)
def test_the_same_command_goes_on(
    name: str, barrow: Callable, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is on the disk at a moment is what a kill at that moment leaves."""
    command, rng = VERBS[name], random.Random(name)
    folder, left = tmp_path / "work", tmp_path / "left"
    begin(inputs, folder, command)
    number = 0

    def keep(*_: object) -> None:
        nonlocal number
        number += 1
        if rng.random() * number < 1:  # of all changes each is as probable
            shutil.rmtree(left, ignore_errors=True)
            shutil.copytree(folder, left, symlinks=True)

    monkeypatch.chdir(folder)
    monkeypatch.setattr(disk, "before", keep)
    code, _, err = barrow(*command.split())
    assert code == 0, err
    monkeypatch.setattr(disk, "before", lambda *_: None)
    whole = contents(folder)
    folder.rename(tmp_path / "whole")
    left.rename(folder)
    monkeypatch.chdir(folder)
    code, _, err = barrow(*command.split())
    check(name, code, err, folder, whole)


@pytest.fixture(scope="module")
def child(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., tuple[int, str]]]:
    """Run a command in a fork of a process that has imported all; kill it before a change."""
    log = tmp_path_factory.mktemp("child") / "log"
    with subprocess.Popen(
        [sys.executable, "-m", "tests.cli.test_killed"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env=dict(os.environ, XLA_FLAGS="", PYTHONWARNINGS="ignore"),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        orders, answers = process.stdin, process.stdout

        def run(folder: Path, command: str, step: int = 0) -> tuple[int, str]:
            print(json.dumps([str(folder), command, step, str(log)]), file=orders, flush=True)
            return json.loads(answers.readline()), log.read_text(errors="replace")

        yield run
        orders.close()


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", VERBS)
def test_killed_at_random_changes(
    name: str, inputs: Path, tmp_path: Path, child: Callable[..., tuple[int, str]]
) -> None:
    """400 in all; a third of the second commands are killed, too."""
    command, rng = VERBS[name], random.Random(name)
    folder, problems = tmp_path / "work", []
    begin(inputs, folder, command)
    code, said = child(folder, command)
    assert code == 0, said
    number, whole = int(said.splitlines()[-1]), contents(folder)
    assert len(FAST) * 15 + len(JAX) * 8 >= 400
    for _ in range(15 if name in FAST else 8):
        shutil.rmtree(folder)
        begin(inputs, folder, command)
        steps = [rng.randint(1, number) for _ in range(rng.choice((1, 1, 2)))]
        codes = [child(folder, command, step)[0] for step in steps]
        if codes[0] != -signal.SIGKILL:
            problems.append(f"{steps}: not killed, {codes}")
        code, said = child(folder, command)
        try:
            check(name, code, said, folder, whole)
        except AssertionError as error:
            problems.append(f"{steps}: {error}")
    assert problems == []


def main() -> None:
    """Run commands in forks; the number of changes is the last line of what they say."""
    import barrow.align
    import barrow.cli.main
    import barrow.compress.compressed
    import barrow.corpus.build.stages
    import barrow.mix.search
    import barrow.train.fit  # noqa: F401 - imported once, for all commands

    for line in sys.stdin:
        folder, command, step, log = json.loads(line)
        process = os.fork()
        if not process:
            _perform(folder, command.split(), step, log)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        sys.stdout.write(f"{code}\n")
        sys.stdout.flush()


def _perform(folder: str, arguments: list[str], step: int, log: str) -> None:
    from barrow.cli.main import run

    os.chdir(folder)
    said = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(said, 1)
    os.dup2(said, 2)
    number = 0

    def before(*_: object) -> None:
        nonlocal number
        number += 1
        if number == step:
            os.kill(os.getpid(), signal.SIGKILL)

    disk.before = before
    code = run(arguments)
    sys.stdout.flush()
    os.write(1, f"\n{number}\n".encode())
    os._exit(code)


if __name__ == "__main__":
    main()
