"""Reading, writing and seeking in an archive, beside what else reads jsonl.zst, in one run.

    python benchmarks/bench_archive.py [--data FILE.jsonl.zst] [--mb 400] [--quick]

Speeds are MB (10^6 bytes) of UTF-8 text per second, one core pinned unless said otherwise, best of
several passes, each reader in a process of its own over the same multi-frame file. Without --data
the text is the demo's, repeated.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from itertools import cycle
from pathlib import Path
from typing import Any

CORES = sorted(os.sched_getaffinity(0))
PASSES = 3


# Readers: each goes through the whole file and looks at every text --------------------------------


def read_barrow_blocks(path: str) -> int:
    import barrow.archive

    return sum(block.num_text_bytes for block in barrow.archive.open(path).blocks())


def read_barrow_documents(path: str) -> int:
    import barrow.archive

    return sum(1 for _ in barrow.archive.open(path))


def read_barrow_text_only(path: str) -> int:
    import barrow.archive

    return sum(1 for _ in barrow.archive.open(path, fields=("text",)))


def read_datatrove(path: str) -> int:
    from datatrove.pipeline.readers import JsonlReader
    from loguru import logger

    logger.remove()
    folder, name = os.path.split(path)
    reader = JsonlReader(folder, glob_pattern=name, compression="zstd")
    return sum(1 for _ in reader.run())


def _datasets(path: str) -> Any:
    import datasets

    datasets.disable_progress_bars()
    return datasets.load_dataset("json", data_files=path, split="train", streaming=True)


def read_datasets_rows(path: str) -> int:
    return sum(1 for _ in _datasets(path))


def read_datasets_batches(path: str) -> int:
    return sum(len(batch["text"]) for batch in _datasets(path).iter(batch_size=1000))


def read_polars(path: str) -> int:
    import polars

    return sum(len(batch) for batch in polars.scan_ndjson(path).collect_batches())


def read_polars_collect(path: str) -> int:
    import polars

    return len(polars.read_ndjson(path))


def read_pyarrow(path: str) -> int:
    import pyarrow
    import pyarrow.json

    stream = pyarrow.CompressedInputStream(pyarrow.OSFile(path), "zstd")
    return sum(len(batch) for batch in pyarrow.json.open_json(stream))


def read_duckdb(path: str) -> int:
    import duckdb

    duckdb.sql("set threads = 1")
    query = f"select sum(strlen(text)) from read_json('{path}', format='newline_delimited')"
    return int(duckdb.sql(query).fetchall()[0][0])


def read_zstandard_msgspec(path: str) -> int:
    """The generator people write by hand: a line at a time."""
    import io

    import msgspec
    import zstandard

    decoder = msgspec.json.Decoder()
    with open(path, "rb") as file:
        stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        return sum(1 for line in io.BufferedReader(stream, 1 << 20) if decoder.decode(line)["text"])


def read_decoder_alone(path: str) -> int:
    """The floor: zstandard into one reused buffer, nothing parsed."""
    import zstandard

    buffer = memoryview(bytearray(1 << 20))
    total = 0
    with open(path, "rb") as file:
        stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        while size := stream.readinto(buffer):
            total += size
    return total


READERS: dict[str, Callable[[str], int]] = {
    "barrow blocks": read_barrow_blocks,
    "barrow documents": read_barrow_documents,
    "barrow documents, text only": read_barrow_text_only,
    "datatrove": read_datatrove,
    "datasets rows": read_datasets_rows,
    "datasets batches": read_datasets_batches,
    "polars batches": read_polars,
    "polars whole file": read_polars_collect,
    "pyarrow": read_pyarrow,
    "duckdb": read_duckdb,
    "zstandard + msgspec by line": read_zstandard_msgspec,
    "decoder alone (floor)": read_decoder_alone,
}


# Other questions ----------------------------------------------------------------------------------


def random_access(path: str) -> dict[str, float]:
    """Milliseconds for one document anywhere, after a first access."""
    import random

    import barrow.archive

    archive = barrow.archive.open(path)
    rng = random.Random(0)
    length = len(archive)
    archive[0]
    times = []
    for _ in range(300):
        number = rng.randrange(length)
        started = time.perf_counter()
        archive[number]
        times.append(time.perf_counter() - started)
    times.sort()
    return {"median_ms": times[150] * 1e3, "p99_ms": times[297] * 1e3, "max_ms": times[-1] * 1e3}


def peak_memory(path: str, how: str) -> float:
    """Peak resident MB of a process that reads everything."""
    READERS[how](path)
    # Not ru_maxrss: that remembers the process which started us.
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise OSError("no VmHWM")


def write_speed(path: str, threads: int, library: bool) -> float:
    """Seconds to write at level 3, or for the library to compress the same bytes as one frame."""
    import msgspec
    import zstandard

    import barrow.archive

    documents = list(barrow.archive.open(path)[:20000])
    lines = msgspec.json.Encoder().encode_lines(documents)
    best = float("inf")
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
        for k in range(PASSES):
            started = time.perf_counter()
            if library:
                compressor = zstandard.ZstdCompressor(level=3)
                with open(f"{folder}/{k}.zst", "wb") as file:
                    file.write(compressor.compress(lines))
                    file.flush()
                    os.fsync(file.fileno())
            else:
                with barrow.archive.Writer(f"{folder}/{k}.jsonl.zst", threads=threads) as writer:
                    writer.extend(documents)
            best = min(best, time.perf_counter() - started)
    return len(lines) / best / 1e6


def import_time() -> float:
    """Seconds for `import barrow`, in an interpreter that has imported nothing else."""
    code = "import time; t = time.perf_counter(); import barrow; print(time.perf_counter() - t)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(run.stdout)


# The run ------------------------------------------------------------------------------------------


def child(task: str, *arguments: str, cores: list[int]) -> Any:
    """Run one task in a process of its own, on the given cores."""
    environment = {
        **os.environ,
        "POLARS_MAX_THREADS": str(len(cores)),
        "OMP_NUM_THREADS": str(len(cores)),
        "HF_HUB_OFFLINE": "1",
    }
    command = [sys.executable, __file__, "--task", task, *arguments]
    prefix = ["taskset", "-c", ",".join(map(str, cores))]
    run = subprocess.run(prefix + command, env=environment, capture_output=True, text=True)
    if run.returncode:
        return {"error": run.stderr.strip().splitlines()[-1] if run.stderr.strip() else "failed"}
    return json.loads(run.stdout.strip().splitlines()[-1])


def run_task(task: str, arguments: list[str]) -> Any:
    if task == "read":
        reader, path = READERS[arguments[0]], arguments[1]
        reader(path)  # imports, compiled code, page cache
        best = float("inf")
        for _ in range(PASSES):
            started = time.perf_counter()
            reader(path)
            best = min(best, time.perf_counter() - started)
        return best
    if task == "part":
        import barrow.archive

        rank, of, path = int(arguments[0]), int(arguments[1]), arguments[2]
        archive = barrow.archive.open(path, threads=1)
        for _ in barrow.archive.open(path, threads=1)[:100].blocks():
            pass  # imports and compiled code
        print(json.dumps("ready"), flush=True)
        sys.stdin.readline()
        for _ in archive.shard(rank, of).blocks():
            pass
        return time.monotonic()
    if task == "access":
        return random_access(arguments[0])
    if task == "memory":
        return peak_memory(arguments[1], arguments[0])
    if task == "write":
        return write_speed(arguments[1], int(arguments[0]), library=False)
    if task == "write-library":
        return write_speed(arguments[0], 1, library=True)
    if task == "import":
        return import_time()
    raise ValueError(task)


def processes(path: str, of: int) -> float:
    """Seconds for `of` processes to read everything as blocks, from the word go."""
    best = float("inf")
    for _ in range(PASSES):
        workers = [
            subprocess.Popen(
                ["taskset", "-c", str(CORES[rank]), sys.executable, __file__]
                + ["--task", "part", str(rank), str(of), path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(of)
        ]
        for worker in workers:
            assert worker.stdout is not None
            worker.stdout.readline()
        started = time.monotonic()
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        ends = [float(worker.communicate()[0].splitlines()[-1]) for worker in workers]
        best = min(best, max(ends) - started)
    return best


def make_file(path: Path, source: str | None, num_bytes: int) -> int:
    """Write about `num_bytes` of text to one shard; return exactly how many."""
    import barrow.archive

    documents: Iterator[barrow.Document] | list[barrow.Document]
    documents = list(barrow.archive.open(source)) if source else _demo_documents()
    total = 0
    with barrow.archive.Writer(path, threads=len(CORES)) as writer:
        for document in cycle(documents):
            writer.add(document)
            total += len(document.text.encode())
            if total >= num_bytes:
                return total
    return total


def _demo_documents() -> list[Any]:
    import barrow.archive
    from barrow.corpus import build
    from barrow.demo import pocket

    with tempfile.TemporaryDirectory() as folder:
        pocket.prepare(Path(folder) / "raw")
        build(pocket.recipe(), root=Path(folder) / "raw", out=Path(folder) / "out")
        return list(barrow.archive.open(Path(folder) / "out"))


def library_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="a file of records to repeat instead of the demo's text")
    parser.add_argument("--mb", type=int, default=400)
    parser.add_argument("--quick", action="store_true", help="reading speeds only")
    parser.add_argument("--task", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        print(json.dumps(run_task(options.task[0], options.task[1:])))
        return
    folder = Path(tempfile.mkdtemp(prefix="bench-archive-"))
    try:
        measure(folder, options)
    finally:
        shutil.rmtree(folder)


def measure(folder: Path, options: argparse.Namespace) -> None:
    libraries = [
        "zstandard",
        "msgspec",
        "datatrove",
        "datasets",
        "polars",
        "pyarrow",
        "duckdb",
    ]
    print(f"{cpu_name()}, {len(CORES)} cores; Python {platform.python_version()}; ", end="")
    print(", ".join(f"{name} {library_version(name)}" for name in libraries))
    path = folder / "bench.jsonl.zst"
    size = make_file(path, options.data, options.mb * 10**6)
    one = CORES[-1:]
    print(f"\n{size / 1e6:.0f} MB of text, {path.stat().st_size / 1e6:.0f} MB on disk\n")

    speed: dict[str, float] = {}
    print("| reader | MB/s |\n|---|---|")
    for name in READERS:
        seconds = child("read", name, str(path), cores=one)
        if isinstance(seconds, dict):
            print(f"| {name} | {seconds['error']} |")
            continue
        speed[name] = size / seconds / 1e6
        print(f"| {name} | {speed[name]:.0f} |", flush=True)

    print("\n| ratio | measured | asked |\n|---|---|---|")
    for ours, peer, asked in (
        ("barrow blocks", "datatrove", 3.5),
        ("barrow blocks", "datasets rows", 4.5),
        ("barrow blocks", "polars batches", 1.05),
        ("barrow blocks", "polars whole file", 1.05),
        ("barrow blocks", "decoder alone (floor)", None),
        ("barrow documents", "datatrove", 2.5),
        ("barrow documents", "datasets rows", 3.5),
        ("barrow documents", "zstandard + msgspec by line", None),
        ("decoder alone (floor)", "datatrove", None),
    ):
        if ours in speed and peer in speed:
            want = f"≥ {asked}" if asked else ""
            print(f"| {ours} / {peer} | {speed[ours] / speed[peer]:.2f} | {want} |")
    if options.quick:
        return

    single, double = processes(str(path), 1), processes(str(path), 2)
    print(f"| two processes / one (blocks) | {single / double:.2f} | ≥ 1.7 |")
    for name in ("barrow blocks", "barrow documents"):
        alone = child("read", name, str(path), cores=one)
        both = child("read", name, str(path), cores=CORES[:2])
        print(f"| {name}, one process on two cores / on one | {alone / both:.2f} | |")
    library = child("write-library", str(path), cores=one)
    ours = child("write", "1", str(path), cores=one)
    threaded = child("write", "2", str(path), cores=CORES[:2])
    print(f"| write / zstandard alone ({ours:.0f} and {library:.0f} MB/s of JSON) ", end="")
    print(f"| {ours / library:.2f} | ≥ 0.85 |")
    print(f"| write with 2 threads / 1 | {threaded / ours:.2f} | |")
    seconds = min(child("import", cores=one) for _ in range(5))
    print(f"| import barrow, s | {seconds:.3f} | < 0.3 |")

    path.unlink()
    small, large = folder / "small.jsonl.zst", folder / "large.jsonl.zst"
    make_file(small, options.data, 100 * 10**6)
    make_file(large, options.data, 2 * 10**9)
    access = child("access", str(large), cores=one)
    print(f"| one document of a 2 GB archive, ms: median {access['median_ms']:.2f}, ", end="")
    print(f"p99 {access['p99_ms']:.2f} | max {access['max_ms']:.2f} | < 5 |")
    for name in ("barrow documents", "barrow blocks"):
        few, many = (child("memory", name, str(file), cores=CORES[:2]) for file in (small, large))
        print(f"| peak memory, {name}, 2 GB / 100 MB ({many:.0f} and {few:.0f} MB) ", end="")
        print(f"| {many / few:.2f} | ≤ 1.10, < 100 MB |", flush=True)


if __name__ == "__main__":
    main()
