from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.filters.rules import LicenceRule
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.licences.detect import (
    is_licence_file,
    is_metadata_file,
    is_spdx,
    licence_of_metadata,
    licence_of_repository,
    licence_of_text,
    licence_tag,
    spdx_expression,
)
from barrow.demo import pocket
from barrow.recipes import permissive, pile, refine

MIT = """The MIT License (MIT)

Copyright (c) 2024 Somebody

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction.

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.
"""
BSD = """Redistribution and use in source and binary forms, with or without modification, are
permitted provided that the following conditions are met:
 * Redistributions of source code must retain the above copyright notice.
 * Redistributions in binary form must reproduce the above copyright notice.
"""
ZLIB = """This software is provided 'as-is', without any express or implied warranty. In no event
will the authors be held liable. 2. Altered source versions must be plainly marked as such."""
ISC = """Permission to use, copy, modify, and/or distribute this software for any purpose with or
without fee is hereby granted, provided that the above copyright notice appear in all copies."""

TEXTS = {
    "MIT": MIT,
    "MIT-0": MIT.split("The above")[0],
    "BSD-2-Clause": BSD,
    "BSD-3-Clause": BSD + "Neither the name may be used to endorse or promote products derived",
    "BSD-4-Clause": BSD + "3. All advertising materials mentioning features or use of this software"
    " must display. 4. may not be used to endorse or promote products",
    "Zlib": ZLIB,
    "ISC": ISC,
    "0BSD": ISC.split(", provided")[0] + ".",
    "Apache-2.0": "\n        Apache License\n     Version 2.0, January 2004\n http://www.apache.org",
    "MPL-2.0": "Mozilla Public License Version 2.0\n==== 1.12. GNU General Public License, Version "
    "2.0, the GNU Lesser General Public License, Version 2.1, the GNU Affero General Public "
    "License, Version 3.0",
    "GPL-2.0": "GNU GENERAL PUBLIC LICENSE\n   Version 2, June 1991\n ... the GNU Lesser General",
    "GPL-3.0": "GNU GENERAL PUBLIC LICENSE\n   Version 3, 29 June 2007\n\n13. Use with the GNU "
    "Affero General Public License. under version 3 of the GNU Affero General Public License",
    "AGPL-3.0": "GNU AFFERO GENERAL PUBLIC LICENSE\n Version 3\n the GNU General Public License "
    "version 3",
    "LGPL-2.1": "GNU LESSER GENERAL PUBLIC LICENSE\n Version 2.1, February 1999",
    "LGPL-3.0": "GNU LESSER GENERAL PUBLIC LICENSE\n Version 3\n the terms and conditions of "
    "version 3 of the GNU General Public License, the GNU General Public License version 3",
    "LGPL-2.0": "GNU LIBRARY GENERAL PUBLIC LICENSE\nVersion 2, June 1991",
    "Unlicense": "This is free and unencumbered software released into the public domain.",
    "CC0-1.0": "Creative Commons Legal Code\n\nCC0 1.0 Universal\n",
    "BSL-1.0": "Boost Software License - Version 1.0 - August 17th, 2003",
    "BUSL-1.1": "Business Source License 1.1 ... Change License: Apache License, Version 2.0",
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str) -> None:
    assert licence_of_text(TEXTS[name]) == name
    assert licence_of_text(TEXTS[name].replace("\n", "\r\n * ").upper()) == name


def test_texts_that_are_none() -> None:
    assert licence_of_text("All rights reserved.") is None
    assert licence_of_text("") is None
    assert licence_of_text('"Commons Clause" License Condition v1.0\n' + MIT) is None
    assert licence_of_text("SPDX-License-Identifier: EUPL-1.2") == "EUPL-1.2"


def test_tags() -> None:
    assert licence_tag("# SPDX-License-Identifier: MIT\n") == "MIT"
    assert licence_tag("/* SPDX-License-Identifier: (GPL-2.0 OR MIT) */") == "GPL-2.0 OR MIT"
    linux = "SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note"
    assert licence_tag(linux) == "GPL-2.0 WITH Linux-syscall-note"
    assert licence_tag("SPDX-License-Identifier: the usual one, see below") is None
    assert licence_tag("no tag") is None


@pytest.mark.parametrize(
    ("name", "text", "licence"),
    [
        ("package.json", '{"license": "MIT"}', "MIT"),
        ("package.json", '{"license": {"type": "ISC", "url": "x"}}', "ISC"),
        ("package.json", '{"licenses": [{"type": "Apache 2.0"}]}', "Apache-2.0"),
        ("package.json", '{"license": "UNLICENSED"}', None),
        ("package.json", '{"license": "SEE LICENSE IN x.txt"}', None),
        ("package.json", '{"license": 5}', None),
        ("package.json", "[]", None),
        ("package.json", "{", None),
        ("package.json", "[" * 100_000, None),
        ("Cargo.toml", '[package]\nlicense = "MIT/Apache-2.0"', "MIT OR Apache-2.0"),
        ("Cargo.toml", "[package]\nlicense = false", None),
        ("pyproject.toml", '[project]\nlicense = "BSD-3-Clause"', "BSD-3-Clause"),
        ("pyproject.toml", '[project]\nlicense = {text = "MIT License"}', "MIT"),
        ("pyproject.toml", '[project]\nlicense = {file = "LICENSE"}', None),
        ("pyproject.toml", f"[project]\nlicense.text = {json.dumps(MIT)}", "MIT"),
        ("pyproject.toml", '[tool.poetry]\nlicense = "MPL-2.0"', "MPL-2.0"),
        (
            "pyproject.toml",
            '[project]\nclassifiers = [1, "License :: OSI Approved :: ISC License (ISCL)"]',
            "ISC",
        ),
    ],
)
def test_metadata(name: str, text: str, licence: str | None) -> None:
    assert is_metadata_file(name)
    assert licence_of_metadata(name, text) == licence


def test_of_a_repository() -> None:
    assert licence_of_repository([], []) is None
    assert licence_of_repository(["MIT"], ["ISC"]) == "MIT"
    assert licence_of_repository([], ["ISC"]) == "ISC"
    both = ["MIT", "Apache-2.0"]
    assert licence_of_repository(both, []) == "Apache-2.0 AND MIT"
    assert licence_of_repository(both, ["MIT OR Apache-2.0"]) == "MIT OR Apache-2.0"
    assert licence_of_repository(both, ["MIT"]) == "Apache-2.0 AND MIT"
    assert licence_of_repository(["GPL-3.0", "LGPL-3.0"], []) == "LGPL-3.0"


def test_file_names() -> None:
    for name in ("LICENSE", "licence.md", "COPYING.LESSER", "LICENSE-MIT", "UNLICENSE"):
        assert is_licence_file(name)
    for name in ("licensing.py", "README", "relicense.txt"):
        assert not is_licence_file(name)


@given(st.text(), st.sampled_from(["package.json", "Cargo.toml", "pyproject.toml"]))
def test_any_text(text: str, name: str) -> None:
    licence_of_text(text)
    licence_of_metadata(name, text)
    licence_tag(text)


@pytest.mark.parametrize(
    ("stated", "expression"),
    [
        ("MIT", "MIT"),
        ("mit", "MIT"),
        ("MIT  OR (apache-2.0 and CC-BY-4.0)", "MIT OR (Apache-2.0 AND CC-BY-4.0)"),
        ("MIT OR (apache-2.0 AND cc-by-4.0)", "MIT OR (Apache-2.0 AND CC-BY-4.0)"),
        ("GPL-2.0 WITH Classpath-exception-2.0", "GPL-2.0 WITH Classpath-exception-2.0"),
        ("CC BY-SA 4.0", "CC-BY-SA-4.0"),
        ("http://creativecommons.org/licenses/by-nc/3.0/", "CC-BY-NC-3.0"),
        ("https://creativecommons.org/publicdomain/mark/1.0/", "CC-PDM-1.0"),
        ("CC-BY", "LicenseRef-CC-BY"),
        ("The MIT License", "MIT"),
        ("unknown", "LicenseRef-unknown"),
        ("NOASSERTION", "LicenseRef-unknown"),
        ("", "LicenseRef-unknown"),
        ("All rights reserved.", "LicenseRef-all-rights-reserved"),
        ("public domain (US courts)", "LicenseRef-public-domain"),
        (
            "http://arxiv.org/licenses/nonexclusive-distrib/1.0/",
            "LicenseRef-http-arxiv.org-licenses-nonexclusive-distrib-1.0",
        ),
        ("LicenseRef-ours AND MIT", "LicenseRef-ours AND MIT"),
        ("MIT AND", "LicenseRef-MIT-AND"),
        ("日本", "LicenseRef-other"),
    ],
)
def test_what_is_stated_becomes_an_expression(stated: str, expression: str) -> None:
    """PILE-5."""
    assert spdx_expression(stated) == expression
    assert is_spdx(expression)


@given(st.text(max_size=60))
def test_every_licence_is_an_expression(stated: str) -> None:
    expression = spdx_expression(stated)
    assert is_spdx(expression)
    assert spdx_expression(expression) == expression


def test_licences_of_all_recipes_are_expressions_that_rules_work_on() -> None:
    found = {
        domain.licence
        for made in (pile, permissive, pocket, refine)
        for domain in made.recipe().domains.values()
    }
    assert len(found) > 8
    assert {licence for licence in found if not is_spdx(licence)} == set()

    def kept(rule: LicenceRule) -> set[str]:
        metas = [{"licence": licence} for licence in sorted(found)]
        codes = rule.decide(Texts.of_strings([""] * len(metas), metas, Scratch())).code
        return {meta["licence"] for meta, code in zip(metas, codes, strict=True) if not code}

    free = kept(LicenceRule(allow=("CC-BY-SA-*", "Apache-*", "PSF-*", "LicenseRef-US-*")))
    assert {"CC-BY-SA-4.0", "Apache-2.0", "LicenseRef-US-government-work"} <= free
    assert not any("reserved" in licence or "unknown" in licence for licence in free)
    assert kept(LicenceRule(deny=("*-all-rights-reserved",), unknown="keep")) == found - {
        "LicenseRef-all-rights-reserved"
    }
