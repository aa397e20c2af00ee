"""Languages by their codes of three letters (ISO 639-2 and 639-3), to those of two (ISO 639-1)."""

from __future__ import annotations

_CODES = {
    "afr": "af", "amh": "am", "ara": "ar", "asm": "as", "aze": "az", "bak": "ba", "bel": "be",
    "ben": "bn", "bod": "bo", "bos": "bs", "bre": "br", "bul": "bg", "cat": "ca", "ces": "cs",
    "chv": "cv", "cos": "co", "cym": "cy", "dan": "da", "deu": "de", "div": "dv", "dzo": "dz",
    "ell": "el", "eng": "en", "epo": "eo", "est": "et", "eus": "eu", "fao": "fo", "fas": "fa",
    "fij": "fj", "fin": "fi", "fra": "fr", "fry": "fy", "gla": "gd", "gle": "ga", "glg": "gl",
    "glv": "gv", "grn": "gn", "guj": "gu", "hat": "ht", "hau": "ha", "heb": "he", "hin": "hi",
    "hrv": "hr", "hun": "hu", "hye": "hy", "ibo": "ig", "iku": "iu", "ile": "ie", "ina": "ia",
    "ind": "id", "ipk": "ik", "isl": "is", "ita": "it", "jav": "jv", "jpn": "ja", "kal": "kl",
    "kan": "kn", "kas": "ks", "kat": "ka", "kaz": "kk", "khm": "km", "kin": "rw", "kir": "ky",
    "kor": "ko", "kur": "ku", "lao": "lo", "lat": "la", "lav": "lv", "lin": "ln", "lit": "lt",
    "ltz": "lb", "lug": "lg", "mal": "ml", "mar": "mr", "mkd": "mk", "mlg": "mg", "mlt": "mt",
    "mon": "mn", "mri": "mi", "msa": "ms", "mya": "my", "nau": "na", "nep": "ne", "nld": "nl",
    "nno": "nn", "nob": "nb", "nor": "no", "nya": "ny", "oci": "oc", "ori": "or", "orm": "om",
    "pan": "pa", "pol": "pl", "por": "pt", "pus": "ps", "que": "qu", "roh": "rm", "ron": "ro",
    "run": "rn", "rus": "ru", "sag": "sg", "san": "sa", "sin": "si", "slk": "sk", "slv": "sl",
    "smo": "sm", "sna": "sn", "snd": "sd", "som": "so", "sot": "st", "spa": "es", "sqi": "sq",
    "srp": "sr", "ssw": "ss", "sun": "su", "swa": "sw", "swe": "sv", "tam": "ta", "tat": "tt",
    "tel": "te", "tgk": "tg", "tgl": "tl", "tha": "th", "tir": "ti", "ton": "to", "tsn": "tn",
    "tso": "ts", "tuk": "tk", "tur": "tr", "twi": "tw", "uig": "ug", "ukr": "uk", "urd": "ur",
    "uzb": "uz", "ven": "ve", "vie": "vi", "vol": "vo", "wol": "wo", "xho": "xh", "yid": "yi",
    "yor": "yo", "zha": "za", "zho": "zh", "zul": "zu", "alb": "sq", "arm": "hy", "baq": "eu",
    "bur": "my", "chi": "zh", "cze": "cs", "dut": "nl", "fre": "fr", "geo": "ka", "ger": "de",
    "gre": "el", "ice": "is", "mac": "mk", "mao": "mi", "may": "ms", "per": "fa", "rum": "ro",
    "slo": "sk", "tib": "bo", "wel": "cy",
}  # fmt: skip


def language_of_code(code: str) -> str:
    """``de`` of ``deu`` or ``ger``; empty if unknown."""
    return _CODES.get(code.strip().lower(), "")


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
    """The code of ``ger``, ``chi`` and the like; empty if unknown."""
    return _BIBLIOGRAPHIC.get(code.strip().lower(), "")


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
    """The code of an English name such as ``German``; empty if unknown."""
    return _NAMES.get(name.strip().lower(), "")


def language_of_tag(tag: str) -> str:
    """The code of a tag such as ``de``, ``pt-BR``, ``zh_Hans`` or ``en-orig``; empty if none."""
    code, _, region = tag.strip().lower().replace("_", "-").partition("-")
    return code if code in _BY_NAME and len(region) <= 12 else ""
