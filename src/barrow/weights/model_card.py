"""The name and the licence of a model, in the head of a README.md as Hugging Face has it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from barrow.files import write_bytes

README = "README.md"
# In the head of a README.md, and in GGUF after "general.".
CARD = {
    "model_name": "name",
    "license": "license",
    "license_name": "license.name",
    "license_link": "license.link",
}
_LINE = re.compile(r"(\w+):[ \t]+(\S.*?)[ \t]*")
_MOST = 1 << 16


def read_card(folder: Path) -> dict[str, str]:
    """Read the model's name and licence from a README.md; {} without one."""
    if not (folder / README).is_file():
        return {}
    with (folder / README).open(encoding="utf-8", errors="replace") as file:
        first, *lines = file.read(_MOST).splitlines() or [""]
    if first.rstrip() != "---" or "---" not in lines:
        return {}
    found = (_LINE.fullmatch(line) for line in lines[: lines.index("---")])
    said = {line[1]: _plain(line[2]) for line in found if line is not None}
    return {key: said[key] for key in CARD if said.get(key)}


def write_card(folder: Path, card: Mapping[str, str]) -> None:
    """Write a README.md whose head has these, unless there are none."""
    if card:
        lines = [
            f"{key}: {json.dumps(card[key], ensure_ascii=False)}" for key in CARD if key in card
        ]
        title = f"\n# {card['model_name']}\n" if "model_name" in card else ""
        write_bytes(folder / README, "\n".join(["---", *lines, "---", title]).encode())


def _plain(value: str) -> str:
    """A scalar of YAML as text."""
    if value[0] == value[-1] == '"' and len(value) > 1:
        try:
            return str(json.loads(value))
        except ValueError:
            return value[1:-1]
    if value[0] == value[-1] == "'" and len(value) > 1:
        return value[1:-1].replace("''", "'")
    return value.partition(" #")[0].rstrip()
