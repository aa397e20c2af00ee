from __future__ import annotations

import json
import os
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from barrow.errors import NotFound, WeightsError
from barrow.models.clip.files import HUGGING_FACE, OPENAI
from barrow.models.clip.files import open_clip_files as opened

SUFFIXES = (".pt", "_trained.pt", "_script.pt", "_half.pt", ".safetensors")


@pytest.mark.parametrize("name", ["rn", "vit"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_kind_of_file_has_the_same_tensors(
    open_clip_files: Path, name: str, suffix: str
) -> None:
    """State dicts, bare and as training scripts wrap them, TorchScript, half precision."""
    plain = opened(open_clip_files / f"{name}.pt")
    found = opened(open_clip_files / f"{name}{suffix}")
    assert found.layout is OPENAI
    assert found.config == plain.config
    assert not found.says_heads
    key = "visual.conv1.weight"
    difference = abs(found.tensors[key].astype("f4") - plain.tensors[key]).max()
    assert difference <= (1e-3 if "half" in suffix else 0)


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch pwned",)


def test_nothing_is_executed(
    open_clip_files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A state dict, and a TorchScript archive, with a call inside are refused by name."""
    monkeypatch.chdir(tmp_path)
    torch.save({"visual.proj": Evil()}, "evil.pt")
    with pytest.raises(WeightsError, match="system"):
        opened("evil.pt")
    with (
        zipfile.ZipFile(open_clip_files / "vit_script.pt") as good,
        zipfile.ZipFile("script.pt", "w") as bad,
    ):
        for entry in good.infolist():
            data = good.read(entry)
            if entry.filename.endswith("/data.pkl"):
                data = b"\x80\x02cposix\nsystem\nX\x0b\x00\x00\x00touch pwned\x85R."
            bad.writestr(entry, data)
    with pytest.raises(WeightsError, match=r"posix\.system"):
        opened("script.pt")
    assert not (tmp_path / "pwned").exists()


def test_a_hugging_face_folder(hf_clip: tuple[Path, Any], tmp_path: Path) -> None:
    folder, _ = hf_clip
    found = opened(folder)
    assert found.layout is HUGGING_FACE
    assert opened(folder / "model.safetensors").config == found.config
    shutil.copyfile(folder / "config.json", tmp_path / "config.json")
    torch.save(load_file(folder / "model.safetensors"), tmp_path / "pytorch_model.bin")
    assert set(opened(tmp_path).tensors) == set(found.tensors)
    assert found.tokenizer is None
    (tmp_path / "merges.txt").touch()
    assert opened(tmp_path).tokenizer == tmp_path


def test_what_is_missing_or_strange(tmp_path: Path, hf_clip: tuple[Path, Any]) -> None:
    with pytest.raises(NotFound, match="none.pt does not exist"):
        opened(tmp_path / "none.pt")
    with pytest.raises(NotFound, match="neither config.json"):
        opened(tmp_path)
    (tmp_path / "model.onnx").touch()
    with pytest.raises(WeightsError, match="expected a folder, .safetensors or a PyTorch file"):
        opened(tmp_path / "model.onnx")
    save_file({"a": torch.zeros(2)}, tmp_path / "a.safetensors")
    with pytest.raises(WeightsError, match="expected the tensors of a CLIP model"):
        opened(tmp_path / "a.safetensors")
    shutil.copyfile(hf_clip[0] / "model.safetensors", tmp_path / "alone.safetensors")
    with pytest.raises(NotFound, match="Hugging Face's names, but no config.json beside it"):
        opened(tmp_path / "alone.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    with pytest.raises(WeightsError, match="expected model_type 'clip', got 'gpt2'"):
        opened(tmp_path / "alone.safetensors")
    config = json.loads((hf_clip[0] / "config.json").read_bytes())
    for tower in ("text_config", "vision_config"):
        many = {**config, tower: {**config[tower], "num_hidden_layers": 10**9}}
        (tmp_path / "config.json").write_text(json.dumps(many))
        with pytest.raises(WeightsError, match="1,000,000,000 layers in its configuration, but"):
            opened(tmp_path / "alone.safetensors")
