from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

TEXT = "Paris is the <mask> of France."


def test_a_page_and_the_arrays(
    barrow: Callable, roberta: Any, roberta_folder: Callable[[str], Path], tmp_path: Path
) -> None:
    """ROBERTA-6: the maps that transformers has."""
    page, arrays = tmp_path / "new" / "p.html", tmp_path / "a.safetensors"
    code, said, err = barrow(
        *(
            "model",
            "attention",
            TEXT,
            "--model",
            roberta_folder("mlm"),
            "--out",
            page,
            "--out",
            arrays,
        )
    )
    assert (code, err) == (0, "")
    assert "2 layers × 4 heads" in said
    assert "Paris is the &lt;mask&gt; of France." in page.read_text()
    found = load_file(arrays)
    wanted = roberta.outputs("mlm", TEXT)
    assert found["tokens"].tolist() == wanted["ids"].tolist()
    for layer, expected in enumerate(wanted["maps"]):
        np.testing.assert_allclose(found["attention"][layer], expected[0], atol=1e-4)


def test_bad_input(barrow: Callable, roberta_folder: Callable[[str], Path], tmp_path: Path) -> None:
    model = roberta_folder("mlm")
    code, _, err = barrow("model", "attention", TEXT, "--model", model)
    assert code == 2
    assert "--out" in err
    code, _, err = barrow("model", "attention", TEXT, "--model", model, "--out", tmp_path / "a.npy")
    assert code == 2
    assert ".html or a .safetensors file, got" in err
    out = tmp_path / "p.html"
    code, _, err = barrow("model", "attention", "Paris is " * 99, "--model", model, "--out", out)
    assert code == 1
    assert "--truncate" in err
    code, _, err = barrow(
        "model", "attention", "Paris is " * 99, "--model", model, "--out", out, "--truncate"
    )
    assert code == 0
    assert "tokens past the model's positions were cut." in err
    assert "tokens past the model&#x27;s positions were cut." in out.read_text()
