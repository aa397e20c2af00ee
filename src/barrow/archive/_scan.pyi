from typing_extensions import Buffer

GAP: int
MAX_DEPTH: int
SLACK: int

def scan_lines(
    buffer: Buffer,
    end: int,
    text_key: Buffer,
    meta_key: Buffer,
    offsets: Buffer,
    meta: Buffer,
    meta_offsets: Buffer,
) -> int: ...
def texts(buffer: Buffer, offsets: Buffer) -> list[str]: ...
