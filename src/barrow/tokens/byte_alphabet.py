"""The characters in which byte-level vocabularies write bytes.

Every byte has its own printable character: printable bytes are themselves, the others are U+0100
and up, in order. So a space is Ġ and a line feed Ċ.
"""

from __future__ import annotations

_PRINTED = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTED]

LETTERS: tuple[str, ...] = tuple(
    chr(byte) if byte in _PRINTED else chr(0x100 + _OTHERS.index(byte)) for byte in range(256)
)
BYTE_OF: dict[str, int] = {letter: byte for byte, letter in enumerate(LETTERS)}


def spelled(data: bytes) -> str:
    """Bytes in these letters."""
    return "".join(LETTERS[byte] for byte in data)


def unspelled(token: str) -> bytes | None:
    """The bytes that a token spells; None if it has other letters."""
    try:
        return bytes([BYTE_OF[letter] for letter in token])
    except KeyError:
        return None
