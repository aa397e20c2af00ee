"""Three scripts of others: few changed lines, and the same numbers on any hardware."""

from __future__ import annotations

import difflib
import re
import runpy
from pathlib import Path

import pytest
from tests.parallel.several_processes import ended, xla_flags
from tests.runtime.in_processes import FOLDER, SCRIPTS

from barrow.launch import Failed, launch

PAGE = Path(__file__).parents[2] / "docs" / "runtime.md"
NUMBER = r"-?\d+(?:\.\d+)?"


def lines(which: str, name: str) -> list[str]:
    return (FOLDER / which / f"{name}.py").read_text().splitlines()


@pytest.mark.parametrize("name", SCRIPTS)
def test_at_most_five_lines_change(name: str) -> None:
    """ACCELERATE-1. Removed and added lines of one place count as the larger number."""
    before, after = (
        [line for line in lines(which, name) if line.strip()] for which in ("before", "after")
    )
    changes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    changed = [max(b - a, d - c) for kind, a, b, c, d in changes if kind != "equal"]
    assert 4 <= sum(changed) <= 5
    shown = PAGE.read_text()
    for kind, a, b, c, d in changes:
        if kind != "equal":
            assert all(f"-{line}" in shown for line in before[a:b])
            assert all(f"+{line}" in shown for line in after[c:d])


def numbers(text: str) -> list[float]:
    return [float(x) for x in re.findall(NUMBER, text)]


Capture = pytest.CaptureFixture[str]


def printed(which: str, names: tuple[str, ...], capsys: Capture) -> list[float]:
    """Numbers that scripts print in this process."""
    for name in names:
        runpy.run_path(str(FOLDER / which / f"{name}.py"))
    found = numbers(capsys.readouterr().out)
    assert len(found) >= 10 * len(names)
    return found


def test_eight_devices(capsys: Capture) -> None:
    """Without barrow they run on one device."""
    found = printed("after", SCRIPTS, capsys)
    assert found == pytest.approx(printed("before", SCRIPTS, capsys), rel=2e-5)


@pytest.mark.parametrize("names", [SCRIPTS[:1], pytest.param(SCRIPTS, marks=pytest.mark.soak)])
def test_two_processes(
    names: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    expected = printed("before", names, capsys)
    monkeypatch.setenv("XLA_FLAGS", xla_flags(1))
    monkeypatch.chdir(FOLDER.parents[1])
    written: list[str] = []
    command = ["-m", "tests.runtime.in_processes", str(tmp_path), *names]
    launch(command, num=2, write=written.append)
    said = [line for line in capsys.readouterr().out.splitlines() if "Gloo" not in line]
    assert numbers("\n".join(said[:-4])) == pytest.approx(expected, rel=2e-5)
    assert said[-4:] == [
        "gathered [[0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 10]]",
        "rows [0, 1, 10, 11]",
        "fp16 [-3.0, -3.0, 4096.0]",
        "loaded [0.0, 1.0, 2.0, 3.0, 4.0, 5.0] True",
    ]
    assert not [line for line in written if "epoch" in line or "step" in line]


@pytest.mark.parametrize("names", [SCRIPTS[:1], pytest.param(SCRIPTS, marks=pytest.mark.soak)])
def test_one_device(names: tuple[str, ...], tmp_path: Path, capsys: Capture) -> None:
    (run,) = ended([["-m", "tests.runtime.in_processes", tmp_path, *names]], devices=1)
    assert run.code == 0, run.err
    assert numbers(run.out) == pytest.approx(printed("before", names, capsys), rel=2e-5)


UNEQUAL = """
import barrow
rt = barrow.Runtime()
import jax, numpy as np
add = jax.jit(lambda a, b: (a + b.sum(), b.sum()))
state, loader = rt.prepare(np.zeros(2), [np.ones(2)] * (9 if rt.is_main else 3))
for batch in loader:
    state, total = add(state, batch)
    float(total)
if not rt.is_main:
    while True:
        pass
"""


@pytest.mark.soak
def test_a_shorter_loader_of_one_process_ends_in_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XLA_FLAGS", xla_flags(1))
    monkeypatch.setenv("BARROW_WATCH", "0.5")
    path, written = tmp_path / "script.py", list[str]()
    path.write_text(UNEQUAL)
    with pytest.raises(Failed):
        launch([str(path)], num=2, write=written.append)
    found = "".join(written)
    assert "process 0 waits in batch 3" in found
    assert "process 1 is outside of any call, after batch 2, at" in found
    assert str(path) in found


BREAK = """
import sys
import barrow
rt = barrow.Runtime()
import jax.numpy as jnp, numpy as np, optax
tx, params = optax.sgd(0.1), {"w": jnp.ones((8, 4))}
loss = lambda params, x: jnp.mean(x @ params["w"])
state, loader = rt.prepare((params, tx.init(params)), [np.ones((8, 8), np.float32)] * 200)
for number, batch in enumerate(loader):
    state, metrics = rt.step(loss, state, batch, optimizer=tx)
    if rt.world.process == int(sys.argv[1]) and number == 3:
        break
"""


@pytest.mark.soak
@pytest.mark.parametrize("who", [0, 1])
def test_a_loop_that_one_process_leaves_ends_in_an_error_that_names_all(
    who: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first process has the service through which the others hear of it."""
    monkeypatch.setenv("XLA_FLAGS", xla_flags(1))
    monkeypatch.setenv("BARROW_WATCH", "2")
    path, written = tmp_path / "script.py", list[str]()
    path.write_text(BREAK)
    with pytest.raises(Failed):
        launch([str(path), str(who)], num=2, write=written.append)
    found = "".join(written)
    assert f"process {who} has finished, after step of batch 3" in found
    assert re.search(rf"process {1 - who} waits in (step of )?batch \d+, at .*script.py:\d+", found)
