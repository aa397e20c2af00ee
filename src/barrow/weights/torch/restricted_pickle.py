"""Read a pickle as data: nothing is imported, looked up or called.

A pickle is a program for a small stack machine. Python's own unpickler, even with a guarded
`find_class`, ends up calling real functions with arguments that the file chose. Here the machine
is our own: a global is only a name, found in a short table or refused; a call is a name and
arguments, given to a function of ours for that name. Only what arrays, containers, numbers and
strings need is implemented. `pickletools` of the standard library splits the bytes into operations;
it runs nothing either.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


class Refused(ValueError):
    """The pickle contains something that is not allowed, or is malformed."""


@dataclass(frozen=True)
class Global:
    """A name of the form module.name; inert."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass
class Instance:
    """An inert object of a class that is only a name: its attributes."""

    kind: Global
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Meanings:
    """What a pickle may contain.

    `values` are globals that are kept or replaced by a value. `calls` maps a global to the function
    for its calls. `is_class` decides which globals may be instantiated as an inert `Instance`.
    `build` gets the state set on an object that is not an instance. `persistent` gives the object
    of a persistent id.
    """

    values: Mapping[str, Any]
    calls: Mapping[str, Callable[[tuple[Any, ...]], Any]]
    is_class: Callable[[Global], bool]
    build: Callable[[Any, Any], Any]
    persistent: Callable[[Any], Any]


_MARK = object()
_CONSTANTS = {
    "NONE": None,
    "NEWTRUE": True,
    "NEWFALSE": False,
    "EMPTY_TUPLE": (),
}
_WITH_VALUE = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE"),
    *("BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
}
_SHORT_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_PUTS = {"PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"}
_GETS = {"GET", "BINGET", "LONG_BINGET"}


def load(data: bytes, *, meanings: Meanings) -> Any:
    """The object that a pickle describes, or `Refused`."""
    machine = _Machine(meanings)
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name == "STOP":
                return machine.result()
            machine.run(opcode.name, argument)
    except Refused:
        raise
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise Refused(f"not a readable pickle: {error}") from None
    raise Refused("the pickle has no end")


class _Machine:
    def __init__(self, meanings: Meanings) -> None:
        self._meanings = meanings
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def result(self) -> Any:
        if len(self._stack) != 1 or self._stack[0] is _MARK:
            raise Refused(f"the pickle leaves {len(self._stack)} objects, expected one")
        return self._stack[0]

    def run(self, name: str, argument: Any) -> None:
        if name in ("PROTO", "FRAME"):
            return
        if name in _WITH_VALUE:
            self._stack.append(argument)
        elif name in _CONSTANTS:
            self._stack.append(_CONSTANTS[name])
        elif name in _PUTS:
            number = len(self._memo) if name == "MEMOIZE" else int(argument)
            self._memo[number] = self._top()
        elif name in _GETS:
            self._stack.append(self._memo[int(argument)])
        elif name == "MARK":
            self._stack.append(_MARK)
        elif name in _SHORT_TUPLES:
            self._stack.append(tuple(self._pop_many(_SHORT_TUPLES[name])))
        else:
            method = getattr(self, f"_op_{name.lower()}", None)
            if method is None:
                raise Refused(f"the pickle uses {name}, which no array or container needs")
            method(argument)

    # Stack ---------------------------------------------------------------------------------------

    def _top(self) -> Any:
        if self._stack[-1] is _MARK:
            raise Refused("the pickle uses a mark as a value")
        return self._stack[-1]

    def _pop(self) -> Any:
        value = self._top()
        self._stack.pop()
        return value

    def _pop_many(self, count: int) -> list[Any]:
        return [self._pop() for _ in range(count)][::-1]

    def _pop_to_mark(self) -> list[Any]:
        found: list[Any] = []
        while self._stack[-1] is not _MARK:
            found.append(self._stack.pop())
        self._stack.pop()
        return found[::-1]

    # Containers ----------------------------------------------------------------------------------

    def _op_empty_list(self, _: Any) -> None:
        self._stack.append([])

    def _op_empty_dict(self, _: Any) -> None:
        self._stack.append({})

    def _op_list(self, _: Any) -> None:
        self._stack.append(self._pop_to_mark())

    def _op_tuple(self, _: Any) -> None:
        self._stack.append(tuple(self._pop_to_mark()))

    def _op_dict(self, _: Any) -> None:
        items = self._pop_to_mark()
        self._stack.append({})
        self._set_items(items)

    def _op_append(self, _: Any) -> None:
        self._extend([self._pop()])

    def _op_appends(self, _: Any) -> None:
        self._extend(self._pop_to_mark())

    def _op_setitem(self, _: Any) -> None:
        self._set_items(self._pop_many(2))

    def _op_setitems(self, _: Any) -> None:
        self._set_items(self._pop_to_mark())

    def _op_pop(self, _: Any) -> None:
        self._stack.pop()

    def _op_pop_mark(self, _: Any) -> None:
        self._pop_to_mark()

    def _op_dup(self, _: Any) -> None:
        self._stack.append(self._top())

    def _extend(self, values: list[Any]) -> None:
        target = self._top()
        if type(target) is not list:
            raise Refused(f"the pickle appends to a {type(target).__name__}")
        target.extend(values)

    def _set_items(self, items: list[Any]) -> None:
        target = self._top()
        if type(target) is not dict or len(items) % 2:
            raise Refused(f"the pickle sets items of a {type(target).__name__}")
        for key, value in zip(items[::2], items[1::2], strict=True):
            # No tuples: hashing one that is nested a million deep ends the process.
            if not isinstance(key, str | int | float | None):
                raise Refused(f"a key is a {type(key).__name__}; expected a string or a number")
            target[key] = value

    # Names and calls -----------------------------------------------------------------------------

    def _op_global(self, argument: str) -> None:
        module, _, name = argument.partition(" ")
        self._push_global(Global(module, name))

    def _op_stack_global(self, _: Any) -> None:
        module, name = self._pop_many(2)
        if not isinstance(module, str) or not isinstance(name, str):
            raise Refused("the name of a global is not a string")
        self._push_global(Global(module, name))

    def _push_global(self, found: Global) -> None:
        name = str(found)
        if name in self._meanings.values:
            self._stack.append(self._meanings.values[name])
        elif name in self._meanings.calls or self._meanings.is_class(found):
            self._stack.append(found)
        else:
            raise Refused(f"the pickle names {_short(name)}, which is not allowed")

    def _op_reduce(self, _: Any) -> None:
        called, arguments = self._pop_many(2)
        self._call(called, arguments)

    def _op_newobj(self, _: Any) -> None:
        called, arguments = self._pop_many(2)
        if isinstance(called, Global) and self._meanings.is_class(called):
            if arguments != ():
                raise Refused(f"{_short(str(called))} is made with arguments")
            self._stack.append(Instance(called))
        else:
            self._call(called, arguments)

    def _call(self, called: Any, arguments: Any) -> None:
        if not isinstance(called, Global) or str(called) not in self._meanings.calls:
            what = _short(str(called)) if isinstance(called, Global) else type(called).__name__
            raise Refused(f"the pickle calls {what}, which is not allowed")
        if type(arguments) is not tuple:
            raise Refused(f"the pickle calls {called} with a {type(arguments).__name__}")
        self._stack.append(self._meanings.calls[str(called)](arguments))

    def _op_build(self, _: Any) -> None:
        state = self._pop()
        target = self._pop()
        if isinstance(target, Instance):
            if type(state) is not dict or not all(isinstance(key, str) for key in state):
                raise Refused(
                    f"the state of {_short(str(target.kind))} is not a dict of attributes"
                )
            target.attributes.update(state)
            self._stack.append(target)
        else:
            self._stack.append(self._meanings.build(target, state))

    def _op_binpersid(self, _: Any) -> None:
        self._stack.append(self._meanings.persistent(self._pop()))


def _short(text: str) -> str:
    return text if len(text) <= 120 else text[:117] + "..."
