from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

TEXT = "Paris is the <mask> of France."


def test_as_the_pipeline(
    barrow: Callable, roberta: Any, roberta_folder: Callable[[str], Path]
) -> None:
    """ROBERTA-1: --json is what transformers' pipeline gives."""
    folder = roberta_folder("mlm")
    code, out, err = barrow("model", "fill", TEXT, "--model", folder, "--top", 3, "--json")
    assert (code, err) == (0, "")
    ours, theirs = json.loads(out), roberta.filled(TEXT, top_k=3)
    for one, other in zip(ours, theirs, strict=True):
        assert set(one) == set(other)
        assert {k: one[k] for k in one if k != "score"} == {
            k: other[k] for k in other if k != "score"
        }
        np.testing.assert_allclose(one["score"], other["score"], rtol=1e-3)
    code, out, _ = barrow("model", "fill", TEXT, "--model", folder, "--top", 3)
    assert [line.split(maxsplit=1)[1] for line in out.splitlines()] == [
        re.sub("[\x00-\x1f\x7f]", "\ufffd", one["sequence"].replace("\n", "\\n")) for one in ours
    ]
    code, out, _ = barrow("model", "fill", "<mask> is <mask>", "--model", folder, "--top", 1)
    assert [line for line in out.splitlines() if line.startswith("mask")] == ["mask 1", "mask 2"]


def test_bad_input(barrow: Callable, roberta_folder: Callable[[str], Path], tmp_path: Path) -> None:
    code, _, err = barrow("model", "fill", "no mask", "--model", roberta_folder("mlm"))
    assert code == 1
    assert "the text has no <mask>" in err
    code, _, err = barrow("model", "fill", TEXT, "--model", roberta_folder("bare"))
    assert code == 1
    assert "no LM head" in err
    code, _, err = barrow("model", "fill", TEXT, "--model", tmp_path / "nowhere")
    assert code == 1
    assert "does not exist" in err
    code, _, err = barrow("generate", roberta_folder("mlm"), "--prompt", "a")
    assert code == 1
    assert "expected a Decoder; use it with `barrow model fill" in err


def test_a_line_for_each_filling(barrow: Callable, roberta_folder: Callable[[str], Path]) -> None:
    """Tokens may be line breaks: all of the vocabulary is a line each."""
    folder = roberta_folder("mlm")
    size = json.loads((folder / "config.json").read_text())["vocab_size"]
    code, out, _ = barrow("model", "fill", TEXT, "--model", folder, "--top", size)
    assert code == 0
    assert len(out.split("\n")) == size + 1
    assert "\\n" in out
    assert "\t" not in out
