from __future__ import annotations

import subprocess
import sys


def test_without_safetensors_the_extra_is_named() -> None:
    code = "import sys; sys.modules['safetensors'] = None\nimport barrow.corpus.facts"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'barrow[corpus]'" in done.stderr
