"""Reading weights beside the libraries that define the formats, in one run.

    python benchmarks/bench_weights.py [--mb 256] [--passes 3]

GGUF: seconds of processor time to open a file with a vocabulary, beside the reader of the package
`gguf`, which is the one underneath. Safetensors and PyTorch checkpoints: seconds to open a file of
--mb in many tensors and to read one of them, and MB/s to write, beside `safetensors` and `torch`;
writes of both end in fsync. Best of several passes.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import gguf
import numpy as np
import safetensors
import safetensors.numpy
import torch

from barrow.weights import open_gguf, open_safetensors, open_torch, write_safetensors


def best(work: Callable[[], object], passes: int, clock: Callable[[], float]) -> float:
    times = []
    for _ in range(passes):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def row(what: str, ours: float, theirs: float, *, more_is_better: bool, form: str) -> str:
    ratio = ours / theirs if more_is_better else theirs / ours
    return f"| {what} | {ours:{form}} | {theirs:{form}} | {ratio:.2f}× |"


def vocabulary(path: Path, passes: int) -> None:
    print("| GGUF, 32,000 pieces and 64,000 merges | barrow | gguf | ratio |\n|---|---|---|---|")
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_token_list([f"piece{i}" for i in range(32_000)])
    writer.add_token_scores([float(i) for i in range(32_000)])
    writer.add_token_merges([f"piece{i} {i}" for i in range(64_000)])
    writer.add_tensor("w", np.zeros((32, 32), np.float32))
    for step in ("header", "kv_data", "tensors"):
        getattr(writer, f"write_{step}_to_file")()
    writer.close()

    def library() -> dict[str, object]:
        return {name: field.contents() for name, field in gguf.GGUFReader(path).fields.items()}

    assert open_gguf(path).metadata["tokenizer.ggml.merges"] == library()["tokenizer.ggml.merges"]
    ours = best(lambda: open_gguf(path), passes, time.process_time)
    theirs = best(library, passes, time.process_time)
    print(row("open, s", ours, theirs, more_is_better=False, form=".2f"))


def one_with_library(path: Path) -> float:
    with safetensors.safe_open(path, "np") as file:
        return float(file.get_tensor("t100").sum())


def write_and_sync(tensors: dict[str, np.ndarray], path: Path) -> None:
    safetensors.numpy.save_file(tensors, path)
    with path.open("rb") as file:
        os.fsync(file.fileno())


def files(folder: Path, num_bytes: int, passes: int) -> None:
    rng = np.random.default_rng(0)
    rows = num_bytes // 400 // 4 // 256
    tensors = {f"t{i}": rng.normal(size=(rows, 256)).astype(np.float32) for i in range(400)}
    path, other, pickled = (folder / n for n in ("a.safetensors", "b.safetensors", "c.pt"))
    print("\n| files | barrow | peer | ratio |\n|---|---|---|---|")
    clock, size = time.perf_counter, num_bytes / 1e6
    ours = size / best(lambda: write_safetensors(path, tensors), passes, clock)
    theirs = size / best(lambda: write_and_sync(tensors, other), passes, clock)
    what = "safetensors, write, MB/s (ours with SHA-256)"
    print(row(what, ours, theirs, more_is_better=True, form=",.0f"))
    assert path.read_bytes() == other.read_bytes()
    ours = best(lambda: open_safetensors(path)["t100"].sum(), passes, clock)
    theirs = best(lambda: one_with_library(path), passes, clock)
    what = "safetensors, open and read one of 400, ms"
    print(row(what, ours * 1e3, theirs * 1e3, more_is_better=False, form=".2f"))
    torch.save({name: torch.from_numpy(array) for name, array in tensors.items()}, pickled)
    ours = best(lambda: open_torch(pickled).tensors["t100"].sum(), passes, clock)
    theirs = best(
        lambda: torch.load(pickled, mmap=True, weights_only=True)["t100"].sum(), passes, clock
    )
    what = "PyTorch checkpoint, open and read one of 400, ms"
    print(row(what, ours * 1e3, theirs * 1e3, more_is_better=False, form=".2f"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=256)
    parser.add_argument("--passes", type=int, default=3)
    options = parser.parse_args()
    names = ("gguf", "numpy", "safetensors", "torch")
    print(platform.processor() or platform.machine(), *(f"{n} {version(n)}" for n in names))
    with tempfile.TemporaryDirectory() as folder:
        vocabulary(Path(folder) / "v.gguf", options.passes)
        files(Path(folder), options.mb * 1_000_000, options.passes)


if __name__ == "__main__":
    main()
