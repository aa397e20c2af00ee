"""Folders of quantized models: config.json, and safetensors with the scheme in their metadata.

Arrays have our paths as names, layers with their numbers. A quantized leaf at PATH is
``PATH.values``, ``PATH.scales`` and perhaps ``PATH.inputs``; what else describes it is JSON under
the key "leaves" of the metadata. A model of one scheme, or of another for each weight, is the same
to the reader.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow.errors import WeightsError
from barrow.files import make_folder
from barrow.models.architecture import Architecture, Model, architecture_of, written_as
from barrow.models.decoder.model import Decoder
from barrow.models.keys_report import KeysReport
from barrow.models.load import Loaded, refuse_false_layers
from barrow.models.sources import CONFIG, Source
from barrow.models.tokenizer_files import TokenizerFiles, as_files
from barrow.nn.layers.repeat import put_together
from barrow.nn.module import describe
from barrow.nn.trace import ParamSpec
from barrow.nn.tree import Tree, from_paths
from barrow.nn.weights.grouped import Grouped
from barrow.nn.weights.kernels import is_weight, num_in_of
from barrow.nn.weights.low_rank import merged
from barrow.nn.weights.per_channel import PerChannel
from barrow.weights.foreign_model import write_model
from barrow.weights.place import Place
from barrow.weights.safetensors_write import refuse_model
from barrow.weights.tensors import Tensors

FORMAT = "barrow-quantized-1"
_KINDS = {"per_channel": PerChannel, "grouped": Grouped}
_ARRAYS = ("values", "scales", "inputs")
_META = {"per_channel": ("num_in", "dynamic"), "grouped": ("inputs", "outputs", "bits")}
# What `architecture_of` looks for among the keys of a file.
_TELLING = {
    "lm_head/dense/kernel": "lm_head.dense.weight",
    "pooler/kernel": "roberta.pooler.dense.weight",
}


def save_quantized(
    folder: str | os.PathLike[str],
    model: Model,
    params: Mapping[str, Any],
    *,
    scheme: str,
    tokenizer: TokenizerFiles | str | os.PathLike[str] | Mapping[str, Any] | None = None,
    begin: int | None = None,
    stops: tuple[int, ...] = (),
    labels: tuple[str, ...] = (),
) -> None:
    """Write a model with quantized leaves, its layers a tuple; config.json last.

    `scheme` is a name for people; the rest is as in `save`.
    """
    folder = Path(folder)
    described, _ = written_as(model, labels)
    arrays: dict[str, Any] = {}
    leaves: dict[str, Any] = {}
    for path, leaf in numbered(params).items():
        if not is_weight(leaf):
            arrays[path] = leaf
            continue
        kind = next(name for name, type_ in _KINDS.items() if isinstance(leaf, type_))
        leaves[path] = {"type": kind} | {name: getattr(leaf, name) for name in _META[kind]}
        for name in _ARRAYS:
            if isinstance(array := getattr(leaf, name, None), jax.Array | np.ndarray):
                arrays[f"{path}.{name}"] = array
    metadata = {"format": FORMAT, "scheme": scheme, "leaves": json.dumps(leaves)}
    refuse_model(folder)
    words = as_files(tokenizer, begin=begin, stops=stops, is_causal=isinstance(model, Decoder))
    words.save(make_folder(folder))
    said = {"quantization_config": {"quant_method": "barrow", "scheme": scheme}}
    write_model(folder, arrays, {CONFIG: {**described, **words.ids(), **said}}, metadata=metadata)


def load_quantized(
    source: Source,
    *,
    dtype: str | None = None,
    unstack: bool = False,
    num_layers: int | None = None,
    place: Place | None = None,
) -> Loaded:
    """Open what `save_quantized` wrote; arguments as in `load`.

    Layers that are quantized differently cannot be one array: they stay a tuple, and the model runs
    them unrolled.
    """
    if place is not None:
        raise ValueError(
            f"{source.path} is quantized, which devices do not share: pass tensor=1, or the model "
            "before compression"
        )
    built = quantized_architecture(source, num_layers=num_layers)
    kind = dtype or "float32"
    leaves = _leaves(source, jnp.dtype(kind), built.config.layers)
    model = built.make(True, kind)
    _check(source, model, leaves, built.config)
    params = _apart(leaves, built.config.layers)
    if not unstack:
        layers = params["layers"]
        if len({jax.tree.structure(layer) for layer in layers}) == 1:
            params = params | {"layers": jax.tree.map(lambda *xs: jnp.stack(xs), *layers)}
            model = built.make(False, kind)
    return Loaded(
        model,
        params,
        KeysReport(matched=tuple(leaves)),
        source.words,
        built.labels,
    )


def quantized_architecture(source: Source, *, num_layers: int | None = None) -> Architecture:
    """The model of such a folder; its weights are not read."""
    tensors = source.tensors
    if (found := tensors.metadata.get("format")) != FORMAT:
        raise WeightsError(f"expected the format {FORMAT!r}, got {found!r}", path=source.path)
    config = {k: v for k, v in source.config.items() if k != "quantization_config"}
    keys = [theirs for ours, theirs in _TELLING.items() if _has(tensors, ours)]
    built = architecture_of(config, keys, num_layers=num_layers)
    refuse_false_layers(source, built.config.layers)
    return built


def numbered(params: Any, prefix: str = "") -> dict[str, Any]:
    """Leaves by path, where a tuple's entries have their numbers."""
    if isinstance(params, tuple):
        params = {str(number): part for number, part in enumerate(params)}
    if not isinstance(params, Mapping):
        return {prefix[:-1]: params}
    found: dict[str, Any] = {}
    for name, part in params.items():
        found |= numbered(part, f"{prefix}{name}/")
    return found


def num_elements(params: Any) -> int:
    """Numbers that parameters represent, in however many bits."""
    leaves = jax.tree.leaves(params, is_leaf=is_weight)
    return sum(math.prod(leaf.shape) for leaf in leaves)


def expanded(params: Any) -> Any:
    """Parameters with arrays in the place of quantized weights, and stacked layers."""
    wide = merged(params)
    return put_together(wide, "layers") if isinstance(wide.get("layers"), tuple) else wide


def from_arrays(
    held: Any, specs: Mapping[str, ParamSpec], path: str = "", *, is_stacked: bool = True
) -> Any:
    """Parameters of a tree whose quantized weights are arrays by name, as in a checkpoint.

    What else describes a weight is known from its shape; `specs` are those of `nn.describe`.
    """
    if isinstance(held, tuple):
        return tuple(from_arrays(layer, specs, path, is_stacked=False) for layer in held)
    if not isinstance(held, Mapping):
        return held
    if path not in specs:
        start = f"{path}/" if path else ""
        inside = {
            n: from_arrays(x, specs, start + n, is_stacked=is_stacked) for n, x in held.items()
        }
        return Tree(inside)
    spec, num_in = specs[path], num_in_of(path)
    stack, shape = spec.shape[: spec.num_stacked], spec.shape[spec.num_stacked :]
    values, outputs = held["values"], shape[:1] if num_in is None else shape[num_in:]
    of_values, of_scales = ((*stack, *x) if is_stacked else x for x in (shape, outputs))
    # In groups as long as a head, values of a kernel `out` have its shape too.
    if (values.shape, held["scales"].shape) == (of_values, of_scales):
        return PerChannel(**held, num_in=num_in)
    bits = 4 if values.dtype == jnp.uint8 else 8
    return Grouped(**held, inputs=shape[:num_in], outputs=shape[num_in:], bits=bits)


def is_quantized_tree(params: Any) -> bool:
    """Whether any leaf is quantized."""
    return any(map(is_weight, jax.tree.leaves(params, is_leaf=is_weight)))


def _has(tensors: Tensors, path: str) -> bool:
    return path in tensors or f"{path}.values" in tensors


def _leaves(source: Source, dtype: Any, layers: int) -> dict[str, Any]:
    """Leaves by path; those of layers past the wanted are not read."""
    tensors, found = source.tensors, dict[str, Any]()
    try:
        described = json.loads(tensors.metadata["leaves"])
        for path, facts in described.items():
            if _is_past(path, layers):
                continue
            arrays = {
                name: jnp.asarray(tensors[f"{path}.{name}"])
                for name in _ARRAYS
                if f"{path}.{name}" in tensors
            }
            meta = {name: _frozen(facts[name]) for name in _META[facts["type"]]}
            found[path] = _KINDS[facts["type"]](**{**arrays, **meta}, kind=dtype.name)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise WeightsError(f"its quantized leaves are not described: {error!r}", path=source.path)  # noqa: B904
    for name in tensors:
        path, _, part = name.rpartition(".")
        if (part not in _ARRAYS or path not in described) and not _is_past(name, layers):
            found[name] = jnp.asarray(tensors[name], dtype)
    return found


def _is_past(path: str, layers: int) -> bool:
    first, _, rest = path.partition("/")
    number = rest.partition("/")[0]
    return first == "layers" and number.isdigit() and int(number) >= layers


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _check(source: Source, model: Any, leaves: Mapping[str, Any], config: Any) -> None:
    """Raise unless the leaves are those of the model, in its shapes."""
    wanted: dict[str, tuple[int, ...]] = {}
    for path, spec in describe(model, *config.example).items():
        stack, _, rest = path.partition("/")
        if stack == "layers":
            wanted |= {f"layers/{i}/{rest}": spec.shape[1:] for i in range(config.layers)}
        else:
            wanted[path] = spec.shape
    missing, unexpected = wanted.keys() - leaves.keys(), leaves.keys() - wanted.keys()
    if missing or unexpected:
        what = "lacks" if missing else "has the unknown"
        raise WeightsError(f"{what} {min(missing or unexpected)}", path=source.path)
    for path, shape in wanted.items():
        if tuple(leaves[path].shape) != tuple(shape):
            raise WeightsError(
                f"expected shape {list(shape)}, got {list(leaves[path].shape)}",
                path=source.path,
                tensor=path,
            )


def _apart(leaves: Mapping[str, Any], num: int) -> Tree:
    outer = {path: x for path, x in leaves.items() if not path.startswith("layers/")}
    layers = []
    for i in range(num):
        start = f"layers/{i}/"
        inside = {p.removeprefix(start): x for p, x in leaves.items() if p.startswith(start)}
        layers.append(from_paths(inside))
    return from_paths(outer) | {"layers": tuple(layers)}
