"""Any causal language model of `transformers`, through PyTorch, as a `TokenModel`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.models.row_batches import batches
from barrow.score.torch_device import import_torch, refuse_small_vocabulary
from barrow.tokens import Tokenizer

# Where families say how many tokens they see at once.
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
            # Padding is behind, where a causal model does not look: no mask is needed.
            logits = self._model(input_ids=rows[:, :-1], use_cache=False).logits
            for k in range(len(ids)):  # a row at a time, so that float32 is only of one
                own = logits[k].float()
                chosen = own.gather(-1, rows[k, 1:, None])[:, 0]
                logs[k] = chosen - own.logsumexp(-1)
        found: npt.NDArray[np.float32] = logs.cpu().numpy()
        return found


def max_length_of(config: Any) -> int | None:
    """Tokens that a model sees at once, by its config; None where none are counted."""
    config = config.get_text_config() if hasattr(config, "get_text_config") else config
    values = (getattr(config, name, None) for name in _LENGTHS)
    return next((value for value in values if isinstance(value, int) and value > 0), None)
