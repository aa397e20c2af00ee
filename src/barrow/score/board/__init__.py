"""The leaderboard: results of `barrow score` as one page."""

from __future__ import annotations

from barrow.score.board.data import board_data
from barrow.score.board.gather import Gathered, LeftOut, gather
from barrow.score.board.page import page
from barrow.score.board.server import board_server

__all__ = ["Gathered", "LeftOut", "board_data", "board_server", "gather", "page"]
