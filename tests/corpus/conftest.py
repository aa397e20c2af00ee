from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
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


# PDF ----------------------------------------------------------------------------------------------

SECRET = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")


def placed(text: str, x: float, y: float, *, size: float = 10, font: str = "F1") -> str:
    """One line of text for the content of a page. Letters of F1 are 0.6 of their size wide."""
    shown = text.encode("cp1252").hex()
    return f"BT /{font} {size} Tf 1 0 0 1 {x} {y} Tm <{shown}> Tj ET\n"


def rc4(key: bytes, data: bytes) -> bytes:
    state, j, out = list(range(256)), 0, bytearray()
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    i = j = 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)


def write_pdf(
    pages: Sequence[str | bytes],
    *,
    info: str = "",
    catalog: str = "",
    font: str = "/Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding",
    page: str = "",
    stream: str = "",
    password: bytes | None = None,
    extra: Sequence[bytes] = (),
) -> bytes:
    """A PDF with pages of 612 by 792 points; objects from number 10 on are those in `extra`."""
    identity = b"0123456789abcdef"
    owner = rc4(hashlib.md5(SECRET).digest()[:5], ((password or b"") + SECRET)[:32])
    permissions = b"\xfc\xff\xff\xff"
    key = hashlib.md5(((password or b"") + SECRET)[:32] + owner + permissions + identity)
    first = 10 + len(extra)
    kids = " ".join(f"{first + 2 * n} 0 R" for n in range(len(pages)))
    objects: dict[int, bytes] = {
        1: f"<< /Type /Catalog /Pages 2 0 R {catalog} >>".encode(),
        2: f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>".encode(),
        3: f"<< {font} >>".encode(),
        4: f"<< {info} >>".encode(),
        5: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >>",
        **{10 + n: data for n, data in enumerate(extra)},
    }
    trailer = "/Root 1 0 R /Info 4 0 R"
    if password is not None:
        user = rc4(key.digest()[:5], SECRET)
        objects[6] = (
            f"<< /Filter /Standard /V 1 /R 2 /P -4 /O <{owner.hex()}> /U <{user.hex()}> >>".encode()
        )
        trailer += f" /Encrypt 6 0 R /ID [<{identity.hex()}> <{identity.hex()}>]"
    for n, content in enumerate(pages):
        number = first + 2 * n
        data = content.encode() if isinstance(content, str) else content
        if password is not None:
            salt = (number + 1).to_bytes(3, "little") + b"\0\0"
            data = rc4(hashlib.md5(key.digest()[:5] + salt).digest()[:10], data)
        objects[number] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {number + 1} 0 R "
            f"/Resources << /Font << /F1 3 0 R /F2 5 0 R >> >> {page} >>"
        ).encode()
        length = f"<< /Length {len(data)} {stream} >>\nstream\n".encode()
        objects[number + 1] = length + data + b"\nendstream"
    out = bytearray(b"%PDF-1.4\n")
    offsets = {}
    for number, body in sorted(objects.items()):
        offsets[number] = len(out)
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    at = len(out)
    size = max(objects) + 1
    rows = [
        f"{offsets[n]:010d} 00000 n \n" if n in offsets else "0000000000 65535 f \n"
        for n in range(size)
    ]
    out += f"xref\n0 {size}\n{''.join(rows)}trailer\n<< /Size {size} {trailer} >>\n".encode()
    return bytes(out + f"startxref\n{at}\n%%EOF\n".encode())


@pytest.fixture(name="placed")
def placed_fixture() -> Callable[..., str]:
    return placed


@pytest.fixture(name="write_pdf")
def write_pdf_fixture() -> Callable[..., bytes]:
    return write_pdf
