"""Licences of articles."""

from __future__ import annotations

import pytest

from barrow.corpus.licences.creative_commons import article_licence


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("http://creativecommons.org/licenses/by/4.0/", "CC-BY-4.0"),
        ("see https://creativecommons.org/licences/by-nc-nd/3.0/us", "CC-BY-NC-ND-3.0"),
        ("https://creativecommons.org/publicdomain/zero/1.0/", "CC0-1.0"),
        ("https://creativecommons.org/publicdomain/mark/1.0/", "CC-PDM-1.0"),
        ("creativecommons.org/licenses/by-sa", "CC-BY-SA"),
        ("under a CC BY 4.0 license", "CC-BY-4.0"),
        ("under a CC-BY-NC license", "CC-BY-NC"),
        ("under the Creative Commons Attribution License, which permits", "CC-BY"),
        ("Creative Commons\nAttribution-NonCommercial 4.0 International", "CC-BY-NC-4.0"),
        ("Creative Commons Attribution Non-Commercial Share Alike License", "CC-BY-NC-SA"),
        ("made available under the Creative Commons CC0 public domain dedication", "CC0-1.0"),
        ("This work is in the public domain.", "LicenseRef-public-domain"),
        ("See https://www.elsevier.com/tdm/userlicense/1.0/.", "https://www.elsevier.com/tdm/userlicense/1.0/"),
        ("All rights reserved.", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_licences(statement: str, expected: str) -> None:
    assert article_licence(statement) == expected
