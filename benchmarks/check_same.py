"""Whether a change to barrow changed what it computes.

    python benchmarks/check_same.py FOLDER --record before.json     # before the change
    python benchmarks/check_same.py FOLDER --compare before.json    # after it

FOLDER holds `raw/`, raw files as the recipe `pile` reads them, and one or more `*.jsonl.zst` of
documents. Recorded are: every document kept and rejected by a build of both (split, id, hash of the
text; source, reason), the ids of a token store, the batches of 100 steps, the losses of 20 steps of
every recipe `*.tiny`, and scores, all to the last digit. The comparison lists each difference and
exits with 1 where there is any. Everything runs through the command line, on one CPU device.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

STEPS, BATCHES = 20, 100
SHOWN = 20


def barrow(*arguments: object) -> str:
    """Run a command of barrow; what it printed."""
    command = [sys.executable, "-m", "barrow", *map(str, arguments)]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def documents(corpus: Path) -> dict[str, int]:
    """Rows for the documents of all splits and for all rejects, with how often each occurs."""
    from barrow import archive

    rows: Counter[str] = Counter()
    for split in ("", "validation", "test"):
        if (corpus / split / "archive.json").exists():
            for document in archive.open(str(corpus / split)):
                name, key = document.meta["pile_set_name"], document.meta["id"]
                text = digest(document.text.encode("utf-8", "surrogatepass"))
                rows[f"{split or 'train'} {name}: {key} {text}"] += 1
    if (corpus / "rejects" / "archive.json").exists():
        for document in archive.open(str(corpus / "rejects")):
            meta = document.meta
            place = " ".join(str(meta.get(key, "")) for key in ("source", "member", "id"))
            rows[f"reject {meta['pile_set_name']}: {place} {meta['reason']}"] += 1
    return dict(rows)


def store_ids(store: Path) -> dict[str, str]:
    """A hash of all ids, by domain."""
    from barrow import tokens

    opened = tokens.open_store(store)
    found = {}
    for number, name in enumerate(opened.domains):
        ids = opened.read(number, 0, opened.domain_tokens(number))
        found[name] = f"{len(opened.domain_range(number))} documents, {digest(ids.tobytes())}"
    return found


def batches(store: Path) -> dict[str, str]:
    """A hash of the arrays of every step."""
    from barrow import stream

    opened = stream.Stream(str(store), seq_len=256, batch=8, seed=0)
    found = {}
    for step in range(BATCHES):
        batch = opened.batch(step)
        arrays = (batch.tokens, batch.targets, batch.segments, batch.positions, batch.mask)
        found[str(step)] = digest(b"".join(array.tobytes() for array in arrays))
    return found


def pictures(folder: Path) -> None:
    """Pairs to train CLIP on: plain pictures and what they show."""
    from PIL import Image

    folder.mkdir()
    for number in range(160):
        colour = (number * 37 % 256, number * 91 % 256, number * 53 % 256)
        Image.new("RGB", (32, 32), colour).save(folder / f"{number:03}.png")
        (folder / f"{number:03}.txt").write_text(f"picture {number} of colour {colour}")


def losses(recipe: str, data: tuple[object, ...], out: Path) -> dict[str, str]:
    """The loss of every step, and the validation loss at the end."""
    barrow("train", recipe, *data, "--out", out, f"steps={STEPS}", "log_every=1")
    lines = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return {str(line["step"]): repr(line["loss"]) for line in lines if "loss" in line}


def scores(model: object, corpus: Path, out: Path) -> dict[str, str]:
    """Bits per byte by domain, to the last digit."""
    barrow("score", model, corpus, "--limit", 200, "--out", out)
    result = json.loads((out / "scores.json").read_text())
    rows = {row["name"]: repr(row["bpb"]) for row in result["domains"]}
    return rows | {"overall": repr(result["overall"]["bpb"])}


def measure(folder: Path, work: Path) -> dict[str, dict[str, Any]]:
    """All that must not change."""
    found: dict[str, dict[str, Any]] = {}
    barrow("build", "pile", "--root", folder / "raw", "--out", work / "pile", "--missing", "skip")
    found["build"] = documents(work / "pile")
    for number, source in enumerate(sorted(folder.glob("*.jsonl.zst"))):
        out = work / f"refined{number}"
        barrow("build", "refine", "--source", source, "--out", out)
        found[f"refine {source.name}"] = documents(out)
    corpus = work / "refined0"
    barrow("tokens", "train", corpus, "--vocab", 2048, "--out", work / "bpe")
    barrow("tokens", "train", corpus, "--vocab", 2048, "--roberta", "--out", work / "mbpe")
    for name, tokenizer in (("store", "bpe"), ("masked", "mbpe")):
        barrow("tokenize", corpus, "--tokenizer", work / tokenizer, "--out", work / name)
        found[f"ids of {name}"] = store_ids(work / name)
    found["batches"] = batches(work / "store")
    pictures(work / "pictures")
    barrow("tokens", "pairs", "index", work / "pictures", "--out", work / "pairs")
    for recipe, *data in (
        ("gpt2.tiny", "--store", work / "store"),
        ("llama.tiny", "--store", work / "store"),
        ("roberta.tiny", "--store", work / "masked"),
        ("clip.tiny", "--pairs", work / "pairs"),
    ):
        found[f"losses of {recipe}"] = losses(str(recipe), tuple(data), work / str(recipe))
    for model in (work / "gpt2.tiny", "ngram:5", "zstd:19"):
        name = Path(str(model)).name
        found[f"scores of {name}"] = scores(model, corpus, work / f"score-{name.replace(':', '')}")
    return found


def differences(before: dict[str, Any], after: dict[str, Any]) -> int:
    """Print what differs; how much that is."""
    total = 0
    for part in dict.fromkeys([*before, *after]):
        old, new = before.get(part, {}), after.get(part, {})
        keys = [key for key in dict.fromkeys([*old, *new]) if old.get(key) != new.get(key)]
        total += len(keys)
        print(f"{part}: {len(old):,} rows before, {len(new):,} after, {len(keys):,} differ")
        for key in keys[:SHOWN]:
            print(f"  {key}: {old.get(key, 'absent')} → {new.get(key, 'absent')}")
        if len(keys) > SHOWN:
            print(f"  … and {len(keys) - SHOWN:,} more")
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--record", type=Path, metavar="FILE")
    what.add_argument("--compare", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        found = measure(arguments.folder.resolve(), Path(work))
    if arguments.record:
        arguments.record.write_text(json.dumps(found, indent=0))
        return
    sys.exit(bool(differences(json.loads(arguments.compare.read_text()), found)))


if __name__ == "__main__":
    main()
