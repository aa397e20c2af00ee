from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from barrow.checkpoint import save_params
from barrow.errors import CheckpointError, WeightsError
from barrow.models import Decoder, DecoderConfig, family_table, save
from barrow.models import open as open_model
from barrow.models.load import load
from barrow.models.onnx.model import OnnxModel
from barrow.models.open_model import is_run, of_kind
from barrow.models.roberta.model import Roberta, RobertaConfig
from barrow.parallel import ZERO, make_mesh, placing

CONFIGS: dict[str, Any] = {
    "decoder": DecoderConfig(vocab_size=259, width=16, layers=2, heads=2, hidden=16, context=16),
    "roberta": RobertaConfig(vocab_size=259, width=16, layers=2, heads=2, hidden=16, positions=18),
}
TOKENS = jnp.asarray([[5, 6, 7, 8]])


def drawn(model: Any) -> Any:
    shapes = jax.eval_shape(model.init, jax.random.key(0), jnp.zeros((1, 1), jnp.int32))
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda s: jnp.asarray(0.3 * rng.standard_normal(s.shape), s.dtype), shapes)


def answer(loaded: Any) -> Any:
    out = jax.jit(loaded.model.apply)(loaded.params, TOKENS)
    return np.asarray(out[0] if isinstance(out, tuple) else out)


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_checkpoint_opens_as_the_folder_it_is_converted_to(tmp_path: Path, kind: str) -> None:
    config = CONFIGS[kind]
    model: Any = Decoder(config) if kind == "decoder" else Roberta(config)
    params = drawn(model)
    about = {"model": family_table(config), "tokenizer": "bytes", "begin": 256, "end": 257}
    save_params(tmp_path / "run" / "checkpoints" / "step-000000003", params, about)
    save(tmp_path / "hf", model, params, tokenizer="bytes", begin=256, stops=(257,))
    wanted = answer(load(tmp_path / "hf", unstack=True))
    for path in (tmp_path / "run", tmp_path / "run" / "checkpoints" / "step-000000003"):
        assert is_run(path)
        for apart in (False, True):
            loaded = open_model(path, unstack=apart)
            np.testing.assert_allclose(answer(loaded), wanted, atol=1e-6)
    assert type(loaded.model) is type(model)
    assert (loaded.tokenizer, loaded.begin, loaded.stops) == ("bytes", 256, (257,))
    assert loaded.report.is_exact
    small = open_model(tmp_path / "run", dtype="bfloat16")
    assert {x.dtype for x in jax.tree.leaves(small.params)} == {jnp.dtype("bfloat16")}
    assert small.model.dtype == "bfloat16"


@pytest.mark.parametrize("apart", [False, True])
def test_a_run_on_a_mesh(tmp_path: Path, apart: bool) -> None:
    """ACCELERATE-13: slices of the checkpoint, converted, where the rules want them."""
    model = Decoder(CONFIGS["decoder"])
    save_params(tmp_path, drawn(model), {"model": family_table(model.config)})
    place = placing(ZERO[3].params, make_mesh(data=1, fsdp=4, tensor=2))
    spread = open_model(tmp_path, dtype="bfloat16", unstack=apart, place=place)
    wanted = open_model(tmp_path, unstack=apart)
    for ours, theirs in zip(*map(jax.tree.leaves, (spread.params, wanted.params)), strict=True):
        np.testing.assert_array_equal(ours, theirs.astype("bfloat16"))
    table = spread.params["positions"]["table"]
    assert table.sharding == NamedSharding(make_mesh(data=1, fsdp=4, tensor=2), P(None, "fsdp"))
    layers = spread.params["layers"]
    kernel = (layers[0] if apart else layers)["mlp"]["up"]["kernel"]
    assert kernel.sharding.spec == P(*(() if apart else (None,)), "fsdp", "tensor")


def test_what_is_no_checkpoint(tmp_path: Path) -> None:
    assert not is_run(tmp_path)
    assert not is_run(tmp_path / "nowhere")
    (tmp_path / "checkpoints").mkdir()
    assert is_run(tmp_path)
    (tmp_path / "best").mkdir()
    (tmp_path / "best" / "config.json").write_text("{}")
    assert not is_run(tmp_path)


def test_damaged_arrays_name_the_checkpoint_before(tmp_path: Path) -> None:
    model = Decoder(CONFIGS["decoder"])
    for step in (3, 6):
        folder = tmp_path / "run" / "checkpoints" / f"step-{step:09}"
        save_params(folder, drawn(model), {"model": family_table(model.config)})
    arrays = folder / "arrays-00000.safetensors"
    arrays.write_bytes(arrays.read_bytes()[:-1] + b"\x01")
    with pytest.raises(
        CheckpointError, match=r"checksum differs.*; the previous one is .*003; .*--step"
    ):
        open_model(tmp_path / "run")


def test_one_that_does_not_say_which_model_it_is_of(tmp_path: Path) -> None:
    params = drawn(Decoder(CONFIGS["decoder"]))
    save_params(tmp_path / "bare", params)
    with pytest.raises(CheckpointError, match="does not name its model") as raised:
        open_model(tmp_path / "bare")
    assert raised.value.reason == "no-model"


def test_more_layers_than_the_parameters_can_have(tmp_path: Path) -> None:
    config = replace(CONFIGS["decoder"], layers=10**9)
    save_params(
        tmp_path / "run", drawn(Decoder(CONFIGS["decoder"])), {"model": family_table(config)}
    )
    for apart in (False, True):
        with pytest.raises(
            WeightsError, match=r"1,000,000,000 layers in index.json, but the param"
        ):
            open_model(tmp_path / "run", unstack=apart)


def test_a_model_of_another_kind_says_what_it_is_for(tmp_path: Path) -> None:
    model = Decoder(CONFIGS["decoder"])
    save_params(tmp_path / "run", drawn(model), {"model": family_table(model.config)})
    loaded = open_model(tmp_path / "run")
    assert of_kind(loaded, "x", Roberta, Decoder) is loaded.model
    with pytest.raises(ValueError, match="x is a Decoder, .* Roberta; .*`barrow gen"):
        of_kind(loaded, "x", Roberta)
    graph = replace(loaded, model=OnnxModel(model.config, session=None))
    with pytest.raises(
        ValueError, match="OnnxModel, expected a Decoder; .*`barrow score x CORPUS`"
    ):
        of_kind(graph, "x", Decoder)
