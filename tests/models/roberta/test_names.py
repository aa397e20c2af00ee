from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow import nn
from barrow.models.roberta.heads import ClassificationHead, RobertaWithHead, TokenHead
from barrow.models.roberta.model import Roberta, RobertaConfig
from barrow.models.roberta.names import is_past, roberta_lines, why_ignored

SMALL = RobertaConfig(50, 16, 2, 2, 24, 20)


@pytest.mark.parametrize("kind", ["mlm", "bare", "classify", "tag", "untied"])
def test_names_and_shapes_are_those_of_transformers(
    kind: str, roberta_folder: Callable[[str], Path]
) -> None:
    """ROBERTA-4: each tensor of a file is a line, and each line a tensor."""
    from safetensors.numpy import load_file

    from barrow.models.architecture import architecture_of
    from barrow.models.sources import open_source

    source = open_source(roberta_folder(kind))
    built = architecture_of(source.config, source.tensors)
    found = {
        key: array.shape
        for key, array in load_file(roberta_folder(kind) / "model.safetensors").items()
        if built.why(key) is None
    }
    prefix = built.prefix if kind == "bare" else ""
    lines = {
        line.key.format(layer): line.shape
        for line in built.lines
        for layer in range(2 if line.is_layered else 1)
    }
    assert lines == {prefix + key: shape for key, shape in found.items()}


@pytest.mark.parametrize("head", [None, ClassificationHead(3), TokenHead(3)])
def test_each_parameter_is_in_one_line(head: Any) -> None:
    for config in (SMALL, RobertaConfig(50, 16, 2, 2, 24, 20, tied=False, pooler=True)):
        body = Roberta(config)
        model = body if head is None else RobertaWithHead(body, head)
        specs = nn.describe(model, jax.ShapeDtypeStruct((1, 4), np.int32))
        told = {
            path: ((2,) if line.is_layered else ()) + line.our_shape
            for line in roberta_lines(config, head)
            for path in line.paths
        }
        assert told == {path: spec.shape for path, spec in specs.items()}


def test_both_directions() -> None:
    rng = np.random.default_rng(0)
    for line in roberta_lines(SMALL):
        theirs = rng.standard_normal(line.shape)
        assert np.array_equal(line.theirs(line.ours(theirs)), theirs)


def test_reasons() -> None:
    untied = RobertaConfig(50, 16, 2, 2, 24, 20, tied=False)
    both = ("lm_head.bias", "lm_head.decoder.bias")
    assert why_ignored("lm_head.decoder.weight", untied, both) is None
    assert why_ignored("lm_head.bias", untied, both) == "lm_head.decoder.bias is used"
    assert why_ignored("lm_head.bias", SMALL, both) is None
    assert why_ignored("embeddings.position_ids", SMALL, ()) == "counted here"
    assert why_ignored("roberta.embeddings.LayerNorm.bias", SMALL, ()) is None


@settings(max_examples=30)
@given(st.integers(0, 30), st.integers(1, 30), st.booleans())
def test_layers_past_a_number(layer: int, num: int, bare: bool) -> None:
    key = f"{'' if bare else 'roberta.'}encoder.layer.{layer}.output.dense.bias"
    assert is_past(key, num) == (layer >= num)
    assert not is_past(f"x.{key}", num)
