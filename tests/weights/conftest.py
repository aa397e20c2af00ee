"""Files of other programs, written from the descriptions of their formats; and a hub of models."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.weights.hub_server import Hub, running_hub

_NUMBERS = {"u1": 0, "i1": 1, "u2": 2, "i2": 3, "u4": 4, "i4": 5, "f4": 6, "u8": 10, "i8": 11}
_NUMBERS["f8"] = 12


def text(value: str | bytes) -> bytes:
    """A GGUF string."""
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def typed(value: Any) -> tuple[int, bytes]:
    """Type and bytes of a GGUF value; numbers are NumPy scalars, or Python's as u4 and f4."""
    if isinstance(value, bool):
        return 7, bytes([value])
    if isinstance(value, str):
        return 8, text(value)
    if isinstance(value, int | float):
        value = np.uint32(value) if isinstance(value, int) else np.float32(value)
    if isinstance(value, np.generic):
        return _NUMBERS[value.dtype.str[1:]], value.tobytes()
    if isinstance(value, np.ndarray):
        head = struct.pack("<IQ", _NUMBERS[value.dtype.str[1:]], len(value))
        return 9, head + value.tobytes()
    kinds = [typed(element) for element in value]
    head = struct.pack("<IQ", kinds[0][0] if kinds else 8, len(kinds))
    return 9, head + b"".join(data for _, data in kinds)


def make_gguf(
    metadata: dict[str, Any],
    tensors: dict[str, tuple[int, tuple[int, ...], bytes]],
    *,
    version: int = 3,
    alignment: int = 32,
) -> bytes:
    """A file: metadata, and tensors as (type, shape with the fastest dimension last, bytes)."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    for key, value in metadata.items():
        kind, data = typed(value)
        head += text(key) + struct.pack("<I", kind) + data
    body = b""
    for name, (kind, shape, data) in tensors.items():
        head += text(name) + struct.pack("<I", len(shape))
        head += b"".join(struct.pack("<Q", dim) for dim in reversed(shape))
        head += struct.pack("<IQ", kind, len(body))
        body += data + b"\0" * (-len(data) % alignment)
    return head + b"\0" * (-len(head) % alignment) + body


@pytest.fixture
def gguf(tmp_path: Path) -> Callable[..., Path]:
    """Write a GGUF file; arrays are stored as float32."""

    def write(
        metadata: dict[str, Any], tensors: dict[str, Any], name: str = "m.gguf", **options: int
    ) -> Path:
        stored = {
            key: value
            if isinstance(value, tuple)
            else (0, value.shape, np.ascontiguousarray(value, "<f4").tobytes())
            for key, value in tensors.items()
        }
        path = tmp_path / name
        path.write_bytes(make_gguf(metadata, stored, **options))
        return path

    return write


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A hub on this machine, for as long as the test, and an empty cache."""
    from huggingface_hub import constants, file_download

    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(file_download.time, "sleep", lambda _: None)
    with running_hub() as hub:
        # What HF_ENDPOINT, HF_HUB_CACHE and HF_HUB_OFFLINE set when the library is first imported.
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        template = hub.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        yield hub
