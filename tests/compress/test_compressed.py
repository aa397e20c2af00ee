"""DEEPSPEED-4: a quantized model, its folder and its card."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import gguf
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import transformers
from tests.models.roberta_models import LINES
from tests.models.roberta_models import save as save_roberta
from tests.models.test_packed import written
from tests.places import naming

from barrow.compress.compressed import Measuring, as_stored, compress
from barrow.compress.scheme import Scheme
from barrow.errors import ConfigError, WeightsError
from barrow.models import generate
from barrow.models.card import card as model_card
from barrow.models.load import load
from barrow.models.quantized import is_quantized_tree, save_quantized
from barrow.score import ModelOptions, open_corpus, open_model, score
from barrow.serve.engine import Engine
from barrow.serve.programs import EngineSettings
from barrow.serve.requests import Request
from barrow.stream import StreamSettings
from barrow.stream.labelled.examples import Keys, read_examples
from barrow.train import Run
from barrow.train.finetune.predict import open_finetuned, predictions
from barrow.train.start import initial_params
from barrow.train.tasks.task import task_of
from barrow.weights.safetensors_read import open_safetensors
from barrow.weights.safetensors_write import write_safetensors

FEW = Measuring(documents=3, rows=4, length=32, speeds=False)
INT4 = Scheme("int4", "gptq", 8)


@pytest.fixture(scope="module")
def small(folder: Path, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    out = tmp_path_factory.mktemp("small") / "int4"
    return out, compress(folder, out, INT4, corpus, measuring=FEW)


def test_the_card_is_what_score_finds(small: Any, folder: Path, corpus: Path) -> None:
    out, card = small
    assert card.scheme == "int4, group 8, gptq"
    assert card.bytes_after < 0.6 * card.bytes_before
    assert card.comparison is not None
    assert {row.name for row in card.comparison.domains} == {"Books", "Code", "Letters"}
    written = json.loads((out / "card.json").read_text())
    assert written["comparison"]["overall"]["difference"] == card.comparison.overall.difference
    # The documents that were measured, scored by themselves: of each domain the second, fourth…
    lines = [json.loads(line) for line in corpus.read_text().splitlines()]
    kept = [line for n, line in enumerate(lines) if n // 3 % 2]
    other = corpus.with_name("measured.jsonl")
    other.write_text("".join(json.dumps(line) + "\n" for line in kept))
    found = [
        score(open_model(str(path), ModelOptions(dtype="float32")), open_corpus(other))
        for path in (out, folder)
    ]
    assert found[0] is not None and found[1] is not None  # noqa: PT018
    bits = found[0].overall.bpb - found[1].overall.bpb  # type: ignore[operator]
    assert card.comparison.overall.difference == pytest.approx(bits, abs=1e-9)
    assert bits != 0


def test_it_names_no_place(small: Any, folder: Path) -> None:
    out, card = small
    assert card.original == folder.name
    assert naming(out.parent.parent, [out]) == []


def test_it_opens_as_any_model(small: Any, folder: Path) -> None:
    """Stacked and unstacked alike; it generates; `model show` knows it."""
    out, _ = small
    stacked, apart = load(out), load(out, unstack=True)
    assert is_quantized_tree(stacked.params)
    tokens = jnp.arange(12)[None]
    one, other = (
        jax.jit(lambda p, m=m: m.apply(p, tokens)[0])(p)
        for m, p in ((x.model, x.params) for x in (stacked, apart))
    )
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
    model: Any = apart.model
    written = generate(model, apart.params, [[256, 97, 98]], max_tokens=5)
    assert len(written[0].tokens) == 5
    assert model_card(out).num_params == model_card(folder).num_params
    assert apart.begin == 256
    assert load(out, dtype="bfloat16").model.dtype == "bfloat16"  # type: ignore[attr-defined]


def test_the_norms_of_a_frozen_model_can_be_trained(small: Any) -> None:
    out, _ = small
    loaded = load(out)
    model: Any = loaded.model
    norm = loaded.params["norm"]

    def loss(norm: Any) -> jax.Array:
        out, _ = model.apply(loaded.params | {"norm": norm}, jnp.arange(8)[None])
        return jnp.square(out).mean()

    before, grads = jax.jit(jax.value_and_grad(loss))(norm)
    after = jax.tree.map(lambda p, g: p - 0.01 * g, norm, grads)
    assert loss(after) < before


def test_it_is_served(small: Any) -> None:
    """Greedy answers of the engine are those of `generate`."""
    loaded = load(small[0], unstack=True)
    model: Any = loaded.model
    expected = generate(model, loaded.params, [[256, 97, 98]], max_tokens=4)[0].tokens
    engine = Engine(model, loaded.params, settings=EngineSettings(slots=1, parts=(1,)))
    answer = engine.submit(Request([256, 97, 98], max_tokens=4))
    while not engine.is_idle:
        engine.step()
    assert answer.tokens == list(expected)


def test_it_is_not_trained(small: Any, store: str) -> None:
    run = Run(load(small[0]).family, StreamSettings(seq_len=16, batch=8), 1, store=store)
    with pytest.raises(ConfigError, match="is quantized, and integers are not trained"):
        initial_params(str(small[0]), {}, task_of(run).data())


def test_an_encoder_by_pseudo_likelihood(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(json.dumps({"text": f"Paris {n}."}) + "\n" for n in range(4)))
    save_roberta(tmp_path / "roberta", "mlm")
    few = Measuring(documents=2, rows=2, length=16, speeds=False)
    card = compress(tmp_path / "roberta", tmp_path / "small", Scheme("int8"), corpus, measuring=few)
    assert card.comparison is not None
    assert 0 < abs(card.comparison.overall.difference or 0) < 0.05
    assert load(tmp_path / "small").model.config.mlm_head  # type: ignore[attr-defined]


def test_labels_give_a_task_score(tmp_path: Path) -> None:
    """Beside the shares of right answers that `transformers` and the small model give."""
    save_roberta(tmp_path / "roberta", "classify")
    rows = [{"text": line, "label": "good"} for line in LINES for line in (line, line[:20])]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    few = Measuring(documents=2, rows=2, length=16, speeds=False, labels=str(path))
    out = tmp_path / "small"
    card = compress(tmp_path / "roberta", out, Scheme("int8"), path, measuring=few)
    assert card.comparison is None
    pipe = transformers.pipeline("text-classification", str(tmp_path / "roberta"), framework="pt")
    theirs = [one["label"] for one in pipe([row["text"] for row in rows])]
    opened = open_finetuned(out)
    examples = read_examples(str(path), opened.kind, keys=Keys())
    ours = [found["label"] for _, found in predictions(opened, examples)]
    before, after = card.task["accuracy"]
    assert before == pytest.approx(theirs.count("good") / len(rows))
    assert after == pytest.approx(ours.count("good") / len(rows))


def test_integers_of_a_gguf_file_are_kept(corpus: Path, folder: Path, tmp_path: Path) -> None:
    path = written(tmp_path / "model.gguf", gguf.GGMLQuantizationType.Q4_0)
    out = tmp_path / "small"
    card = as_stored(path, out, corpus, measuring=FEW, tokenizer="bytes")
    assert card.scheme == "as stored in GGUF"
    assert card.notes == ()
    assert card.bytes_after < 0.5 * card.bytes_before
    assert card.comparison is not None
    assert abs(card.comparison.overall.difference or 0) < 1e-5
    assert is_quantized_tree(load(out).params)
    nearest = Scheme("int8", "nearest")
    again = compress(path, tmp_path / "8", nearest, corpus, measuring=FEW, tokenizer="bytes")
    why = "the original is quantized (Q4_0): it was expanded, and is rounded twice"
    assert again.notes == (why,)
    with pytest.raises(ValueError, match="stored integers are those of a .gguf file"):
        as_stored(folder, tmp_path / "x", corpus)
    other = written(tmp_path / "other.gguf", gguf.GGMLQuantizationType.Q5_0)
    with pytest.raises(ValueError, match="has no kernels of Q8_0 or Q4_0"):
        as_stored(other, tmp_path / "x", corpus, tokenizer="bytes")


def test_bad_inputs(small: Any, folder: Path, corpus: Path, tmp_path: Path) -> None:
    out, _ = small
    with pytest.raises(ValueError, match="is quantized already; pass the model that it was made"):
        compress(out, tmp_path / "x", INT4, corpus)
    with pytest.raises(ValueError, match="already exists"):
        compress(folder, out, INT4, corpus)
    with pytest.raises(ValueError, match="devices do not share: pass tensor=1"):
        load(out, place=lambda names, shape: None)
    assert list(tmp_path.iterdir()) == []


def test_damaged_folders_are_refused(small: Any, tmp_path: Path) -> None:
    out, _ = small
    flipped = shutil.copytree(out, tmp_path / "flipped") / "model.safetensors"
    data = flipped.read_bytes()
    for at, words in ((len(data) // 2, "the checksum differs"), (data.index(b"num_in"), "header")):
        flipped.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(WeightsError, match=words):
            load(flipped.parent)
    flipped.write_bytes(data)
    (flipped.parent / "config.json").write_bytes((out / "config.json").read_bytes() + b"\n")
    with pytest.warns(UserWarning, match="config.json changed after"):
        load(flipped.parent)
    tensors = open_safetensors(out)
    arrays = {name: np.array(tensors[name]) for name in tensors}
    facts = dict(tensors.metadata)
    config = (out / "config.json").read_bytes()

    def changed(name: str, arrays: dict[str, Any], facts: dict[str, str]) -> Path:
        folder = tmp_path / name
        write_safetensors(folder, arrays, metadata=facts)
        (folder / "config.json").write_bytes(config)
        return folder

    path = "layers/0/mlp/up/kernel.values"
    with pytest.raises(WeightsError, match="are not described"):
        load(changed("undescribed", arrays, {**facts, "leaves": "[1]"}))
    with pytest.raises(WeightsError, match="are not described"):
        load(changed("missing", {k: v for k, v in arrays.items() if k != path}, facts))
    with pytest.raises(WeightsError, match="lacks norm/bias"):
        load(changed("less", {k: v for k, v in arrays.items() if k != "norm/bias"}, facts))
    with pytest.raises(WeightsError, match="expected shape"):
        load(changed("shape", {**arrays, "norm/bias": np.zeros(3, np.float32)}, facts))
    with pytest.raises(WeightsError, match="expected the format"):
        load(changed("format", arrays, {**facts, "format": "other"}))


def test_layers_of_different_schemes_stay_apart(decoder: Any, tmp_path: Path) -> None:
    from barrow.compress.quantize import quantized, weights_of

    model, params = decoder
    schemes: dict[str, Scheme | None] = dict.fromkeys(weights_of(params))
    schemes["layers/1/mlp/up/kernel"] = Scheme("int4", "nearest", 8)
    small = quantized(model, params, schemes)
    save_quantized(tmp_path / "mixed", model, small, scheme="mixed", tokenizer="bytes")
    loaded = load(tmp_path / "mixed")
    assert isinstance(loaded.params["layers"], tuple)
    tokens = jnp.arange(12)[None]
    found: Any = loaded.model
    expected = model.apply(small, tokens)[0]
    np.testing.assert_allclose(found.apply(loaded.params, tokens)[0], expected, rtol=1e-5)
