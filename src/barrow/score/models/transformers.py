"""Any causal language model of `transformers`, through PyTorch, as a `TokenModel`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.errors import MissingExtra, TokenizerError
from barrow.models.row_batches import batches
from barrow.tokens import JsonTokenizer, Tokenizer, load
from barrow.tokens.bounds import UnsafeTokenizer
from barrow.tokens.tokenizer_json import check

# Config keys of the maximum length.
_LENGTHS = ("n_positions", "max_position_embeddings", "n_ctx", "seq_length", "max_seq_len")


class TransformersTokenModel:
    """A model that gives logits for ids, in batches of rows of similar length."""

    def __init__(
        self, model: Any, tokenizer: Tokenizer, *, device: Any, batch_tokens: int | None = None
    ) -> None:
        refuse_small_vocabulary(tokenizer, model.get_input_embeddings().num_embeddings)
        self.tokenizer = tokenizer
        self.max_length = max_length_of(model.config)
        self._model = model
        self._device = device
        self._batch_tokens = batch_tokens or (4096 if device.type == "cpu" else 32768)

    def log_probs(self, rows: Sequence[npt.NDArray[np.int32]]) -> list[npt.NDArray[np.float32]]:
        """As in `TokenModel`."""
        lengths = [len(row) - 1 for row in rows]
        found: list[npt.NDArray[np.float32]] = [np.zeros(0, np.float32)] * len(rows)
        longest = max(lengths, default=0)
        for batch in batches(lengths, max_length=longest, batch_tokens=self._batch_tokens):
            ids = np.zeros((len(batch.rows), lengths[batch.rows[0]] + 1), np.int64)
            for k, number in enumerate(batch.rows):
                ids[k, : len(rows[number])] = rows[number]
            logs = self._log_probs(ids)
            for k, number in enumerate(batch.rows):
                found[number] = logs[k, : lengths[number]]
        return found

    def _log_probs(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        torch, _ = import_torch()
        rows = torch.from_numpy(ids).to(self._device)
        logs = torch.empty((len(ids), ids.shape[1] - 1), dtype=torch.float32, device=self._device)
        with torch.inference_mode():
            # Padding is at the end, which a causal model does not see: no mask is needed.
            logits = self._model(input_ids=rows[:, :-1], use_cache=False).logits
            for k in range(len(ids)):  # a row at a time, so that float32 is only of one
                own = logits[k].float()
                chosen = own.gather(-1, rows[k, 1:, None])[:, 0]
                logs[k] = chosen - own.logsumexp(-1)
        found: npt.NDArray[np.float32] = logs.cpu().numpy()
        return found


def max_length_of(config: Any) -> int | None:
    """Tokens that a model sees at once, by its config; None if unlimited."""
    config = config.get_text_config() if hasattr(config, "get_text_config") else config
    values = (getattr(config, name, None) for name in _LENGTHS)
    return next((value for value in values if isinstance(value, int) and value > 0), None)


def import_torch() -> tuple[Any, Any]:
    """PyTorch and transformers."""
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtra(
            "PyTorch and transformers", "transformers", "a model of a family that is not barrow's"
        ) from error
    return torch, transformers


def load_pretrained(kind: str, folder: Path, dtype: str | None) -> tuple[Any, Any]:
    """A model of transformers' class `kind` from a folder, and the device it is on."""
    torch, transformers = import_torch()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if dtype is None and device.type == "cpu":
        dtype = "float32"
    model = getattr(transformers, kind).from_pretrained(
        str(folder), dtype="auto" if dtype is None else getattr(torch, dtype), local_files_only=True
    )
    return model.eval().to(device), device


def tokenizer_of(folder: Path) -> Tokenizer:
    """The tokenizer of a Hugging Face folder; made by transformers where barrow cannot."""
    try:
        return load(folder)
    except UnsafeTokenizer:
        raise
    except (TokenizerError, OSError) as error:
        _, transformers = import_torch()
        try:
            made = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
            text = made.backend_tokenizer.to_str()
        except (ValueError, OSError, AttributeError, ImportError, KeyError):
            raise error from None
        import json

        named = {f"{role}_token": getattr(made, f"{role}_token") for role in ("bos", "pad", "mask")}
        return JsonTokenizer(check(json.loads(text), str(folder)), settings=named)


def refuse_small_vocabulary(tokenizer: Tokenizer, num_rows: int) -> None:
    """Raise where a tokenizer has ids that a model has no rows for."""
    if tokenizer.vocab_size > num_rows:
        raise ValueError(
            f"the tokenizer has ids up to {tokenizer.vocab_size - 1}, but the model's "
            f"vocabulary is {num_rows}: do they match?"
        )
