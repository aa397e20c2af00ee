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
    """``de`` of ``deu`` or ``ger``; empty if it is no such code."""
    return _CODES.get(code.strip().lower(), "")
