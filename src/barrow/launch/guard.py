"""A program that starts another one and ends it when its own input ends.

The first line of standard input is JSON: the command, the folder, variables. When the launching
program is gone, or a connection by ssh is lost, the input ends, and so does what was started.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

_GRACE = 3.0  # seconds between SIGTERM and SIGKILL


def main() -> int:
    """The exit code of the command; 128 + n if signal n ended it."""
    line = b""
    while not line.endswith(b"\n"):
        line += (
            os.read(0, 1 << 16) or b"\n"
        )  # not through a buffer: a thread waits there at the end
    job = json.loads(line)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the launching program
    try:
        child = subprocess.Popen(  # noqa: S603 - it is what the user asked to run
            job["command"],
            cwd=job["folder"] if Path(job["folder"]).is_dir() else None,
            env=os.environ | job["variables"],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        sys.stderr.write(f"{job['command'][0]}: {error.strerror}\n")
        return 127

    def watch() -> None:
        while os.read(0, 1 << 16):
            pass
        stop(child)

    threading.Thread(target=watch, daemon=True).start()
    code = child.wait()
    with contextlib.suppress(ProcessLookupError):  # what the command left running
        os.killpg(child.pid, signal.SIGKILL)
    return code if code >= 0 else 128 - code


def stop(child: subprocess.Popen[bytes]) -> None:
    """SIGTERM to the command and all that it started, then SIGKILL."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(_GRACE)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
