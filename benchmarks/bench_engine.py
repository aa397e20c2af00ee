"""What the engine costs, in one run: a plain loop, local processes, Ray; and a rebuild of nothing.

    python benchmarks/bench_engine.py [--tasks 64]

Each task compresses 8 MB of text made from a seed, about a tenth of a second of one core.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import zstandard

from barrow.corpus import Domain, PlainText, Recipe, build
from barrow.engine import Engine, Output, Outputs, Stage, Stages, Store, Task


@dataclass(frozen=True)
class Settings:
    seed: int


class Compressed(Outputs):
    text = Output("text.zst")


def compress(settings: Settings, inputs: None, out: Compressed) -> None:
    rng = random.Random(settings.seed)
    words = [rng.randbytes(4).hex() for _ in range(2000)]
    text = " ".join(rng.choices(words, k=900_000)).encode()
    out.text.path.write_bytes(zstandard.ZstdCompressor(level=3).compress(text))


COMPRESS = Stage("compress", 1, compress, Compressed)


def run(tasks: Sequence[Task[Compressed]], folder: Path, engine: Engine) -> None:
    with Stages(Store(folder), engine) as stages:
        stages.run("compress", tasks)


def best_of(times: int, call: Callable[[Path], None]) -> float:
    best = float("inf")
    for _ in range(times):
        folder = Path(tempfile.mkdtemp(prefix="bench-engine-"))
        started = time.perf_counter()
        call(folder)
        best = min(best, time.perf_counter() - started)
        shutil.rmtree(folder)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=64)
    options = parser.parse_args()
    tasks = [COMPRESS.task(f"{n}", Settings(n), None) for n in range(options.tasks)]
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, ray {version('ray')}\n")

    def loop(folder: Path) -> None:
        for task in tasks:
            out = folder / task.key
            out.mkdir()
            task.perform(out)

    def engine(engine: Engine) -> Callable[[Path], None]:
        return lambda folder: run(tasks, folder, engine)

    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    run(tasks[:2], Path(tempfile.mkdtemp()), Engine("ray", 2))  # its workers are up
    seconds = {
        "a loop": best_of(3, loop),
        "inline": best_of(3, engine(Engine(num_workers=0))),
        "one process": best_of(3, engine(Engine(num_workers=1))),
        "two processes": best_of(3, engine(Engine(num_workers=2))),
        "ray, two workers": best_of(3, engine(Engine("ray", 2))),
    }
    ray.shutdown()
    print("| | s |\n|---|---|")
    for name, value in seconds.items():
        print(f"| {name} | {value:.2f} |")
    print("\n| ratio | measured | asked |\n|---|---|---|")
    overhead = seconds["inline"] / seconds["a loop"] - 1
    print(f"| engine over a loop | {overhead:+.1%} | ≤ 5% |")
    print(f"| one process over a loop | {seconds['one process'] / seconds['a loop'] - 1:+.1%} | |")
    speedup = seconds["one process"] / seconds["two processes"]
    print(f"| two processes / one | {speedup:.2f} | ≥ 1.7 |")
    ratio = seconds["two processes"] / seconds["ray, two workers"]
    print(f"| ray / two processes | {ratio:.2f} | ≥ 0.85 |")

    folder = Path(tempfile.mkdtemp(prefix="bench-build-"))
    rng = random.Random(0)
    for n in range(5000):
        path = folder / "raw" / "texts" / f"{n % 50}" / f"{n}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(rng.randbytes(1000).hex())
    recipe = Recipe("bench", {"texts": Domain("Texts", PlainText())})
    for what in ("first build of 5,000 files", "rebuild of nothing"):
        started = time.perf_counter()
        build(recipe, root=folder / "raw", out=folder / "out", engine=Engine(num_workers=2))
        asked = "< 2 s" if "nothing" in what else ""
        print(f"| {what}, s | {time.perf_counter() - started:.2f} | {asked} |")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
