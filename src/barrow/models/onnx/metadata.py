"""What an exported file has besides its graph, under these keys."""

from __future__ import annotations

FORMAT_KEY = "barrow.format"
FORMAT = "barrow-onnx-1"
FAMILY = "barrow.model"  # the settings of the model, as `family.family_table` gives them
TOKENIZER = "barrow.tokenizer"  # the tokenizer's files, by name
IDS = "barrow.ids"  # of the beginning and the ends of a text
