"""Code that a model wrote, run with limits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from barrow.align.rollouts.code import CannotConfine, UnitTests
from barrow.align.rollouts.rewards import Exact, Weighed
from barrow.align.rollouts.settings import Policy

TESTS = {"tests": "assert double(4) == 8\nassert double('a') == 'aa'"}
QUICK = UnitTests(seconds=1.5, megabytes=256, processes=8)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits are Linux's")


def test_right_and_wrong_code() -> None:
    assert UnitTests()("", "def double(x):\n    return 2 * x", TESTS) == 1
    assert UnitTests()("", "Sure:\n```python\ndouble = lambda x: x + x\n```\nDone.", TESTS) == 1
    assert UnitTests()("", "def double(x):\n    return x", TESTS) == 0
    assert UnitTests()("", "def double(x", TESTS) == 0
    assert UnitTests()("", "raise SystemExit(0)", TESTS) == 1  # an honest limit of such a check
    with pytest.raises(KeyError, match="no 'tests'; it has answer"):
        UnitTests()("", "", {"answer": 1})


def marked(word: str) -> list[str]:
    """Processes whose command line has a word."""
    listed = subprocess.run(["ps", "axo", "args"], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if word in line and "ps axo" not in line]


def test_a_fork_bomb_ends() -> None:
    bomb = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass"
    assert QUICK.run(bomb) != 0
    assert marked("barrow-code-") == []


def test_a_process_that_leaves_its_group_ends_too() -> None:
    code = (
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    os.close(1)\n    os.close(2)\n"
    )
    code += "    time.sleep(60)\n"
    assert QUICK.run(code) == 0
    assert marked("barrow-code-") == []


def test_endless_output_sleep_and_loops_end() -> None:
    assert QUICK.run("while True:\n    print('x' * 1000)") is None
    assert QUICK.run("import time\ntime.sleep(60)") is None
    assert QUICK.run("while True:\n    pass") is None


def test_memory_and_files_have_limits() -> None:
    assert QUICK.run("x = bytearray(1 << 29)") != 0
    assert QUICK.run("open('x', 'wb').write(bytes(1 << 20)); assert open('x', 'rb').read(1)") == 0
    large = "f = open('x', 'wb')\nfor _ in range(300):\n    f.write(bytes(1 << 20))"
    assert QUICK.run(large) != 0


def test_nothing_is_written_outside(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    kept = tmp_path / "kept"
    kept.write_text("as it was")
    tries = [
        f"open({str(outside)!r}, 'w').write('x')",
        f"import os; os.remove({str(kept)!r})",
        f"open({str(kept)!r}, 'a').write('x')",
        f"import os; os.mkdir({str(outside)!r})",
        f"import os; os.truncate({str(kept)!r}, 0)",
        f"import os; os.rename('answer.py', {str(outside)!r})",
    ]
    for one in tries:
        assert QUICK.run(one) != 0, one
    assert not outside.exists()
    assert kept.read_text() == "as it was"


def test_there_is_no_network() -> None:
    code = "import socket\ns = socket.create_server(('127.0.0.1', 0))\n"
    assert QUICK.run(code + "socket.create_connection(s.getsockname(), 1)") != 0
    assert QUICK.run("import socket\nsocket.create_connection(('1.1.1.1', 53), 1)") != 0


def test_the_environment_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")
    assert QUICK.run("import os\nassert 'SECRET' not in os.environ") == 0


def test_where_it_cannot_be_confined(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "confined.py"
    script.write_text("import sys\nsys.stderr.write('namespaces: no')\nsys.exit(97)")
    monkeypatch.setattr("barrow.align.rollouts.code._SCRIPT", script)
    with pytest.raises(CannotConfine, match="namespaces: no .needs Linux"):
        QUICK.run("pass")


def test_it_is_off_unless_allowed() -> None:
    with pytest.raises(ValueError, match="runs code that a model wrote; pass --allow-code"):
        Policy(rewards=(Weighed(Exact()), Weighed(UnitTests())))
    Policy(rewards=(Weighed(UnitTests()),), allow_code=True)
