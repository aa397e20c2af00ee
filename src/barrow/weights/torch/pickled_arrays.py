"""What the names in a PyTorch checkpoint mean: storages, tensors, types, NumPy arrays."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from barrow.files.dtypes import extended
from barrow.files.safetensors import is_possible
from barrow.weights.tensors import Array, LazyTensor
from barrow.weights.torch.restricted_pickle import Global, Meanings, Refused

_PLAIN = {
    "float32": "<f4",
    "float64": "<f8",
    "float16": "<f2",
    "int64": "<i8",
    "int32": "<i4",
    "int16": "<i2",
    "int8": "|i1",
    "uint8": "|u1",
    "bool": "|b1",
    "uint16": "<u2",
    "uint32": "<u4",
    "uint64": "<u8",
    "complex64": "<c8",
    "complex128": "<c16",
}
_EXTENDED = (
    *("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"),
    "float8_e8m0fnu",
)
_STORAGES = {
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "HalfStorage": "float16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "BFloat16Storage": "bfloat16",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}
_NUMPY_DTYPE = re.compile(r"[<|=]?([?]|[biuf][1248]|b1|c8|c16)")
# An expanded tensor (stride 0) is larger than its storage; a file must not ask for more.
_MAX_EXPANDED = 64 << 20


@dataclass(frozen=True)
class ElementType:
    """The name of a PyTorch element type, such as ``float32``."""

    name: str

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type."""
        return np.dtype(_PLAIN[self.name]) if self.name in _PLAIN else extended(self.name)


@dataclass(frozen=True)
class StorageKind:
    """A class of storages; None for untyped bytes."""

    element: ElementType | None


@dataclass(frozen=True)
class Storage:
    """A run of bytes in the archive, by its key."""

    key: str
    element: ElementType | None
    num_bytes: int


@dataclass
class NumpyDtype:
    """A NumPy type in a pickle."""

    text: str


@dataclass
class NumpyArray:
    """A NumPy array in a pickle; empty until its state is set."""

    array: Array | None = None


def meanings_of(
    *, read: Callable[[str], Array], size_of: Callable[[str], int], scripted: bool
) -> Meanings:
    """The table for one archive: `read` gives a storage's bytes, `size_of` their number.

    In a `scripted` archive (TorchScript) classes under ``__torch__`` are inert instances.
    """

    def persistent(pid: Any) -> Storage:
        return _storage(pid, size_of)

    def tensor(arguments: tuple[Any, ...]) -> LazyTensor:
        return _tensor(arguments, read)

    def typed_tensor(arguments: tuple[Any, ...]) -> LazyTensor:
        if len(arguments) < 7 or not isinstance(arguments[6], ElementType):
            raise Refused("a tensor without an element type")
        return _tensor((*arguments[:6], *arguments[7:]), read, element=arguments[6])

    lists = ("build_intlist", "build_tensorlist", "build_doublelist", "build_boollist")
    numpy_cores = ("numpy.core", "numpy._core")
    values: dict[str, Any] = {
        **{f"torch.{name}": ElementType(name) for name in (*_PLAIN, *_EXTENDED)},
        **{f"torch.{n}": StorageKind(ElementType(e)) for n, e in _STORAGES.items()},
        "torch.storage.UntypedStorage": StorageKind(None),
        "torch.UntypedStorage": StorageKind(None),
        "numpy.ndarray": "numpy.ndarray",
    }
    calls: dict[str, Callable[[tuple[Any, ...]], Any]] = {
        "collections.OrderedDict": _ordered_dict,
        "torch._utils._rebuild_tensor_v2": tensor,
        "torch._utils._rebuild_tensor_v3": typed_tensor,
        "torch._utils._rebuild_parameter": _first_tensor,
        "torch._utils._rebuild_parameter_with_state": _first_tensor,
        "torch.Size": _only_sequence,
        "torch.device": _device,
        "torch.jit._pickle.restore_type_tag": _untagged,
        **{f"torch.jit._pickle.{name}": _only_sequence for name in lists},
        **{f"{core}.multiarray._reconstruct": _empty_array for core in numpy_cores},
        **{f"{core}.multiarray.scalar": _numpy_scalar for core in numpy_cores},
        "numpy.dtype": _numpy_dtype,
        "_codecs.encode": _latin1,
        "__builtin__.bytes": _no_bytes,
        "builtins.bytes": _no_bytes,
    }

    def is_class(found: Global) -> bool:
        return scripted and (found.module + ".").startswith("__torch__.")

    return Meanings(values, calls, is_class, _build, persistent)


def _storage(pid: Any, size_of: Callable[[str], int]) -> Storage:
    kinds = (str, StorageKind, str, str, int)
    if (
        type(pid) is not tuple
        or len(pid) != 5
        or not all(isinstance(part, kind) for part, kind in zip(pid, kinds, strict=True))
        or pid[0] != "storage"
    ):
        raise Refused("expected a persistent id (storage, type, key, device, count)")
    _, kind, key, _, count = pid
    width = 1 if kind.element is None else kind.element.dtype.itemsize
    found = size_of(key)
    if count < 0 or count * width != found:
        raise Refused(f"storage {key!r} should have {count} × {width} bytes, found {found:,}")
    return Storage(key, kind.element, found)


def _tensor(
    arguments: tuple[Any, ...], read: Callable[[str], Array], element: ElementType | None = None
) -> LazyTensor:
    if len(arguments) not in (6, 7) or not isinstance(arguments[0], Storage):
        raise Refused("a tensor that is not made of a storage, offset, shape and strides")
    storage, offset, shape, strides = arguments[:4]
    if len(arguments) == 7 and arguments[6]:
        raise Refused("a tensor with a conjugate or negative bit")
    element = element or storage.element
    if element is None:
        raise Refused("a tensor without an element type")
    if not (_is_counts((offset,)) and _is_counts(shape) and _is_counts(strides)):
        raise Refused("a tensor whose offset, shape or strides are not counts")
    if len(shape) != len(strides) or not is_possible(shape):
        raise Refused(f"a tensor of {len(shape)} dimensions with {len(strides)} strides")
    dtype = element.dtype
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    count = math.prod(shape)
    if count and (last + 1) * dtype.itemsize > storage.num_bytes:
        raise Refused(
            f"a tensor reaches byte {(last + 1) * dtype.itemsize:,} of storage {storage.key!r}, "
            f"which has {storage.num_bytes:,}"
        )
    if count * dtype.itemsize > max(storage.num_bytes, _MAX_EXPANDED):
        raise Refused(f"a tensor of {count:,} elements in a storage of {storage.num_bytes:,} bytes")
    return LazyTensor(
        tuple(shape), dtype, lambda: _view(read(storage.key), dtype, offset, shape, strides)
    )


def _view(
    raw: Array, dtype: np.dtype[Any], offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> Array:
    if math.prod(shape) == 0:
        return np.empty(shape, dtype)
    width = dtype.itemsize
    elements = raw[: len(raw) // width * width].view(dtype)[offset:]
    steps = tuple(stride * width for stride in strides)
    return np.lib.stride_tricks.as_strided(elements, tuple(shape), steps, writeable=False)


def _is_counts(values: Any) -> bool:
    return isinstance(values, tuple | list) and all(
        type(value) is int and 0 <= value < 1 << 62 for value in values
    )


def _ordered_dict(arguments: tuple[Any, ...]) -> dict[str, Any]:
    if arguments == ():
        return {}
    pairs = arguments[0]
    if len(arguments) != 1 or type(pairs) is not list:
        raise Refused("an OrderedDict that is not made of pairs")
    table = {}
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not isinstance(pair[0], str):
            raise Refused("an OrderedDict that is not made of pairs")
        table[pair[0]] = pair[1]
    return table


def _first_tensor(arguments: tuple[Any, ...]) -> LazyTensor:
    if not arguments or not isinstance(arguments[0], LazyTensor):
        raise Refused("a parameter that is not made of a tensor")
    return arguments[0]


def _only_sequence(arguments: tuple[Any, ...]) -> Any:
    if len(arguments) != 1 or not isinstance(arguments[0], list | tuple):
        raise Refused("a list that is not made of a sequence")
    return arguments[0]


def _device(arguments: tuple[Any, ...]) -> str:
    if not arguments or not all(type(part) in (str, int) for part in arguments):
        raise Refused("a device that is not a name")
    return ":".join(str(part)[:40] for part in arguments)


def _untagged(arguments: tuple[Any, ...]) -> Any:
    if len(arguments) != 2 or not isinstance(arguments[0], list | dict):
        raise Refused("a type tag on something that is not a container")
    return arguments[0]


def _latin1(arguments: tuple[Any, ...]) -> bytes:
    # Old protocols write bytes so. No codec is looked up: only this one is accepted.
    if len(arguments) != 2 or arguments[1] != "latin1" or not isinstance(arguments[0], str):
        raise Refused("_codecs.encode for anything but bytes")
    try:
        return arguments[0].encode("latin1")
    except UnicodeEncodeError:
        raise Refused("_codecs.encode for anything but bytes") from None


def _no_bytes(arguments: tuple[Any, ...]) -> bytes:
    # Old protocols write empty bytes so.
    if arguments != ():
        raise Refused("bytes that are not made of text")
    return b""


def _numpy_dtype(arguments: tuple[Any, ...]) -> NumpyDtype:
    text = arguments[0] if arguments else None
    if not isinstance(text, str) or not _NUMPY_DTYPE.fullmatch(text):
        raise Refused("a NumPy array of non-numbers")
    return NumpyDtype(text)


def _empty_array(arguments: tuple[Any, ...]) -> NumpyArray:
    if len(arguments) != 3 or arguments[0] != "numpy.ndarray":
        raise Refused("a NumPy array of a subclass")
    return NumpyArray()


def _numpy_scalar(arguments: tuple[Any, ...]) -> Any:
    if len(arguments) != 2 or not isinstance(arguments[0], NumpyDtype):
        raise Refused("a NumPy scalar that is not a number")
    return _from_bytes(arguments[0], (), arguments[1])[()]


def _build(target: Any, state: Any) -> Any:
    if type(target) is dict:  # attributes of an OrderedDict, such as _metadata of a state dict
        return target
    if isinstance(target, NumpyDtype):
        order = state[1] if isinstance(state, tuple) and len(state) > 1 else None
        if order not in ("<", "|", "=") or (len(state) > 4 and state[4] is not None):
            raise Refused("a NumPy type that is big-endian or has fields")
        return target
    if isinstance(target, NumpyArray):
        if not isinstance(state, tuple) or len(state) != 5 or not isinstance(state[2], NumpyDtype):
            raise Refused("a NumPy array whose state is malformed")
        _, shape, dtype, fortran, data = state
        if not _is_counts(shape) or not is_possible(shape):
            raise Refused("a NumPy array whose shape is not counts")
        flat = shape[::-1] if fortran else shape
        array = _from_bytes(dtype, tuple(flat), data)
        target.array = array.T if fortran else array
        return target
    raise Refused(f"the pickle sets the state of a {type(target).__name__}")


def _from_bytes(kind: NumpyDtype, shape: tuple[int, ...], data: Any) -> Array:
    dtype = np.dtype(kind.text).newbyteorder("<")
    if not isinstance(data, bytes) or len(data) != math.prod(shape) * dtype.itemsize:
        raise Refused(f"a NumPy array of shape {shape} with the wrong number of bytes")
    return np.frombuffer(data, dtype).reshape(shape) if data else np.empty(shape, dtype)
