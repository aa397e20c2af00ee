from __future__ import annotations

from pathlib import Path

from barrow.score.models.identity import identity_of


def test_weights_and_config_decide_and_nothing_else(tmp_path: Path) -> None:
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(b"weights")
        (folder / "config.json").write_text("{}")
    (tmp_path / "b" / "README.md").write_text("words")
    (tmp_path / "b" / "tokenizer.bin").write_bytes(b"tokens")
    first, size = identity_of(tmp_path / "a")
    assert identity_of(tmp_path / "b") == (first, size)
    assert size == len(b"weights")
    (tmp_path / "b" / "config.json").write_text("{} ")
    assert identity_of(tmp_path / "b")[0] != first
    (tmp_path / "a" / "model.safetensors").write_bytes(b"weightz")
    assert identity_of(tmp_path / "a")[0] != first


def test_a_file_alone(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"weights")
    identity, size = identity_of(file)
    assert (len(identity), size) == (64, 7)
