"""Images to model inputs: images per second and core beside Pillow alone, and pairs from an index.

    python benchmarks/bench_images.py [--data FOLDER] [--num 32] [--rounds 7]

Pillow alone is OpenAI's recipe in its own words: open, resize, crop, RGB, NumPy. What barrow adds
is checks, orientation and names. Speeds are images per second of processor time on one thread, the
median of several rounds taken in turns. Pictures are made here, or those of a folder.
"""

from __future__ import annotations

import argparse
import io
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import PIL
from PIL import Image

from barrow.images import load_images, normalise
from barrow.stream import Stream
from barrow.stream.pairs import PairBatch, PairSettings, index_pairs

RESOLUTION = 224


def made(num: int, size: tuple[int, int], kind: str) -> list[bytes]:
    """Pictures with edges and texture, as photographs have; the same every time."""
    files = []
    for number in range(num):
        rng = np.random.default_rng(number)
        coarse = Image.fromarray(rng.integers(0, 256, (12, 16, 3), np.uint8))
        pixels = np.asarray(coarse.resize(size, Image.Resampling.BICUBIC)).astype(np.int16)
        pixels = np.clip(pixels + rng.normal(0, 6, pixels.shape), 0, 255).astype(np.uint8)
        out = io.BytesIO()
        Image.fromarray(pixels).save(out, kind, **({"quality": 90} if kind == "JPEG" else {}))
        files.append(out.getvalue())
    return files


def pillow_alone(files: Sequence[bytes]) -> np.ndarray:
    """OpenAI's recipe, up to bytes."""
    out = np.empty((len(files), RESOLUTION, RESOLUTION, 3), np.uint8)
    for number, data in enumerate(files):
        image = Image.open(io.BytesIO(data))
        width, height = image.size
        short = min(width, height)
        new = RESOLUTION * width // short, RESOLUTION * height // short
        image = image.resize(new, Image.Resampling.BICUBIC)
        left, top = (round((side - RESOLUTION) / 2) for side in new)
        image = image.crop((left, top, left + RESOLUTION, top + RESOLUTION))
        out[number] = np.asarray(image.convert("RGB"))
    return out


def in_turns(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of processor time of each, in turns: a busy machine is unfair to nobody."""
    for call in calls.values():
        call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.process_time()
            call()
            times[name].append(time.process_time() - start)
    return {name: statistics.median(taken) for name, taken in times.items()}


class NoTexts:
    """Rows of nothing: images alone are measured."""

    context, hash = 1, "none"

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        return np.zeros((len(texts), 1), np.int32)


def pairs_from(files: Sequence[bytes], folder: Path) -> Stream[PairBatch]:
    """A stream of the same pictures from a folder."""
    for number, data in enumerate(files):
        (folder / f"{number}.jpg").write_bytes(data)
    index = index_pairs(folder, folder / "index", captions="name")
    settings = PairSettings(batch=len(files), resolution=RESOLUTION)
    return Stream(settings.open(index, texts=NoTexts(), threads=1))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--num", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--data", type=Path, help="a folder of images, instead of made ones")
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    print(
        f"{platform.processor() or platform.machine()}, {cores} cores, Pillow {PIL.__version__}\n"
    )
    if options.data is not None:
        paths = sorted(path for path in options.data.rglob("*") if path.suffix in (".jpg", ".png"))
        kinds = {options.data.name: [path.read_bytes() for path in paths[: options.num]]}
    else:
        kinds = {
            "JPEG 640 × 480": made(options.num, (640, 480), "JPEG"),
            "JPEG 2048 × 1536": made(max(4, options.num // 8), (2048, 1536), "JPEG"),
            "PNG 640 × 480": made(options.num, (640, 480), "PNG"),
        }
    print("| images | Pillow alone | barrow | ratio | batches of pairs, random crops | ratio |")
    print("|---|--:|--:|--:|--:|--:|")
    for name, files in kinds.items():
        assert (load_images(files, resolution=RESOLUTION) == pillow_alone(files)).all()
        with tempfile.TemporaryDirectory() as folder:
            stream = pairs_from(files, Path(folder))
            steps = iter(range(1 << 30))
            taken = in_turns(
                {
                    "pillow": lambda files=files: pillow_alone(files),
                    "one": lambda files=files: load_images(files, resolution=RESOLUTION, threads=1),
                    "pairs": lambda stream=stream, steps=steps: stream.batch(next(steps)),
                },
                options.rounds,
            )
        rates = {key: len(files) / seconds for key, seconds in taken.items()}
        ratios = [rates[key] / rates["pillow"] for key in ("one", "pairs")]
        print(
            f"| {name} | {rates['pillow']:.0f} | {rates['one']:.0f} | {ratios[0]:.2f} | "
            f"{rates['pairs']:.0f} | {ratios[1]:.2f} |"
        )
    pixels = np.random.default_rng(0).integers(0, 256, (64, RESOLUTION, RESOLUTION, 3), np.uint8)
    seconds = in_turns({"normalise": lambda: normalise(pixels)}, options.rounds)["normalise"]
    print(
        f"\nNormalising on the host: {64 / seconds:.0f} images/s and core, "
        f"{pixels.nbytes * 4 // 64:,} bytes an image to the device against {pixels.nbytes // 64:,}"
    )


if __name__ == "__main__":
    main()
