"""Write a model as one .onnx file: graph, weights, tokenizer and settings."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Collection
from pathlib import Path

from barrow.compress.export.clip import clip_graph
from barrow.compress.export.decoder import decoder_graph
from barrow.compress.export.graph import Graph
from barrow.compress.export.roberta import roberta_graph
from barrow.files import atomic_path, new_path, write_bytes
from barrow.models.clip.model import CLIP
from barrow.models.clip.tower import towers_apart
from barrow.models.decoder.generate import for_decoding
from barrow.models.decoder.model import Decoder
from barrow.models.family import Family, family_table
from barrow.models.load import Loaded
from barrow.models.onnx.metadata import FAMILY, FORMAT, FORMAT_KEY, IDS, TOKENIZER
from barrow.models.open_model import open_model
from barrow.models.quantized import is_quantized_tree
from barrow.models.roberta.heads import (
    ClassificationHead,
    LabelledConfig,
    RobertaWithHead,
    TokenHead,
)
from barrow.models.roberta.model import Roberta


def export_onnx(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    seven_bits: bool | None = None,
    trust: Collection[str] = (),
) -> bool:
    """Write a model to `out`, a name that ends in .onnx; whether integers have 7 bits.

    Quantized weights stay quantized, and their products become ONNX Runtime's of integers.
    `seven_bits` None: where this processor lacks VNNI, on which sums of 8 bits saturate.
    """
    out = Path(out)
    if out.suffix != ".onnx":
        raise ValueError(f"out must end in .onnx, got {out}; pass {out.with_suffix('.onnx')}")
    out = new_path(out)
    loaded = open_model(path, dtype="float32", trust=trust)
    is_short = not has_vnni() if seven_bits is None else seven_bits
    with atomic_path(out) as part:
        write_bytes(part, onnx_bytes(loaded, seven_bits=is_short))
    return is_short and is_quantized_tree(loaded.params)


def onnx_bytes(loaded: Loaded, *, seven_bits: bool = False) -> bytes:
    """The contents of the file."""
    graph = Graph(seven_bits=seven_bits)
    model = loaded.model
    if isinstance(model, Decoder):
        ends = decoder_graph(graph, model, for_decoding(loaded.params))
    elif isinstance(model, Roberta | RobertaWithHead):
        ends = roberta_graph(graph, model, for_decoding(loaded.params))
    elif isinstance(model, CLIP):
        ends = clip_graph(graph, model, towers_apart(loaded.params))
    else:
        raise ValueError(
            f"export lacks {type(model).__name__}; it has decoders, RoBERTa's encoders and CLIP"
        )
    return graph.finished(*ends, _metadata(loaded))


def _metadata(loaded: Loaded) -> dict[str, str]:
    found = {FORMAT_KEY: FORMAT, TOKENIZER: json.dumps(_tokenizer_files(loaded))}
    found[IDS] = json.dumps({"begin": loaded.begin, "stops": loaded.stops})
    return found | {FAMILY: json.dumps(family_table(_family(loaded)))}


def _family(loaded: Loaded) -> Family:
    model = loaded.model
    if not isinstance(model, RobertaWithHead):
        return loaded.family
    if isinstance(model.head, TokenHead):
        return LabelledConfig(model.config, "tag", loaded.labels)
    if isinstance(model.head, ClassificationHead):
        return LabelledConfig(model.config, "classify", loaded.labels)
    if model.head.num != 1:
        raise ValueError(f"export lacks a regression of {model.head.num} numbers; of one it has")
    return LabelledConfig(model.config, "regress", loaded.labels)


def _tokenizer_files(loaded: Loaded) -> dict[str, str]:
    if loaded.tokenizer is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        loaded.words.save(Path(folder))
        files = [p for p in sorted(Path(folder).iterdir()) if p.suffix != ".model"]
        return {path.name: path.read_text(encoding="utf-8") for path in files}


def has_vnni() -> bool:
    """Whether this processor sums products of 8 bits in 32; unknown ones do not."""
    try:
        flags = Path("/proc/cpuinfo").read_text()
    except OSError:
        return False
    return any(name in flags for name in ("avx512_vnni", "avx_vnni", "asimddp", "amx_int8"))
