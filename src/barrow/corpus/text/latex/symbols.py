"""Letters and signs that TeX writes as commands."""

from __future__ import annotations

import unicodedata

# Commands of one character, and their text.
SIGNS = {
    "%": "%", "&": "&", "$": "$", "#": "#", "_": "_", "{": "{", "}": "}", " ": " ", "\n": " ",
    "\t": " ", "~": "~", "-": "", "/": "", ",": " ", ";": " ", ":": " ", "!": "", "@": "", ">": " ",
}  # fmt: skip

# Commands with a name.
NAMES = {
    "ss": "ß", "SS": "SS", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ae": "æ", "AE": "Æ",
    "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å", "i": "ı", "j": "ȷ", "dh": "ð", "DH": "Ð",
    "th": "þ", "TH": "Þ", "dj": "đ", "DJ": "Đ", "ng": "ŋ", "NG": "Ŋ",
    "S": "§", "P": "¶", "copyright": "©", "textcopyright": "©", "pounds": "£", "euro": "€",
    "EUR": "€", "texteuro": "€", "textregistered": "®", "texttrademark": "™", "dag": "†",
    "ddag": "‡", "textdagger": "†", "textdaggerdbl": "‡", "dots": "…", "ldots": "…",
    "textellipsis": "…", "textasciitilde": "~", "textasciicircum": "^", "textbackslash": "\\",
    "backslash": "\\", "textbar": "|", "textless": "<", "textgreater": ">", "textbullet": "•",
    "textendash": "–", "textemdash": "—", "textquoteleft": "'", "textquoteright": "'",
    "textquotedblleft": '"', "textquotedblright": '"', "textquotedbl": '"', "textquotesingle": "'",
    "quotedblbase": "„", "quotesinglbase": "‚", "glqq": "„", "grqq": "“", "flqq": "«", "frqq": "»",
    "guillemotleft": "«", "guillemotright": "»", "guillemetleft": "«", "guillemetright": "»",
    "og": "« ", "fg": " »", "lq": "'", "rq": "'", "textunderscore": "_", "textdegree": "°",
    "degree": "°", "textmu": "µ", "micro": "µ", "textperiodcentered": "·", "textsection": "§",
    "textparagraph": "¶", "textexclamdown": "¡", "textquestiondown": "¿", "textdollar": "$",
    "textbraceleft": "{", "textbraceright": "}", "textasteriskcentered": "*", "textohm": "Ω",
    "textonehalf": "½", "textonequarter": "¼", "textthreequarters": "¾", "textordfeminine": "ª",
    "textordmasculine": "º", "texttimes": "×", "textpm": "±", "textdiv": "÷", "textminus": "−",
    "textrightarrow": "→", "textleftarrow": "←", "textnumero": "№", "checkmark": "✓", "cmark": "✓",
    "xmark": "✗", "slash": "/", "lbrack": "[", "rbrack": "]", "lbrace": "{", "rbrace": "}",
    "quad": " ", "qquad": " ", "enspace": " ", "thinspace": " ", "space": " ", "hfill": " ",
    "hfil": " ", "nobreakspace": " ", "enskip": " ", "null": "", "negthinspace": "",
    "TeX": "TeX", "LaTeX": "LaTeX", "LaTeXe": "LaTeX2e", "BibTeX": "BibTeX", "AmS": "AMS",
    "AmSTeX": "AMS-TeX", "AmSLaTeX": "AMS-LaTeX", "XeTeX": "XeTeX", "pdfLaTeX": "pdfLaTeX",
    "eg": "e.g.", "ie": "i.e.", "etal": "et al.", "etc": "etc.", "cf": "cf.", "qed": "◻",
    "acknowledgmentname": "Acknowledgments", "figurename": "Figure", "tablename": "Table",
    "refname": "References", "abstractname": "Abstract", "contentsname": "Contents",
    "guilsinglleft": "‹", "guilsinglright": "›", "textvisiblespace": "␣", "today": "",
    "percent": "%", "colon": ":", "square": "□", "Box": "□", "ddagger": "‡",
    "dagger": "†", "bullet": "•",
}  # fmt: skip

_COMBINING = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", "=": "\u0304", "u": "\u0306",
    ".": "\u0307", '"': "\u0308", "r": "\u030a", "H": "\u030b", "v": "\u030c", "d": "\u0323",
    "c": "\u0327", "k": "\u0328", "b": "\u0331", "t": "\u0361",
}  # fmt: skip
ACCENTS = frozenset(_COMBINING)


def accented(accent: str, letters: str) -> str:
    """Letters, the first with the accent."""
    letters = letters.strip()
    letters = {"ı": "i", "ȷ": "j", "\\i": "i", "\\j": "j"}.get(letters, letters)
    if not letters:
        return accent if accent in "~^" else ""
    return unicodedata.normalize("NFC", letters[0] + _COMBINING[accent] + letters[1:])


def typeset(text: str) -> str:
    """Dashes and quotation marks as TeX prints them; blanks as one."""
    if "-" in text:
        text = text.replace("---", "—").replace("--", "–")
    if "`" in text or "''" in text:
        text = text.replace("``", '"').replace("''", '"').replace("`", "'")
    return text
