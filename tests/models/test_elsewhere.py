"""ROBERTA-4: the same weights in PyTorch, TensorFlow, Rust, plain safetensors; mapped, not read."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.numpy import load_file

from barrow.models import save
from barrow.models.load import load
from barrow.weights import open_safetensors

TOKENS = np.random.default_rng(0).integers(4, 329, (2, 9))


@pytest.fixture(scope="module")
def written(
    roberta_folder: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """What barrow writes of a model that transformers wrote."""
    folder = tmp_path_factory.mktemp("written") / "model"
    loaded = load(roberta_folder("mlm"))
    save(
        folder,
        loaded.model,
        loaded.params,
        tokenizer=loaded.tokenizer,
        begin=loaded.begin,
        stops=loaded.stops,
    )
    return folder


def test_in_pytorch(written: Path, roberta: Any) -> None:
    model, told = transformers.AutoModelForMaskedLM.from_pretrained(
        written, output_loading_info=True
    )
    assert not any(told.values()), told
    with torch.no_grad():
        ours = model.eval()(torch.tensor(TOKENS)).logits
        theirs = roberta.make("mlm")(torch.tensor(TOKENS)).logits
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)
    reader = transformers.AutoTokenizer.from_pretrained(written)
    text = "Paris is the <mask> of France."
    assert reader(text)["input_ids"] == roberta.make_tokenizer()(text)["input_ids"]
    assert reader.mask_token == "<mask>"


@pytest.mark.soak
def test_in_rust(written: Path, tmp_path: Path) -> None:
    """ROBERTA-4: a program of Rust's standard library reads the same tensors, to the bit."""
    if shutil.which("rustc") is None:
        pytest.fail("this test compiles a Rust program: apt install rustc")
    program, source = tmp_path / "read", Path(__file__).with_name("read_safetensors.rs")
    subprocess.run(["rustc", "-O", "--edition=2021", "-o", program, source], check=True)
    done = subprocess.run(
        [program, written / "model.safetensors"], check=True, capture_output=True, text=True
    )
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    found = {
        name: (kind, shape, float(total), int(mixed)) for name, kind, shape, total, mixed in rows
    }
    expected = {}
    for name, array in open_safetensors(written).items():
        flat = np.ascontiguousarray(array).reshape(-1)
        words = flat.view("<u4").astype(np.uint64) * np.arange(1, flat.size + 1, dtype=np.uint64)
        total = sum(flat.astype(np.float64).tolist())
        expected[name] = ("F32", str(list(array.shape)), total, int(words.sum()))
    assert found == expected
    assert len(found) > 30


def test_the_same_to_the_bit(written: Path, roberta_folder: Callable[[str], Path]) -> None:
    ours = load_file(written / "model.safetensors")
    theirs = load_file(roberta_folder("mlm") / "model.safetensors")
    assert set(ours) == {key for key in theirs if not key.startswith("lm_head.decoder")}
    assert all(np.array_equal(array, theirs[key]) for key, array in ours.items())


def test_in_tensorflow(written: Path) -> None:
    """In a process of its own: its start takes the whole process over."""
    code = (
        "import sys, numpy as np\n"
        "from safetensors.tensorflow import load_file\n"
        "from safetensors.numpy import load_file as plain\n"
        "tensors, same = load_file(sys.argv[1]), plain(sys.argv[1])\n"
        "assert set(tensors) == set(same) and len(same) > 30\n"
        "assert all(np.array_equal(tensors[k].numpy(), same[k]) for k in same)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(written / "model.safetensors")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
