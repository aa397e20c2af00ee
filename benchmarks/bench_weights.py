"""Reading weights beside the libraries that define the formats, in one run.

    python benchmarks/bench_weights.py [--mb 256] [--passes 3]

GGUF: MB (10^6 bytes) of float32 decoded per second of processor time, one core, beside the package
`gguf`. Safetensors and PyTorch checkpoints: seconds to open a file of --mb in many tensors and to
read one of them, and MB/s to write, beside `safetensors` and `torch`; writes of both end in fsync.
Best of several passes.
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

from barrow.weights import open_safetensors, open_torch, write_safetensors
from barrow.weights.gguf_types import TYPES

QUANTS = ("Q4_0", "Q4_1", "Q5_0", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K")


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


def quantised(passes: int) -> None:
    print("| GGUF, MB/s of float32 | barrow | gguf | ratio |\n|---|---|---|---|")
    rng = np.random.default_rng(0)
    for number, element in TYPES.items():
        if element.name not in QUANTS:
            continue
        num_blocks = (1 << 23) // element.elements
        # Bytes below 120 keep every half-precision scale finite.
        raw = rng.integers(0, 120, num_blocks * element.num_bytes, dtype=np.uint8)
        raw = raw.reshape(2048, -1)  # rows of 4,096 elements, as a model has them
        kind = gguf.GGMLQuantizationType(number)
        same = np.array_equal(
            element.decode(raw.reshape(-1)), gguf.quants.dequantize(raw, kind).reshape(-1)
        )
        assert same, element.name
        size = 4 * (1 << 23) / 1e6
        clock = time.process_time
        ours = size / best(lambda r=raw, e=element: e.decode(r.reshape(-1)), passes, clock)
        theirs = size / best(lambda r=raw, k=kind: gguf.quants.dequantize(r, k), passes, clock)
        print(row(element.name, ours, theirs, more_is_better=True, form=",.0f"))


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
    quantised(options.passes)
    with tempfile.TemporaryDirectory() as folder:
        files(Path(folder), options.mb * 1_000_000, options.passes)


if __name__ == "__main__":
    main()
