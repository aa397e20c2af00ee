"""CLIP's parameters under OpenAI's names, which open_clip has too, and under Hugging Face's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from barrow.models.clip.config import ClipConfig, ResNetConfig, TextConfig, VisionConfig
from barrow.models.huggingface.names import Array, Line, linear, norm, same
from barrow.weights.place import place, place_layers

# Written by some versions, but computed here: masks, numbers of positions, counters.
OPENAI_BUFFERS = (
    r"(.*\.)?num_batches_tracked|attn_mask|input_resolution|context_length|vocab_size|"
    r"visual\.(input_resolution|image_size)"
)
HF_BUFFERS = r"(text|vision)_model\.embeddings\.position_ids"


def openai_entries(config: ClipConfig) -> list[Entry]:
    """All tensors of an OpenAI or open_clip file."""
    text = config.text
    outer = [
        same("logit_scale", "logit_scale"),
        same("text_projection", "text/projection/kernel", text.width, config.embed),
        same("positional_embedding", "text/positions/table", text.context, text.width),
        same("token_embedding.weight", "text/embed/table", text.vocab_size, text.width),
        *norm("ln_final", "text/norm", text.width),
    ]
    blocks = _openai_block("transformer.resblocks.{}", "text/tower/{}", text)
    return [
        *map(Entry, outer),
        *tower(blocks, layers=text.layers),
        *(
            _openai_vision(config.image, config.embed)
            if isinstance(config.image, VisionConfig)
            else map(Entry, _openai_resnet(config.image, config.embed))
        ),
    ]


def hf_entries(config: ClipConfig) -> list[Entry]:
    """All tensors of a `transformers.CLIPModel`, which knows Vision Transformers only."""
    text, image, embed = config.text, config.image, config.embed
    if not isinstance(image, VisionConfig):
        raise ValueError(
            "transformers has no CLIP with a ResNet: save it in open_clip's layout (save_open_clip)"
        )
    both = "{}.embeddings.position_embedding.weight"
    outer = [
        same("logit_scale", "logit_scale"),
        linear("text_projection.weight", "text/projection/kernel", text.width, embed),
        linear("visual_projection.weight", "image/projection/kernel", image.width, embed),
        same(both.format("text_model"), "text/positions/table", text.context, text.width),
        same(
            "text_model.embeddings.token_embedding.weight",
            "text/embed/table",
            text.vocab_size,
            text.width,
        ),
        *norm("text_model.final_layer_norm", "text/norm", text.width),
        same("vision_model.embeddings.class_embedding", "image/token", image.width),
        same(
            both.format("vision_model"),
            "image/positions/table",
            1 + image.num_patches,
            image.width,
        ),
        convolution(
            "vision_model.embeddings.patch_embedding.weight",
            "image/patches/kernel",
            3,
            image.width,
            image.patch,
        ),
        # Their spelling.
        *norm("vision_model.pre_layrnorm", "image/norm_before", image.width),
        *norm("vision_model.post_layernorm", "image/norm", image.width),
    ]
    entries = [Entry(line) for line in outer]
    for name, path, part in (("text_model", "text", text), ("vision_model", "image", image)):
        assert isinstance(part, TextConfig | VisionConfig)
        blocks = _hf_block(f"{name}.encoder.layers.{{}}", f"{path}/tower/{{}}", part)
        entries += tower(blocks, layers=part.layers)
    return entries


def _openai_block(key: str, path: str, part: TextConfig | VisionConfig) -> Iterator[Line]:
    width, heads = part.width, part.heads
    dim = width // heads

    def qkv(name: str) -> tuple[str, ...]:
        return tuple(f"{path}/attention/{letter}/{name}" for letter in "qkv")

    fused = (3, heads, dim, width)
    yield from norm(f"{key}.ln_1", f"{path}/attention_norm", width)
    yield Line(f"{key}.attn.in_proj_weight", qkv("kernel"), fused, (3, 1), (0, 3, 1, 2))
    yield Line(f"{key}.attn.in_proj_bias", qkv("bias"), fused[:3], (3,), (0, 1, 2))
    yield from out_of_heads(f"{key}.attn.out_proj", f"{path}/attention/out", width, heads, width)
    yield from norm(f"{key}.ln_2", f"{path}/mlp_norm", width)
    yield from _mlp(f"{key}.mlp.c_fc", f"{key}.mlp.c_proj", path, width)


def _hf_block(key: str, path: str, part: TextConfig | VisionConfig) -> Iterator[Line]:
    width, heads = part.width, part.heads
    yield from norm(f"{key}.layer_norm1", f"{path}/attention_norm", width)
    for letter in "qkv":
        name = f"{key}.self_attn.{letter}_proj"
        yield from into_heads(name, f"{path}/attention/{letter}", width, heads)
    name = f"{key}.self_attn.out_proj"
    yield from out_of_heads(name, f"{path}/attention/out", width, heads, width)
    yield from norm(f"{key}.layer_norm2", f"{path}/mlp_norm", width)
    yield from _mlp(f"{key}.mlp.fc1", f"{key}.mlp.fc2", path, width)


def _mlp(first: str, second: str, path: str, width: int) -> Iterator[Line]:
    for key, name, num_in, num_out in (
        (first, "up", width, 4 * width),
        (second, "down", 4 * width, width),
    ):
        yield linear(f"{key}.weight", f"{path}/mlp/{name}/kernel", num_in, num_out)
        yield same(f"{key}.bias", f"{path}/mlp/{name}/bias", num_out)


def _openai_vision(image: VisionConfig, embed: int) -> Iterator[Entry]:
    width = image.width
    yield Entry(same("visual.class_embedding", "image/token", width))
    places = 1 + image.num_patches
    yield Entry(same("visual.positional_embedding", "image/positions/table", places, width))
    yield Entry(same("visual.proj", "image/projection/kernel", width, embed))
    yield Entry(convolution("visual.conv1.weight", "image/patches/kernel", 3, width, image.patch))
    yield from map(Entry, norm("visual.ln_pre", "image/norm_before", width))
    yield from map(Entry, norm("visual.ln_post", "image/norm", width))
    blocks = _openai_block("visual.transformer.resblocks.{}", "image/tower/{}", image)
    yield from tower(blocks, layers=image.layers)


def _openai_resnet(image: ResNetConfig, embed: int) -> Iterator[Line]:
    width = image.width
    half = width // 2
    for number, (before, after) in enumerate(((3, half), (half, half), (half, width)), start=1):
        keys = f"visual.conv{number}", f"visual.bn{number}"
        yield from _conv(keys, "image/stem", number, (before, after, 3))
    before = width
    for stage, num in enumerate(image.layers):
        inner = width << stage
        for block in range(num):
            key, path = f"visual.layer{stage + 1}.{block}", f"image/stage{stage + 1}/block{block}"
            sizes = ((before, inner, 1), (inner, inner, 3), (inner, 4 * inner, 1))
            for number, size in enumerate(sizes, start=1):
                keys = f"{key}.conv{number}", f"{key}.bn{number}"
                yield from _conv(keys, path, number, size)
            if block == 0:
                keys = f"{key}.downsample.0", f"{key}.downsample.1"
                yield from _conv(keys, f"{path}/beside", 1, (before, 4 * inner, 1))
            before = 4 * inner
    pool, path, wide = "visual.attnpool", "image/pool", 32 * width
    places = 1 + (image.resolution // 32) ** 2
    yield same(f"{pool}.positional_embedding", f"{path}/positions/table", places, wide)
    for letter in "qkv":
        yield from into_heads(f"{pool}.{letter}_proj", f"{path}/{letter}", wide, image.heads)
    yield from out_of_heads(f"{pool}.c_proj", f"{path}/out", wide, image.heads, embed)


def _conv(
    keys: tuple[str, str], path: str, number: int, sizes: tuple[int, int, int]
) -> Iterator[Line]:
    """A convolution (channels before, after, window) and its batch norm, under two keys."""
    (conv, batch_norm), (before, after, window) = keys, sizes
    place = f"{path}/norm{number}"
    yield convolution(f"{conv}.weight", f"{path}/conv{number}/kernel", before, after, window)
    yield from norm(batch_norm, place, after)
    yield same(f"{batch_norm}.running_mean", f"{STATISTICS}{place}/mean", after)
    yield same(f"{batch_norm}.running_var", f"{STATISTICS}{place}/var", after)


# Running statistics of batch norms are not parameters, but are in the same files.
STATISTICS = "batch_stats/"


@dataclass(frozen=True)
class Entry:
    """A line for `num` layers: "{}" in its key is 0, 1, … `num` − 1.

    With `num` None there is one tensor, and our parameter has no dimension of layers.
    """

    line: Line
    num: int | None = None

    def names(self) -> list[str]:
        """The tensors of theirs, in the order of the layers."""
        if self.num is None:
            return [self.line.key]
        return [self.line.key.format(number) for number in range(self.num)]

    def shape(self) -> tuple[int, ...]:
        """The shape of each of our parameters."""
        return self.line.our_shape if self.num is None else (self.num, *self.line.our_shape)


def convolution(key: str, path: str, channels: int, features: int, window: int) -> Line:
    """[out, in, h, w]; ours is [h, w, in, out]."""
    shape = (features, channels, window, window)
    return Line(key, (path,), shape, (1, 1, 1, 1), (2, 3, 1, 0))


def into_heads(key: str, path: str, width: int, heads: int) -> list[Line]:
    """torch.nn.Linear to the queries, keys or values of all heads."""
    split = (heads, width // heads, width)
    return [
        Line(f"{key}.weight", (f"{path}/kernel",), split, (2, 1), (2, 0, 1)),
        Line(f"{key}.bias", (f"{path}/bias",), split[:2], (2,), (0, 1)),
    ]


def out_of_heads(key: str, path: str, width: int, heads: int, num_out: int) -> list[Line]:
    """torch.nn.Linear from all heads."""
    split = (num_out, heads, width // heads)
    return [
        Line(f"{key}.weight", (f"{path}/kernel",), split, (1, 2), (1, 2, 0)),
        same(f"{key}.bias", f"{path}/bias", num_out),
    ]


def tower(block: Iterable[Line], *, layers: int) -> Iterator[Entry]:
    """A block's lines, with keys of "{}" and paths of "{}", for all layers but the last, and it."""
    for line in block:
        if layers > 1:
            yield Entry(_at(line, line.key, "layers"), layers - 1)
        yield Entry(_at(line, line.key.format(layers - 1), "last"))


def _at(line: Line, key: str, folder: str) -> Line:
    paths = tuple(path.format(folder) for path in line.paths)
    return Line(key, paths, line.split, line.groups, line.order)


def read(
    entry: Entry,
    tensors: Mapping[str, Array],
    found: Mapping[str, str],
    kind: Any,
    layout: Callable[[str, tuple[int, ...]], Any],
) -> dict[str, Any]:
    """Our parameters of an entry, by path, in a given type, on the devices of a layout."""
    arrays: dict[str, Any] = {}
    for part, path in enumerate(entry.line.paths):
        layers = [partial(entry.line.read, tensors, [found[key]], part) for key in entry.names()]
        sharding = layout(path, entry.shape())
        if entry.num is None:
            arrays[path] = place(layers[0](), sharding=sharding, dtype=kind)
        else:
            arrays[path] = place_layers(layers, sharding=sharding, dtype=kind)
    return arrays


def written(entry: Entry, leaves: Mapping[str, Any], number: int) -> Array:
    """Their tensor of one layer, from our parameters."""
    held = [leaves[path] for path in entry.line.paths]
    ours = [np.asarray(x if entry.num is None else x[number]) for x in held]
    return entry.line.theirs(ours)
