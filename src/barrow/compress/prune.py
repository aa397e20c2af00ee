"""Pruning: heads, channels and layers are removed, single weights become zero.

Importance is the squared gradient of the loss by a gate on a head's or a channel's output, summed
over batches of calibration rows (the Fisher information of removing it). The lowest of each layer
are removed, as many in every layer: so the model stays an ordinary one, with smaller arrays.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from barrow.compress.observe import Rows
from barrow.interrupt import check_interrupt
from barrow.models.decoder.model import Decoder
from barrow.models.decoder.next_token_nats import next_token_nats
from barrow.models.quantized import is_quantized_tree
from barrow.models.roberta.model import Roberta, head_weight
from barrow.nn.cross_entropy import cross_entropy
from barrow.nn.dot import dot
from barrow.nn.tree import Tree
from barrow.nn.weights.kernels import with_weights

_ROWS = 4
_EVERY = 7
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Pruning:
    """Shares to remove, 0 to below 1: of each layer's `heads` and MLP `channels`, of the `layers`;
    and of single `weights`, which become zero and save nothing by themselves.
    """

    heads: float = 0.0
    channels: float = 0.0
    layers: float = 0.0
    weights: float = 0.0

    def __post_init__(self) -> None:
        for name, share in asdict(self).items():
            if not 0 <= share < 1:
                raise ValueError(f"{name} must be from 0 to below 1, got {share}")
        if not any(asdict(self).values()):
            raise ValueError("nothing to prune: pass heads, channels, layers or weights")

    def __str__(self) -> str:
        said = [f"{share:.0%} of {name}" for name, share in asdict(self).items() if share]
        return "without " + ", ".join(said)


def parse_pruning(text: str) -> Pruning:
    """Of "heads=0.25,channels=0.25"."""
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name not in Pruning.__dataclass_fields__:
            raise ValueError(f"--prune takes heads, channels, layers and weights, got {name!r}")
        try:
            shares[name] = float(value)
        except ValueError:
            raise ValueError(f"{name} must be a share such as 0.25, got {value!r}") from None
    return Pruning(**shares)


def pruned(
    model: Any, params: Any, pruning: Pruning, rows: Rows, *, mask: int | None = None
) -> tuple[Any, Any]:
    """The smaller model and its parameters, layers as a tuple.

    `rows` [rows, length] of tokens are what importance is measured on; `mask` is the id of an
    encoder's mask.
    """
    if is_quantized_tree(params):
        raise ValueError("the model is quantized; prune it first, then quantize")
    if not isinstance(model, Decoder | Roberta):
        raise ValueError(f"pruning takes decoders and RoBERTa, got a {type(model).__name__}")
    if isinstance(model, Roberta) and (mask is None or not model.config.mlm_head):
        raise ValueError("pruning an encoder needs its head for masked tokens, and the mask's id")
    if "experts" in params["layers"][0]["mlp"]:
        raise ValueError("pruning lacks experts: this model has them in its MLPs")
    if pruning.layers:
        model, params = _without_layers(model, params, pruning.layers, rows, mask)
    if pruning.heads or pruning.channels:
        found = importance(model, params, rows, mask=mask)
        model, params = _without_parts(model, params, pruning, found)
    if pruning.weights:
        params = with_weights(params, partial(_zeroed, share=pruning.weights))
    return model, params


def importance(
    model: Any, params: Any, rows: Rows, *, mask: int | None = None
) -> list[dict[str, Floats]]:
    """Of each layer: that of its `heads` and of its `channels`."""
    gates = [
        {
            "heads": jnp.ones(layer["attention"]["out"]["kernel"].shape[0]),
            "channels": jnp.ones(layer["mlp"]["down"]["kernel"].shape[0]),
        }
        for layer in params["layers"]
    ]
    gradient = jax.jit(jax.grad(partial(_gated_loss, model, mask)))
    sums = [{name: np.zeros(gate.shape) for name, gate in one.items()} for one in gates]
    for start in range(0, len(rows), _ROWS):
        check_interrupt()
        batch = np.resize(rows[start : start + _ROWS], (_ROWS, rows.shape[1]))
        for total, grads in zip(sums, gradient(gates, params, jnp.asarray(batch)), strict=True):
            for name in total:
                total[name] += np.square(np.asarray(grads[name], np.float64))
    return sums


class _Gated:
    """A kernel whose first dimension of inputs is multiplied by gates."""

    def __init__(self, weight: jax.Array, gate: jax.Array) -> None:
        self._weight, self._gate = weight, gate
        self.shape, self.dtype = weight.shape, weight.dtype

    def contract(self, x: jax.Array, num: int, *, transposed: bool) -> jax.Array:
        gate = self._gate.reshape(-1, *(1,) * (num - 1)).astype(x.dtype)
        return dot(x * gate, self._weight, num=num, transposed=transposed)


def _gated_loss(model: Any, mask: int | None, gates: Any, params: Any, rows: jax.Array) -> Any:
    layers = []
    for layer, gate in zip(params["layers"], gates, strict=True):
        out, down = layer["attention"]["out"], layer["mlp"]["down"]
        out = out | {"kernel": _Gated(out["kernel"], gate["heads"])}
        down = down | {"kernel": _Gated(down["kernel"], gate["channels"])}
        parts = {
            "attention": layer["attention"] | {"out": out},
            "mlp": layer["mlp"] | {"down": down},
        }
        layers.append(layer | parts)
    return loss_of(model, params | {"layers": tuple(layers)}, rows, mask)


def loss_of(model: Any, params: Mapping[str, Any], rows: jax.Array, mask: int | None) -> jax.Array:
    """Mean nats of tokens: the next ones, or every seventh, masked."""
    if isinstance(model, Decoder):
        return next_token_nats(model, params, rows).mean()
    at = jnp.arange(0, rows.shape[1], _EVERY)
    hidden = model.apply(params, rows.at[:, at].set(mask))
    states = model.apply(params, hidden[:, at], method=model.head_states)
    table, bias, transposed = head_weight(model.config, params)
    ones = jnp.ones((len(rows), len(at)))
    total = cross_entropy(states, table, rows[:, at], ones, bias=bias, transposed=transposed)
    return total / ones.size


def _without_parts(
    model: Any, params: Any, pruning: Pruning, found: list[dict[str, Floats]]
) -> tuple[Any, Any]:
    config = model.config
    layers, heads, groups, hidden = [], config.heads, _kv_heads(config), config.hidden
    per = heads // groups
    kept_groups = groups
    if pruning.heads:
        if isinstance(model, Roberta):
            raise ValueError(
                "RoBERTa's heads cannot be removed: its width is that of its heads together; "
                "remove channels or layers"
            )
        kept_groups = groups - _whole(
            pruning.heads * groups,
            f"{pruning.heads:.0%} of {heads} heads",
            f"its {groups} key heads serve {per} queries each and are removed whole",
        )
    kept_hidden = hidden - round(pruning.channels * hidden)
    for layer, one in zip(params["layers"], found, strict=True):
        of_groups = one["heads"].reshape(groups, per).sum(axis=1)
        group = _highest(of_groups, kept_groups)
        head = (group[:, None] * per + np.arange(per)).reshape(-1)
        channel = _highest(one["channels"], kept_hidden)
        layers.append(_cut(layer, group, head, channel))
    if isinstance(model, Roberta):
        smaller: Any = replace(config, hidden=kept_hidden)
    else:
        smaller = replace(
            config,
            heads=kept_groups * per,
            kv_heads=None if config.kv_heads is None else kept_groups,
            head_dim=config.size_of_head if pruning.heads else config.head_dim,
            hidden=kept_hidden,
        )
    return replace(model, config=smaller), params | {"layers": tuple(layers)}


def _kv_heads(config: Any) -> int:
    return int(getattr(config, "num_kv_heads", config.heads))


def _whole(number: float, what: str, why: str) -> int:
    found = round(number)
    if not math.isclose(number, found, abs_tol=1e-6) or found == 0:
        raise ValueError(f"{what} cannot be removed: {why}")
    return found


def _highest(importance: Floats, num: int) -> npt.NDArray[np.intp]:
    """The places of the most important, in their order."""
    return np.sort(np.argsort(-importance, kind="stable")[:num])


def _cut(layer: Any, group: Any, head: Any, channel: Any) -> Tree:
    attention, mlp = dict(layer["attention"]), dict(layer["mlp"])
    for held, part, at in (
        *((attention, part, at) for part, at in (("q", head), ("k", group), ("v", group))),
        *((mlp, part, channel) for part in ("up", "gate") if part in mlp),
    ):
        bias = {"bias": held[part]["bias"][at]} if "bias" in held[part] else {}
        held[part] = held[part] | {"kernel": held[part]["kernel"][:, at]} | bias
        norm = held.get(f"{part}_norm")
        if norm is not None and norm["scale"].ndim == 2:
            held[f"{part}_norm"] = {"scale": norm["scale"][at]}
    for held, part, at in ((attention, "out", head), (mlp, "down", channel)):
        held[part] = held[part] | {"kernel": held[part]["kernel"][at]}
    return Tree({**layer, "attention": attention, "mlp": mlp})


def _without_layers(
    model: Any, params: Any, share: float, rows: Rows, mask: int | None
) -> tuple[Any, Any]:
    """One after another, the layer without which the loss is lowest."""
    num = _whole(
        share * model.config.layers,
        f"{share:.0%} of {model.config.layers} layers",
        "layers are removed whole",
    )
    given = jnp.asarray(rows)
    for _ in range(num):
        check_interrupt()
        model = replace(model, config=replace(model.config, layers=model.config.layers - 1))
        run = jax.jit(partial(loss_of, model, mask=mask))
        layers = params["layers"]
        tried = [layers[:i] + layers[i + 1 :] for i in range(len(layers))]
        losses = [float(run(params | {"layers": some}, given)) for some in tried]
        params = params | {"layers": tried[int(np.argmin(losses))]}
    return model, params


def _zeroed(path: str, leaf: Any, num_in: int | None, *, share: float) -> Any:
    """The smallest of a kernel become zero; tables of embeddings stay."""
    del path
    if num_in is None:
        return leaf
    sizes = jnp.abs(leaf)
    return jnp.where(sizes <= jnp.quantile(sizes.reshape(-1), share), 0, leaf)
