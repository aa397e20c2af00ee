"""Text that was decoded in the wrong encoding, put right where there is no doubt.

UTF-8 that was read as Windows-1252 shows as ``â€™`` for ``’`` and ``Ã©`` for ``é``. Such sequences
are told by their form: a character that begins one, and as many as it asks for that go on. Runs of
six characters and more are never anything else. Shorter ones are repaired if they begin with ``Â``,
``Ã`` or ``â`` and do not go on with punctuation, as ``IRMÃ…`` and ``allé…”`` do, which are words.
"""

from __future__ import annotations

import re

# How Windows-1252 shows the bytes 0x80 to 0xBF; those it leaves out are C1 controls.
_BYTES = {
    chr(byte) if shown == "\ufffd" else shown: byte
    for byte in range(0x80, 0x100)
    for shown in [bytes([byte]).decode("cp1252", "replace")]
} | {chr(byte): byte for byte in range(0x80, 0xA0)}
_MORE = "[" + "".join(re.escape(shown) for shown, byte in _BYTES.items() if byte < 0xC0) + "]"
_TWO = f"[\u00c2-\u00df]{_MORE}"
_THREE = f"[\u00e0-\u00ef]{_MORE}{_MORE}"
_FOUR = f"[\u00f0-\u00f4]{_MORE}{_MORE}{_MORE}"
_RUN = re.compile(f"(?:{_TWO}|{_THREE}|{_FOUR})++")
_PUNCTUATION = "[\u2026\u2013\u2014\u2018-\u201d\u2022\u2122]"
_SURE = re.compile(
    f"(?:[\u00c2\u00c3](?!{_PUNCTUATION}){_MORE}|\u00e2(?!{_PUNCTUATION}){_MORE}{_MORE}"
    f"|\u00f0\u0178{_MORE}{_MORE})++"
)
_HINT = re.compile("[\u00c2-\u00f4][\u0080-\u00bf\u0152-\u0192\u02c6\u02dc\u2013-\u2122]")
_LONG = 6


def repaired(text: str) -> str:
    """The text, sequences that cannot have been meant decoded as they should have been."""
    for _ in range(2):  # some text went wrong twice
        if not _HINT.search(text):
            return text
        again = _RUN.sub(_decoded, text)
        if again == text:
            return text
        text = again
    return text


def _decoded(run: re.Match[str]) -> str:
    shown = run[0]
    if len(shown) < _LONG and not _SURE.fullmatch(shown):
        return shown
    try:
        return bytes(map(_BYTES.__getitem__, shown)).decode()
    except (UnicodeDecodeError, KeyError):
        return shown
