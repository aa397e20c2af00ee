from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import load_file

from barrow.checkpoint import save_params
from barrow.models import Decoder, DecoderConfig, family_table, save
from barrow.models.load import load


def as_run(folder: Path, run: Path) -> Path:
    """The model of a Hugging Face folder as a run that trained it would hold it."""
    loaded: Any = load(folder)
    about = {"model": family_table(loaded.family), "tokenizer": str(folder), "end": 256}
    save_params(run / "checkpoints" / "step-000000001", loaded.params, about)
    return run


def test_a_run_writes_as_the_folder_of_its_model(barrow: Callable, tmp_path: Path) -> None:
    config = DecoderConfig(
        vocab_size=259, width=16, layers=2, heads=2, hidden=16, context=48, init_std=0.5
    )
    shapes = jax.eval_shape(Decoder(config).init, jax.random.key(0), jnp.zeros((1, 1), jnp.int32))
    rng = np.random.default_rng(0)
    params = jax.tree.map(
        lambda s: jnp.asarray(0.4 * rng.standard_normal(s.shape), s.dtype), shapes
    )
    folder = tmp_path / "hf"
    save(folder, Decoder(config), params, tokenizer="bytes", begin=256, stops=(256,))
    run = as_run(folder, tmp_path / "run")
    ours, theirs = (
        barrow("generate", path, "--prompt", "ab", "--max-tokens", 12, "--json")
        for path in (run, folder)
    )
    assert (ours.code, ours.err) == (0, "")
    assert json.loads(ours.out) == json.loads(theirs.out)
    named = barrow("generate", run, "--prompt", "ab", "--tokenizer", "bytes", "--max-tokens", 12)
    assert named.out == json.loads(ours.out)["prompt"] + json.loads(ours.out)["text"] + "\n"
    code, _, err = barrow("model", "embed", tmp_path / "x", "--model", run, "--out", tmp_path / "y")
    assert code == 1
    assert "is a Decoder, expected a Roberta" in err
    assert "use it with `barrow generate" in err


def test_an_encoder_of_a_run_embeds_as_the_folder(
    barrow: Callable, roberta_folder: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = roberta_folder("mlm")
    run = as_run(folder, tmp_path / "run")
    (tmp_path / "texts.txt").write_text("Paris is the capital\nof France.\n")
    found = []
    for path in (run, folder):
        out = tmp_path / f"{path.name}.safetensors"
        texts = tmp_path / "texts.txt"
        told = barrow("model", "embed", texts, "--model", path, "--out", out, "--layer", 1)
        assert told.code == 0, told.err
        found.append(load_file(out)["embeddings"])
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)
    code, _, err = barrow("generate", run, "--prompt", "ab")
    assert code == 1
    assert "is a Roberta, expected a Decoder; use it with `barrow model fill" in err
