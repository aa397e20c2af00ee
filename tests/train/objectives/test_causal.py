"""The objective of causal language models, beside PyTorch on the model's own logits."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from barrow import nn
from barrow.models.decoder.model import Decoder
from barrow.train import Precision, causal_objective

KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def params_of(configs):
    @functools.cache
    def make(name):
        model = Decoder(configs[name])
        return model, jax.jit(lambda: model.init(KEY, jax.ShapeDtypeStruct((1, 8), jnp.int32)))()

    return make


@functools.cache
def loss_of(model, **how):
    return jax.jit(causal_objective(model, **how).loss)


def parted(batch):
    """Each row as two documents of eight tokens."""
    halves = np.broadcast_to(np.arange(16) // 8, batch["tokens"].shape).astype(np.int32)
    positions = np.broadcast_to(np.arange(16) % 8, batch["tokens"].shape).astype(np.int32)
    return batch | {"segments": halves, "positions": positions}


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_the_sum_over_masked_tokens(params_of, batch_of, name) -> None:
    model, params = params_of(name)
    batch = batch_of(4)
    loss = loss_of(model, mask_documents=False)(params, nn.Tree(), batch, KEY)
    logits, _ = jax.jit(model.apply)(params, batch["tokens"])
    logprobs = scipy.special.log_softmax(np.asarray(logits, np.float64), axis=-1)
    targets = batch["targets"].astype(np.int64)[..., None]
    wanted = -(np.take_along_axis(logprobs, targets, -1)[..., 0] * batch["mask"]).sum()
    assert float(loss.total) == pytest.approx(wanted, rel=1e-5)
    assert float(loss.weight) == batch["mask"].sum()


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_documents_of_a_row_do_not_see_one_another(params_of, batch_of, name) -> None:
    model, params = params_of(name)
    batch = parted(batch_of(4)) | {"mask": np.ones((4, 16), np.float32)}
    apart = {k: v.reshape(8, 8) for k, v in batch.items()}
    whole = loss_of(model)(params, nn.Tree(), batch, KEY)
    split = loss_of(model, mask_documents=False)(params, nn.Tree(), apart, KEY)
    assert float(whole.total) == pytest.approx(float(split.total), rel=1e-5)
    read_as_one = loss_of(model, mask_documents=False)(params, nn.Tree(), batch, KEY)
    assert float(read_as_one.total) != pytest.approx(float(split.total), rel=1e-5)


def test_activations_have_the_type_of_the_parameters(params_of, batch_of) -> None:
    model, params = params_of("gpt2")
    assert model.dtype == "float32"
    params = Precision("bf16").cast(params)
    loss = causal_objective(model, mask_documents=False).loss
    program = str(jax.make_jaxpr(loss)(params, nn.Tree(), batch_of(4), KEY))
    assert "bf16[64,64]" in program
    assert "f32[64,64]" not in program
    total = jax.eval_shape(loss, params, nn.Tree(), batch_of(4), KEY).total
    assert total.dtype == jnp.float32


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"targets": None}, "the batch has no targets, segments, positions; it has tokens, mask"),
        (
            {"mask": np.ones((4, 15))},
            r"tokens and mask must be .rows, length., got \(4, 16\) and \(4, 15\)",
        ),
    ],
)
def test_bad_batches(params_of, batch_of, change, said) -> None:
    model, params = params_of("gpt2")
    batch = {k: v for k, v in (batch_of(4) | change).items() if v is not None}
    if "targets" in batch:
        batch = parted(batch)
    with pytest.raises(ValueError, match=said):
        causal_objective(model).loss(params, nn.Tree(), batch, KEY)


def test_an_id_over_the_vocabulary_makes_the_loss_nan(params_of, batch_of) -> None:
    model, params = params_of("gpt2")
    batch = batch_of(4)
    batch["targets"][0, 0] = 96
    assert np.isnan(loss_of(model, mask_documents=False)(params, nn.Tree(), batch, KEY).total)
