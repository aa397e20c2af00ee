"""Objects by name: ``module:Name``, which of them may be imported, and their source.

Open sets (readers, filters, optimizers, …) are passed as objects. Only saved settings name them.
Settings that came with another person's corpus or run must not run code. So a name of barrow's own
is accepted only where it satisfies the protocol of its field (`barrow.config`), and any other
module is imported only where the caller trusts it.

Trust is a collection of modules (``my_package`` covers ``my_package.readers``) and of Python files
(``recipes/mine.py``). An object written in such a file is named by the file: ``mine.py:Name``.
"""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from barrow.errors import ConfigError, nearest

_OURS = "barrow"

# Sources read by `import_file`: the files may have changed since.
_SOURCES: dict[str, str] = {}


@dataclasses.dataclass(frozen=True)
class Named:
    """An object of saved settings that was not imported: its name, and its settings as saved."""

    name: str
    settings: Mapping[str, Any]


def class_name(thing: Any) -> str:
    """The name of an object's class, also where that was not imported."""
    return thing.name.rpartition(":")[2] if isinstance(thing, Named) else type(thing).__name__


def name_of(thing: Any) -> str:
    """The name of a class or function; of barrow's own, the one its package exports.

    So moving a file of barrow does not change saved names.
    """
    module, name = thing.__module__, thing.__qualname__
    if "." in name:
        raise ConfigError(f"{name} cannot be saved: define it at the top level of a module")
    if is_ours(module):
        package = ".".join(module.split(".")[:2])
        exported = getattr(importlib.import_module(package), name, None) is thing
        return f"{package if exported else module}:{name}"
    file = _file_of(module)
    return f"{file.name}:{name}" if file else f"{module}:{name}"


def trust_of(thing: Any) -> str | None:
    """What must be trusted to import this class or function again; None for barrow's own."""
    module = thing.__module__
    if is_ours(module):
        return None
    file = _file_of(module)
    return str(file) if file else str(module)


def resolve(name: str, *, trust: Collection[str] = ()) -> Any:
    """The class or function of a name; `ConfigError` where its module is not trusted."""
    module, colon, attribute = name.rpartition(":")
    if not colon or not module or not attribute.isidentifier():
        raise ConfigError(f'expected "module:Name", got {name!r}')
    home = _import(module, name, trust)
    thing = getattr(home, attribute, None)
    if thing is None:
        public = getattr(home, "__all__", ()) or [n for n in vars(home) if not n.startswith("_")]
        raise ConfigError(f"{module} has no {attribute}; {nearest(attribute, public)}")
    is_settings = isinstance(thing, type) and dataclasses.is_dataclass(thing)
    if not is_settings and not isinstance(thing, FunctionType):
        raise ConfigError(f"{name} must be a dataclass or a function, got {thing!r:.80}")
    # A module of barrow may have imported names, and functions that are never saved.
    public = attribute in getattr(home, "__all__", ())
    if is_ours(module) and not (is_ours(thing.__module__) and (is_settings or public)):
        raise ConfigError(f"{name} is not a public object of barrow")
    return thing


def import_file(path: str | Path) -> ModuleType:
    """The module of a Python file. A file that changed is a new module."""
    path = Path(path).resolve()
    source = path.read_bytes()
    digest = hashlib.sha256(str(path).encode() + b"\0" + source).hexdigest()
    name = f"{path.stem}_{digest[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{path} must be a Python file (.py)")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    _SOURCES[name] = source.decode()
    try:
        exec(compile(source, path, "exec"), module.__dict__)  # noqa: S102 - not a later version
    except BaseException:
        del sys.modules[name]
        raise
    return module


def source_hash(thing: Any) -> str:
    """A hash of the source of a class or function, and of all in its file that it uses.

    Statements at the top level of the file are followed by the names they bind and use. What the
    file imports counts by the import statement alone.
    """
    try:
        module = thing.__module__
        text = _SOURCES.get(module) or inspect.getsource(sys.modules[module])
    except (OSError, KeyError, TypeError):
        raise ConfigError(f"the source of {thing.__qualname__} is not in a file") from None
    statements = ast.parse(text).body
    binds: dict[str, list[ast.stmt]] = {}
    for statement in statements:
        for name in _bound(statement):
            binds.setdefault(name, []).append(statement)
    seen: set[str] = set()
    used: dict[int, ast.stmt] = {}
    pending = [thing.__qualname__]
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        for statement in binds.get(name, ()):
            used[statement.lineno] = statement
            pending += [n.id for n in ast.walk(statement) if isinstance(n, ast.Name)]
    lines = text.splitlines()
    digest = hashlib.sha256()
    for _, statement in sorted(used.items()):
        first = min(
            [statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))]
        )
        digest.update("\n".join(lines[first - 1 : statement.end_lineno]).encode() + b"\0")
    return digest.hexdigest()[:32]


def _import(module: str, name: str, trust: Collection[str]) -> ModuleType:
    if is_ours(module):
        return import_trusted(module)
    if module.endswith(".py"):
        for trusted in trust:
            if trusted.endswith(".py") and Path(trusted).name == Path(module).name:
                if not Path(trusted).is_file():
                    raise ConfigError(f"{name}: {trusted} does not exist")
                return import_trusted(trusted)
    elif covers(trust, module):
        return import_trusted(module)
    raise ConfigError(
        f"{name} is code outside barrow, which is not run unless you trust it: "
        f"pass --trust {module}"
    )


def import_trusted(module: str) -> ModuleType:
    """A module by its name, or by its file (``.py``): what `trust_of` says."""
    if module.endswith(".py"):
        main = sys.modules["__main__"]
        file = getattr(main, "__file__", None)
        return main if file and Path(file).resolve() == Path(module) else import_file(module)
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ConfigError(f"cannot import {module}: {error}") from None


def is_ours(module: str) -> bool:
    return covers((_OURS,), module)


def covers(trust: Collection[str], module: str) -> bool:
    """Tell whether a module is one of those trusted, or within one."""
    return any(module == trusted or module.startswith(f"{trusted}.") for trusted in trust)


def _file_of(module: str) -> Path | None:
    """The file of a module that only its path can import: by `import_file`, or the main script."""
    is_main = module in ("__main__", "__mp_main__")
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        if is_main:
            raise ConfigError("code typed at a prompt cannot be saved: put it into a file")
        return None
    path = Path(file).resolve()
    is_by_path = re.fullmatch(re.escape(path.stem) + "_[0-9a-f]{16}", module)
    return path if is_main or is_by_path else None


def _bound(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).split(".")[0] for alias in statement.names}
    return {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
