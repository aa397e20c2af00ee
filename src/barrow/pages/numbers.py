"""Numbers as people read them: 12.3 MB, 4.1%, 5,326."""

from __future__ import annotations

_DECIMAL = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def readable_count(number: int) -> str:
    """A number of things, exactly: 5,326."""
    return f"{number:,}"


def readable_size(num_bytes: int) -> str:
    """Bytes in decimal units, three digits at least: 417 B, 12.3 MB, 1,204 EB."""
    value, unit = float(num_bytes), 0
    # What would be printed as 1000 of a unit is 1.0 of the next.
    while unit + 1 < len(_DECIMAL) and round(value, 0 if value >= 99.95 else 1) >= 1000:
        value, unit = value / 1000, unit + 1
    if unit == 0 or value >= 99.95:
        return f"{value:,.0f} {_DECIMAL[unit]}"
    return f"{value:.1f} {_DECIMAL[unit]}"


def readable_share(part: float, whole: float) -> str:
    """A share in percent: 4.1%. Only nothing is 0% and only all is 100%."""
    if not whole:
        return "–"
    if part == 0:
        return "0%"
    if part == whole:
        return "100%"
    percent = 100 * part / whole
    if percent < 0.05:
        return "<0.1%"
    if 99.95 <= percent < 100:
        return ">99.9%"
    return f"{percent:,.1f}%"


def power_of_two(exponent: int) -> str:
    """Two to the power of `exponent` bytes: 512 B, 4 KiB."""
    unit = min(exponent // 10, len(_BINARY) - 1)
    return f"{1 << (exponent - 10 * unit):,} {_BINARY[unit]}"


def length_range(num_bits: int) -> str:
    """The sizes whose binary form has `num_bits` digits: 2–4 KiB, the latter excluded."""
    if num_bits == 0:
        return "empty"
    first, last = power_of_two(num_bits - 1), power_of_two(num_bits)
    number, unit = first.split()
    return f"{number}–{last}" if last.endswith(f" {unit}") else f"{first} – {last}"
