"""Parameters go from files into place; the host holds one tensor at a time (ACCELERATE-13)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.models.load_process import written
from tests.parallel.several_processes import ended


@pytest.mark.soak
def test_a_model_of_gigabytes(tmp_path: Path) -> None:
    """At most the largest tensor and a tenth beside the arrays, on one device and on meshes."""
    for name in ("large", "tiny"):
        (tmp_path / name).mkdir()
    large = written(tmp_path / "large", width=2048, layers=16, vocab=128_000)
    tiny = written(tmp_path / "tiny", width=128, layers=3, vocab=256)
    assert (large / "model.safetensors").stat().st_size > 2 << 30
    for mesh, dtype in (
        (None, "bfloat16"),
        (None, "float32"),
        ({"data": 1, "fsdp": 8}, "bfloat16"),
        ({"data": 2, "fsdp": 2, "tensor": 2}, "bfloat16"),
    ):
        command = ["-m", "tests.models.load_process", large, json.dumps(mesh), dtype]
        (one,) = ended([command], devices=8, TINY=str(tiny))
        assert one.code == 0, one.err
        found = json.loads(one.out)
        assert found["extra"] <= 1.1 * found["largest"], (mesh, dtype, found)
