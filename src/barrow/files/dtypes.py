"""Names of element types on disk, and the NumPy types they are read as.

NumPy has no bfloat16 and no float8; `ml_dtypes`, which JAX brings, adds them. It is loaded only
when such a tensor is met.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from barrow.errors import MissingExtra

# In the order in which the safetensors library writes tensors.
_NATIVE = {
    "BOOL": "|b1",
    "U8": "|u1",
    "I8": "|i1",
    "I16": "<i2",
    "U16": "<u2",
    "F16": "<f2",
    "I32": "<i4",
    "U32": "<u4",
    "F32": "<f4",
    "C64": "<c8",
    "F64": "<f8",
    "I64": "<i8",
    "U64": "<u8",
}
_EXTENDED = {
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "BF16": "bfloat16",
}
_WIDTH = {name: 1 if name.startswith("F8") else 2 for name in _EXTENDED}
_ORDER = (
    *("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"),
    *("I16", "U16", "F16", "BF16", "I32", "U32", "F32", "C64", "F64", "I64", "U64"),
)


def is_known(name: str) -> bool:
    """Whether safetensors has an element type of that name, of whole bytes."""
    return name in _NATIVE or name in _EXTENDED


def width_of(name: str) -> int:
    """Bytes of one element."""
    return _WIDTH[name] if name in _WIDTH else np.dtype(_NATIVE[name]).itemsize


def rank_of(name: str) -> int:
    """Position in the order of types in a file, wide ones last."""
    return _ORDER.index(name)


def dtype_of(name: str) -> np.dtype[Any]:
    """The NumPy type of a safetensors element type."""
    return np.dtype(_NATIVE[name]) if name in _NATIVE else extended(_EXTENDED[name])


def name_of(dtype: np.dtype[Any]) -> str:
    """The safetensors name of a NumPy type."""
    little = dtype.newbyteorder("<")
    for name, text in _NATIVE.items():
        if little == np.dtype(text):
            return name
    for name, text in _EXTENDED.items():
        if dtype.name == text:
            return name
    known = ", ".join(_ORDER)
    raise ValueError(f"safetensors supports {known}; got {dtype}. Convert the array first")


def extended(name: str) -> np.dtype[Any]:
    """A type that NumPy lacks, such as ``bfloat16``."""
    try:
        import ml_dtypes
    except ImportError:
        raise MissingExtra("ml_dtypes", "train", f"a tensor of {name}") from None
    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return found
