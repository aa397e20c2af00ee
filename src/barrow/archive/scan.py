"""
JSON lines to a block of text, thirty-two bytes at a time.

`scan_lines` reads lines of the form ``{"text": "...", "meta": {...}}`` (either order, any JSON
white space, `meta` optional) and unescapes the texts *in place*: they end up one after another at
the front of the buffer the frame was decompressed into. Whatever it does not know (another key, a
number where a string should be, invalid UTF-8, half a surrogate pair) stops it, and the caller
reads the frame again by the general path, which also finds the words for what is wrong. So this
file decides nothing: it is either right or silent.

Texts are checked to be UTF-8 here. Each `meta` object is only delimited, by counting braces outside
strings; the objects are laid out as one JSON array, which the caller parses once to validate them
all. (Brace-balanced segments between commas parse as an array exactly if each of them parses.)

Two things make it safe to write where we read. The frame starts `GAP` bytes into the buffer, and
output never catches up with input, so a 32-byte store stays clear of bytes not read yet. And the
frame is followed by `SLACK` zero bytes: zero is a control character, which ends every loop.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

GAP = 64
SLACK = 64

_LANES = 32
_I8 = ir.IntType(8)
_I32 = ir.IntType(32)
_VECTOR = ir.VectorType(_I8, _LANES)


def _splat(value: int) -> ir.Constant:
    return ir.Constant(_VECTOR, [value] * _LANES)


def _special_mask(builder: Any, vector: Any) -> Any:
    """One bit per byte that is a quote, a backslash, a control character or not ASCII."""
    quote = builder.icmp_unsigned("==", vector, _splat(0x22))
    backslash = builder.icmp_unsigned("==", vector, _splat(0x5C))
    # Signed comparison: bytes from 0x80 up are negative, so one test finds them and the controls.
    outside = builder.icmp_signed("<", vector, _splat(0x20))
    return builder.bitcast(builder.or_(builder.or_(quote, backslash), outside), _I32)


@intrinsic
def _move(typingctx: Any, source: Any, target: Any) -> Any:  # pragma: no cover - compiled
    """Copy 32 bytes from address to address; return the mask of the special ones."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _VECTOR.as_pointer()
        vector = builder.load(builder.inttoptr(args[0], pointer), align=1)
        builder.store(vector, builder.inttoptr(args[1], pointer), align=1)
        return _special_mask(builder, vector)

    return types.uint32(types.uintp, types.uintp), codegen


@intrinsic
def _look(typingctx: Any, source: Any) -> Any:  # pragma: no cover - compiled
    """The mask of special bytes among the 32 at an address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = builder.load(builder.inttoptr(args[0], _VECTOR.as_pointer()), align=1)
        return _special_mask(builder, vector)

    return types.uint32(types.uintp), codegen


@intrinsic
def _first(typingctx: Any, mask: Any) -> Any:  # pragma: no cover - compiled
    """Position of the lowest set bit; the mask is not zero."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.zext(builder.cttz(args[0], ir.Constant(ir.IntType(1), 1)), ir.IntType(64))

    return types.uint64(types.uint32), codegen


_jit = numba.njit(cache=True, nogil=True, boundscheck=False)

# Indices are uint64: numba checks signed ones for wrap-around, which costs twice the time.
_U = np.uint64
_0, _1, _2, _3, _4, _6, _32 = (_U(n) for n in (0, 1, 2, 3, 4, 6, 32))
_FAIL = _U(0xFFFFFFFFFFFFFFFF)


@_jit
def _hex4(buffer: Any, at: Any) -> Any:  # pragma: no cover - compiled
    value = np.uint32(0)
    for k in range(4):
        c = buffer[at + _U(k)]
        if 0x30 <= c <= 0x39:
            digit = c - 0x30
        elif 0x61 <= c <= 0x66:
            digit = c - 0x57
        elif 0x41 <= c <= 0x46:
            digit = c - 0x37
        else:
            return np.uint32(0xFFFFFFFF)
        value = np.uint32(value * 16 + digit)
    return value


@_jit
def _put_code_point(buffer: Any, out: Any, code: Any) -> Any:  # pragma: no cover - compiled
    if code < 0x80:
        buffer[out] = code
        return out + _1
    if code < 0x800:
        buffer[out] = 0xC0 | (code >> 6)
        buffer[out + _1] = 0x80 | (code & 0x3F)
        return out + _2
    if code < 0x10000:
        buffer[out] = 0xE0 | (code >> 12)
        buffer[out + _1] = 0x80 | ((code >> 6) & 0x3F)
        buffer[out + _2] = 0x80 | (code & 0x3F)
        return out + _3
    buffer[out] = 0xF0 | (code >> 18)
    buffer[out + _1] = 0x80 | ((code >> 12) & 0x3F)
    buffer[out + _2] = 0x80 | ((code >> 6) & 0x3F)
    buffer[out + _3] = 0x80 | (code & 0x3F)
    return out + _4


@_jit
def _sequence_length(buffer: Any, at: Any) -> Any:  # pragma: no cover - compiled
    """Length of the well-formed UTF-8 sequence at a non-ASCII byte, or 0 (Unicode table 3-7)."""
    lead = buffer[at]
    second = buffer[at + _1]
    if 0xC2 <= lead <= 0xDF:
        return _2 if (second & 0xC0) == 0x80 else _0
    if 0xE0 <= lead <= 0xEF:
        low = 0xA0 if lead == 0xE0 else 0x80
        high = 0x9F if lead == 0xED else 0xBF
        if low <= second <= high and (buffer[at + _2] & 0xC0) == 0x80:
            return _3
        return _0
    if 0xF0 <= lead <= 0xF4:
        low = 0x90 if lead == 0xF0 else 0x80
        high = 0x8F if lead == 0xF4 else 0xBF
        if (
            low <= second <= high
            and (buffer[at + _2] & 0xC0) == 0x80
            and (buffer[at + _3] & 0xC0) == 0x80
        ):
            return _4
    return _0


@_jit
def _unescape_string(buffer: Any, at: Any, out: Any) -> Any:  # pragma: no cover - compiled
    """Unescape the string whose opening quote is just before `at`; return (after quote, out)."""
    address = _U(buffer.ctypes.data)
    while True:
        mask = _move(address + at, address + out)
        if mask == 0:
            at += _32
            out += _32
            continue
        step = _first(mask)
        at += step
        out += step
        c = buffer[at]
        if c == 0x22:
            return at + _1, out
        if c == 0x5C:
            e = buffer[at + _1]
            if e == 0x6E:
                plain = 0x0A
            elif e == 0x22 or e == 0x5C or e == 0x2F:
                plain = e
            elif e == 0x74:
                plain = 0x09
            elif e == 0x72:
                plain = 0x0D
            elif e == 0x62:
                plain = 0x08
            elif e == 0x66:
                plain = 0x0C
            elif e == 0x75:
                code = _hex4(buffer, at + _2)
                if code > 0xFFFF or 0xDC00 <= code <= 0xDFFF:
                    return _FAIL, out
                at += _6
                if 0xD800 <= code <= 0xDBFF:
                    if buffer[at] != 0x5C or buffer[at + _1] != 0x75:
                        return _FAIL, out
                    low = _hex4(buffer, at + _2)
                    if low < 0xDC00 or low > 0xDFFF:
                        return _FAIL, out
                    code = np.uint32(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))
                    at += _6
                out = _put_code_point(buffer, out, code)
                continue
            else:
                return _FAIL, out
            buffer[out] = plain
            at += _2
            out += _1
        elif c < 0x20:
            return _FAIL, out
        else:
            while buffer[at] >= 0x80:
                length = _sequence_length(buffer, at)
                if length == 0:
                    return _FAIL, out
                for k in range(length):
                    buffer[out + _U(k)] = buffer[at + _U(k)]
                at += length
                out += length


@_jit
def _end_of_object(buffer: Any, at: Any) -> Any:  # pragma: no cover - compiled
    """Index just after the brace that closes the object opened at `at`."""
    address = _U(buffer.ctypes.data)
    depth = 0
    while True:
        c = buffer[at]
        at += _1
        if c == 0x7B or c == 0x5B:
            depth += 1
        elif c == 0x7D or c == 0x5D:
            depth -= 1
            if depth == 0:
                return at
        elif c == 0x22:
            while True:
                mask = _look(address + at)
                if mask == 0:
                    at += _32
                    continue
                at += _first(mask)
                c = buffer[at]
                at += _1
                if c == 0x22:
                    break
                if c == 0x5C:
                    at += _1
                elif c < 0x20:
                    return _FAIL
        elif c < 0x20 and c != 0x09 and c != 0x0D:
            return _FAIL


@_jit
def _skip_spaces(buffer: Any, at: Any) -> Any:  # pragma: no cover - compiled
    while buffer[at] == 0x20 or buffer[at] == 0x09 or buffer[at] == 0x0D:
        at += _1
    return at


@_jit
def _starts_with(buffer: Any, at: Any, word: Any) -> Any:  # pragma: no cover - compiled
    for k in range(word.size):
        if buffer[at + _U(k)] != word[k]:
            return False
    return True


@_jit
def scan_lines(
    buffer: Any,
    end: Any,
    text_key: Any,
    meta_key: Any,
    offsets: Any,
    meta: Any,
    meta_offsets: Any,
) -> Any:  # pragma: no cover - compiled
    """
    Scan the lines at ``buffer[GAP:end]``; return the number of documents, or -1 to give up.

    `text_key` and `meta_key` are keys with the closing quote and without the opening one. After it,
    text i is ``buffer[offsets[i]:offsets[i + 1]]``, and ``meta[:meta_offsets[n]]`` is a JSON array
    whose object i is ``meta[meta_offsets[i]:meta_offsets[i + 1] - 1]``.
    """
    at = _U(GAP)
    stop = _U(end)
    out = _0
    meta_out = _1
    meta[0] = 0x5B
    offsets[0] = 0
    meta_offsets[0] = 1
    n = 0
    while True:
        while at < stop and (
            buffer[at] == 0x0A or buffer[at] == 0x20 or buffer[at] == 0x0D or buffer[at] == 0x09
        ):
            at += _1
        if at >= stop:
            break
        if buffer[at] != 0x7B or n + 1 >= offsets.size:
            return -1
        at += _1
        has_text = False
        has_meta = False
        while True:
            at = _skip_spaces(buffer, at)
            if buffer[at] != 0x22:
                return -1
            at += _1
            if not has_text and _starts_with(buffer, at, text_key):
                at = _skip_spaces(buffer, at + _U(text_key.size))
                if buffer[at] != 0x3A:
                    return -1
                at = _skip_spaces(buffer, at + _1)
                if buffer[at] != 0x22:
                    return -1
                at, out = _unescape_string(buffer, at + _1, out)
                if at == _FAIL:
                    return -1
                has_text = True
            elif not has_meta and _starts_with(buffer, at, meta_key):
                at = _skip_spaces(buffer, at + _U(meta_key.size))
                if buffer[at] != 0x3A:
                    return -1
                at = _skip_spaces(buffer, at + _1)
                if buffer[at] != 0x7B:
                    return -1
                after = _end_of_object(buffer, at)
                if after == _FAIL or after > stop:
                    return -1
                for k in range(at, after):
                    meta[meta_out] = buffer[k]
                    meta_out += _1
                at = after
                has_meta = True
            else:
                return -1
            at = _skip_spaces(buffer, at)
            if buffer[at] == 0x2C:
                at += _1
                continue
            if buffer[at] == 0x7D:
                at += _1
                break
            return -1
        at = _skip_spaces(buffer, at)
        if not has_text or (at < stop and buffer[at] != 0x0A) or at > stop:
            return -1
        if not has_meta:
            meta[meta_out] = 0x7B
            meta[meta_out + _1] = 0x7D
            meta_out += _2
        meta[meta_out] = 0x2C
        meta_out += _1
        n += 1
        offsets[n] = out
        meta_offsets[n] = meta_out
    meta[meta_out - _1 if n else _1] = 0x5D
    return n
