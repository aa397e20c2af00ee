"""Fine-tuning beside a linear bag of words, on a task where the order of words is all there is.

Sentences of the docstrings of Python's standard library, lower-cased, without punctuation: half
of them have their words shuffled, and the question is which. A bag of words cannot know. The
encoder is `roberta.tiny`, pretrained on the sentences to learn from, then fine-tuned; the same from
random weights shows what pretraining was worth. All of it by the commands people would type. Beside
it, `transformers` fine-tunes the same pretrained encoder on the same rows: the same rate, batch,
epochs, warm-up and dropout, and the best epoch on the validation rows.

    python benchmarks/bench_finetune.py [--steps 1500] [--epochs 4] [--seed 0] [--folder DIR]
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import platform
import random
import re
import sys
import sysconfig
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import jax
import sklearn
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import barrow
from barrow import Document
from barrow.cli.main import run as command

LABELS = ("as written", "shuffled")
SHARES = {"test": 0.1, "validation": 0.1}


def docstrings() -> Iterator[str]:
    """Those of all modules, classes and functions of the standard library."""
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
        if "site-packages" in path.parts or "test" in path.parts or "tests" in path.parts:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield ast.get_docstring(node) or ""


def sentences() -> list[list[str]]:
    """Words of each sentence of 6 to 30 words, every sentence once."""
    found: dict[str, list[str]] = {}
    for text in docstrings():
        for paragraph in re.split(r"\n\s*\n", text):
            if ">>>" in paragraph:
                continue
            for sentence in re.split(r"(?<=[.!?:])\s+", " ".join(paragraph.split())):
                words = re.findall(r"[a-z]+(?:'[a-z]+)?", sentence.lower())
                if 6 <= len(words) <= 30 and len(set(words)) > 4:
                    found.setdefault(" ".join(words), words)
    return [found[key] for key in sorted(found)]


def draw(words: list[str], seed: int, what: str) -> float:
    """A number in [0, 1) that a sentence and a seed decide."""
    data = f"{seed} {what} {' '.join(words)}".encode()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little") / 2**64


def examples(seed: int) -> dict[str, list[dict[str, str]]]:
    """Rows by split; each sentence is in one split, shuffled or not."""
    found: dict[str, list[dict[str, str]]] = {"train": [], "validation": [], "test": []}
    for words in sentences():
        at = draw(words, seed, "split")
        test, validation = SHARES["test"], SHARES["test"] + SHARES["validation"]
        split = "test" if at < test else "validation" if at < validation else "train"
        is_shuffled = draw(words, seed, "label") < 0.5
        shown = list(words)
        if is_shuffled:
            rng = random.Random(draw(words, seed, "order"))
            while shown == words:
                rng.shuffle(shown)
        row = {"text": " ".join(shown), "label": LABELS[is_shuffled]}
        found[split].append({**row, "plain": " ".join(words)})
    return found


def do(*words: object) -> None:
    """One command of barrow, timed."""
    started = time.perf_counter()
    if command([str(word) for word in words]) != 0:
        sys.exit(f"barrow {' '.join(map(str, words))} failed")
    print(f"  [{time.perf_counter() - started:.0f} s] barrow {words[0]}", file=sys.stderr)


def pretrain(folder: Path, rows: list[dict[str, str]], steps: int, name: str) -> Path:
    """A `roberta.tiny` that learned masked words of the sentences as written."""
    if not (folder / "corpus").exists():
        with barrow.archive.Writer(folder / "corpus") as writer:
            for number, row in enumerate(rows):
                meta = {"pile_set_name": "Docstrings", "id": f"{number:016x}-{number:08x}"}
                writer.add(Document(row["plain"], meta))
        special = [
            word for one in ("endoftext", "pad", "mask") for word in ("--special", f"<|{one}|>")
        ]
        do(
            "tokens",
            "train",
            folder / "corpus",
            "--vocab",
            4096,
            "--out",
            folder / "tok",
            *special,
        )
        do("tokenize", folder / "corpus", "--tokenizer", folder / "tok", "--out", folder / "store")
    settings = [f"steps={steps}", f"log_every={max(1, steps // 5)}"]
    do("train", "roberta.tiny", "--store", folder / "store", "--out", folder / name, *settings)
    do("checkpoint", "convert", folder / name, "--out", folder / f"{name}-hf", "--to", "hf")
    config = folder / f"{name}-hf" / "config.json"
    settings = json.loads(config.read_text()) | {"hidden_dropout_prob": 0.1}
    config.write_text(json.dumps(settings))
    return folder / f"{name}-hf"


def finetuned(folder: Path, model: Path, name: str, epochs: int, seed: int) -> float:
    """The accuracy on the test rows."""
    do(
        *("finetune", "--task", "classify", "--model", model, "--out", folder / name),
        *("--train", folder / "train.jsonl", "--validation", folder / "validation.jsonl"),
        *(f"data.epochs={epochs}", "data.batch=64", f"data.seed={seed}", f"seed={seed}"),
        *("optimizer.schedule.peak=5e-4", "objective.patience=3"),
    )
    out = folder / f"{name}.predictions.jsonl"
    do("model", "predict", folder / "test.jsonl", "--model", folder / name, "--out", out)
    said = [json.loads(line)["label"] for line in out.read_text().splitlines()]
    true = [json.loads(line)["label"] for line in (folder / "test.jsonl").read_text().splitlines()]
    return sum(a == b for a, b in zip(said, true, strict=True)) / len(true)


def with_transformers(
    rows: dict[str, list[dict[str, str]]], model: Path, epochs: int, seed: int
) -> float:
    """The accuracy on the test rows of the same encoder, fine-tuned by PyTorch."""
    import torch
    import transformers

    torch.manual_seed(seed)
    torch.set_num_threads(2)
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    tokenizer.pad_token = tokenizer.pad_token or "<|pad|>"
    network = transformers.RobertaForSequenceClassification.from_pretrained(model, num_labels=2)
    optimizer = torch.optim.AdamW(network.parameters(), lr=5e-4, weight_decay=0.01)
    steps = epochs * -(-len(rows["train"]) // 64)
    rates = transformers.get_linear_schedule_with_warmup(optimizer, steps // 10, steps)

    def arrays(some: list[dict[str, str]]) -> dict[str, torch.Tensor]:
        made = tokenizer([row["text"] for row in some], padding=True, return_tensors="pt")
        labels = torch.tensor([LABELS.index(row["label"]) for row in some])
        return {**made, "labels": labels}

    def accuracy(some: list[dict[str, str]]) -> float:
        network.eval()
        right = 0
        with torch.inference_mode():
            for start in range(0, len(some), 256):
                batch = arrays(some[start : start + 256])
                labels = batch.pop("labels")
                right += int((network(**batch).logits.argmax(-1) == labels).sum())
        return right / len(some)

    order, best, found = random.Random(seed), -1.0, 0.0
    for _ in range(epochs):
        network.train()
        shuffled = order.sample(rows["train"], len(rows["train"]))
        for start in range(0, len(shuffled), 64):
            network(**arrays(shuffled[start : start + 64])).loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            rates.step()
            optimizer.zero_grad()
        reached = accuracy(rows["validation"])
        if reached > best:
            best, found = reached, accuracy(rows["test"])
    return found


def bag_of_words(rows: dict[str, list[dict[str, str]]], most: int) -> float:
    """TF-IDF of up to `most` words in a row and logistic regression, on the test rows."""
    model = make_pipeline(
        TfidfVectorizer(ngram_range=(1, most), token_pattern=r"\S+", sublinear_tf=True),
        LogisticRegression(C=10.0, max_iter=1000),
    )
    model.fit([r["text"] for r in rows["train"]], [r["label"] for r in rows["train"]])
    return float(model.score([r["text"] for r in rows["test"]], [r["label"] for r in rows["test"]]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1500, help="steps of pretraining")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where all files go")
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    rows = examples(given.seed)
    for split, found in rows.items():
        lines = [json.dumps({"text": r["text"], "label": r["label"]}) + "\n" for r in found]
        (folder / f"{split}.jsonl").write_text("".join(lines))
    print(
        f"Python {platform.python_version()}, jax {jax.__version__}, scikit-learn "
        f"{sklearn.__version__}, {jax.devices()[0].platform}, seed {given.seed}; "
        + ", ".join(f"{len(found):,} {split}" for split, found in rows.items())
    )
    table = {
        "TF-IDF of words + logistic regression": bag_of_words(rows, 1),
        "TF-IDF of words and pairs of words + logistic regression": bag_of_words(rows, 2),
    }
    for words, steps, name in (
        ("roberta.tiny from random weights, fine-tuned", 1, "fresh"),
        (f"roberta.tiny, {given.steps} steps of pretraining, fine-tuned", given.steps, "masked"),
    ):
        model = pretrain(folder, rows["train"], steps, name)
        table[words] = finetuned(folder, model, f"{name}-run", given.epochs, given.seed)
    table["the same pretrained encoder, fine-tuned by transformers"] = with_transformers(
        rows, folder / "masked-hf", given.epochs, given.seed
    )
    usual = max(sum(r["label"] == label for r in rows["test"]) for label in LABELS)
    print("\n| model | accuracy on the test rows | above the bag of words |\n|---|---|---|")
    print(f"| the commonest label | {usual / len(rows['test']):.3f} | |")
    first = next(iter(table.values()))
    for name, accuracy in table.items():
        print(f"| {name} | {accuracy:.3f} | {accuracy - first:+.3f} |")


if __name__ == "__main__":
    main()
