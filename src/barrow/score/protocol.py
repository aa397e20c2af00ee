"""Protocols: how a document becomes windows. Bits per byte need one to be comparable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from barrow.score.card import Window

if TYPE_CHECKING:
    from barrow.tokens import Tokenizer

Role = Literal["begin", "end", "none"]

# Names of the end-of-text token, for tokenizers that do not add it.
_END = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "[SEP]")


@dataclass(frozen=True)
class Protocol:
    """How a document becomes windows. Lengths in tokens.

    `context` is what a model sees at once, prefix included; None for the model's own length. A
    window's last token is predicted and not seen, so a row has one id more. `stride` is how many
    tokens each later window scores; "half" is half the context, None all of it. Every token is
    scored once. `prefix` is the special token that goes before the text, by its role; `prefix_in`
    says whether before the text of every window or of the first alone.
    """

    name: str
    context: int | None
    stride: int | Literal["half"] | None
    prefix: Role
    prefix_in: Literal["every", "first"] = "every"

    def __post_init__(self) -> None:
        if self.prefix not in ("begin", "end", "none"):
            raise ValueError(f"prefix must be begin, end or none, got {self.prefix!r}")
        if self.context is not None and self.context < 2:
            raise ValueError(f"context must be ≥ 2, for a prefix and one token, got {self.context}")
        if isinstance(self.stride, int) and self.stride < 1:
            raise ValueError(f"stride must be ≥ 1, got {self.stride}")

    def changed(
        self, *, context: int | None = None, stride: int | None = None, prefix: Role | None = None
    ) -> Protocol:
        """The same with the given values; "custom" where they differ.

        A stride that was half the context stays so unless it is given.
        """
        other = replace(
            self,
            context=self.context if context is None else context,
            stride=self.stride if stride is None else stride,
            prefix=self.prefix if prefix is None else prefix,
        )
        return self if other == self else replace(other, name="custom")

    def window(self, tokenizer: Tokenizer, max_length: int | None) -> Window:
        """The actual windows for a tokenizer and a model that sees `max_length` tokens."""
        context = self._context(max_length)
        stride = context if self.stride is None else context // 2
        stride = self.stride if isinstance(self.stride, int) else stride
        if stride > context:
            raise ValueError(f"a stride of {stride} skips tokens with a context of {context}")
        role, _ = prefix_token(tokenizer, self.prefix)
        return Window(context, stride, role, self.prefix_in, self.name)

    def _context(self, max_length: int | None) -> int:
        if max_length is not None and max_length < 2:
            raise ValueError(
                f"the model sees {max_length} tokens, expected at least 2, for a prefix "
                "and one token"
            )
        if self.context is None:
            if max_length is None:
                raise ValueError("the model has no maximum length: pass a context, as 1024")
            return max_length
        if max_length is None or self.context <= max_length:
            return self.context
        if self.name == "custom":
            raise ValueError(
                f"context must be ≤ {max_length}, the model's length, got {self.context}"
            )
        return max_length


# barrow: the same for every model that sees 1,024 tokens, so that a longer context is no advantage;
# every scored token but a document's first 512 has at least 512 before it. pile: as the paper and
# lm_eval's rolling log-likelihood have it.
PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {
        "barrow": Protocol("barrow", 1024, "half", "begin"),
        "pile": Protocol("pile", None, None, "end", "first"),
        "sliding": Protocol("sliding", None, "half", "begin"),
    }
)


def named_protocol(name: str) -> Protocol:
    """A protocol of `PROTOCOLS`."""
    if name not in PROTOCOLS:
        raise ValueError(f"no protocol {name!r}; there are {', '.join(PROTOCOLS)}")
    return PROTOCOLS[name]


def prefix_token(tokenizer: Tokenizer, role: Role) -> tuple[Role, int | None]:
    """The role that the tokenizer supports, and its token.

    Without a begin token the end token is used, and the reverse, since it separates documents;
    without either there is no prefix.
    """
    if role == "none":
        return "none", None
    named = (tokenizer.specials[name] for name in _END if name in tokenizer.specials)
    end = tokenizer.end if tokenizer.end is not None else next(named, None)
    found: dict[Role, int | None] = {"begin": tokenizer.begin, "end": end}
    other: Role = "end" if role == "begin" else "begin"
    for kind in (role, other):
        if found[kind] is not None:
            return kind, found[kind]
    return "none", None
