"""Keys, tokens and passwords.

Those with a known prefix (AWS, GitHub, GitLab, Slack, Google, Stripe, OpenAI, Anthropic, npm,
Hugging Face, JSON web tokens), private key blocks, and any long value of many different characters
after a name such as ``api_key =``. Values from documentation (EXAMPLE, xxxx, your-key) are left.
"""

from __future__ import annotations

import math
import re
from collections import Counter

from barrow.corpus.filters.pii.found import Found
from barrow.corpus.filters.pii.key_anchors import MIN_KEY

_START = re.compile(
    rb"(?<![A-Za-z0-9])(?:AKIA|ASIA|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AIza|[rs]k_live_|"
    rb"sk-|npm_|hf_|eyJ)"
)
_KNOWN = re.compile(
    rb"(?:"
    rb"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"
    rb"|gh[pousr]_[A-Za-z0-9]{36,255}+|github_pat_[A-Za-z0-9_]{22,255}+|glpat-[\w-]{20,64}+"
    rb"|xox[abprs]-[A-Za-z0-9-]{10,255}+"
    rb"|AIza[\w-]{35}(?![\w-])"
    rb"|[rs]k_live_[A-Za-z0-9]{16,255}+|sk-(?:proj|ant|svcacct|admin)-[\w-]{20,255}+"
    rb"|npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])|hf_[A-Za-z0-9]{34}(?![A-Za-z0-9])"
    rb"|eyJ[\w-]{8,4096}+\.[\w-]{8,65536}+\.[\w-]{16,4096}+)"
)
_NAME = re.compile(
    rb"(?:api[_-]?key|secret|secret[_-]?key|access[_-]?key(?:[_-]?id)?|(?:access|auth|api|bearer|"
    rb"refresh|bot|oauth)[_-]?token|token|client[_-]?secret|private[_-]?key|encryption[_-]?key|"
    rb"consumer[_-]?(?:key|secret)|passw(?:or)?d|passphrase|pwd|auth[_-]?key|account[_-]?key)"
    rb"[\"'`\])]{0,2}\s{0,3}(?:=>|:=|={1,2}|:)\s{0,3}[\"'`]?$",
    re.IGNORECASE,
)
_VALUE = re.compile(rb"[\w+/=.~-]{16,512}+")
_HEX = re.compile(rb"[0-9a-fA-F-]+")
_DOCUMENTED = re.compile(
    rb"example|xxxx|your|placeholder|\.\.\.|123456|abcdef|foobar|test|dummy", re.I
)
_MIN_BITS, _MIN_HEX_BITS = 3.6, 3.0  # per character; English words joined have 3.0 to 3.5
_BLOCK = re.compile(rb"-----BEGIN (?:[A-Z0-9]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----")
_MAX_BLOCK = 1 << 14
_BODY = re.compile(rb"[A-Za-z0-9+/=]{16,}+")


def check_key(data: bytes, start: int, stop: int) -> Found | None:
    """A key in a window of letters, digits and ``_-+/``."""
    for beginning in _START.finditer(data, start, stop):
        known = _KNOWN.match(data, beginning.start())
        if known and not _DOCUMENTED.search(known.group()):
            return Found("secret", *known.span())
    if not _NAME.search(data, max(0, start - 48), start):
        return None
    value = _VALUE.match(data, start)
    if not value or data[value.end() : value.end() + 1] in (b"(", b"[", b"$", b"{", b"<"):
        return None
    text = value.group().rstrip(b".=")
    bits = _entropy(text)
    if _DOCUMENTED.search(text) or bits < (_MIN_HEX_BITS if _HEX.fullmatch(text) else _MIN_BITS):
        return None
    num_digits = sum(byte in b"0123456789" for byte in text)
    if num_digits < 2 or num_digits == len(text) or text.count(b".") or text.count(b"/") > 4:
        return None
    return Found("secret", start, value.end())


def check_key_block(data: bytes, start: int, stop: int) -> Found | None:  # noqa: ARG001
    """A private key between its BEGIN and END, or up to the end of the text."""
    header = _BLOCK.match(data, start)
    if header is None:
        return None
    limit = min(len(data), header.end() + _MAX_BLOCK)
    footer = data.find(b"-----END ", header.end(), limit)
    last = data.find(b"-----", footer + 9, limit) + 5 if footer >= 0 else -1
    body = _BODY.search(data, header.end(), footer if footer >= 0 else header.end() + 256)
    if body is None:
        return None
    return Found("secret", start, last if last > footer else body.end())


def _entropy(text: bytes) -> float:
    """Entropy of the bytes of the text, in bits per byte."""
    counts = Counter(text).values()
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts)


assert MIN_KEY == 16  # as in _VALUE
