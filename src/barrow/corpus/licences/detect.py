"""Licences as SPDX expressions: of anything that states one, and of a repository by its files.

The standard texts are recognised by phrases that every copy has; any other or altered text gives
None. GPL texts do not say whether later versions may be chosen, so their identifiers do not either.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from barrow.corpus.licences.creative_commons import article_licence
from barrow.corpus.licences.expressions import is_expression

UNKNOWN = "LicenseRef-unknown"
RESERVED = "LicenseRef-all-rights-reserved"

# Identifiers that data comes under; any other name becomes a LicenseRef.
_IDENTIFIERS = {
    name.lower(): name
    for name in str.split(
        "0BSD AFL-3.0 AGPL-3.0 AGPL-3.0-only AGPL-3.0-or-later Apache-1.1 Apache-2.0 Artistic-1.0 "
        "Artistic-2.0 BlueOak-1.0.0 BSD-1-Clause BSD-2-Clause BSD-3-Clause BSD-3-Clause-Clear "
        "BSD-4-Clause BSD-Source-Code BSL-1.0 BUSL-1.1 CC-PDM-1.0 CC0-1.0 CDDL-1.0 CDDL-1.1 "
        "CDLA-Permissive-1.0 CDLA-Permissive-2.0 CDLA-Sharing-1.0 CECILL-2.1 CNRI-Python CPL-1.0 "
        "ECL-2.0 EPL-1.0 EPL-2.0 EUPL-1.1 EUPL-1.2 FSFAP GFDL-1.2 GFDL-1.3 GFDL-1.3-only "
        "GFDL-1.3-or-later GPL-1.0 GPL-2.0 GPL-2.0+ GPL-2.0-only GPL-2.0-or-later GPL-3.0 "
        "GPL-3.0+ GPL-3.0-only GPL-3.0-or-later HPND ISC LGPL-2.0 LGPL-2.1 LGPL-2.1+ "
        "LGPL-2.1-only LGPL-2.1-or-later LGPL-3.0 LGPL-3.0-only LGPL-3.0-or-later LPPL-1.3c MIT "
        "MIT-0 MPL-1.1 MPL-2.0 MS-PL MulanPSL-2.0 NCSA ODbL-1.0 ODC-By-1.0 OFL-1.1 OGL-UK-3.0 "
        "OSL-3.0 PDDL-1.0 PHP-3.01 PostgreSQL PSF-2.0 Python-2.0 Ruby SSPL-1.0 TCL UPL-1.0 "
        "Unicode-3.0 Unlicense W3C WTFPL X11 Zlib ZPL-2.1 Classpath-exception-2.0 "
        "GCC-exception-3.1 LLVM-exception OpenSSL"
    )
    + [
        f"CC-BY{terms}-{version}"
        for terms in ("", "-NC", "-ND", "-SA", "-NC-ND", "-NC-SA")
        for version in ("1.0", "2.0", "2.5", "3.0", "4.0")
    ]
}
_REFERENCE = re.compile(r"(?:DocumentRef-[A-Za-z0-9.-]+:)?LicenseRef-[A-Za-z0-9.-]+")
_NAMES = re.compile(r"[()]|[^\s()]+")

# Grants that several licences begin with.
_MIT = (
    "permission is hereby granted free of charge to any person obtaining a copy of this software "
    "and associated documentation files"
)
_BSD = "redistribution and use in source and binary forms"
_ZLIB = "this software is provided as is without any express or implied warranty in no event will"

# The words of each text, lower case, without punctuation; all phrases of a line must be there.
# Of two that begin at the same place the earlier line wins.
_PHRASES: tuple[tuple[str, ...], ...] = (
    ("AGPL-3.0", "gnu affero general public license version 3"),
    ("LGPL-3.0", "gnu lesser general public license version 3"),
    ("LGPL-2.1", "gnu lesser general public license version 2 1"),
    ("LGPL-2.0", "gnu library general public license version 2"),
    ("GPL-3.0", "gnu general public license version 3"),
    ("GPL-2.0", "gnu general public license version 2"),
    ("MPL-2.0", "mozilla public license version 2 0"),
    ("Apache-2.0", "apache license version 2 0"),
    ("BSL-1.0", "boost software license version 1 0"),
    ("CC0-1.0", "cc0 1 0 universal"),
    ("Unlicense", "this is free and unencumbered software released into the public domain"),
    ("BUSL-1.1", "business source license 1 1"),
    ("SSPL-1.0", "server side public license version 1"),
    ("MIT", _MIT, "the above copyright notice and this permission notice shall be included"),
    ("MIT-0", _MIT),
    ("Zlib", _ZLIB, "altered source versions must be plainly marked as such"),
    ("BSD-4-Clause", _BSD, "all advertising materials mentioning features or use of this software"),
    ("BSD-3-Clause", _BSD, "used to endorse or promote products"),
    ("BSD-2-Clause", _BSD, "redistributions in binary form must reproduce the above copyright"),
)
_ISC = re.compile(
    "permission to use copy modify and (?:or )?distribute this software for any purpose with or "
    "without fee is hereby granted( provided that the above copyright notice)?"
)
# Additions that restrict the standard text.
_RESTRICTIONS = ("commons clause", "for non commercial purposes only", "non commercial use only")

_WORDS = re.compile(r"[^a-z0-9]+")
_TAG = re.compile(r"SPDX-License-Identifier:[ \t]*([A-Za-z0-9.+() -]{1,200})")
_EXPRESSION = re.compile(r"[A-Za-z0-9.+-]+(?: (?:AND|OR|WITH) [A-Za-z0-9.+-]+)*")

# Other names of them in package metadata.
_ALIASES = {
    "apache": "Apache-2.0",
    "apache 2": "Apache-2.0",
    "apache 2 0": "Apache-2.0",
    "apache license 2 0": "Apache-2.0",
    "apache license version 2 0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "apache software license 2 0": "Apache-2.0",
    "boost software license 1 0 bsl 1 0": "BSL-1.0",
    "bsd 2 clause": "BSD-2-Clause",
    "bsd 3 clause": "BSD-3-Clause",
    "bsd 3 clause license": "BSD-3-Clause",
    "new bsd": "BSD-3-Clause",
    "new bsd license": "BSD-3-Clause",
    "cc0 1 0 universal cc0 1 0 public domain dedication": "CC0-1.0",
    "gnu affero general public license v3": "AGPL-3.0",
    "gnu general public license v2 gplv2": "GPL-2.0",
    "gnu general public license v3 gplv3": "GPL-3.0",
    "gplv2": "GPL-2.0",
    "gplv3": "GPL-3.0",
    "isc license": "ISC",
    "isc license iscl": "ISC",
    "mit license": "MIT",
    "the mit license": "MIT",
    "mozilla public license 2 0 mpl 2 0": "MPL-2.0",
    "the unlicense unlicense": "Unlicense",
    "zlib libpng license": "Zlib",
}
# Words in npm's licence field that name no licence.
_NO_LICENCE = {"unlicensed", "none", "proprietary", "commercial", "private", "see license"}


@lru_cache(4096)
def spdx_expression(stated: str) -> str:
    """A stated licence as an SPDX expression; names that are not SPDX's become a LicenseRef."""
    value = " ".join(stated.split())
    if is_spdx(value):
        return value
    words = _WORDS.sub(" ", value.lower()).strip()
    if not value or words in ("unknown", "noassertion", "none"):
        return UNKNOWN
    if words in ("all rights reserved", "copyrighted", "copyright", "proprietary"):
        return RESERVED
    names = [_IDENTIFIERS.get(part.lower(), part) for part in _NAMES.findall(value)]
    names = [name.upper() if name.lower() in ("and", "or", "with") else name for name in names]
    cased = " ".join(names).replace("( ", "(").replace(" )", ")")
    for found in (cased, _ALIASES.get(words, ""), article_licence(value)):
        if is_spdx(found):
            return found
    return f"LicenseRef-{re.sub('[^A-Za-z0-9.]+', '-', value).strip('-')[:100] or 'other'}"


def is_spdx(expression: str) -> bool:
    """Whether an expression has identifiers of SPDX's and LicenseRefs only, as SPDX writes them."""
    names = set(_NAMES.findall(expression)) - {"(", ")", "AND", "OR", "WITH"}
    if not names or not all(
        _IDENTIFIERS.get(name.lower()) == name or _REFERENCE.fullmatch(name) for name in names
    ):
        return False
    return is_expression(expression)


def is_licence_file(name: str) -> bool:
    """Whether a file in a repository's top folder is a licence file."""
    stem = name.lower().split(".", 1)[0]
    stem = re.split("[-_ ]", stem, maxsplit=1)[0]
    return stem in ("license", "licence", "copying", "unlicense", "licenses", "copyright", "mit")


def is_metadata_file(name: str) -> bool:
    """Whether a file in a repository's top folder is package metadata that may name a licence."""
    return name in ("pyproject.toml", "package.json", "Cargo.toml")


def licence_of_text(text: str) -> str | None:
    """The licence whose text this is; the first, where there are several."""
    tagged = licence_tag(text[:4000])
    words = _WORDS.sub(" ", text.lower())
    if any(phrase in words for phrase in _RESTRICTIONS):
        return None
    found: list[tuple[int, int, str]] = []
    for rank, (name, *phrases) in enumerate(_PHRASES):
        places = [words.find(phrase) for phrase in phrases]
        if min(places) >= 0:
            found.append((places[0], rank, name))
    if isc := _ISC.search(words):
        found.append((isc.start(), 0, "ISC" if isc[1] else "0BSD"))
    return min(found)[2] if found else tagged


def licence_tag(text: str) -> str | None:
    """The expression after ``SPDX-License-Identifier:``, if it is one."""
    match = _TAG.search(text)
    return _expression(match[1]) if match else None


def licence_of_metadata(name: str, text: str) -> str | None:
    """The licence that pyproject.toml, package.json or Cargo.toml names."""
    try:
        data: Any = json.loads(text) if name.endswith(".json") else tomllib.loads(text)
    except (ValueError, RecursionError):
        return None
    if name == "package.json":
        stated = _at(data, "license") or _at(data, "licenses", 0)
        return _stated(_at(stated, "type") or stated)
    if name == "Cargo.toml":
        return _stated(_at(data, "package", "license"))
    stated = _at(data, "project", "license")
    classifiers = _at(data, "project", "classifiers")
    return (
        _stated(_at(stated, "text") or stated)
        or _stated(_at(data, "tool", "poetry", "license"))
        or _of_classifiers(classifiers if isinstance(classifiers, list) else [])
    )


def licence_of_repository(from_texts: Iterable[str], from_metadata: Iterable[str]) -> str | None:
    """One expression for the licences of a repository's files.

    Texts count before metadata, but where there are several of them, only metadata can tell whether
    they are a choice; without it all of them apply.
    """
    texts = sorted(set(from_texts))
    stated = sorted(set(from_metadata))
    if "LGPL-3.0" in texts and "GPL-3.0" in texts:
        texts.remove("GPL-3.0")  # the one is written as an addition to the other
    if len(texts) > 1:
        for expression in stated:
            named = expression.replace("(", " ").replace(")", " ").split()
            if all(any(word.startswith(text) for word in named) for text in texts):
                return expression
    return " AND ".join(texts or stated) or None


def _of_classifiers(classifiers: list[object]) -> str | None:
    for line in classifiers:
        if isinstance(line, str) and line.startswith("License ::"):
            licence = _ALIASES.get(_WORDS.sub(" ", line.rsplit("::", 1)[-1].lower()).strip())
            if licence:
                return licence
    return None


def _stated(value: object) -> str | None:
    """The value of a licence field, as an expression."""
    if not isinstance(value, str) or len(value) > 200:
        return licence_of_text(value) if isinstance(value, str) else None
    words = _WORDS.sub(" ", value.lower()).strip()
    if words in _ALIASES:
        return _ALIASES[words]
    if any(words.startswith(word) for word in _NO_LICENCE):
        return None
    return _expression(value.replace("/", " OR "))


def _expression(value: str) -> str | None:
    """An SPDX expression, its outer blanks and brackets off; None for anything else."""
    value = " ".join(value.split())
    bare = value.replace("(", "").replace(")", "")
    if value.startswith("(") and value.endswith(")") and value.count("(") == 1:
        value = bare
    if value.count("(") != value.count(")") or not _EXPRESSION.fullmatch(bare):
        return None
    return value


def _at(data: Any, *keys: str | int) -> Any:
    for key in keys:
        if isinstance(key, str):
            data = data.get(key) if isinstance(data, dict) else None
        else:
            data = data[key] if isinstance(data, list) and len(data) > key else None
    return data
