from __future__ import annotations

import sys
from pathlib import Path

# Worker processes import the tests' own tasks by this name.
sys.path.insert(0, str(Path(__file__).parent))
