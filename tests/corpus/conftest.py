from __future__ import annotations

from pathlib import Path

import pytest

from barrow.corpus import Domain, Recipe


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two domains of plain text, with a file nobody reads, a link, and an empty file."""
    root = tmp_path / "raw"
    for domain, num in (("letters", 30), ("notes", 12)):
        (root / domain / "deep").mkdir(parents=True)
        for n in range(num):
            name = f"deep/{n:02d}.txt" if n % 3 else f"{n:02d}.txt"
            (root / domain / name).write_text(f"{domain} number {n}. " * (n + 1))
    (root / "letters" / "empty.txt").touch()
    (root / "letters" / "picture.png").write_bytes(b"\x89PNG")
    (root / "letters" / "link.txt").symlink_to(root / "notes" / "00.txt")
    return root


@pytest.fixture
def recipe() -> Recipe:
    return Recipe(
        name="test",
        domains={
            "letters": Domain("Letters", "plain_text", licence="CC0-1.0", retrieved="2024-05-06"),
            "notes": Domain("Notes", "plain_text", language="en"),
        },
        shard_size=5_000,
    )
