"""Where downloads go and come from, and how patient they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

DEFAULT_HUB = "https://huggingface.co"


@dataclass(frozen=True)
class FetchSettings:
    """How to fetch.

    `cache` is the folder that keeps what came. `hub` is where Hugging Face repository ids resolve;
    `token` is sent to that host only. A connection that says nothing for `timeout` seconds is cut;
    after `attempts` cuts without a byte between them the fetch fails, with a pause of `pause`
    seconds, then twice that, and so on, before each new try. `offline` fetches nothing.
    """

    cache: Path
    hub: str = DEFAULT_HUB
    offline: bool = False
    token: str | None = field(default=None, repr=False)
    headers: tuple[tuple[str, str], ...] = ()
    timeout: float = 30.0
    attempts: int = 5
    pause: float = 1.0


def settings_from(environment: Mapping[str, str]) -> FetchSettings:
    """Settings out of environment variables.

    ``BARROW_CACHE``, or ``XDG_CACHE_HOME/barrow``, or ``~/.cache/barrow``; ``HF_ENDPOINT``;
    ``HF_TOKEN``; ``BARROW_OFFLINE`` or ``HF_HUB_OFFLINE``, off if empty, 0, no, false or off.
    """
    return FetchSettings(
        cache=cache_folder(environment),
        hub=(environment.get("HF_ENDPOINT") or DEFAULT_HUB).rstrip("/"),
        offline=any(
            environment.get(name, "").lower() not in ("", "0", "no", "false", "off")
            for name in ("BARROW_OFFLINE", "HF_HUB_OFFLINE")
        ),
        token=environment.get("HF_TOKEN") or None,
    )


def cache_folder(environment: Mapping[str, str]) -> Path:
    """The folder that keeps downloads."""
    if named := environment.get("BARROW_CACHE"):
        return Path(named).expanduser()
    if shared := environment.get("XDG_CACHE_HOME"):
        return Path(shared) / "barrow"
    return Path(environment.get("HOME") or "~").expanduser() / ".cache" / "barrow"
