from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow import Document
from barrow.cli.score.run import default_out
from barrow.models import Decoder, DecoderConfig, save
from barrow.score import ScoredCorpus, read_result


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def corpus(place: Path, write: Callable[..., Path]) -> Path:
    """As `barrow build` leaves one."""
    texts = ["the barrow and the mound " * 3, "stone by stone", "é", ""]
    documents = [Document(t, {"pile_set_name": "AB"[i % 2]}) for i, t in enumerate(texts)]
    folder = write(documents * 3, "corpus", shard_size=60_000)
    write(documents, "corpus/test", shard_size=60_000)
    (folder / "manifest.json").write_text("{}")
    return folder


@pytest.fixture
def model(place: Path) -> Path:
    config = DecoderConfig(vocab_size=259, width=16, layers=1, heads=2, hidden=16, context=16)
    made = Decoder(config)
    shapes = jax.eval_shape(made.init, jax.random.key(0), jnp.zeros((1, 1), jnp.int32))
    rng = np.random.default_rng(0)
    draw = lambda s: jnp.asarray(0.3 * rng.standard_normal(s.shape), s.dtype)  # noqa: E731
    params = jax.tree.map(draw, shapes)
    save(place / "model", made, params, tokenizer="bytes", begin=256, stops=(256,))
    return place / "model"


def test_a_table_a_card_and_files(barrow: Callable, corpus: Path, model: Path) -> None:
    code, out, err = barrow("score", model, corpus)
    assert (code, err) == (0, "")
    result = read_result("scores/model-corpus-test-barrow")
    lines = out.splitlines()
    assert lines[0].startswith("model: bits per byte, causal (barrow, ")
    assert [line.split()[0] for line in lines[2:5]] == ["A", "B", "overall"]
    assert f"{result.overall.bpb:.4f}" in lines[4]
    assert str(result.card) in out
    assert "context 16, stride 8, prefix begin in every window" in out
    assert "written to scores/model-corpus-test-barrow\n" in out
    assert result.card.ground.documents == 4
    assert Path("scores/model-corpus-test-barrow/documents.safetensors").exists()


def test_json_and_options(barrow: Callable, corpus: Path, model: Path) -> None:
    options = ("--context", 8, "--stride", 3, "--prefix", "none", "--limit", 2, "--split", "train")
    more = ("--batch-tokens", 64, "--dtype", "float32", "--out", "x", "--json")
    code, out, _ = barrow("score", model, corpus, *options, *more)
    assert code == 0
    data = json.loads(out)
    saved = json.loads(Path("x/scores.json").read_text())
    assert saved["model"]["about"].pop("path") == "../model"
    assert data["model"]["about"].pop("path") == str(model)
    assert data == saved
    window = {"context": 8, "stride": 3, "prefix": "none", "prefix_in": "every"}
    assert data["card"]["window"] == {**window, "protocol": "custom"}
    assert data["card"]["ground"]["documents"] == 2
    assert data["card"]["ground"]["split"] == "train"
    assert data["settings"]["batch_tokens"] == 64


def test_baselines_train_on_the_train_split(barrow: Callable, corpus: Path) -> None:
    code, out, _ = barrow("score", "uniform", corpus)
    assert code == 0
    assert "8.0000" in out
    assert barrow("score", "unigram", corpus).code == 0
    bpb = read_result("scores/unigram-corpus-test-barrow").overall.bpb
    assert bpb is not None
    assert bpb < 6
    code, _, err = barrow("score", "unigram", corpus / "test")
    assert code == 1
    assert "needs a train split" in err
    assert barrow("score", "unigram", corpus / "test", "--train", corpus).code == 0


def test_weights_and_the_receipt(barrow: Callable, corpus: Path) -> None:
    Path("weights.json").write_text('{"A": 3, "B": 1}')
    code, out, _ = barrow("score", "xz", corpus, "--weights", "weights.json", "--train", corpus)
    assert code == 0
    assert "\nweighted " in out
    assert re.search(r"contamination: 1 of \d+ documents share 13 words in a row with", out)
    code, _, err = barrow("score", "xz", corpus, "--weights", "pile")
    assert code == 1
    assert "no weight for 'A'" in err


def test_two_processes(barrow: Callable, corpus: Path) -> None:
    assert barrow("score", "uniform", corpus, "--process", "1/2").out == ""
    assert barrow("score", "uniform", corpus, "--process", "0/2").code == 0
    assert read_result("scores/uniform-corpus-test-barrow").overall.documents == 4
    code, _, err = barrow("score", "uniform", corpus, "--process", "two")
    assert code == 2
    assert "as 0/4, not 'two'" in err
    code, _, err = barrow("score", "uniform", corpus, "--out", "deep/x.json")
    assert code == 2
    assert "--out is a folder now: pass --out deep/x" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("uniform", "corpus", "--split", "validation"), "no split 'validation'; it has train, te"),
        (("model", "corpus", "--context", "1"), "context must be ≥ 2"),
        (("model", "corpus", "--context", "99"), "context must be ≤ 16"),
        (("model", "corpus", "--tokenizer", "nowhere"), "nowhere does not exist"),
        (("nothing", "corpus"), "nothing"),
        (("uniform", "no-corpus"), "no-corpus"),
    ],
)
def test_bad_arguments_are_one_line(
    arguments: tuple[str, ...], words: str, barrow: Callable, corpus: Path, model: Path
) -> None:
    code, out, err = barrow("score", *arguments)
    assert (code, out) == (1, "")
    assert words in err
    assert err.count("\n") == 1


def test_an_empty_corpus_and_nan(barrow: Callable, place: Path, model: Path) -> None:
    Path("empty.jsonl").write_text('{"text": ""}\n')
    code, _, err = barrow("score", "uniform", "empty.jsonl")
    assert code == 1
    assert "1 documents, all of them empty; there is nothing to score" in err
    from safetensors.numpy import load_file, save_file

    (file,) = model.glob("*.safetensors")
    tensors: dict[str, Any] = load_file(file)
    save_file({k: np.full_like(v, np.nan) for k, v in tensors.items()}, file, {"format": "pt"})
    Path("one.jsonl").write_text('{"text": "a", "meta": {"pile_set_name": "A", "id": "q"}}\n')
    code, _, err = barrow("score", model, "one.jsonl")
    assert code == 1
    assert "document 0 (A, id q): model gives nan nats" in err


def test_the_default_name_says_what_was_scored() -> None:
    corpus = ScoredCorpus("pile sample.jsonl", None, [], 10)
    found = default_out("runs/a b", corpus, "pile")
    assert found == Path("scores/a_b-pile_sample.jsonl-pile-first10")
    step = default_out("run7/checkpoints/step-000000020", corpus, "pile")
    assert step == Path("scores/run7_step_20-pile_sample.jsonl-pile-first10")
    assert default_out("http://127.0.0.1:80/v1", ScoredCorpus("c", "test", []), "barrow") == Path(
        "scores/http_127.0.0.1_80_v1-c-test-barrow"
    )


def test_two_real_processes(barrow: Callable, corpus: Path) -> None:
    """Started together, process 0 waits for the other and joins; the numbers are those of one."""
    command = [
        sys.executable,
        "-m",
        "barrow",
        "score",
        "unigram",
        str(corpus),
        "--out",
        "both",
    ]
    running = [
        subprocess.Popen(
            [*command, "--process", f"{rank}/2"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        for rank in range(2)
    ]
    told = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0, 0], told
    assert told[1][0] == ""
    assert "written to both" in told[0][0]
    assert barrow("score", "unigram", corpus, "--out", "one").code == 0
    both, one = read_result("both"), read_result("one")
    assert both.card.hash == one.card.hash
    assert both.overall.bpb == one.overall.bpb
    assert [row.nats for row in both.domains] == [row.nats for row in one.domains]
    assert not list(Path().rglob("*.part*"))


def test_the_hint_where_the_training_corpus_is_not_known(
    barrow: Callable, corpus: Path, model: Path
) -> None:
    hint = "training corpus: it is not known; --train CORPUS counts"
    assert hint in barrow("score", model, corpus).out
    assert hint not in barrow("score", "uniform", corpus).out
    assert "training corpus" not in barrow("score", model, corpus, "--json", "--out", "x").out
    code, out, _ = barrow("score", model, corpus, "--train", corpus, "--out", "y")
    assert code == 0
    assert hint not in out
    assert "documents share 13 words in a row with" in out
