from typing import Any

def feed(
    data: bytes,
    writer: object,
    starts: dict[str, Any],
    ends: dict[str, Any],
    handlers: list[Any],
    /,
) -> bool: ...
