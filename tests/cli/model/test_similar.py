from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from barrow.models.clip.load import load


def test_similar(clip_folder: Path, barrow: Callable) -> None:
    """CLIP-2: a row for each image, a number for each text."""
    options = ["--model", clip_folder / "model"]
    code, out, _ = barrow(
        "model", "similar", clip_folder / "images", "red thing", "blue", *options, "--json"
    )
    assert code == 0
    rows = json.loads(out)
    assert [set(row["similarities"]) for row in rows] == [{"red thing", "blue"}] * 2
    model, preprocess = load(weights=clip_folder / "model")
    found = model.similarity(
        preprocess([clip_folder / "images" / "green.png"]), ["red thing", "blue"]
    )
    np.testing.assert_allclose(list(rows[0]["similarities"].values()), found[0], rtol=1e-5)
    code, out, _ = barrow(
        "model", "similar", clip_folder / "images" / "red.png", "red thing", "blue", *options
    )
    values = [float(line.split()[0]) for line in out.splitlines()[1:]]
    assert values == sorted(values, reverse=True)
