"""Open models of other formats: files to a model and its parameters."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from barrow.errors import WeightsError
from barrow.models.architecture import Architecture, architecture_of
from barrow.models.family import Family
from barrow.models.huggingface.names import Line
from barrow.models.keys_report import KeysReport
from barrow.models.packed import packed_leaf
from barrow.models.sources import Source, is_quantized, open_source
from barrow.models.tokenizer_files import TokenizerFiles, TokenizerSource
from barrow.nn.module import Module, axes
from barrow.nn.tree import Tree, from_paths, paths
from barrow.weights.matching import match
from barrow.weights.place import Place, place_layers
from barrow.weights.place import place as put
from barrow.weights.tensors import Tensors

DTYPES = ("float32", "bfloat16", "float16")
_LAYERS = "layers/"


@dataclass(frozen=True)
class Loaded:
    """A model, its parameters, the report of keys, and what else the files contain.

    `words` are the tokenizer and how the model is used; `labels` are the names of a head's classes;
    `collections` are what a model keeps beside its parameters (running statistics).
    """

    model: Module
    params: Tree
    report: KeysReport
    words: TokenizerFiles = field(default_factory=TokenizerFiles)
    labels: tuple[str, ...] = ()
    collections: Tree = field(default_factory=Tree)

    @property
    def family(self) -> Family:
        """The settings of the model."""
        found: Family = self.model.config  # type: ignore[attr-defined]
        return found

    @property
    def tokenizer(self) -> TokenizerSource | None:
        """A path or name for `barrow.tokens.load`, the contents of a tokenizer.json, or None."""
        return self.words.source

    @property
    def tokenizer_config(self) -> Mapping[str, Any]:
        """The settings that belong to such contents."""
        return self.words.settings

    @property
    def begin(self) -> int | None:
        """The id that begins a text."""
        return self.words.begin

    @property
    def stops(self) -> tuple[int, ...]:
        """The ids that end a text."""
        return self.words.stops


def load(
    path: str | os.PathLike[str],
    *,
    dtype: str | None = None,
    strict: bool = True,
    unstack: bool = False,
    seed: int = 0,
    num_layers: int | None = None,
    place: Place | None = None,
    packed: bool = False,
) -> Loaded:
    """Open a Hugging Face folder, a GGUF or llama2.c file, what `compress` or `export` wrote.

    config.json decides the model: a `Decoder`, a `Roberta`, or one with a classification head.
    Files are mapped and read a tensor at a time. `dtype` None keeps the type of the file, and the
    model computes in it. Keys that do not match are an error; unless `strict`, they are only
    reported, and parameters without a tensor are initialised from `seed`. `unstack` gives layers as
    a tuple, as generation needs, instead of one array for all. Of an encoder, `num_layers` reads
    only the first layers. `place` (`barrow.parallel.placing`) divides the parameters over devices:
    each reads its slices, and the host holds one tensor of the file at a time. With `packed`, a
    GGUF file's tensors of Q8_0 and Q4_0 are not expanded; needs `unstack`.
    """
    if packed and not (unstack and place is None):
        raise ValueError("packed tensors are those of single layers on one device: pass unstack")
    if dtype is not None and dtype not in DTYPES:
        raise ValueError(f"dtype must be one of {', '.join(DTYPES)}, got {dtype!r}")
    if Path(path).suffix == ".onnx":
        from barrow.models.onnx.model import open_onnx

        return open_onnx(path)
    source = open_source(path)
    if is_quantized(source.config):
        from barrow.models.quantized import load_quantized

        return load_quantized(
            source, dtype=dtype, unstack=unstack, num_layers=num_layers, place=place
        )
    built = architecture_of(source.config, source.tensors, num_layers=num_layers)
    lines, num = built.lines, built.config.layers
    report, keys = compare(source, built)
    if strict and not report.is_exact:
        raise WeightsError(f"the weights do not match config.json: {report}", path=path)
    layout = layout_of(place, built.make(False, "float32"), built.config.example)
    leaves: dict[str, Any] = {}
    for line in lines:
        wanted = _keys(line, num)
        if all(key in keys for key in wanted):
            named = [keys[key] for key in wanted]
            if packed and (found := _packed(line, named, source.tensors, dtype or "float32")):
                leaves |= found
                continue
            leaves |= _read(line, named, source.tensors, dtype, unstack=unstack, layout=layout)
    model = built.make(unstack, dtype or _type_of(leaves))
    if any(path not in leaves for line in lines for path in line.paths):
        made = paths(model.init(jax.random.key(seed), *built.config.example))
        leaves = {
            p: tuple(x) if unstack and p.startswith(_LAYERS) else x for p, x in made.items()
        } | (leaves)
    params = _layers_apart(leaves, num) if unstack else from_paths(leaves)
    return Loaded(model, params, report, source.words, built.labels)


def compare(source: Source, built: Architecture) -> tuple[KeysReport, dict[str, str]]:
    """Keys of the file against those of the model; and the file's key for each that fits."""
    num = built.config.layers
    refuse_false_layers(source, num, max(line.num_experts or 1 for line in built.lines))
    expected = {key: line.shape for line in built.lines for key in _keys(line, num)}
    reasons = {name: why for name in source.tensors if (why := built.why(name)) is not None}

    def whole(name: str) -> str | None:
        """The name with the prefix of the whole model, which files of the bare model omit."""
        if name in reasons:
            return None
        return name if name in expected else built.prefix + name

    found = match(source.tensors, expected, rename=whole)
    report = KeysReport(
        tuple(found.source.values()),
        found.missing,
        found.unexpected,
        tuple(reasons),
        found.mismatched,
        reasons,
        built.notes,
    )
    return report, dict(found.source)


def refuse_false_layers(source: Source, layers: int, experts: int = 1) -> None:
    """Raise where a config.json has more layers than there are tensors, before all are named."""
    if layers * experts > len(source.tensors):
        of_experts = f" of {experts:,} experts" if experts > 1 else ""
        raise WeightsError(
            f"{layers:,} layers{of_experts} in config.json, but {len(source.tensors):,} tensors in "
            "the weights; do the two files match?",
            path=source.path,
        )


def _keys(line: Line, num: int) -> list[str]:
    layers = range(num if line.is_layered else 1)
    return [key for layer in layers for key in line.keys(layer)]


def _read(
    line: Line,
    keys: list[str],
    tensors: Tensors,
    dtype: str | None,
    *,
    unstack: bool,
    layout: Layout,
) -> dict[str, Any]:
    """Our parameters of a line, by path: one array of all layers, or a tuple of them."""
    kind = tensors.entry(keys[0]).dtype if dtype is None else jnp.dtype(dtype)
    found: dict[str, Any] = {}
    for number, path in enumerate(line.paths):
        per = line.num_experts or 1
        layers = [keys[at : at + per] for at in range(0, len(keys), per)]
        read = [partial(line.read, tensors, some, number) for some in layers]
        if not line.is_layered or unstack:
            sharding = layout(path, line.our_shape)
            parts = tuple(put(one(), sharding=sharding, dtype=kind) for one in read)
            found[path] = parts if line.is_layered else parts[0]
        else:
            sharding = layout(path, (len(layers), *line.our_shape))
            found[path] = place_layers(read, sharding=sharding, dtype=kind)
    return found


def _packed(line: Line, keys: list[str], tensors: Tensors, dtype: str) -> dict[str, Any]:
    """Leaves of a line whose tensors are all stored in fewer bits; {} for others."""
    found = [packed_leaf(line, tensors.entry(key), dtype) for key in keys]
    if any(leaf is None for leaf in found):
        return {}
    return {line.paths[0]: tuple(found) if line.is_layered else found[0]}


# The sharding of a parameter, or of a layer of it, by its path and shape; None: default device.
Layout = Callable[[str, tuple[int, ...]], Any]


def layout_of(place: Place | None, model: Module, example: tuple[Any, ...]) -> Layout:
    """Where the parameters of a model are placed, by their logical axes."""
    names = {} if place is None else paths(axes(model, *example))

    def layout(path: str, shape: tuple[int, ...]) -> Any:
        if place is None or path not in names:
            return None
        return place(names[path][len(names[path]) - len(shape) :], shape)

    return layout


def _type_of(leaves: Mapping[str, Any]) -> str:
    name = leaves["embed/table"].dtype.name if "embed/table" in leaves else "float32"
    return name if name in DTYPES else "float32"


def _layers_apart(leaves: Mapping[str, Any], num: int) -> Tree:
    outer = from_paths({p: x for p, x in leaves.items() if not p.startswith(_LAYERS)})
    inner = {p.removeprefix(_LAYERS): x for p, x in leaves.items() if p.startswith(_LAYERS)}
    layers = tuple(from_paths({p: x[i] for p, x in inner.items()}) for i in range(num))
    return outer | {"layers": layers}
