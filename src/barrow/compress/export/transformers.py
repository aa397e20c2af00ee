"""Graphs of the three families: decoders, RoBERTa, CLIP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from barrow.compress.export.graph import FUSED, Graph
from barrow.models.clip.config import VisionConfig
from barrow.models.clip.model import CLIP
from barrow.models.decoder.model import Decoder, DecoderConfig
from barrow.models.roberta.heads import RegressionHead, RobertaWithHead, TokenHead
from barrow.models.roberta.model import Roberta, RobertaConfig
from barrow.nn.weights.kernels import is_weight
from barrow.nn.weights.per_channel import PerChannel

Params = Mapping[str, Any]
Shape = tuple[str | int, ...]
# Inputs by name with their types, outputs by name with the value computed; and shapes of all.
Ends = tuple[dict[str, tuple[str, Shape]], dict[str, tuple[str, Shape]]]


def decoder_graph(graph: Graph, model: Decoder, params: Params) -> Ends:
    """Ids [rows, length] → logits [rows, length, vocab], and log_probs of targets [rows, length].

    Layers are a tuple.
    """
    config = model.config
    if config.sparse is not None:
        raise ValueError("export lacks sparse attention (nn.Sparse): this model has it")
    if config.norms not in ("pre", "parallel", "after"):
        raise ValueError(f"export lacks norms {config.norms!r}")
    x = graph.table("embed", params["embed"]["table"], "ids")
    if config.rotary is None:
        places = graph.node("Slice", *_first_rows(graph, params["positions"]["table"]))
        x = graph.node("Add", x, places)
    seen = _seen(graph)
    for number, layer in enumerate(params["layers"]):
        x = _block(graph, config, f"layers.{number}", layer, x, seen)
    x = graph.norm(x, "norm", params["norm"], config.norm_eps)
    if config.tied:
        logits = graph.tied_logits(x, "embed", params["embed"]["table"])
    else:
        logits = graph.product(x, "head", params["head"]["kernel"])
    last = graph.integers("last_dimension", -1)
    wanted = graph.node("Unsqueeze", "targets", last)
    logs = graph.node("GatherElements", graph.node("LogSoftmax", logits, axis=-1), wanted, axis=-1)
    row: Shape = ("rows", "length")
    return (
        {"ids": ("int32", row), "targets": ("int32", row)},
        {
            "logits": (logits, (*row, config.vocab_size)),
            "log_probs": (graph.node("Squeeze", logs, last), row),
        },
    )


def _first_rows(graph: Graph, table: Any) -> tuple[str, ...]:
    """The arguments of a slice of a table: as many rows as ids are long."""
    held = graph.held("positions", np.asarray(table, np.float32))
    length = graph.node("Shape", "ids", start=1, end=2)
    return held, graph.integers("zero", 0), length, graph.integers("zero", 0)


def _seen(graph: Graph) -> tuple[str, str]:
    """What GroupQueryAttention asks for: the last place of each row, and the length of all."""
    length = graph.node("Shape", "ids", start=1, end=2)
    rows = graph.node("Shape", "ids", start=0, end=1)
    last = graph.node("Sub", length, graph.integers("one", 1))
    each = graph.node("Cast", graph.node("Expand", last, rows), to=6)
    whole = graph.node("Squeeze", graph.node("Cast", length, to=6))
    return each, whole


def _block(
    graph: Graph, config: DecoderConfig, name: str, layer: Params, x: str, seen: tuple[str, str]
) -> str:
    first = (f"{name}.attention_norm", layer["attention_norm"], config.norm_eps)
    second = (f"{name}.mlp_norm", layer["mlp_norm"], config.norm_eps)

    def attend(x: str) -> str:
        return _causal(graph, config, f"{name}.attention", layer["attention"], x, seen)

    def feed(x: str) -> str:
        return graph.mlp(x, f"{name}.mlp", layer["mlp"], config.activation)

    if config.norms == "parallel":
        y = graph.node("Add", attend(graph.norm(x, *first)), feed(graph.norm(x, *second)))
        return str(graph.node("Add", x, y))
    if config.norms == "after":
        x = graph.node("Add", x, graph.norm(attend(x), *first))
        return str(graph.node("Add", x, graph.norm(feed(x), *second)))
    normed, x = graph.sum_and_norm(x, attend(graph.norm(x, *first)), *second)
    return str(graph.node("Add", x, feed(normed)))


def _causal(
    graph: Graph, config: DecoderConfig, name: str, params: Params, x: str, seen: tuple[str, str]
) -> str:
    """Grouped-query attention of a whole row."""
    parts = {}
    for part, heads in (
        ("q", config.heads),
        ("k", config.num_kv_heads),
        ("v", config.num_kv_heads),
    ):
        y = graph.product(x, f"{name}.{part}", params[part]["kernel"], params[part].get("bias"))
        if config.qk_norm is not None and part != "v":
            y = _normed_heads(
                graph, config, f"{name}.{part}_norm", params[f"{part}_norm"], y, heads
            )
        if config.rotary is not None and part != "v":
            y = _rotated(graph, config, y, heads)
        parts[part] = y
    window = {} if config.window is None else {"local_window_size": config.window}
    y = graph.node(
        "GroupQueryAttention",
        *(parts[part] for part in "qkv"),
        "",
        "",
        *seen,
        domain=FUSED,
        outputs=3,
        num_heads=config.heads,
        kv_num_heads=config.num_kv_heads,
        **window,
    )[0]
    out = params["out"]
    return graph.product(y, f"{name}.out", out["kernel"], out.get("bias"), num_in=2)


def _rotated(graph: Graph, config: DecoderConfig, x: str, heads: int) -> str:
    # Not in the node of attention: that one takes head sizes in multiples of 16 only.
    assert config.rotary is not None
    frequencies = config.rotary.frequencies(config.size_of_head)
    # In float32, as `nn.Rotary` multiplies.
    angles = np.arange(config.context, dtype=np.float32)[:, None] * frequencies.astype(np.float32)
    caches = graph.held("cosines", np.cos(angles)), graph.held("sines", np.sin(angles))
    rotated = 2 * len(frequencies)
    part = {} if rotated == config.size_of_head else {"rotary_embedding_dim": rotated}
    start = graph.integers("zero", 0)
    found = graph.node("RotaryEmbedding", x, start, *caches, domain=FUSED, num_heads=heads, **part)
    return str(found)


def _normed_heads(
    graph: Graph, config: DecoderConfig, name: str, params: Params, x: str, heads: int
) -> str:
    scale = {"scale": np.asarray(params["scale"]).reshape(-1)}
    if config.qk_norm == "all":
        return graph.norm(x, name, scale, config.norm_eps)
    apart = graph.integers(f"heads_{heads}", 0, 0, heads, config.size_of_head)
    y = graph.norm(graph.node("Reshape", x, apart), name, scale, config.norm_eps)
    together = graph.integers(f"joined_{heads}", 0, 0, heads * config.size_of_head)
    return str(graph.node("Reshape", y, together))


def roberta_graph(graph: Graph, model: Roberta | RobertaWithHead, params: Params) -> Ends:
    """Ids [rows, length], lengths [rows] → hidden states; logits at [rows, places]; outputs.

    `logits` is there with a head for masked tokens, `outputs` with one of labels. Outputs that are
    not asked for are not computed.
    """
    config = model.config
    x = graph.table("embed", params["embed"]["table"], "ids")
    first = graph.integers("first_place", config.pad + 1)
    length = graph.node("Shape", "ids", start=1, end=2)
    table = graph.held("positions", np.asarray(params["positions"]["table"], np.float32))
    stop = graph.node("Add", length, first)
    places = graph.node("Slice", table, first, stop, graph.integers("zero", 0))
    kind = np.asarray(params["types"]["table"], np.float32)[0]
    x = graph.node("Add", x, graph.node("Add", places, graph.held("types", kind)))
    x = graph.norm(x, "norm", params["norm"], config.norm_eps)
    for number, layer in enumerate(params["layers"]):
        name = f"layers.{number}"
        y = attended(
            graph, f"{name}.attention", layer["attention"], x, config.heads, mask="lengths"
        )
        norm = layer["attention_norm"]
        x, _ = graph.sum_and_norm(x, y, f"{name}.attention_norm", norm, config.norm_eps)
        y = graph.mlp(x, f"{name}.mlp", layer["mlp"], config.activation)
        x, _ = graph.sum_and_norm(x, y, f"{name}.mlp_norm", layer["mlp_norm"], config.norm_eps)
    inputs: dict[str, tuple[str, Shape]] = {
        "ids": ("int32", ("rows", "length")),
        "lengths": ("int32", ("rows",)),
    }
    outputs: dict[str, tuple[str, Shape]] = {"hidden": (x, ("rows", "length", config.width))}
    if isinstance(model, RobertaWithHead):
        y, shape = _labels(graph, model, params["classifier"], x)
        outputs["outputs"] = (y, shape)
    elif config.mlm_head:
        inputs["at"] = ("int32", ("rows", "places"))
        logits = _mlm(graph, config, params, x)
        outputs["logits"] = (logits, ("rows", "places", config.vocab_size))
    return inputs, outputs


def attended(
    graph: Graph,
    name: str,
    params: Params,
    x: str,
    heads: int,
    *,
    mask: str = "",
    causal: bool = False,
) -> str:
    """Attention with its projections: one fused node for queries, keys, values and softmax."""
    parts = [params[part] for part in "qkv"]
    weights = [part["kernel"] for part in parts]
    width = weights[0].shape[0]
    bias = np.concatenate([np.asarray(part["bias"], np.float32).reshape(-1) for part in parts])
    kinds = {"num_heads": heads, "unidirectional": int(causal)}
    if any(map(is_weight, weights)):
        y = _quantized_attention(graph, name, weights, bias, x, mask, kinds)
    else:
        joined = np.concatenate([np.asarray(w, np.float32).reshape(width, -1) for w in weights], 1)
        inputs = (x, graph.held(f"{name}.qkv", joined), graph.held(f"{name}.qkv.bias", bias), mask)
        y = graph.node("Attention", *inputs, domain=FUSED, **kinds)
    out = params["out"]
    return graph.product(y, f"{name}.out", out["kernel"], out.get("bias"), num_in=2)


def _quantized_attention(
    graph: Graph,
    name: str,
    weights: list[Any],
    bias: Any,
    x: str,
    mask: str,
    kinds: Mapping[str, int],
) -> str:
    """One product of integers for queries, keys and values, inside the fused node."""
    if all(isinstance(w, PerChannel) and w.inputs is None for w in weights):
        shape = (weights[0].shape[0], -1)
        joined = PerChannel(
            jnp.concatenate([w.values.reshape(shape) for w in weights], axis=1),
            jnp.concatenate([w.scales.reshape(-1) for w in weights]),
            1,
        )
        return graph.integer_attention(f"{name}.qkv", joined, bias, x, mask, kinds)
    # Groups, or factors of inputs: products by themselves, then attention.
    width = bias.size // 3
    parts = [
        graph.product(x, f"{name}.{part}", weight, bias[i * width : (i + 1) * width])
        for i, (part, weight) in enumerate(zip("qkv", weights, strict=True))
    ]
    return str(graph.node("MultiHeadAttention", *parts, "", mask, domain=FUSED, **kinds))


def _mlm(graph: Graph, config: RobertaConfig, params: Params, x: str) -> str:
    head = params["lm_head"]
    last = graph.integers("last_dimension", -1)
    at = graph.node("Expand", graph.node("Unsqueeze", "at", last), _wide(graph, config.width))
    x = graph.node("GatherElements", x, at, axis=1)
    y = graph.product(x, "lm_head.dense", head["dense"]["kernel"], head["dense"]["bias"])
    y = graph.norm(graph.activation("gelu", y), "lm_head.norm", head["norm"], config.norm_eps)
    if config.tied:
        return graph.tied_logits(y, "embed", params["embed"]["table"], head["bias"])
    return graph.product(y, "lm_head.decoder", head["decoder"]["kernel"], head["bias"])


def _wide(graph: Graph, width: int) -> str:
    """The shape of `at`, times the width."""
    shape = graph.node("Shape", "at")
    return str(graph.node("Concat", shape, graph.integers("width", width), axis=0))


def _labels(graph: Graph, model: RobertaWithHead, params: Params, x: str) -> tuple[str, Shape]:
    head = model.head
    if isinstance(head, TokenHead):
        y = graph.product(x, "classifier", params["kernel"], params["bias"])
        return y, ("rows", "length", head.num)
    one = graph.held("first", np.array(0, np.int64))
    x = graph.node("Gather", x, one, axis=1)
    dense, out = params["dense"], params["out_proj"]
    x = graph.node("Tanh", graph.product(x, "classifier.dense", dense["kernel"], dense["bias"]))
    y = graph.product(x, "classifier.out_proj", out["kernel"], out["bias"])
    if isinstance(head, RegressionHead) and head.num == 1:
        return str(graph.node("Squeeze", y, graph.integers("last_dimension", -1))), ("rows",)
    return y, ("rows", head.num)


def clip_graph(graph: Graph, model: CLIP, params: Params) -> Ends:
    """Images [rows, side, side, 3] → image [rows, embed]; texts [rows, length] → text."""
    config = model.config
    if not isinstance(config.image, VisionConfig):
        raise ValueError(
            "export lacks CLIP's ResNet (ModifiedResNet): its vision transformer is in"
        )
    side, patch, width = config.image.resolution, config.image.patch, config.image.width
    image, num = params["image"], side // patch
    shape = graph.integers("patches_apart", -1, num, patch, num, patch, 3)
    x = graph.node("Transpose", graph.node("Reshape", "images", shape), perm=[0, 1, 3, 2, 4, 5])
    x = graph.node("Reshape", x, graph.integers("patches", -1, num * num, patch * patch * 3))
    x = graph.product(x, "image.patches", image["patches"]["kernel"], num_in=3)
    rows = graph.node("Shape", "images", start=0, end=1)
    one = graph.node("Concat", rows, graph.integers("one_of_width", 1, width), axis=0)
    token = graph.held("image.token", np.asarray(image["token"], np.float32).reshape(1, 1, -1))
    x = graph.node("Concat", graph.node("Expand", token, one), x, axis=1)
    table = np.asarray(image["positions"]["table"], np.float32)
    x = graph.node("Add", x, graph.held("image.positions", table))
    x = graph.norm(x, "image.norm_before", image["norm_before"], config.norm_eps)
    x = _tower(graph, config, "image", image["tower"], x, config.image.heads, causal=False)
    x = graph.node("Gather", x, graph.held("first", np.array(0, np.int64)), axis=1)
    images = _projected(graph, config, "image", image, x)

    text = params["text"]
    x = graph.table("text.embed", text["embed"]["table"], "texts")
    places = graph.held("text.positions", np.asarray(text["positions"]["table"], np.float32))
    zero, length = graph.integers("zero", 0), graph.node("Shape", "texts", start=1, end=2)
    x = graph.node("Add", x, graph.node("Slice", places, zero, length, zero))
    x = _tower(graph, config, "text", text["tower"], x, config.text.heads, causal=True)
    end = graph.node("ArgMax", "texts", axis=1, keepdims=1)
    at = graph.node("Unsqueeze", end, graph.integers("last_dimension", -1))
    wide = graph.node("Shape", at)
    wide = graph.node("Mul", wide, graph.integers("text.width", 1, 1, config.text.width))
    x = graph.node("GatherElements", x, graph.node("Expand", at, wide), axis=1)
    x = graph.node("Squeeze", x, graph.integers("one", 1))
    texts = _projected(graph, config, "text", text, x)
    inputs: dict[str, tuple[str, Shape]] = {
        "images": ("float32", ("images", side, side, 3)),
        "texts": ("int32", ("texts", "length")),
    }
    return inputs, {
        "image": (images, ("images", config.embed)),
        "text": (texts, ("texts", config.embed)),
    }


def _tower(
    graph: Graph, config: Any, name: str, params: Params, x: str, heads: int, *, causal: bool
) -> str:
    """All layers at all places; the last is under a name of its own."""
    eps = config.norm_eps
    for number, layer in enumerate((*params.get("layers", ()), params["last"])):
        here = f"{name}.{number}"
        normed = graph.norm(x, f"{here}.attention_norm", layer["attention_norm"], eps)
        y = attended(graph, f"{here}.attention", layer["attention"], normed, heads, causal=causal)
        normed, x = graph.sum_and_norm(x, y, f"{here}.mlp_norm", layer["mlp_norm"], eps)
        y = graph.mlp(normed, f"{here}.mlp", layer["mlp"], config.activation)
        x = graph.node("Add", x, y)
    return x


def _projected(graph: Graph, config: Any, name: str, params: Params, x: str) -> str:
    x = graph.norm(x, f"{name}.norm", params["norm"], config.norm_eps)
    return graph.product(x, f"{name}.projection", params["projection"]["kernel"])
