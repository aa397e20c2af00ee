"""Tokenizing end to end, in one run: barrow, `tokenizers` alone, `datasets.map`, datatrove.

    python benchmarks/bench_tokenize.py --data ARCHIVE --tokenizer tokenizer.json [--megabytes 8]

Everybody reads the same documents from a compressed file, encodes them and writes ids; `tokenizers`
only encodes, from memory. Every library has one thread. A rate is bytes of text per second and per
process, between a quarter of the documents and all of them: what it costs to start processes and to
load libraries is in both and drops out. Each is the best of some rounds, after one to warm up.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

os.environ["RAYON_NUM_THREADS"] = "1"  # before any of these libraries is loaded
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_DISABLE_PROGRESS_BARS"] = "1"

import barrow.archive
from barrow import Document
from barrow.engine import Engine
from barrow.tokens import load, tokenize


def seconds_of(call: Callable[[Path], object]) -> float:
    folder = Path(tempfile.mkdtemp(prefix="bench-tokenize-"))
    try:
        started = time.perf_counter()
        call(folder)
        return time.perf_counter() - started
    finally:
        shutil.rmtree(folder)


def first_documents(data: str, num_bytes: int) -> list[Document]:
    """Documents spread over the archive, so that all domains are there."""
    archive = barrow.archive.open(data)
    step = max(1, int(barrow.archive.composition(archive).total.bytes / num_bytes))
    return list(archive)[::step]


def with_datasets(file: Path, tokenizer_json: Path, processes: int, folder: Path) -> None:
    import datasets
    from tokenizers import Tokenizer

    datasets.disable_progress_bars()
    tokenizer = Tokenizer.from_file(str(tokenizer_json))

    def encode(batch: dict[str, list[str]]) -> dict[str, list[list[int]]]:
        found = tokenizer.encode_batch(batch["text"], add_special_tokens=False)
        return {"ids": [one.ids for one in found]}

    rows = datasets.load_dataset("json", data_files=str(file), split="train", cache_dir=str(folder))
    rows.map(
        encode,
        batched=True,
        remove_columns=rows.column_names,
        num_proc=processes if processes > 1 else None,
    )


def with_datatrove(files: Path, tokenizer_json: Path, processes: int, folder: Path) -> None:
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.tokens import DocumentTokenizer
    from loguru import logger

    logger.remove()
    LocalPipelineExecutor(
        pipeline=[
            JsonlReader(str(files), glob_pattern="*.jsonl.gz"),
            DocumentTokenizer(
                str(folder / "out"),
                tokenizer_name_or_path=str(tokenizer_json),
                eos_token="<|endoftext|>",
                local_working_dir=str(folder / "work"),
                shuffle_documents=False,
            ),
        ],
        tasks=processes,
        workers=processes,
        logging_dir=str(folder / "log"),
    ).run()


def write_lines(documents: list[Document], path: Path) -> None:
    import gzip
    import json

    with gzip.open(path, "wt", compresslevel=1) as file:
        for document in documents:
            file.write(json.dumps({"text": document.text, "meta": {}}) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="an archive")
    parser.add_argument("--tokenizer", required=True, type=Path, help="a tokenizer.json")
    parser.add_argument("--megabytes", type=float, default=32.0, help="of text, for everybody")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    documents = first_documents(options.data, int(options.megabytes * 1e6))
    work = Path(tempfile.mkdtemp(prefix="bench-tokenize-"))
    tokenizer = load(options.tokenizer)
    inputs = {"part": documents[::4], "all": documents}
    sizes = {
        name: sum(len(document.text.encode()) for document in some) for name, some in inputs.items()
    }
    for name, some in inputs.items():
        with barrow.archive.Writer(work / name / "archive") as writer:
            writer.extend(some)
        write_lines(some, work / name / "all.jsonl.gz")
        for processes in (1, 2):
            for k in range(processes):
                folder = work / name / str(processes)
                folder.mkdir(exist_ok=True)
                write_lines(some[k::processes], folder / f"{k}.jsonl.gz")
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}", end="")
    for name in ("tokenizers", "fastokens", "gigatoken", "datasets", "datatrove"):
        try:
            print(f", {name} {version(name)}", end="")
        except PackageNotFoundError:
            print(f", no {name}", end="")
    print(f"; {sizes['all'] / 1e6:.0f} MB of text\n")

    rates: dict[str, float] = {}

    def measure(name: str, processes: int, call: Callable[[Path, Path], object]) -> None:
        seconds = {}
        for some in inputs:
            rounds = [
                seconds_of(lambda folder, some=some: call(work / some, folder))  # type: ignore[misc]
                for _ in range(options.rounds + 1)
            ]
            seconds[some] = min(rounds[1:])
        more, longer = sizes["all"] - sizes["part"], seconds["all"] - seconds["part"]
        rates[name] = more / longer / processes / 1e6
        print(f"| {name} | {rates[name]:.1f} | {seconds['all']:.1f} |", flush=True)

    print("| | MB/s per process | s, all of it |\n|---|---|---|")
    for processes, engine in ((1, Engine(num_workers=0)), (2, Engine(num_workers=2))):
        measure(
            f"barrow, {processes}",
            processes,
            lambda given, folder, engine=engine: tokenize(
                str(given / "archive"), tokenizer=tokenizer, out=folder / "store", engine=engine
            ),
        )
    from tokenizers import Tokenizer

    reference = Tokenizer.from_file(str(options.tokenizer))
    texts = {str(work / k): [document.text for document in some] for k, some in inputs.items()}
    measure(
        "tokenizers, encode alone",
        1,
        lambda given, _: reference.encode_batch(texts[str(given)]),
    )
    for processes in (1, 2):
        measure(
            f"datasets.map, {processes}",
            processes,
            lambda given, folder, n=processes: with_datasets(
                given / "all.jsonl.gz", options.tokenizer, n, folder
            ),
        )
        try:
            measure(
                f"datatrove, {processes}",
                processes,
                lambda given, folder, n=processes: with_datatrove(
                    given / str(n), options.tokenizer, n, folder
                ),
            )
        except ImportError as error:
            print(f"| datatrove, {processes} | not measured ({error}) | |")
    shutil.rmtree(work)
    print("\n| ratio | measured | asked |\n|---|---|---|")
    alone = rates["barrow, 1"] / rates["tokenizers, encode alone"]
    print(f"| barrow over `tokenizers` encoding alone, per process | {alone:.1f}× | ≥ 15× |")
    for peer in ("datasets.map", "datatrove"):
        for processes in (1, 2):
            if f"{peer}, {processes}" in rates:
                ratio = rates[f"barrow, {processes}"] / rates[f"{peer}, {processes}"]
                print(f"| barrow over {peer}, {processes} | {ratio:.1f}× | ≥ 20× |")


if __name__ == "__main__":
    main()
