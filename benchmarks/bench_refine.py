"""A whole build of documents that exist already, beside datatrove doing the comparable stages.

    python benchmarks/bench_refine.py --data SAMPLE.jsonl.zst [--sizes 0.1 1] [--peer-mb 8]

Every stage is run: read, repair, Gopher, C4 and FineWeb filters, exact and verified near
deduplication, decontamination (items cut from the data), splits, shuffle, write, with provenance;
then the same with language identification and personal data. Larger inputs are the sample several
times over, with most words of five letters or more replaced, so that copies are no duplicates.
Speeds are MB (10^6 bytes) of text per second of processor time, and for two workers of wall time
against one worker. datatrove's pipeline is read, the same four filters, MinHash signatures,
buckets, clusters, filter, write; it and barrow get the same `--peer-mb` of text, one build to warm
up, and as many rounds, of which the best counts. Peak memory is that of the largest process
(VmHWM).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import barrow.archive
from barrow import Document
from barrow.archive import Writer

WORD = re.compile(r"[a-z]{5,}")

BUILD = """
import json, sys, time
from dataclasses import replace
from pathlib import Path
from barrow.corpus import build
from barrow.corpus.filters.language import Language
from barrow.corpus import RedactPii
from barrow.corpus.recipe import Decontamination
from barrow.engine import Engine, Progress
from barrow.recipes import refine

def main():
    source, out, sets, workers, more = sys.argv[1:]
    recipe = refine.recipe()
    (domain,) = recipe.domains.values()
    if more == "more":
        repair, length, *others = domain.filters
        domain = replace(domain, filters=(repair, RedactPii(), length, Language(), *others))
    recipe = replace(
        recipe,
        domains={".": domain},
        deduplication=replace(recipe.deduplication, budget=None),
        decontamination=Decontamination((sets,)),
    )
    stages, at = {}, [None, 0.0]
    def on_plan(what, total):
        now = time.process_time()
        if at[0] is not None:
            stages[at[0]] = stages.get(at[0], 0.0) + now - at[1]
        at[:] = [what, now]
    wall, cpu = time.perf_counter(), time.process_time()
    result = build(
        recipe,
        root=Path(source),
        out=Path(out),
        engine=Engine(num_workers=int(workers)),
        progress=Progress(on_plan, lambda size: None),
    )
    on_plan("end", 0)
    peak = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")][0]
    print(json.dumps({
        "bytes": sum(stage["bytes"] for stage in result["stages"].values()),
        "kept": sum(d["bytes"] for s in result["splits"].values() for d in s["domains"].values()),
        "documents": sum(stage["documents"] for stage in result["stages"].values()),
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "peak": int(peak) * 1024,
        "stages": stages,
    }))

if __name__ == "__main__":
    main()
"""


def _other_word(words: list[str], rng: random.Random, _: re.Match[str]) -> str:
    return words[int(rng.random() * len(words))]


def enlarge(documents: list[Document], size: float, out: Path) -> None:
    """Write about `size` bytes of text: the documents, then copies with other words."""
    words = sorted({word for document in documents[::7] for word in WORD.findall(document.text)})
    written, times = 0, 0
    with Writer(out, shard_size=1 << 26) as writer:
        while written < size:
            rng = random.Random(times)
            for document in documents:
                text = document.text
                if times:
                    text = WORD.sub(partial(_other_word, words, rng), text)
                writer.add(Document(text, document.meta))
                written += len(text.encode())
                if written >= size:
                    break
            times += 1


def one_build(source: Path, sets: Path, workers: int, *, more: bool = False) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=source.parent) as out:
        script = Path(out) / "build.py"
        script.write_text(BUILD)
        done = subprocess.run(
            [
                sys.executable,
                str(script),
                str(source),
                f"{out}/corpus",
                str(sets),
                str(workers),
                "more" if more else "plain",
            ],
            stdout=subprocess.PIPE,
            check=True,
        )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def datatrove(documents: list[Document], rounds: int, *, plain_words: bool) -> float:
    """Least seconds of processor time of the comparable stages, after a round to warm up."""
    import datatrove.utils.text as text_module
    from datatrove.executor.local import LocalPipelineExecutor
    from datatrove.pipeline.dedup import (
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
        MinhashDedupSignature,
    )
    from datatrove.pipeline.dedup.minhash import MinhashConfig
    from datatrove.pipeline.filters import (
        C4QualityFilter,
        FineWebQualityFilter,
        GopherQualityFilter,
        GopherRepetitionFilter,
    )
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter
    from datatrove.utils import word_tokenizers
    from datatrove.utils.hashing import HashConfig

    if plain_words:

        class Plain:
            def word_tokenize(self, text: str) -> list[str]:
                return text.split()

            def sent_tokenize(self, text: str) -> list[str]:
                return text.split(". ")

            def span_tokenize(self, text: str) -> list[tuple[int, int]]:
                return []

        word_tokenizers.load_word_tokenizer = lambda *_: Plain()  # type: ignore[assignment]
        for module in (text_module,):
            if hasattr(module, "load_word_tokenizer"):
                module.load_word_tokenizer = lambda *_: Plain()

    def pipelines(source: Path, folder: str) -> list[list[Any]]:
        # Its default hash is handed strings, which newer versions of xxhash refuse.
        settings = MinhashConfig(hash_config=HashConfig(hash_fc="sha1"))
        return [
            [
                JsonlReader(str(source)),
                GopherRepetitionFilter(),
                GopherQualityFilter(),
                C4QualityFilter(filter_no_terminal_punct=False),
                FineWebQualityFilter(),
                JsonlWriter(f"{folder}/kept"),
            ],
            [
                JsonlReader(f"{folder}/kept"),
                MinhashDedupSignature(f"{folder}/sig", config=settings),
            ],
            [MinhashDedupBuckets(f"{folder}/sig", f"{folder}/buckets", config=settings)],
            [MinhashDedupCluster(f"{folder}/buckets", f"{folder}/remove", config=settings)],
            [
                JsonlReader(f"{folder}/kept"),
                MinhashDedupFilter(f"{folder}/remove"),
                JsonlWriter(f"{folder}/out"),
            ],
        ]

    seconds = []
    with tempfile.TemporaryDirectory() as source:
        with (Path(source) / "a.jsonl").open("w") as file:
            for k, document in enumerate(documents):
                file.write(json.dumps({"text": document.text, "id": str(k)}) + "\n")
        for _ in range(rounds + 1):
            with tempfile.TemporaryDirectory() as folder:
                start = time.process_time()
                for k, pipeline in enumerate(pipelines(Path(source), folder)):
                    tasks = MinhashConfig().num_buckets if k == 2 else 1
                    LocalPipelineExecutor(
                        pipeline, tasks=tasks, workers=1, logging_dir=f"{folder}/log{k}"
                    ).run()
                seconds.append(time.process_time() - start)
    return min(seconds[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="a jsonl.zst of documents")
    parser.add_argument("--sizes", type=float, nargs="+", default=[0.1, 0.4], help="GB of text")
    parser.add_argument("--peer-mb", type=float, default=8.0, help="MB beside datatrove")
    parser.add_argument("--rounds", type=int, default=2, help="beside datatrove")
    parser.add_argument("--folder", help="where to work; needs five times the largest size")
    options = parser.parse_args()
    documents = list(barrow.archive.open(options.data))
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        sets = folder / "sets.jsonl"
        items = [document.text[200:900] for document in documents[::97]]
        sets.write_text("\n".join(json.dumps({"text": item}) for item in items))
        print(
            "| GB in | MB/s, one core | with language and PII | 2 workers | ms/MB by stage | peak |"
        )
        print("|---|---|---|---|---|---|")
        for size in options.sizes:
            source = folder / f"in-{size}"
            enlarge(documents, size * 1e9, source)
            for warm in (False, True):  # kernels are compiled, files are in memory
                one_build(source, sets, 0, more=warm)
            plain = one_build(source, sets, 0)
            more = one_build(source, sets, 0, more=True)
            single, double = one_build(source, sets, 1), one_build(source, sets, 2)
            stages = ", ".join(
                f"{stage.lower()} {seconds / plain['bytes'] * 1e9:.1f}"
                for stage, seconds in plain["stages"].items()
                if seconds / plain["bytes"] * 1e9 >= 0.05
            )
            cells = (
                f"{plain['bytes'] / 1e9:.2f}",
                f"{plain['bytes'] / 1e6 / plain['cpu']:.1f}",
                f"{more['bytes'] / 1e6 / more['cpu']:.1f}",
                f"{single['wall'] / double['wall']:.2f}×",
                stages,
                f"{plain['peak'] / 1e6:.0f} MB",
            )
            print(f"| {' | '.join(cells)} |", flush=True)
        few, written = [], 0
        for document in documents:
            if written < options.peer_mb * 1e6:
                few.append(document)
                written += len(document.text.encode())
        source = folder / "in-peer"
        enlarge(few, written, source)
        ours = min(one_build(source, sets, 0)["cpu"] for _ in range(options.rounds + 1))
        print(f"beside datatrove, {written / 1e6:.1f} MB: {written / 1e6 / ours:.2f} MB/s")
        for words, plain_words in (("as shipped", False), ("words at white space", True)):
            theirs = datatrove(few, options.rounds, plain_words=plain_words)
            name = f"datatrove {version('datatrove')}, {words}"
            speed = written / 1e6 / theirs
            print(f"{name}: {speed:.3f} MB/s; ours {theirs / ours:.0f}×", flush=True)


if __name__ == "__main__":
    os.environ["HF_HUB_OFFLINE"] = "1"
    main()
