from __future__ import annotations

from pathlib import Path

import pytest

from barrow.weights.fetch_settings import FetchSettings, settings_from


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"BARROW_CACHE": "/c", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/c"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/barrow"),
        ({"HOME": "/h"}, "/h/.cache/barrow"),
        ({"BARROW_CACHE": "", "HOME": "/h"}, "/h/.cache/barrow"),
    ],
)
def test_the_cache(environment: dict[str, str], folder: str) -> None:
    assert settings_from(environment).cache == Path(folder)


@pytest.mark.parametrize(
    ("value", "offline"),
    [("1", True), ("yes", True), ("TRUE", True), ("0", False), ("", False), ("False", False)],
)
@pytest.mark.parametrize("name", ["BARROW_OFFLINE", "HF_HUB_OFFLINE"])
def test_offline(name: str, value: str, offline: bool) -> None:
    assert settings_from({name: value}).offline is offline


def test_hub_and_token() -> None:
    settings = settings_from({"HF_ENDPOINT": "https://mirror/", "HF_TOKEN": "secret"})
    assert (settings.hub, settings.token) == ("https://mirror", "secret")
    assert "secret" not in repr(settings)
    assert settings_from({}) == FetchSettings(cache=settings_from({}).cache)
    assert settings_from({}).hub == "https://huggingface.co"
