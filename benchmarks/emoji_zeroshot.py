"""Zero-shot on emoji: a model trained on some vendors' drawings names those of another vendor.

After `benchmarks/emoji_pairs.py` and its two indexes:

    barrow train clip.tiny --pairs train --validation test --out run
    barrow checkpoint convert run --out model --to hf
    python benchmarks/emoji_zeroshot.py model test classes.txt

Each drawing of the index `test` whose first caption is one of the classes is compared with the
names of all classes, as they are. Printed are the shares whose own name comes first, and is among
the first five, with 95 % intervals (normal approximation), and chance.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np

from barrow.images import load_images, normalise
from barrow.models.clip.load import load
from barrow.stream.pairs import open_index


def main() -> None:
    """Print the two shares."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", type=Path, help="a Hugging Face folder")
    parser.add_argument("index", type=Path, help="an index of pairs that were not trained on")
    parser.add_argument("classes", type=Path, help="names, one a line")
    parser.add_argument("--background", type=int, nargs=3, default=(255, 255, 255))
    options = parser.parse_args()
    model, _ = load(weights=options.model)
    index = open_index(options.index)
    classes = options.classes.read_text(encoding="utf-8").split("\n")[:-1]
    place = {name: number for number, name in enumerate(classes)}
    shown = [n for n in range(index.num_pairs) if index.captions(n)[0] in place]
    truth = np.array([place[index.captions(n)[0]] for n in shown])
    pixels = load_images(
        [index.read(n) for n in shown],
        resolution=model.module.config.image.resolution,
        background=tuple(options.background),
    )
    found = model.zero_shot(normalise(pixels), classes, ("{}",), truncate=True)
    order = np.argsort(-found.similarities, axis=1, kind="stable")
    print(f"{len(shown):,} drawings, {len(classes):,} classes, chance {1 / len(classes):.3%}")
    for top in (1, 5):
        share = float((order[:, :top] == truth[:, None]).any(axis=1).mean())
        error = 1.96 * math.sqrt(share * (1 - share) / len(shown))
        print(f"top {top}: {share:.2%} ± {error:.2%}, {share * len(classes) / top:.0f} × chance")


if __name__ == "__main__":
    main()
