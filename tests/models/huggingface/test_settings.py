from __future__ import annotations

import pytest

from barrow.models.huggingface.settings import Settings

SETTINGS = Settings({"n": 3, "x": 0.5, "on": True, "s": "word", "in": {"n": 4}, "null": None})


def test_values_and_defaults() -> None:
    assert SETTINGS.count("n", 1) == 3
    assert SETTINGS.count("null", 7) == SETTINGS.count("absent", 7) == 7
    assert SETTINGS.count_or_none("null", 7) is None
    assert SETTINGS.count_or_none("absent", 7) == 7
    assert SETTINGS.count_or_none("n") == 3
    assert SETTINGS.number("x", 1.0) == 0.5
    assert SETTINGS.number("n", 1.0) == 3.0
    assert SETTINGS.flag("on", False) is True
    assert SETTINGS.text("s", "") == "word"
    inner = SETTINGS.table("in")
    assert inner is not None
    assert inner.count("n", 1) == 4
    assert SETTINGS.table("absent") is None


def test_wrong_types_say_what_was_expected() -> None:
    for key in ("on", "x", "s"):
        with pytest.raises(ValueError, match=f"config.json: {key} must be an integer ≥ 1"):
            SETTINGS.count(key, 1)
    with pytest.raises(ValueError, match="on must be a positive number, got True"):
        SETTINGS.number("on", 1.0)
    with pytest.raises(ValueError, match="n must be true or false, got 3"):
        SETTINGS.flag("n", True)
    with pytest.raises(ValueError, match="n must be a string"):
        SETTINGS.text("n", "")
    with pytest.raises(ValueError, match="n must be an object"):
        SETTINGS.table("n")
    with pytest.raises(ValueError, match="on must be False, got True"):
        SETTINGS.require("on", False, default=False)


def test_shares() -> None:
    assert Settings({"a": 0}).share("a", 0.5) == 0.0
    assert Settings({}).share("a", 0.5) == 0.5
    for wrong in (1, -0.1, "x", True):
        with pytest.raises(ValueError, match="a must be ≥ 0 and < 1, got"):
            Settings({"a": wrong}).share("a", 0.5)
