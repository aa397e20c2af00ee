"""The graph of a RoBERTa, with or without a head of labels."""

from __future__ import annotations

import numpy as np

from barrow.compress.export.attended import Ends, Params, Shape, attended
from barrow.compress.export.graph import Graph
from barrow.models.roberta.heads import RegressionHead, RobertaWithHead, TokenHead
from barrow.models.roberta.model import Roberta, RobertaConfig


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
