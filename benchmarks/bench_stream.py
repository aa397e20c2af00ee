"""Batches of tokens, beside what else makes them, in one run.

    python benchmarks/bench_stream.py --data CORPUS [--seconds 4] [--large-gb 10]

CORPUS is tokenized into bytes. Every loader gives shuffled batches of 32 rows of 1,024 tokens from
the same tokens, cut the same way, on disk and in the page cache; figures are millions of tokens a
second, in the best of many short windows. "all" is tokens, targets, segments, positions and mask,
which barrow computes from the ids and the others read ready-made; "tokens" is the tokens alone. A
DataLoader over `datasets` is tried with both formats and with 0 and 2 workers, Grain with 0, 1 and
16 threads; the best counts. Peers that are not installed are left out. "per core" counts processor
time instead, of loaders that work in one process; it does not depend on what else the machine does.

A random start is opening the store, making the stream and its batch 1,000,000. Memory is the
anonymous part of the resident set (mapped files are the page cache's) after 300 batches at places
spread over stores of 100 MB and of --large-gb GB, in processes of their own.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np

from barrow.engine import Engine
from barrow.stream import Stream
from barrow.tokens import load, open_store, tokenize

ROWS, LENGTH = 32, 1024
WINDOW = 0.05


def rate(make: Callable[[], Iterable[Any]], seconds: float) -> tuple[float, float]:
    """Millions of tokens a second, and a second of this process's processor time.

    Each is of the best of many short windows, because on a shared machine a long one measures the
    others.
    """
    best, until = (0.0, 0.0), time.perf_counter() + seconds
    while time.perf_counter() < until:
        batches = iter(make())
        for _ in itertools.islice(batches, 4):
            pass
        start, used, num = time.perf_counter(), time.process_time(), 0
        for _ in batches:
            num += 1
            if (now := time.perf_counter()) - start > WINDOW:
                spent = max(time.process_time() - used, 1e-6)
                best = max(best[0], num / (now - start)), max(best[1], num / spent)
                start, used, num = time.perf_counter(), time.process_time(), 0
                if now > until:
                    break
        del batches
        gc.collect()
    return best[0] * ROWS * LENGTH / 1e6, best[1] * ROWS * LENGTH / 1e6


def ours(stream: Stream) -> dict[str, Callable[[], Iterator[Any]]]:
    return {
        "barrow": lambda: (batch for _, batch in stream.numpy()),
        "barrow, prefetch": lambda: iter(stream.prefetch(depth=4)),
        "barrow, as a torch DataLoader": lambda: iter(stream.torch().loader()),
    }


def columns(stream: Stream, steps: int) -> dict[str, np.ndarray]:
    """The rows of some batches, ready-made."""
    batches = [stream.batch(step).arrays() for step in range(steps)]
    return {name: np.concatenate([b[name] for b in batches]) for name in batches[0]}


def data_loaders(arrays: dict[str, np.ndarray], folder: Path) -> Iterator[tuple[str, Any]]:
    import datasets
    from torch.utils.data import DataLoader

    datasets.disable_progress_bars()
    kinds = {name: "bool" if name == "mask" else "int32" for name in arrays}
    features = datasets.Features(
        {n: datasets.Sequence(datasets.Value(kind), length=LENGTH) for n, kind in kinds.items()}
    )
    path = str(folder / f"datasets-{len(arrays)}")
    datasets.Dataset.from_dict(arrays, features=features).save_to_disk(path)
    data = datasets.load_from_disk(path)
    for form in ("torch", "numpy"):
        for workers in (0, 2):
            formed = data.with_format(form)
            yield (
                f"DataLoader over datasets, {form}, {workers} workers",
                lambda f=formed, w=workers: DataLoader(
                    f, batch_size=ROWS, shuffle=True, num_workers=w
                ),
            )


class MappedRows:
    """Rows of arrays on disk, as Grain wants them."""

    def __init__(self, arrays: dict[str, np.ndarray], folder: Path) -> None:
        self._arrays = {}
        for name, array in arrays.items():
            # A name of its own: threads of an earlier loader may still read the other's file.
            file = folder / f"{len(arrays)}-{name}.npy"
            np.save(file, array)
            self._arrays[name] = np.load(file, mmap_mode="r").view(np.ndarray)

    def __len__(self) -> int:
        return len(next(iter(self._arrays.values())))

    def __getitem__(self, row: int) -> dict[str, np.ndarray]:
        return {name: array[row] for name, array in self._arrays.items()}


def grain_loaders(arrays: dict[str, np.ndarray], folder: Path) -> Iterator[tuple[str, Any]]:
    import grain

    source = MappedRows(arrays, folder)
    for threads in (0, 1, 16):
        options = grain.ReadOptions(num_threads=threads, prefetch_buffer_size=16 if threads else 0)
        yield (
            f"Grain, {threads} threads",
            lambda o=options: (
                grain.MapDataset.source(source)
                .seed(1)
                .shuffle()
                .repeat()
                .batch(ROWS)
                .to_iter_dataset(o)
            ),
        )


def mosaic_loaders(arrays: dict[str, np.ndarray], folder: Path) -> Iterator[tuple[str, Any]]:
    from streaming import MDSWriter, StreamingDataset
    from torch.utils.data import DataLoader

    # Its format has no booleans.
    arrays = {n: a.view(np.uint8) if a.dtype == bool else a for n, a in arrays.items()}
    out = str(folder / f"mosaic-{len(arrays)}")
    kinds = {name: f"ndarray:{array.dtype}:{LENGTH}" for name, array in arrays.items()}
    with MDSWriter(out=out, columns=kinds) as writer:
        for row in range(len(arrays["tokens"])):
            writer.write({name: array[row] for name, array in arrays.items()})
    for workers in (0, 2):
        yield (
            f"MosaicML streaming, {workers} workers",
            lambda w=workers: DataLoader(
                StreamingDataset(local=out, shuffle=True, batch_size=ROWS),
                batch_size=ROWS,
                num_workers=w,
            ),
        )


def tried(make: Callable[..., Iterator[tuple[str, Any]]], *arguments: Any) -> list[tuple[str, Any]]:
    try:
        return list(make(*arguments))
    except ImportError as error:
        print(f"left out: {error}")
        return []


def speeds(stream: Stream, seconds: float, folder: Path) -> None:
    arrays = columns(stream, 600)
    mine = {name: rate(make, seconds) for name, make in ours(stream).items()}
    print("| loader | what | million tokens/s | per core | barrow is | per core |")
    print("|---|---|---|---|---|---|")
    for name, (wall, core) in mine.items():
        print(f"| {name} | all | {wall:.1f} | {core:.1f} | | |", flush=True)
    wall, core = (max(column) for column in zip(*mine.values(), strict=True))
    for make in (data_loaders, grain_loaders, mosaic_loaders):
        for what, chosen in (("all", arrays), ("tokens", {"tokens": arrays["tokens"]})):
            found = {name: rate(m, seconds) for name, m in tried(make, chosen, folder)}
            alone = {name: cpu for name, (_, cpu) in found.items() if "2 workers" not in name}
            for name, (speed, _) in found.items():
                cpu = f"{alone[name]:.1f}" if name in alone else ""
                print(f"| {name} | {what} | {speed:.1f} | {cpu} | | |", flush=True)
            if found:
                ratio = wall / max(speed for speed, _ in found.values())
                per_core = core / max(alone.values())
                print(f"| **best of these** | {what} | | | {ratio:.1f} × | {per_core:.1f} × |")


def random_start(folder: Path) -> float:
    """Milliseconds from nothing open to batch 1,000,000, the best of several."""
    best = float("inf")
    for _ in range(20):
        start = time.perf_counter()
        Stream(open_store(folder), seq_len=LENGTH, batch=ROWS, seed=1).batch(1_000_000)
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def synthetic_store(folder: Path, size: int) -> None:
    """A store of `size` bytes of ids whose shards are one file of 256 MB under many names."""
    from barrow.files.safetensors import Column
    from barrow.tokens.store.array_file import write_arrays
    from barrow.tokens.store.pieces import Piece
    from barrow.tokens.store.store_file import (
        Corpus,
        DomainEntry,
        FileEntry,
        ShardEntry,
        Sizes,
        SourceEntry,
        StoreFile,
        TokenizerEntry,
        write_store_file,
    )
    from barrow.tokens.store.token_file import write_token_file

    folder.mkdir()
    tokens, each = min(1 << 27, size // 2048 * 1024), 1 << 10
    documents, shards = tokens // each, max(1, size // (2 * tokens))
    ids = np.random.default_rng(0).integers(1, 50_000, tokens, dtype=np.uint16)
    ids[::each] = 0
    u64 = np.dtype("<u8")
    written = write_token_file(
        folder / "tokens-00000.safetensors",
        [Piece("0" * 32, 0, 0, "A", documents, tokens, tokens)],
        offsets=[np.arange(0, tokens + 1, each, dtype=u64)],
        identity=[np.zeros((documents, 2), u64)],
        number=[np.arange(documents, dtype=u64)],
        ids=[ids],
        dtype=np.dtype("<u2"),
    )
    files = [f"tokens-{k:05d}.safetensors" for k in range(shards)]
    for name in files[1:]:
        os.link(folder / files[0], folder / name)
    starts = (np.arange(k * tokens, (k + 1) * tokens, each, dtype=u64) for k in range(shards))
    parts = [*starts, np.array([shards * tokens], u64)]
    column = Column(u64, (shards * documents + 1,), parts)
    index = write_arrays(folder / "index-a.safetensors", {"starts": column}, note={"domain": "A"})
    write_store_file(
        folder,
        StoreFile(
            tokenizer=TokenizerEntry("0" * 64, 50_000, 0, None, ()),
            dtype="uint16",
            sizes=Sizes(),
            encoding=1,
            domains=(
                DomainEntry(
                    "A",
                    shards * documents,
                    shards * tokens,
                    shards * tokens,
                    FileEntry("index-a.safetensors", index.bytes, index.sha256),
                    tuple(
                        ShardEntry(FileEntry(n, written.bytes, written.sha256), documents, tokens)
                        for n in files
                    ),
                ),
            ),
            corpus=Corpus("", "train", "text", None, (SourceEntry("", "0" * 64, 0, 0),)),
        ),
    )


MEMORY = """
import sys
from barrow.stream import Stream
def anonymous():
    for line in open("/proc/self/status"):
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
import barrow.tokens
before = anonymous()
stream = Stream(sys.argv[1], seq_len=1024, batch=32, seed=1)
for step in range(300):
    stream.batch(step * 997)
print(stream.data.store.num_tokens * stream.data.store.dtype.itemsize / 1e6, before, anonymous())
"""


def memory(size: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        synthetic_store(store, size)
        start = random_start(store)
        run = subprocess.run(
            [sys.executable, "-c", MEMORY, str(store)], capture_output=True, text=True, check=True
        )
    megabytes, before, after = map(float, run.stdout.split())
    return f"| {megabytes:,.0f} | {after - before:.1f} | {start:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True, help="a corpus, or a file or folder of documents")
    parser.add_argument("--seconds", type=float, default=4, help="for each loader")
    parser.add_argument("--large-gb", type=float, default=10)
    options = parser.parse_args()
    for library in ("numpy", "torch", "datasets", "grain", "mosaicml-streaming"):
        try:
            print(library, version(library), end="  ")
        except PackageNotFoundError:
            print(library, "not installed", end="  ")
    print("\n")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "store"
        store = tokenize(options.data, tokenizer=load("bytes"), out=out, engine=Engine("local", 0))
        print(f"{store.num_tokens:,} tokens, {len(store.domains)} domains\n")
        speeds(Stream(store, seq_len=LENGTH, batch=ROWS, seed=1), options.seconds, Path(folder))
        print(f"\nrandom start at step 1,000,000: {random_start(out):.1f} ms\n")
    print("| store, MB | memory it takes, MB | random start, ms |\n|---|---|---|")
    for size in (100e6, options.large_gb * 1e9):
        print(memory(int(size)), flush=True)


if __name__ == "__main__":
    main()
