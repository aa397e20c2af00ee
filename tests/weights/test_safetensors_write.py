"""FLAX-8: what is written opens everywhere, and the same contents are the same bytes."""

from __future__ import annotations

import hashlib
import json
import os
import tracemalloc
from pathlib import Path

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch

from barrow.errors import WriteFailed
from barrow.weights import LazyTensor, Tensors, open_safetensors, write_safetensors


def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "z": rng.normal(size=(4, 5)).astype(np.float32),
        "half": rng.normal(size=(3,)).astype(np.float16),
        "ids": rng.integers(-9, 9, (2, 3)),
        "mask": np.array([True, False]),
        "byte": np.arange(5, dtype=np.uint8),
        "naïve": np.array(7, np.int32),
        "empty": np.zeros((0, 3), np.float32),
    }


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}])
def test_the_bytes_are_those_of_the_library(tmp_path: Path, metadata: dict[str, str]) -> None:
    written = write_safetensors(tmp_path / "ours.safetensors", arrays(), metadata=metadata)
    safetensors.numpy.save_file(arrays(), tmp_path / "theirs.safetensors", metadata=metadata)
    ours = (tmp_path / "ours.safetensors").read_bytes()
    assert ours == (tmp_path / "theirs.safetensors").read_bytes()
    assert written.index is None
    assert written.files[0].sha256 == hashlib.sha256(ours).hexdigest()
    assert written.files[0].num_bytes == len(ours)


def test_metadata_of_many_keys_has_one_order(tmp_path: Path) -> None:
    keys = [f"key{i}" for i in range(20)]
    first = write_safetensors(
        tmp_path / "a.safetensors", arrays(), metadata=dict.fromkeys(keys, "v")
    )
    second = write_safetensors(
        tmp_path / "b.safetensors", arrays(), metadata=dict.fromkeys(reversed(keys), "v")
    )
    assert first.files[0].sha256 == second.files[0].sha256
    with safetensors.safe_open(tmp_path / "a.safetensors", "np") as file:
        assert file.metadata() == dict.fromkeys(keys, "v")


def test_torch_opens_what_numpy_has_no_type_for(tmp_path: Path) -> None:
    values = np.array([1.5, -2, 0.25], np.float32)
    tensors = {
        "brain": values.astype(ml_dtypes.bfloat16),
        "e4": values.astype(ml_dtypes.float8_e4m3fn),
        "e5": values.astype(ml_dtypes.float8_e5m2),
        "jax": jnp.asarray(values, jnp.bfloat16),
    }
    write_safetensors(tmp_path / "x.safetensors", tensors)
    loaded = safetensors.torch.load_file(tmp_path / "x.safetensors")
    assert loaded["brain"].dtype == loaded["jax"].dtype == torch.bfloat16
    assert loaded["e4"].dtype == torch.float8_e4m3fn
    for tensor in loaded.values():
        assert tensor.to(torch.float32).tolist() == values.tolist()


def test_strided_and_foreign_byte_orders(tmp_path: Path) -> None:
    base = np.arange(12, dtype=">f4").reshape(3, 4)
    write_safetensors(tmp_path / "x.safetensors", {"t": base.T, "s": base[::2, 1:]})
    loaded = safetensors.numpy.load_file(tmp_path / "x.safetensors")
    assert loaded["t"].tolist() == base.T.tolist()
    assert loaded["s"].tolist() == base[::2, 1:].tolist()


def test_shards_as_hugging_face_has_them(tmp_path: Path) -> None:
    tensors = {f"t{i}": np.full(10, i, np.float32) for i in range(5)}
    written = write_safetensors(tmp_path, tensors, metadata={"format": "pt"}, max_shard_bytes=80)
    names = [f"model-0000{i}-of-00003.safetensors" for i in (1, 2, 3)]
    assert [file.path.name for file in written.files] == names
    assert written.index is not None
    index = json.loads(written.index.path.read_text())
    assert index["metadata"]["total_size"] == 200
    assert index["weight_map"] == dict(zip(tensors, [names[i // 2] for i in range(5)], strict=True))
    for name, shard in index["weight_map"].items():
        assert safetensors.numpy.load_file(tmp_path / shard)[name][0] == float(name[1:])
    for file in (*written.files, written.index):
        assert file.sha256 == hashlib.sha256(file.path.read_bytes()).hexdigest()


def test_transformers_opens_the_shards(tmp_path: Path) -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=32,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        tie_word_embeddings=False,
    )
    torch.manual_seed(0)
    model = LlamaForCausalLM(config)
    config.save_pretrained(tmp_path)
    state = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    written = write_safetensors(tmp_path, state, metadata={"format": "pt"}, max_shard_bytes=4096)
    assert len(written.files) > 2
    loaded, report = LlamaForCausalLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(report.values())
    for name, tensor in loaded.state_dict().items():
        assert torch.equal(tensor, model.state_dict()[name])
    model.save_pretrained(tmp_path / "theirs", max_shard_size=4096)
    theirs = open_safetensors(tmp_path / "theirs")
    assert set(theirs) == set(state)
    for name, array in state.items():
        np.testing.assert_array_equal(theirs[name], array, strict=True)


def test_one_tensor_at_a_time(tmp_path: Path) -> None:
    def entry(value: int) -> LazyTensor:
        return LazyTensor((1 << 20,), np.dtype(np.float32), lambda: np.full(1 << 20, value, "f4"))

    tensors = Tensors({f"t{i}": entry(i) for i in range(16)})
    tracemalloc.start()
    write_safetensors(tmp_path, tensors, max_shard_bytes=1 << 25)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * (4 << 20)  # 64 MiB in all
    assert open_safetensors(tmp_path)["t9"][-1] == 9


def test_the_index_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = {f"t{i}": np.ones(10) for i in range(4)}
    names: list[str] = []
    replace = Path.replace
    monkeypatch.setattr(Path, "replace", lambda a, b: (names.append(b.name), replace(a, b))[1])
    write_safetensors(tmp_path, tensors, max_shard_bytes=80)
    assert names[-1] == "model.safetensors.index.json"
    assert len(names) == 5


def test_a_write_that_fails_leaves_no_model(tmp_path: Path) -> None:
    def broken() -> np.ndarray:
        raise RuntimeError("device lost")

    good = LazyTensor((10,), np.dtype(np.float64), lambda: np.ones(10))
    tensors = Tensors({"a": good, "b": LazyTensor((10,), np.dtype(np.float64), broken)})
    with pytest.raises(RuntimeError, match="device lost"):
        write_safetensors(tmp_path, tensors, max_shard_bytes=80)
    assert os.listdir(tmp_path) == ["model-00001-of-00002.safetensors"]
    # What was left behind is no model, and does not stand in the way of the next try.
    write_safetensors(tmp_path, {"a": np.ones(10), "b": np.zeros(10)}, max_shard_bytes=80)
    assert open_safetensors(tmp_path)["b"].sum() == 0


def test_a_folder_that_holds_a_model_is_left_alone(tmp_path: Path) -> None:
    write_safetensors(tmp_path, {"a": np.ones(1)})
    with pytest.raises(ValueError, match=r"already contains a model \(model.safetensors\)"):
        write_safetensors(tmp_path, {"b": np.ones(1)})
    assert list(open_safetensors(tmp_path)) == ["a"]
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="must be a folder or end in .safetensors"):
        write_safetensors(tmp_path / "file", {"b": np.ones(1)})


@pytest.mark.parametrize(
    ("tensors", "options", "words"),
    [
        ({"__metadata__": np.ones(1)}, {}, "'__metadata__' cannot be the name of a tensor"),
        ({3: np.ones(1)}, {}, "3 cannot be the name of a tensor"),
        ({"a": np.array([None])}, {}, "got object. Convert the array first"),
        ({"a": np.ones(1)}, {"metadata": {"k": 1}}, "metadata must map strings to strings"),
        ({"a": np.ones(1)}, {"max_shard_bytes": 0}, "max_shard_bytes must be ≥ 1, got 0"),
    ],
)
def test_wrong_arguments(tmp_path: Path, tensors: dict, options: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        write_safetensors(tmp_path / "m", tensors, **options)
    assert not (tmp_path / "m").exists()


def test_a_tensor_that_is_not_what_it_announced(tmp_path: Path) -> None:
    entry = LazyTensor((3,), np.dtype(np.float32), lambda: np.ones(4, np.float32))
    with pytest.raises(ValueError, match=r"'a' was announced as float32 \(3,\) but is"):
        write_safetensors(tmp_path / "x.safetensors", Tensors({"a": entry}))
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteFailed, match="could not be written"):
        write_safetensors(tmp_path / "file" / "x.safetensors", {"a": np.ones(1)})
