from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path


def test_whole(barrow: Callable, folder: Path) -> None:
    code, out, err = barrow("verify", folder, "--deep")
    assert (code, err) == (0, "")
    assert out.startswith("ok: ")
    assert "1,000 documents" in out


def test_damaged(barrow: Callable, shard: Path) -> None:
    data = bytearray(shard.read_bytes())
    data[300] ^= 8
    shard.write_bytes(data)
    code, out, _ = barrow("verify", shard)
    assert code == 1
    assert "corrupt: shard.jsonl.zst, frame 0, document 0" in out
    assert "problems" in out
    code, out, _ = barrow("verify", shard, "--json")
    assert code == 1
    result = json.loads(out)
    assert result["ok"] is False
    assert {problem["reason"] for problem in result["problems"]} == {"corrupt", "checksum"}


def test_many_problems_are_summed_up(barrow: Callable, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("bad\n" * 200)
    code, out, _ = barrow("verify", path, "--deep")
    assert code == 1
    assert "… and 150 more" in out
