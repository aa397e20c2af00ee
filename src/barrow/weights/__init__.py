"""Arrays on disk: safetensors and other formats, read lazily, without running code in them."""

from __future__ import annotations

from barrow.files import WrittenFile
from barrow.weights.flax import read_flax, write_flax
from barrow.weights.foreign_model import ForeignModel, save_huggingface
from barrow.weights.gguf.model import open_gguf_model
from barrow.weights.gguf.tensors import Gguf, open_gguf
from barrow.weights.hub.cache import cache_folder
from barrow.weights.hub.download import Fetched, cached, fetch, where
from barrow.weights.llama2c import open_llama2c
from barrow.weights.matching import Matching, Mismatch, match
from barrow.weights.place import place
from barrow.weights.safetensors_read import open_safetensors
from barrow.weights.safetensors_write import Written, write_safetensors
from barrow.weights.tensors import LazyTensor, Tensors
from barrow.weights.torch.checkpoint import TorchCheckpoint, open_torch

__all__ = [
    "Fetched",
    "ForeignModel",
    "Gguf",
    "LazyTensor",
    "Matching",
    "Mismatch",
    "Tensors",
    "TorchCheckpoint",
    "Written",
    "WrittenFile",
    "cache_folder",
    "cached",
    "fetch",
    "match",
    "open_gguf",
    "open_gguf_model",
    "open_llama2c",
    "open_safetensors",
    "open_torch",
    "place",
    "read_flax",
    "save_huggingface",
    "where",
    "write_flax",
    "write_safetensors",
]
