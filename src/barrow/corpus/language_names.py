"""Languages as people and paths name them, to their ISO 639-1 codes."""

from __future__ import annotations

_NAMES = {
    "afrikaans": "af", "albanian": "sq", "arabic": "ar", "armenian": "hy", "azerbaijani": "az",
    "basque": "eu", "belarusian": "be", "bengali": "bn", "bosnian": "bs", "breton": "br",
    "bulgarian": "bg", "burmese": "my", "catalan": "ca", "chinese": "zh", "croatian": "hr",
    "czech": "cs", "danish": "da", "dutch": "nl", "english": "en", "esperanto": "eo",
    "estonian": "et", "filipino": "tl", "finnish": "fi", "french": "fr", "galician": "gl",
    "georgian": "ka", "german": "de", "greek": "el", "hebrew": "he", "hindi": "hi",
    "hungarian": "hu", "icelandic": "is", "indonesian": "id", "irish": "ga", "italian": "it",
    "japanese": "ja", "kannada": "kn", "kazakh": "kk", "khmer": "km", "korean": "ko",
    "latin": "la", "latvian": "lv", "lithuanian": "lt", "macedonian": "mk", "malay": "ms",
    "malayalam": "ml", "maltese": "mt", "marathi": "mr", "mongolian": "mn", "norwegian": "no",
    "persian": "fa", "polish": "pl", "portuguese": "pt", "punjabi": "pa", "romanian": "ro",
    "russian": "ru", "serbian": "sr", "sinhala": "si", "slovak": "sk", "slovenian": "sl",
    "spanish": "es", "swahili": "sw", "swedish": "sv", "tagalog": "tl", "tamil": "ta",
    "telugu": "te", "thai": "th", "turkish": "tr", "ukrainian": "uk", "urdu": "ur",
    "uzbek": "uz", "vietnamese": "vi", "welsh": "cy",
}  # fmt: skip
_BY_NAME = frozenset(_NAMES.values())


def language_of_name(name: str) -> str:
    """The code of an English name such as ``German``; empty if it is none."""
    return _NAMES.get(name.strip().lower(), "")


def language_of_tag(tag: str) -> str:
    """The code of a tag such as ``de``, ``pt-BR``, ``zh_Hans`` or ``en-orig``; empty if none."""
    code, _, region = tag.strip().lower().replace("_", "-").partition("-")
    return code if code in _BY_NAME and len(region) <= 12 else ""
