"""What is in a model's files, without reading the weights."""

from __future__ import annotations

import os
from dataclasses import dataclass

from barrow.models.architecture import architecture_of
from barrow.models.decoder.model import DecoderConfig
from barrow.models.keys_report import KeysReport
from barrow.models.load import compare
from barrow.models.quantized import quantized_architecture
from barrow.models.roberta.model import RobertaConfig
from barrow.models.sources import is_quantized, open_source


@dataclass(frozen=True)
class ModelCard:
    """The family, the architecture, numbers in all its parameters, and the keys of the files.

    `num_bytes` is what the files' tensors take once read.
    """

    family: str
    config: DecoderConfig | RobertaConfig
    num_params: int
    num_bytes: int
    has_tokenizer: bool
    report: KeysReport


def card(path: str | os.PathLike[str]) -> ModelCard:
    """The card of a model that `load` opens, or would but for its keys."""
    source = open_source(path)
    if is_quantized(source.config):
        built, report = quantized_architecture(source), KeysReport(tuple(source.tensors))
    else:
        built = architecture_of(source.config, source.tensors)
        report, _ = compare(source, built)
    num_params = sum(
        line.num_elements * (built.config.layers if line.is_layered else 1) for line in built.lines
    )
    return ModelCard(
        built.family,
        built.config,
        num_params,
        source.tensors.num_bytes,
        source.tokenizer is not None,
        report,
    )
