"""An exported graph as a model: opened from one .onnx file, run by ONNX Runtime on the CPU."""

from __future__ import annotations

import atexit
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.errors import MissingExtra, NotFound, WeightsError
from barrow.files import inside, remove_tree, write_part
from barrow.models.family import described_family
from barrow.models.keys_report import KeysReport
from barrow.models.load import Loaded
from barrow.models.onnx.metadata import FAMILY, FORMAT, FORMAT_KEY, IDS, TOKENIZER
from barrow.models.roberta.heads import Head, LabelledConfig
from barrow.models.tokenizer_files import TokenizerFiles
from barrow.nn.tree import Tree

Ids = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class OnnxModel:
    """A graph and the settings of the model it computes; `head` is that of labels, if any."""

    config: Any
    session: Any
    head: Head | None = None
    dtype: str = "float32"

    @property
    def usage(self) -> str:
        """The command that uses it; a decoder's graph does not generate."""
        usage: str = self.config.usage
        return "barrow score {run} CORPUS" if usage.startswith("barrow generate") else usage

    def run(self, output: str, **inputs: npt.NDArray[Any]) -> Floats:
        """One output."""
        given = {one.name: inputs.get(one.name, _unused(one)) for one in self.session.get_inputs()}
        found: Floats = self.session.run([output], given)[0]
        return found

    def hidden(self, ids: Ids, lengths: Ids | None = None) -> Floats:
        """An encoder's last hidden states [rows, length, width]."""
        return self.run("hidden", **_rows(ids, lengths))

    def masked_logits(self, ids: Ids, lengths: Ids, at: Ids) -> Floats:
        """An encoder's logits [rows, places, vocab] at these places of each row."""
        return self.run("logits", **_rows(ids, lengths), at=at.astype(np.int32))

    def outputs(self, ids: Ids, lengths: Ids) -> Floats:
        """What the head of labels makes of rows."""
        return self.run("outputs", **_rows(ids, lengths))

    def logits(self, ids: Ids) -> Floats:
        """A decoder's logits [rows, length, vocab]."""
        return self.run("logits", ids=ids.astype(np.int32))

    def log_probs(self, ids: Ids, targets: Ids) -> Floats:
        """A decoder's log-probabilities of targets [rows, length], one place after the ids."""
        given = {"ids": ids.astype(np.int32), "targets": targets.astype(np.int32)}
        return self.run("log_probs", **given)


def open_onnx(path: str | os.PathLike[str]) -> Loaded:
    """The model of a file that `barrow export --to onnx` wrote."""
    path = Path(path)
    if not path.is_file():
        raise NotFound(f"{path} does not exist")
    session = _session(path)
    metadata: Mapping[str, str] = session.get_modelmeta().custom_metadata_map
    if metadata.get(FORMAT_KEY) != FORMAT:
        raise WeightsError(
            "was not written by `barrow export --to onnx`: it does not say what it computes",
            path=path,
        )
    try:
        ids = json.loads(metadata[IDS])
        config, head, labels = _described(metadata, path)
        tokenizer = _written(json.loads(metadata[TOKENIZER]))
    except (AttributeError, KeyError, OSError, TypeError, ValueError) as error:
        raise WeightsError(f"its description is damaged: {error!r}", path=path) from None
    model: Any = OnnxModel(config, session, head)
    return Loaded(
        model,
        Tree(),
        KeysReport(),
        TokenizerFiles(tokenizer, begin=ids["begin"], stops=tuple(ids["stops"])),
        labels=labels,
    )


def _session(path: Path) -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtra("onnxruntime", "onnx", "running an ONNX file") from None
    options = onnxruntime.SessionOptions()
    # Warnings about initializers say nothing to users.
    options.log_severity_level = 3
    if threads := len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0:
        options.intra_op_num_threads = threads
    try:
        return onnxruntime.InferenceSession(
            os.fspath(path), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # noqa: BLE001
        # The library has no base class of its errors.
        what = str(error).splitlines()[0]
        raise WeightsError(f"ONNX Runtime cannot open it: {what}", path=path) from None


def _described(metadata: Mapping[str, str], path: Path) -> tuple[Any, Head | None, tuple[str, ...]]:
    family = described_family({"model": json.loads(metadata[FAMILY])}, path)
    if isinstance(family, LabelledConfig):
        return family.body, family.head, family.labels
    return family, None, ()


def _written(files: Mapping[str, str]) -> Path | None:
    """The tokenizer's files in a folder that is removed at the end of the process."""
    if not files:
        return None
    folder = Path(tempfile.mkdtemp(prefix="barrow-tokenizer-"))
    atexit.register(remove_tree, folder)
    for name, text in files.items():
        write_part(inside(folder, name), text.encode())
    return folder


def _rows(ids: Ids, lengths: Ids | None) -> dict[str, npt.NDArray[np.int32]]:
    if lengths is None:
        lengths = np.full(len(ids), ids.shape[1])
    return {"ids": ids.astype(np.int32), "lengths": lengths.astype(np.int32)}


def _unused(value: Any) -> npt.NDArray[Any]:
    """No rows, for outputs that are not wanted: the runtime computes them all."""
    shape = [side if isinstance(side, int) else 0 for side in value.shape]
    return np.zeros(shape, np.int32 if "int32" in value.type else np.float32)
