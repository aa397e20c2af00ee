"""A function in several fresh processes: from a cell of a notebook, or from anywhere.

It goes there by value, with what it closes over and the globals that it uses, because a new process
cannot import what a cell defined. So do its results. That is `cloudpickle`, in a private folder
that is removed at the end: nothing of it is kept, and nothing that others wrote is read.
"""

from __future__ import annotations

import linecache
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from barrow.errors import MissingExtra
from barrow.files import write_bytes
from barrow.launch.workers import launch
from barrow.launch.world import join


def run(function: Callable[..., Any], *arguments: Any, n: int) -> list[Any]:
    """What the function returned in each of `n` processes, which are joined before it is called.

    If one fails, its traceback is written, the others are stopped, and `Failed` is raised.
    """
    pickle = _cloudpickle()
    name = getattr(getattr(function, "__code__", None), "co_filename", "")
    job = (sys.path, name, linecache.getlines(name), function, arguments)
    with tempfile.TemporaryDirectory(prefix="barrow-") as folder:
        write_bytes(Path(folder) / "job", pickle.dumps(job))
        command = ["-m", "barrow.launch.function", folder]
        launch(command, num=n, write=lambda line: sys.stderr.write(line))
        return [pickle.loads((Path(folder) / str(rank)).read_bytes()) for rank in range(n)]


def main(folder: Path) -> None:
    """The part of a process."""
    pickle, world = _cloudpickle(), join()
    path, name, lines, function, arguments = pickle.loads((folder / "job").read_bytes())
    sys.path[:] = path
    linecache.cache[name] = (0, None, lines, name)  # a traceback shows lines of the cell
    try:
        result = function(*arguments)
    except Exception as error:  # noqa: BLE001 - shown without this file
        trace = error.__traceback__
        traceback.print_exception(error.with_traceback(trace and trace.tb_next))
        sys.exit(1)
    write_bytes(folder / str(world.process), pickle.dumps(result))


def _cloudpickle() -> Any:
    try:
        import cloudpickle
    except ImportError:
        raise MissingExtra("cloudpickle", "notebook", "a function in several processes") from None
    return cloudpickle


if __name__ == "__main__":
    main(Path(sys.argv[1]))
