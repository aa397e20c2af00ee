"""The page's script as a whole: one function, strict, without a name outside it."""

from __future__ import annotations

from barrow.score.board.script_card import CARD
from barrow.score.board.script_chart import CHART
from barrow.score.board.script_elements import ELEMENTS
from barrow.score.board.script_heat import HEAT
from barrow.score.board.script_state import STATE
from barrow.score.board.script_table import TABLE

SCRIPT = '(() => {\n"use strict";' + ELEMENTS + TABLE + HEAT + CHART + CARD + STATE + "})();\n"
