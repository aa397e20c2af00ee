"""WARC records beside fastwarc and warcio, on the same file, in one run.

    python benchmarks/bench_warc.py [--data FOLDER] [--mb 300] [--passes 5] [--memory-gb 2.2]

Each reads all records, with the headers of responses, those of HTTP too, and takes every body.
barrow looks up the fields that the corpus needs; so does fastwarc once, and once it parses all of
them and looks up none. Numbers of records are compared, and those of bytes in made-up ones. Speeds
are MB (10^6 bytes) of decompressed records per second of processor time on one core, best of
several passes, taken in turns. Records are those of the WARC files in --data, repeated; made up if
it is not given: of three, a request, a response of about 60 kB, and metadata.

Memory is the peak of a process of its own (VmHWM) that reads a file and a far larger one.
"""

from __future__ import annotations

import argparse
import gzip
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path

WORDS = ("the", "of", "to", "and", "in", "is", "that", "for", "mound", "stone", "valley", "river")

PEAK = """
import sys
from pathlib import Path
from barrow.corpus.readers.warc.records import warc_records
with open(sys.argv[1], "rb") as file:
    for record in warc_records(file):
        assert not record.problem
lines = Path("/proc/self/status").read_text().splitlines()
print(next(line.split()[1] for line in lines if "VmHWM" in line))
"""


# Data ---------------------------------------------------------------------------------------------


def record(kind: str, content: bytes, number: int) -> bytes:
    message = "request" if kind == "request" else "response"
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Date: 2024-05-18T01:58:10Z\r\n"
        f"WARC-Record-ID: <urn:uuid:{number:032x}>\r\nContent-Length: {len(content)}\r\n"
        f"Content-Type: application/http; msgtype={message}\r\n"
        "WARC-Warcinfo-ID: <urn:uuid:5327826b-b3d8-426e-938d-cf3318afe8e9>\r\n"
        "WARC-IP-Address: 208.80.154.224\r\n"
        f"WARC-Target-URI: https://example.org/wiki/{number}\r\n"
        "WARC-Payload-Digest: sha1:RDTSR52RUHWDA7QK4BK7OUHU3EXTXYUL\r\n"
        "WARC-Block-Digest: sha1:RDTSR52RUHWDA7QK4BK7OUHU3EXTXYUL\r\n\r\n"
    )
    return head.encode() + content + b"\r\n\r\n"


def made_up(num: int) -> list[bytes]:
    rng = random.Random(0)
    records = []
    for number in range(num):
        paragraphs = "".join(
            f'<div class="{rng.choice(WORDS)}{rng.randint(0, 999)}"><p id="p{rng.getrandbits(40)}">'
            f"{' '.join(rng.choices(WORDS, k=rng.randint(5, 60)))}</p></div>\n"
            for _ in range(rng.randint(50, 500))
        )
        fields = "".join(f"X-Field-{n}: {rng.getrandbits(64)}\r\n" for n in range(12))
        body = (
            f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{fields}\r\n<html>{paragraphs}</html>"
        )
        request = b"GET /wiki HTTP/1.1\r\nHost: example.org\r\nAccept: */*\r\n\r\n"
        records.append(record("request", request, 3 * number))
        records.append(record("response", body.encode(), 3 * number + 1))
        records.append(
            record("metadata", b"fetchTimeMs: 1095\r\ncharset: UTF-8\r\n", 3 * number + 2)
        )
    return records


def taken_from(folder: Path) -> list[bytes]:
    from barrow.corpus.readers.warc.records import warc_records

    records = []
    for path in sorted(folder.rglob("*.warc*")):
        with path.open("rb") as file:
            for found in warc_records(file):
                if not found.problem and found.type:
                    records.append(found.header + found.content + b"\r\n\r\n")
    return records


def write(path: Path, records: list[bytes], num_passes: int) -> None:
    packed = [gzip.compress(data, 6) for data in records] if path.suffix == ".gz" else records
    with path.open("wb") as file:
        for _ in range(num_passes):
            file.writelines(packed)


# Readers: each gives the number of records, and of bytes in their bodies -------------------------

# What is looked up of a response: what the corpus' reader asks for.
OF_RECORD = ("warc-target-uri", "warc-record-id", "warc-date", "content-type")
OF_HTTP = ("content-type", "content-language", "content-encoding", "transfer-encoding")


def with_barrow(path: Path) -> tuple[int, int]:
    from barrow.corpus.readers.warc.http_response import parse_response
    from barrow.corpus.readers.warc.records import warc_records

    of_record, of_http = [n.encode() for n in OF_RECORD], [n.encode() for n in OF_HTTP]
    num = size = 0
    with path.open("rb") as file:
        for found in warc_records(file):
            num += 1
            response = None
            if found.type == b"response":
                for name in of_record:
                    found.text(name)
                response = parse_response(found.data, found.start, found.stop)
                if response:
                    for name in of_http:
                        response.text(name)
            size += len(response.body if response else found.content)
    return num, size


def with_fastwarc(path: Path, *, asks: bool = False) -> tuple[int, int]:
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    num = size = 0
    with path.open("rb") as file:
        for found in ArchiveIterator(file, parse_http=False):
            num += 1
            if found.record_type == WarcRecordType.response and found.is_http:
                found.parse_http()
                if asks:
                    for name in OF_RECORD:
                        found.headers.get(name)
                    for name in OF_HTTP:
                        found.http_headers.get(name)
            size += len(found.reader.read())
    return num, size


def with_warcio(path: Path) -> tuple[int, int]:
    from warcio.archiveiterator import ArchiveIterator

    num = size = 0
    with path.open("rb") as file:
        for found in ArchiveIterator(file, no_record_parse=True):
            num += 1
            size += len(found.raw_stream.read())
    return num, size


READERS: dict[str, Callable[[Path], tuple[int, int]]] = {
    "barrow": with_barrow,
    "fastwarc": with_fastwarc,
    "fastwarc, same fields": partial(with_fastwarc, asks=True),
    "warcio (no HTTP)": with_warcio,
}


def best_seconds(path: Path, passes: int) -> dict[str, tuple[float, tuple[int, int]]]:
    best: dict[str, tuple[float, tuple[int, int]]] = {}
    for _ in range(passes):
        for name, reader in READERS.items():
            start = time.process_time()
            result = reader(path)
            seconds = time.process_time() - start
            best[name] = min(best.get(name, (seconds, result)), (seconds, result))
    return best


def peak_mib(path: Path) -> float:
    run = subprocess.run([sys.executable, "-c", PEAK, str(path)], capture_output=True, check=True)
    return int(run.stdout) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a folder of WARC files; made up if not given")
    parser.add_argument("--mb", type=int, default=300)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--memory-gb", type=float, default=2.2, help="0 leaves it out")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    versions = ", ".join(f"{name} {version(name)}" for name in ("fastwarc", "warcio", "isal"))
    print(f"{platform.machine()}, Python {platform.python_version()}, {versions}\n")
    records = taken_from(options.data) if options.data else made_up(100)
    size = sum(map(len, records))
    repeats = max(1, options.mb * 10**6 // size)
    print(f"{len(records) * repeats:,} records, {size * repeats / 1e6:.0f} MB\n")
    print("| file | reader | MB/s | barrow / it |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a.warc.gz", "a.warc"):
            path = Path(folder) / name
            write(path, records, repeats)
            best = best_seconds(path, options.passes)
            ours, (num, num_bytes) = best["barrow"]
            for reader, (seconds, found) in best.items():
                assert found[0] == num, f"{reader} found {found[0]} records, barrow {num}"
                # Of HTTP headers whose lines end with LF fastwarc does not find the end.
                assert "fastwarc" not in reader or options.data or found[1] == num_bytes
                speed = size * repeats / seconds / 1e6
                print(f"| {name} | {reader} | {speed:,.0f} | {seconds / ours:.2f} |")
            small = peak_mib(path)
            path.unlink()
            if options.memory_gb:
                large = max(1, int(options.memory_gb * 1e9) // size)
                write(path, records, large)
                print(
                    f"\n{name}: peak {small:.0f} MiB for {size * repeats / 1e9:.1f} GB of records, "
                    f"{peak_mib(path):.0f} MiB for {size * large / 1e9:.1f} GB\n"
                )
                path.unlink()


if __name__ == "__main__":
    main()
