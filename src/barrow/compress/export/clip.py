"""The graph of a CLIP whose images go through a vision transformer."""

from __future__ import annotations

from typing import Any

import numpy as np

from barrow.compress.export.attended import Ends, Params, Shape, attended
from barrow.compress.export.graph import Graph
from barrow.models.clip.config import VisionConfig
from barrow.models.clip.model import CLIP


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
