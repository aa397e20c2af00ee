from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("shell", "words"),
    [
        ("bash", "complete -o default"),
        ("zsh", "#compdef barrow"),
        ("fish", "complete --command barrow"),
    ],
)
def test_a_script_for_each_shell(shell: str, words: str, barrow: Callable) -> None:
    code, out, _ = barrow("completion", shell)
    assert code == 0
    assert words in out


def test_bash_completes_verbs(barrow: Callable, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    script = tmp_path / "completion.bash"
    script.write_text(barrow("completion", "bash").out)
    folder = Path(sys.executable).parent
    ask = f"source {script}; COMP_WORDS=(barrow corpus take); COMP_CWORD=2; "
    ask += "_barrow_completion barrow; echo ${COMPREPLY[@]}"
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    run = subprocess.run(
        [bash, "-c", ask], capture_output=True, text=True, env=environment, check=True
    )
    assert run.stdout.strip() == "takedown"
