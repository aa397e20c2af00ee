"""The graph of a decoder."""

from __future__ import annotations

from typing import Any

import numpy as np

from barrow.compress.export.attended import Ends, Params, Shape
from barrow.compress.export.graph import FUSED, Graph
from barrow.models.decoder.model import Decoder, DecoderConfig


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
