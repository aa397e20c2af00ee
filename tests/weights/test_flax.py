"""FLAX-8: Flax's checkpoints, both ways against flax.serialization."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import flax.serialization
import jax
import jax.numpy as jnp
import ml_dtypes
import msgpack
import numpy as np
import optax
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.errors import WeightsError
from barrow.weights import read_flax, write_flax

TREE = {
    "params": {
        "dense": {"kernel": np.arange(12, dtype=np.float32).reshape(3, 4), "bias": np.zeros(4)},
        "brain": np.array([1.5, -2], ml_dtypes.bfloat16),
        "ids": np.arange(5, dtype=np.int8),
        "empty": np.zeros((0, 3), np.float32),
        "turned": np.arange(6, dtype=np.int16).reshape(2, 3).T,
        "none": np.array(7, np.uint32),
    },
    "step": 12345,
    "scalar": np.float32(0.5),
    "complex": 1 + 2j,
    "on": True,
    "name": "naïve",
    "nothing": None,
    "list": [1, np.ones(2)],
}


def same(found: Any, expected: Any) -> None:
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        if hasattr(b, "dtype"):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
        else:
            assert (type(a), a) == (type(b), b)


def test_what_flax_writes(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(flax.serialization.to_bytes(TREE))
    found = read_flax(tmp_path / "x")
    same(found, flax.serialization.msgpack_restore((tmp_path / "x").read_bytes()))
    assert found["params"]["brain"].dtype == ml_dtypes.bfloat16
    assert isinstance(found["scalar"], np.float32)
    assert not found["params"]["dense"]["kernel"].flags.owndata


def test_what_flax_reads(tmp_path: Path) -> None:
    written = write_flax(tmp_path / "x", TREE)
    data = (tmp_path / "x").read_bytes()
    assert written.num_bytes == len(data)
    same(flax.serialization.msgpack_restore(data), TREE)
    same(read_flax(tmp_path / "x"), TREE)
    plain = {key: TREE[key] for key in ("params", "step", "scalar", "complex")}
    write_flax(tmp_path / "y", plain)
    assert (tmp_path / "y").read_bytes() == flax.serialization.msgpack_serialize(
        dict(plain), in_place=True
    )


def test_a_training_state(tmp_path: Path) -> None:
    params = {"w": jnp.ones((3, 2), jnp.bfloat16), "b": jnp.zeros(2)}
    state = optax.adamw(1e-3).init(params)
    (tmp_path / "x").write_bytes(flax.serialization.to_bytes({"params": params, "opt": state}))
    found = read_flax(tmp_path / "x")
    assert found["opt"]["0"]["mu"]["w"].shape == (3, 2)
    write_flax(tmp_path / "y", found)
    target = {"params": params, "opt": state}
    back = flax.serialization.from_bytes(target, (tmp_path / "y").read_bytes())
    assert jax.tree.structure(back) == jax.tree.structure(target)


def test_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    big = {"a": {"w": np.arange(1000, dtype=np.float32).reshape(10, 100)}, "b": np.ones(3)}
    write_flax(tmp_path / "x", big, max_chunk_bytes=600)
    raw = msgpack.unpackb((tmp_path / "x").read_bytes(), strict_map_key=False)
    assert set(raw["a"]["w"]) == {"__msgpack_chunked_array__", "shape", "chunks"}
    assert len(raw["a"]["w"]["chunks"]) == 7
    same(flax.serialization.msgpack_restore((tmp_path / "x").read_bytes()), big)
    same(read_flax(tmp_path / "x"), big)
    monkeypatch.setattr(flax.serialization, "MAX_CHUNK_SIZE", 600)
    theirs = flax.serialization.msgpack_serialize(jax.tree.map(lambda a: a, big))
    assert theirs == (tmp_path / "x").read_bytes()


def ext(code: int, *parts: Any) -> bytes:
    return msgpack.packb(msgpack.ExtType(code, msgpack.packb(parts)))


CHUNKED = "__msgpack_chunked_array__"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not a Flax checkpoint: Input data was truncated"),
        (b"\x80\x02", "trailing characters"),
        (ext(1, (2,), "float32", b"1234"), r"4 bytes for an array of float32, shape \[2\]"),
        (ext(1, (1 << 40, 1 << 40), "float32", b"1234"), "4 bytes for an array"),
        (ext(1, (-1,), "float32", b"1234"), r"an array of shape \[-1\]"),
        (ext(1, (True,), "int8", b"1"), "Expected `int`, got `bool`"),
        (ext(1, (1,), "float32"), "Expected `array` of length 3"),
        (ext(1, (1,), "float32", 5), "Expected `bytes`, got `int`"),
        (ext(1, (1,), "object", b"12345678"), "an array of type 'object'"),
        (ext(1, (1,), "O", b"12345678"), "an array of type 'O'"),
        (ext(1, (1,), "bfloat17", b"12"), "an array of type 'bfloat17'"),
        (ext(1, (1,), "float8_nothing", b"1"), "an array of type 'float8_nothing'"),
        (ext(1, (1,), 7, b"12"), "an array of type 7"),
        (ext(2, 1.0), "Expected `array` of length 2"),
        (ext(2, 1.0, "x"), "not a Flax checkpoint"),
        (ext(9, 1), "an extension of type 9, which Flax does not write"),
        (ext(1, msgpack.ExtType(1, b""), "int8", b""), "Expected `array`, got `ext`"),
        (b"\xdb\xff\xff\xff\xff", "truncated"),
        (b"\xdd\xff\xff\xff\xff" * 900, "truncated|recursion"),
        (b"\xdf\xff\xff\xff\xff", "truncated"),
        (b"\xc9\xff\xff\xff\xff\1", "truncated"),
        (b"\x91" * 200_000, "maximum recursion depth"),
        (b"\x81\xa1a" * 200_000, "maximum recursion depth"),
        (b"\x81\x90\x00", "keys must be strings or integers"),
        (b"\xa1\xff", "can't decode byte 0xff"),
        (msgpack.packb({CHUNKED: True}), "parts are not numbered from 0"),
        (msgpack.packb({CHUNKED: True, "shape": {"1": 2}, "chunks": {}}), "not numbered from 0"),
        (msgpack.packb({CHUNKED: True, "shape": {"0": 2}, "chunks": {}}), "not flat arrays"),
        (
            msgpack.packb({CHUNKED: True, "shape": {"0": 2}, "chunks": {"0": "x"}}),
            "not flat arrays",
        ),
    ],
)
def test_bytes_that_lie(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(WeightsError, match=words):
        read_flax(tmp_path / "x")


def test_chunks_that_do_not_add_up(tmp_path: Path) -> None:
    write_flax(tmp_path / "x", {"w": np.ones(100)}, max_chunk_bytes=400)
    data = (tmp_path / "x").read_bytes()
    (tmp_path / "x").write_bytes(data.replace(b"\xa10\x64", b"\xa10\x63"))
    with pytest.raises(WeightsError, match=r"chunks of 100 elements for the shape \[99\]"):
        read_flax(tmp_path / "x")


@given(data=st.data())
def test_cut_and_flipped(tmp_path: Path, data: st.DataObject) -> None:
    good = flax.serialization.to_bytes(TREE)
    bad = bytearray(good[: data.draw(st.integers(0, len(good)))])
    for _ in range(data.draw(st.integers(0, 4)) if bad else 0):
        bad[data.draw(st.integers(0, len(bad) - 1))] = data.draw(st.integers(0, 255))
    (tmp_path / "x").write_bytes(bad)
    with contextlib.suppress(WeightsError):
        read_flax(tmp_path / "x")


@pytest.mark.parametrize("size", [0, 15, 16, 65535, 65536])
def test_every_width_of_a_length(tmp_path: Path, size: int) -> None:
    tree = {"list": [0] * size, "map": {str(i): None for i in range(size)}, "bytes": b"x" * size}
    write_flax(tmp_path / "x", tree)
    assert (tmp_path / "x").read_bytes() == msgpack.packb(tree)
    assert read_flax(tmp_path / "x") == tree


@pytest.mark.parametrize("key", [(1, 2), 1.5, None])
def test_keys_that_cannot_be_written(tmp_path: Path, key: Any) -> None:
    with pytest.raises(ValueError, match="a key must be a string or an integer"):
        write_flax(tmp_path / "x", {key: 1})


def test_numbers_that_are_too_large(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="64-bit integers, got 18446744073709551616"):
        write_flax(tmp_path / "x", {"a": 1 << 64})


@pytest.mark.parametrize("leaf", [np.array([None]), np.array(["x"]), object(), {1}])
def test_what_cannot_be_written(tmp_path: Path, leaf: Any) -> None:
    with pytest.raises(ValueError, match="cannot hold a|an array of type"):
        write_flax(tmp_path / "x", {"a": leaf})
    assert not (tmp_path / "x").exists()
