"""Every way to spread eight devices over the mesh equals one device (FLAX-5, ACCELERATE-12)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.parallel.meshes import LENGTH, ROWS, VOCAB, Case, Sizes, apart, every_case, on, program

from barrow import nn
from barrow.nn.layers.remat import EVERYTHING
from barrow.parallel.collectives import Collective, collectives

# The model, the mesh, the level of ZeRO.
SAMPLE = [
    ("grouped", on(fsdp=2, sequence=2, tensor=2), 3),
    ("odd", on(data=2, sequence=4), 0),
    ("experts", on(fsdp=2, expert=2, tensor=2), 3),
    ("roberta", on(data=2, sequence=2, tensor=2), 0),
    ("clip", on(data=2, fsdp=2, tensor=2), 2),
]


@pytest.mark.parametrize(("name", "sizes", "level"), SAMPLE)
def test_a_mesh_equals_one_device(name: str, sizes: Sizes, level: int) -> None:
    """DEEPSPEED-13, CLIP-12: loss and gradients, relative to the largest number of each array."""
    assert apart(name, sizes, level) == []


def test_a_pipeline_of_several_rounds_equals_one_device() -> None:
    """DEEPSPEED-9: unrolled layers, recomputed in the backward pass."""
    sizes = on(stage=4, tensor=2)
    assert apart("grouped", sizes, rounds=2, unroll=True, remat=EVERYTHING) == []


@pytest.mark.soak
@pytest.mark.parametrize("case", every_case(), ids=str)
def test_every_mesh_equals_one_device(case: Case) -> None:
    """On many cores: `python benchmarks/check_meshes.py`."""
    assert case.apart() == []


def sent(name: str, sizes: Sizes, level: int = 0) -> list[Collective]:
    return collectives(program(name, sizes, level)[0].as_text())


def test_half_a_block_adds_up_once_over_tensor() -> None:
    """ACCELERATE-4: forward and backward; and nothing as large as the logits leaves its device."""
    found = sent("gpt2", on(tensor=8))
    assert {one.kind for one in found} == {"all-reduce"}
    in_layers = {one.name: one for one in found if "(layers)" in one.layer}
    assert {one.times for one in in_layers.values()} == {8}
    where = [one.layer.partition("closed_call/")[2] for one in in_layers.values()]
    back = ["transpose" in one.layer for one in in_layers.values()]
    assert sorted(zip(back, where, strict=True)) == [
        (False, "attention/out/dot_general"),
        (False, "mlp/down/dot_general"),
        (True, "attention/(q/dot_general:v/dot_general:k/dot_general)"),
        (True, "mlp/up/dot_general"),
    ]
    # The embedding and the gradient of what the logits are made of; the sum and the highest of the
    # loss's logits are numbers of each token.
    outside = {one.name: one.size for one in found if one.name not in in_layers}
    tokens = 4 * ROWS * LENGTH
    assert sorted(outside.values()) == [tokens, tokens, 32 * tokens, 32 * tokens]
    assert max(one.size for one in found) < VOCAB * tokens


def test_rows_are_exchanged_for_heads_or_go_around() -> None:
    exchanged = sent("grouped", on(fsdp=2, sequence=2, tensor=2), 3)
    assert any(one.kind == "all-to-all" and "attention" in one.layer for one in exchanged)
    gathered = [one for one in exchanged if one.kind == "all-gather" and "norm" in one.layer]
    assert max(one.size for one in gathered) == 4 * 32  # scales, not tokens
    # Of the mask only the numbers of the documents, once for all layers.
    of_mask = [one for one in exchanged if "/attention/" in one.layer and "layers" not in one.layer]
    assert [one.size for one in of_mask] == [4 * ROWS // 2 * LENGTH]
    ring = {one.kind for one in sent("odd", on(data=2, sequence=4))}
    assert "collective-permute" in ring
    assert "all-to-all" not in ring


def test_tokens_are_sent_to_their_experts() -> None:
    """DEEPSPEED-11: all-to-all, and the weights of all experts of a layer are not gathered."""
    found = sent("experts", on(fsdp=2, expert=2, tensor=2), 3)
    assert any(one.kind == "all-to-all" and "mlp" in one.layer for one in found)
    gathered = [one.size for one in found if one.kind in ("all-gather", "all-reduce")]
    assert max(gathered) < 4 * 8 * 32 * 64


def test_all_tokens_may_choose_the_same_experts() -> None:
    """Tokens that do not fit into one exchange are sent in further ones: none is lost."""
    found = []
    mesh = on(fsdp=2, expert=2, tensor=2)
    for step, params, batch in (program("experts", None), program("experts", mesh, 3)):
        mlp = params["layers"]["mlp"]
        kernel = mlp["router"]["kernel"] * 0.01 + jnp.array([5.0, 4.0, 0, 0, 0, 0, 0, 0])
        mlp = mlp | {"router": {"kernel": kernel * jnp.sign(kernel)}}
        params = params | {"layers": params["layers"] | {"mlp": mlp}}
        found.append(jax.device_get(step(params, batch)))
    (loss, grads), (again, same) = found
    assert again == pytest.approx(loss, rel=1e-4)
    for path, grad in nn.paths(grads).items():
        assert np.abs(nn.paths(same)[path] - grad).max() <= 1e-4 * np.abs(grad).max(), path
