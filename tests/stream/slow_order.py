"""The order of one domain as a plain loop over explicit lists of what is left."""

from __future__ import annotations

import numpy as np

from barrow.stream.order.cut import GROUP
from barrow.stream.order.permutation import Permutation, derive, keys_of


class SlowDomain:
    """Reads a domain row by row, keeping every unread part of the group in a list."""

    def __init__(self, seed: int, name: str, num_tokens: int, chunk: int) -> None:
        self.base = derive("chunks", seed, name)
        self.num_tokens = num_tokens
        self.chunk = chunk
        self.epoch = -1
        self.order: list[int] = []  # chunks of the epoch that no group has had yet
        self.group: list[list[int]] = []  # [first unread token, end] of each chunk of the group
        self.turn: list[list[int]] = []  # parts still to come in this round
        self.piece = 0

    def set_piece(self, piece: int) -> None:
        if piece != self.piece:
            self.piece = piece
            self.turn = []

    def next_row(self) -> tuple[int, int, int]:
        """Epoch, start, length."""
        self.group = [part for part in self.group if part[0] < part[1]]
        if not self.group:
            self._next_group()
        if not self.turn:
            self.turn = list(self.group)
        part = self.turn.pop(0)
        start = part[0]
        part[0] = min(part[1], start + self.piece)
        return self.epoch, start, part[0] - start

    def _next_group(self) -> None:
        if not self.order:
            self.epoch += 1
            full, rest = divmod(self.num_tokens, self.chunk)
            key = keys_of(np.array([self.base], np.uint64), np.array([self.epoch]))[0]
            self.order = Permutation(full, int(key))(np.arange(full)).tolist()
            self.order += [full] if rest else []
        chunks, self.order = self.order[:GROUP], self.order[GROUP:]
        self.group = [
            [number * self.chunk, min((number + 1) * self.chunk, self.num_tokens)]
            for number in chunks
        ]
