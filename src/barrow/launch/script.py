"""Run a script as Python does; `raise SystemExit(1)` in it is `sys.exit(1)`, known to `join`."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from types import ModuleType


def main() -> None:
    """The script is the first argument; the others are its own."""
    del sys.argv[0]
    path = Path(sys.argv[0])
    sys.path[0] = str(path.resolve().parent)
    module = ModuleType("__main__")
    module.__file__ = str(path)
    sys.modules["__main__"] = module
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), vars(module))  # noqa: S102
    except SystemExit as ended:
        sys.exit(ended.code)
    except BaseException as error:  # noqa: BLE001 - shown as Python shows it, without this file
        trace = error.__traceback__
        traceback.print_exception(error.with_traceback(trace and trace.tb_next))
        sys.exit(1)


if __name__ == "__main__":
    main()
