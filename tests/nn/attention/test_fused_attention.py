"""What cuDNN's kernel is asked where training must give the same bits each time."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow.nn.attention.attention import attention
from barrow.nn.attention.fused_attention import deterministic_kernels, marked_scale
from barrow.nn.attention.visible import CAUSAL, Visible


@pytest.mark.parametrize("scale", [0.125, 64**-0.5, 80**-0.5, 1 / 3])
@pytest.mark.parametrize(
    "flags",
    [
        "--xla_gpu_deterministic_ops=true",
        "--xla_dump_to=x --xla_gpu_exclude_nondeterministic_ops",
        "--xla_gpu_deterministic_ops=1 --xla_dump_to=x",
    ],
)
def test_a_mark_that_float32_does_not_see(
    monkeypatch: pytest.MonkeyPatch, flags: str, scale: float
) -> None:
    monkeypatch.setenv("XLA_FLAGS", flags)
    found = marked_scale(scale)
    assert found != float(np.float32(scale))
    assert np.float32(found) == np.float32(scale)


@pytest.mark.parametrize("flags", ["", "--xla_gpu_deterministic_ops=false", "--xla_dump_to=x"])
def test_elsewhere_the_scale_stays(monkeypatch: pytest.MonkeyPatch, flags: str) -> None:
    monkeypatch.setenv("XLA_FLAGS", flags)
    assert marked_scale(1 / 3) == 1 / 3


@pytest.mark.parametrize("is_asked", [True, False])
@pytest.mark.parametrize("case", ["causal", "documents", "lengths"])
def test_every_backward_pass_says_that_it_is_deterministic(
    monkeypatch: pytest.MonkeyPatch, case: str, is_asked: bool
) -> None:
    """ACCELERATE-11, on GPUs: XLA says so in the first of equal calls only, and loses the others.

    Lowered for a GPU, not run. Calls stay equal: of different ones each step took longer to start.
    """
    from jax._src.cudnn import fused_attention_stablehlo as kernel

    monkeypatch.setattr(kernel, "check_cudnn_version", lambda: 91000)
    monkeypatch.setattr(kernel, "check_compute_capability", lambda *_: True)
    monkeypatch.setattr(kernel, "is_cuda_compute_capability_equal", lambda *_: False)
    ids = jnp.ones((2, 64), jnp.int32)
    visible = {
        "causal": CAUSAL,
        "documents": Visible(causal=True, segments=(ids, ids)),
        "lengths": Visible(lengths=jnp.asarray([64, 3])),
    }[case]

    def loss(x: jax.Array) -> jax.Array:
        for _ in range(3):
            x = attention(x, 2 * x, x, visible, backend="cudnn")
        return x.astype(jnp.float32).sum()

    x = jax.ShapeDtypeStruct((2, 64, 4, 32), jnp.bfloat16)
    with deterministic_kernels() if is_asked else nullcontext():
        traced = jax.jit(jax.grad(loss)).trace(x)
    forward, backward = _calls(traced.lower(lowering_platforms=("cuda",)).as_text())
    assert len(forward) == len(backward) == 3
    assert [call.get("force_deterministic", False) for call in backward] == [is_asked] * 3
    assert not any(call.get("force_deterministic") for call in forward)
    assert forward[0] == forward[1] == forward[2]
    assert backward[0] == backward[1] == backward[2]


def _calls(text: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What XLA is told of the forward and of the backward passes."""
    calls: tuple[list[Any], list[Any]] = [], []
    for name, config in re.findall(
        r"custom_call @(__cudnn\$fmha\w+)\(.*?backend_config = \"(.*?)\", ", text
    ):
        told = json.loads(config.replace("\\22", '"'))["cudnn_fmha_backend_config"]
        calls[name.endswith("Backward")].append(told)
    return calls
