"""What names in a checkpoint mean, one at a time; lies about storages, shapes and types."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch

from barrow.weights.tensors import LazyTensor
from barrow.weights.torch.pickled_arrays import (
    ElementType,
    NumpyArray,
    Storage,
    StorageKind,
    meanings_of,
)
from barrow.weights.torch.restricted_pickle import Global, Refused, load

BYTES = np.arange(6, dtype="<f4").tobytes()
MEANINGS = meanings_of(
    read=lambda key: np.frombuffer(BYTES, np.uint8),
    size_of=lambda key: len(BYTES),
    scripted=False,
)
FLOATS = StorageKind(ElementType("float32"))
STORAGE = Storage("0", ElementType("float32"), 24)


def tensor(*arguments: Any, version: int = 2) -> LazyTensor:
    made = MEANINGS.calls[f"torch._utils._rebuild_tensor_v{version}"](arguments)
    assert isinstance(made, LazyTensor)
    return made


def test_a_storage() -> None:
    assert MEANINGS.persistent(("storage", FLOATS, "0", "cpu", 6)) == STORAGE


@pytest.mark.parametrize(
    ("pid", "words"),
    [
        ("0", "expected a persistent id"),
        (("module", FLOATS, "0", "cpu", 6), "expected a persistent id"),
        (("storage", "FloatStorage", "0", "cpu", 6), "expected a persistent id"),
        (("storage", FLOATS, 0, "cpu", 6), "expected a persistent id"),
        (("storage", FLOATS, "0", "cpu", 6, None), "expected a persistent id"),
        (("storage", FLOATS, "0", "cpu", 7), "should have 7 × 4 bytes, found 24"),
        (("storage", FLOATS, "0", "cpu", -6), "should have -6 × 4 bytes"),
        (("storage", FLOATS, "0", "cpu", 1 << 80), "found 24"),
    ],
)
def test_persistent_ids_that_lie(pid: Any, words: str) -> None:
    with pytest.raises(Refused, match=words):
        MEANINGS.persistent(pid)


def test_views_of_a_storage() -> None:
    whole = torch.arange(6, dtype=torch.float32)
    for offset, shape, strides in [
        (0, (2, 3), (3, 1)),
        (0, (3, 2), (1, 3)),
        (1, (2,), (2,)),
        (5, (), ()),
        (2, (4, 1), (1, 9)),
        (1, (2, 3), (0, 1)),
        (6, (0, 3), (3, 1)),
    ]:
        found = tensor(STORAGE, offset, shape, strides, False, {})
        expected = whole.as_strided(shape, strides, offset)
        assert found.shape == shape
        np.testing.assert_array_equal(found.read(), expected.numpy())
        assert not found.read().flags.writeable or found.num_elements == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "not made of a storage"),
        (("x", 0, (2,), (1,), False, {}), "not made of a storage"),
        ((STORAGE, 0, (7,), (1,), False, {}), "reaches byte 28 of storage '0', which has 24"),
        ((STORAGE, 5, (2,), (1,), False, {}), "reaches byte 28"),
        ((STORAGE, 0, (2, 2), (1, 9), False, {}), "reaches byte 44"),
        ((STORAGE, -1, (2,), (1,), False, {}), "are not counts"),
        ((STORAGE, 0, (2,), (-1,), False, {}), "are not counts"),
        ((STORAGE, 0, (2.0,), (1,), False, {}), "are not counts"),
        ((STORAGE, 0, (True,), (1,), False, {}), "are not counts"),
        ((STORAGE, 0, 2, 1, False, {}), "are not counts"),
        ((STORAGE, 0, (2,), (1, 1), False, {}), "1 dimensions with 2 strides"),
        ((STORAGE, 0, (1 << 61, 0), (1, 1), False, {}), "2 dimensions with 2 strides"),
        ((STORAGE, 0, (1 << 40,), (0,), False, {}), "a tensor of 1,099,511,627,776 elements"),
        ((STORAGE, 0, (2,), (1,), False, {}, {"conj": True}), "a conjugate or negative bit"),
        ((Storage("0", None, 24), 0, (2,), (1,), False, {}), "without an element type"),
    ],
)
def test_tensors_that_lie(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(Refused, match=words):
        tensor(*arguments)


def test_a_type_apart_from_the_storage() -> None:
    raw = Storage("0", None, 24)
    found = tensor(raw, 2, (5,), (2,), False, {}, ElementType("uint16"), version=3)
    np.testing.assert_array_equal(found.read(), np.frombuffer(BYTES, "<u2")[2::2])
    with pytest.raises(Refused, match="without an element type"):
        tensor(raw, 0, (1,), (1,), False, {}, "uint16", version=3)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.int16).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.zeros((0, 2), np.float32),
        np.array(True),
        np.ones(2, np.complex64),
    ],
)
@pytest.mark.parametrize("protocol", [2, 4])
def test_numpy_arrays(array: np.ndarray, protocol: int) -> None:
    found = load(pickle.dumps(array, protocol), meanings=MEANINGS)
    assert isinstance(found, NumpyArray)
    assert found.array is not None
    np.testing.assert_array_equal(found.array, array, strict=True)


def test_numpy_scalars() -> None:
    found = load(pickle.dumps(np.float32(1.5), 2), meanings=MEANINGS)
    assert (type(found), found) == (np.float32, 1.5)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.array([None]), "a NumPy array of non-numbers"),
        (np.array(["x"]), "a NumPy array of non-numbers"),
        (np.zeros(2, [("a", "i4")]), "a NumPy array of non-numbers"),
        (np.ones(2, ">f4"), "a NumPy type that is big-endian"),
        (np.array(["2020"], "M8[D]"), "a NumPy array of non-numbers"),
    ],
)
def test_numpy_arrays_of_other_things(value: np.ndarray, words: str) -> None:
    with pytest.raises(Refused, match=words):
        load(pickle.dumps(value, 2), meanings=MEANINGS)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("_codecs.encode", ("x", "rot13"), "_codecs.encode for anything but bytes"),
        ("_codecs.encode", ("x",), "_codecs.encode for anything but bytes"),
        ("_codecs.encode", (b"x", "latin1"), "_codecs.encode for anything but bytes"),
        ("_codecs.encode", ("日", "latin1"), "_codecs.encode for anything but bytes"),
        ("builtins.bytes", (1 << 40,), "bytes that are not made of text"),
        ("collections.OrderedDict", (3,), "an OrderedDict that is not made of pairs"),
        ("collections.OrderedDict", ([(1, 2)],), "an OrderedDict that is not made of"),
        ("torch._utils._rebuild_parameter", (3,), "a parameter that is not made of a tensor"),
        ("torch.Size", ("abc",), "a list that is not made of a sequence"),
        ("torch.device", ([],), "a device that is not a name"),
        ("torch.jit._pickle.restore_type_tag", (3, "x"), "a type tag on something"),
        ("numpy._core.multiarray._reconstruct", ("x", (0,), b"b"), "a subclass"),
        ("numpy._core.multiarray.scalar", ("f4", b"1234"), "a NumPy scalar that is not"),
        ("numpy.dtype", ("O8", False, True), "non-numbers"),
    ],
)
def test_calls_with_wrong_arguments(name: str, arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(Refused, match=words):
        MEANINGS.calls[name](arguments)


def test_calls_with_right_ones() -> None:
    assert MEANINGS.calls["_codecs.encode"](("\xff\x00", "latin1")) == b"\xff\x00"
    assert MEANINGS.calls["collections.OrderedDict"](([("a", 1), ("b", 2)],)) == {"a": 1, "b": 2}
    assert MEANINGS.calls["torch.device"](("cuda", 1)) == "cuda:1"
    assert MEANINGS.calls["torch.Size"](((1, 2),)) == (1, 2)


def test_states_that_are_wrong() -> None:
    for target, state, words in [
        (NumpyArray(), (1, 2), "state is malformed"),
        (3, {}, "sets the state of a int"),
    ]:
        with pytest.raises(Refused, match=words):
            MEANINGS.build(target, state)
    assert MEANINGS.build({"a": 1}, {"_metadata": {}}) == {"a": 1}


def test_classes_are_of_torchscript_only() -> None:
    scripted = meanings_of(read=MEANINGS.calls.get, size_of=len, scripted=True)  # type: ignore[arg-type]
    assert scripted.is_class(Global("__torch__", "M"))
    assert scripted.is_class(Global("__torch__.a.b", "M"))
    assert not scripted.is_class(Global("__torch__x", "M"))
    assert not scripted.is_class(Global("os", "system"))
    assert not MEANINGS.is_class(Global("__torch__", "M"))
