"""FLAX-8, ROBERTA-4: safetensors, against the library that defined them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import warnings
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st

from barrow.errors import NotFound, UnsafeName, WeightsError
from barrow.weights import open_safetensors, write_safetensors


def arrays(seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "w": rng.normal(size=(4, 5)).astype(np.float32),
        "half": rng.normal(size=(3,)).astype(np.float16),
        "brain": rng.normal(size=(2, 2)).astype(ml_dtypes.bfloat16),
        "eight": rng.normal(size=(3, 1)).astype(ml_dtypes.float8_e4m3fn),
        "ids": rng.integers(-9, 9, (2, 3)),
        "mask": np.array([True, False]),
        "scalar": np.array(7, np.int32),
        "empty": np.zeros((0, 3), np.float32),
    }


def sharded(folder: Path) -> Path:
    write_safetensors(folder, arrays(), max_shard_bytes=40)
    return folder / "model.safetensors.index.json"


def test_files_of_the_numpy_library(tmp_path: Path) -> None:
    expected = {k: v for k, v in arrays().items() if k not in ("brain", "eight")}
    safetensors.numpy.save_file(expected, tmp_path / "x.safetensors", metadata={"a": "b"})
    tensors = open_safetensors(tmp_path / "x.safetensors")
    assert set(tensors) == set(expected)
    assert tensors.metadata == {"a": "b"}
    for name, array in expected.items():
        np.testing.assert_array_equal(tensors[name], array, strict=True)
        assert tensors.entry(name).shape == array.shape


def test_files_of_the_torch_library(tmp_path: Path) -> None:
    torch.manual_seed(0)
    state = {
        "b": torch.randn(3, 4).to(torch.bfloat16),
        "e": torch.randn(5).to(torch.float8_e4m3fn),
        "f": torch.randn(5).to(torch.float8_e5m2),
        "i": torch.arange(5),
    }
    safetensors.torch.save_file(state, tmp_path / "x.safetensors")
    tensors = open_safetensors(tmp_path)
    assert {str(tensors[name].dtype) for name in "bef"} == {
        "bfloat16",
        "float8_e4m3fn",
        "float8_e5m2",
    }
    for name, tensor in state.items():
        expected = tensor.to(torch.float64).numpy()
        np.testing.assert_array_equal(tensors[name].astype(np.float64), expected)


def test_views_share_the_file(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "x.safetensors", arrays())
    tensors = open_safetensors(tmp_path / "x.safetensors")
    assert not tensors["w"].flags.owndata
    assert not tensors["w"].flags.writeable
    assert np.shares_memory(tensors["w"], tensors["w"])


def test_a_folder_of_shards(tmp_path: Path) -> None:
    index = sharded(tmp_path)
    for path in (tmp_path, index):
        tensors = open_safetensors(path)
        assert tensors.metadata["total_size"] == str(sum(a.nbytes for a in arrays().values()))
        for name, array in arrays().items():
            np.testing.assert_array_equal(tensors[name], array, strict=True)


def flip(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 1 << at % 8
    file.write_bytes(data)


@pytest.mark.parametrize("max_shard_bytes", [40, 1 << 20])
def test_a_flipped_bit_is_found_when_its_tensor_is_read(
    tmp_path: Path, max_shard_bytes: int
) -> None:
    """Of a model with checksums; the library opens it too."""
    write_safetensors(tmp_path, arrays(), max_shard_bytes=max_shard_bytes, beside={})
    for file in tmp_path.glob("*.safetensors"):
        whole = file.read_bytes()
        with safetensors.safe_open(file, "pt") as theirs:
            assert set(theirs.keys()) <= set(arrays())
        start = 8 + int.from_bytes(whole[:8], "little")
        for at in range(start, len(whole), 7):
            flip(file, at)
            tensors = open_safetensors(tmp_path)
            wrong = {}
            for name, array in arrays().items():
                try:
                    np.testing.assert_array_equal(tensors[name], array, strict=True)
                except WeightsError as error:
                    wrong[name] = str(error)
            (words,) = wrong.values()
            (name,) = wrong
            assert f"{file}, tensor {name!r}: the checksum differs" in words
            with pytest.raises(WeightsError):  # also the second time
                tensors[name]
            file.write_bytes(whole)


def test_a_flipped_bit_of_the_header_is_found_or_harmless(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    write_safetensors(tmp_path, arrays(), metadata={"format": "pt", "bits": "4"}, beside={})
    whole = file.read_bytes()
    num_found = 0
    for at in range(0, 8 + int.from_bytes(whole[:8], "little"), 29):
        flip(file, at)
        try:
            tensors = open_safetensors(file)
            found = {name: np.array(array) for name, array in tensors.items()}
        except WeightsError:
            num_found += 1
        else:  # the name of the table of checksums, or white space
            assert {**tensors.metadata, "format": "pt", "bits": "4"} == tensors.metadata
            assert set(found) == set(arrays())
            for name, array in arrays().items():
                np.testing.assert_array_equal(found[name], array, strict=True)
        file.write_bytes(whole)
    assert num_found > 40


def test_texts_that_changed_are_named(tmp_path: Path) -> None:
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_text("{}")
    digest = hashlib.sha256(b"{}").hexdigest()
    beside = {"config.json": digest, "tokenizer.json": digest}
    write_safetensors(tmp_path, arrays(), max_shard_bytes=40, beside=beside)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_safetensors(tmp_path)
    (tmp_path / "config.json").write_text("{ }")
    with pytest.warns(UserWarning, match="config.json changed after the model was written") as said:
        open_safetensors(tmp_path)
    assert len(said) == 1
    (tmp_path / "tokenizer.json").unlink()
    with pytest.warns(UserWarning, match=f"{tmp_path}: config.json, tokenizer.json changed"):
        open_safetensors(tmp_path)


def test_names_of_texts_stay_in_the_folder(tmp_path: Path) -> None:
    write_safetensors(tmp_path, {"a": np.ones(1)}, beside={"../secret": "0" * 64})
    with pytest.raises(UnsafeName, match=r"\.\./secret"):
        open_safetensors(tmp_path)


def change(index: Path, **weight_map: Any) -> None:
    table = json.loads(index.read_text())
    table["weight_map"].update(weight_map)
    table["weight_map"] = {k: v for k, v in table["weight_map"].items() if v is not None}
    index.write_text(json.dumps(table))


def test_a_missing_shard(tmp_path: Path) -> None:
    sharded(tmp_path)
    gone = sorted(tmp_path.glob("model-*.safetensors"))[1]
    gone.unlink()
    with pytest.raises(WeightsError, match=f"missing shard {gone.name}, which model.safetensors"):
        open_safetensors(tmp_path)


def test_an_index_that_names_what_is_not_there(tmp_path: Path) -> None:
    index = sharded(tmp_path)
    first = sorted(tmp_path.glob("model-*.safetensors"))[0].name
    change(index, ghost=first)
    with pytest.raises(WeightsError, match=f"tensor 'ghost': is not in {first}, where the index"):
        open_safetensors(tmp_path)


def test_an_index_that_names_the_wrong_shard(tmp_path: Path) -> None:
    index = sharded(tmp_path)
    table = json.loads(index.read_text())["weight_map"]
    other = next(shard for shard in table.values() if shard != table["w"])
    change(index, w=other)
    with pytest.raises(WeightsError, match=rf"tensor 'w': (is not in {other}|is not in)"):
        open_safetensors(tmp_path)


def test_a_tensor_that_the_index_leaves_out(tmp_path: Path) -> None:
    write_safetensors(tmp_path, {"a": np.ones(4), "b": np.ones(4)}, max_shard_bytes=64)
    (tmp_path / "model.safetensors").rename(tmp_path / "s.safetensors")
    index = {"weight_map": {"a": "s.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(WeightsError, match="tensor 'b': is not in model.safetensors.index.json"):
        open_safetensors(tmp_path)


def test_a_tensor_in_two_shards(tmp_path: Path) -> None:
    for shard in ("1", "2"):
        write_safetensors(tmp_path / f"{shard}.safetensors", {"a": np.ones(4), shard: np.ones(1)})
    index = {"weight_map": {"a": "1.safetensors", "1": "1.safetensors", "2": "2.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(WeightsError, match=r"2.safetensors, tensor 'a': is in 1.safetensors too"):
        open_safetensors(tmp_path)


@pytest.mark.parametrize(
    "shard", ["../x.safetensors", "/etc/passwd", "link.safetensors", "", 3, "a\\b"]
)
def test_an_index_leads_nowhere_else(tmp_path: Path, shard: Any) -> None:
    write_safetensors(tmp_path / "x.safetensors", {"a": np.ones(4)})
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "link.safetensors").symlink_to(tmp_path / "x.safetensors")
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": shard}}))
    with pytest.raises(WeightsError, match="tensor 'a': .* leads out of the folder"):
        open_safetensors(folder)


def test_the_links_of_the_hubs_cache_are_followed(tmp_path: Path) -> None:
    """As huggingface_hub lays a model out: links to ../../blobs."""
    folder = tmp_path / "models--a--b" / "snapshots" / "0123"
    folder.mkdir(parents=True)
    write_safetensors(tmp_path / "models--a--b" / "blobs" / "x.safetensors", {"a": np.ones(4)})
    (folder / "s.safetensors").symlink_to("../../blobs/x.safetensors")
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "s.safetensors"}}))
    assert open_safetensors(folder)["a"].sum() == 4


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"weight_map": []}', '{"weight_map": {}}', "[" * 99999]
)
def test_an_index_that_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(text)
    with pytest.raises(WeightsError, match="the index (is not JSON|has no table weight_map)"):
        open_safetensors(tmp_path)


def test_which_file_of_a_folder(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="does not exist"):
        open_safetensors(tmp_path / "none")
    with pytest.raises(NotFound, match="has no .safetensors file"):
        open_safetensors(tmp_path)
    write_safetensors(tmp_path / "one.safetensors", {"a": np.ones(1)})
    assert list(open_safetensors(tmp_path)) == ["a"]
    write_safetensors(tmp_path / "two.safetensors", {"b": np.ones(1)})
    with pytest.raises(WeightsError, match="expected one model, found one.safetensors, two.saf"):
        open_safetensors(tmp_path)
    write_safetensors(tmp_path / "model.safetensors", {"c": np.ones(1)})
    assert list(open_safetensors(tmp_path)) == ["c"]


def test_shards_without_an_index(tmp_path: Path) -> None:
    sharded(tmp_path).unlink()
    with pytest.raises(WeightsError, match="shards but no model.safetensors.index.json"):
        open_safetensors(tmp_path)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("good") / "x.safetensors"
    write_safetensors(path, arrays(), metadata={"a": "b"})
    return path.read_bytes()


@given(data=st.data())
def test_every_cut_is_an_error(good: bytes, tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "cut.safetensors"
    path.write_bytes(good[: data.draw(st.integers(0, len(good) - 1))])
    with pytest.raises(WeightsError, match="cut.safetensors"):
        open_safetensors(path)


@given(data=st.data())
def test_flipped_bytes_never_do_worse_than_an_error(
    good: bytes, tmp_path: Path, data: st.DataObject
) -> None:
    flipped = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(good) - 1))
        flipped[place] = data.draw(st.integers(0, 255))
    path = tmp_path / "flipped.safetensors"
    path.write_bytes(flipped)
    with contextlib.suppress(WeightsError):
        tensors = open_safetensors(path)
        for name in tensors:
            assert tensors[name].shape == tensors.entry(name).shape
