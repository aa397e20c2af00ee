"""Languages by the codes of libraries (MARC, ISO 639-2/B), to their ISO 639-1 codes."""

from __future__ import annotations

_BIBLIOGRAPHIC = {
    "afr": "af", "alb": "sq", "ara": "ar", "arm": "hy", "aze": "az", "bos": "bs", "bul": "bg",
    "cat": "ca", "chi": "zh", "cze": "cs", "dan": "da", "dut": "nl", "eng": "en", "epo": "eo",
    "est": "et", "fin": "fi", "fre": "fr", "geo": "ka", "ger": "de", "glg": "gl", "gre": "el",
    "heb": "he", "hin": "hi", "hrv": "hr", "hun": "hu", "ice": "is", "ind": "id", "ita": "it",
    "jpn": "ja", "kor": "ko", "lat": "la", "lav": "lv", "lit": "lt", "mac": "mk", "mal": "ml",
    "may": "ms", "nor": "no", "per": "fa", "pol": "pl", "por": "pt", "rum": "ro", "rus": "ru",
    "scc": "sr", "scr": "hr", "slo": "sk", "slv": "sl", "spa": "es", "srp": "sr", "swe": "sv",
    "tha": "th", "tur": "tr", "ukr": "uk", "vie": "vi", "wel": "cy",
}  # fmt: skip


def language_of_library_code(code: str) -> str:
    """The code of ``ger``, ``chi`` and the like; empty if it is none of the common ones."""
    return _BIBLIOGRAPHIC.get(code.strip().lower(), "")
