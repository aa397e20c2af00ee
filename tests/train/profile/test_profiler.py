"""A profile of a real run: parts, operations, memory, files (DEEPSPEED-3, ACCELERATE-7)."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.pages.chromium import Page

from barrow.errors import ConfigError
from barrow.models.decoder.model import DecoderConfig
from barrow.train import CheckpointSettings, EvaluationSettings, Run, fit
from barrow.train.profile import Profile, profiler, profiling, read_trace
from barrow.train.profile.page import profile_page
from barrow.train.run import MeshSettings
from barrow.train.trackers import read_log

ROWS, LENGTH, VOCAB, WIDTH, LAYERS, HIDDEN = 8, 16, 128, 16, 2, 32
HOSTILE = "</script><script>window.hit=1</script><img src=x onerror=window.hit=2>\u202e&amp;\"'"


@dataclass(frozen=True)
class Words:
    """Random ids."""

    num_steps: int | None = None
    validation: None = None

    def batch(self, step: int) -> dict[str, Any]:
        ids = np.random.default_rng(step).integers(0, VOCAB, (ROWS, LENGTH + 1)).astype(np.int32)
        places = np.tile(np.arange(LENGTH, dtype=np.int32), (ROWS, 1))
        mask = np.ones((ROWS, LENGTH), np.float32)
        shown = {"tokens": ids[:, :-1], "targets": ids[:, 1:], "mask": mask}
        return shown | {"positions": places, "segments": np.zeros_like(places)}


RUN = Run(
    model=DecoderConfig(
        vocab_size=VOCAB, width=WIDTH, layers=LAYERS, heads=2, hidden=HIDDEN, context=LENGTH
    ),
    data=Words(),
    steps=8,
    mesh=MeshSettings(data=1, fsdp=-1, zero=3),
    diverged=None,
)


@pytest.fixture(scope="module", autouse=True)
def two_devices(compiled_once: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        devices = jax.devices()[:2]
        patch.setattr(jax, "devices", lambda: devices)
        yield


@pytest.fixture(scope="module")
def ran(
    two_devices: None, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any], list[Any]]:
    """The folder of a profiled run on two devices, its report, and its trace."""
    out, traces = tmp_path_factory.mktemp("profiled"), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profiler, "read_trace", lambda at: traces.append(read_trace(at)) or traces[0])
        fit(RUN, out, profile=Profile(steps=3, ceiling=1e12))
    return out, json.loads((out / "profile.json").read_text()), traces


def test_parts_sum_to_the_step(ran: Any) -> None:
    """The sum is of the profiler's clock, the step of Python's."""
    _, report, (trace,) = ran
    assert sum(report["split"].values()) == pytest.approx(report["step_seconds"], rel=0.05)
    assert report["split"]["compute"] > 0
    assert report["split"]["communication"] > 0
    assert sorted(report["timeline"]) == ["CPU 0", "CPU 1"]
    # The loop waited for one batch in each step.
    assert sum(trace.start <= start < trace.end for start, _ in trace.waits) == report["steps"]
    assert report["first_step"] == 4
    assert report["devices"] == 2


def test_operations_are_those_of_the_model(ran: Any) -> None:
    """Every layer's products run in every profiled step, forward and backward."""
    _, report, _ = ran
    seen = {(one["module"], one["part"]) for one in report["modules"]}
    for module in ("layers/mlp/up", "layers/attention/q"):
        assert {(module, "forward"), (module, "backward")} <= seen
    assert any(part == "communication" for _, part in seen)
    assert any(part == "update" for _, part in seen)
    unnamed = sum(one["share"] for one in report["modules"] if one["part"] == "not named")
    assert unnamed < 0.2


def test_flops_are_the_analytic_ones(ran: Any) -> None:
    """Three times 2·tokens·weights, and 4·T·d of attention for each token and layer."""
    _, report, _ = ran
    weights = LAYERS * (4 * WIDTH * WIDTH + 2 * WIDTH * HIDDEN) + VOCAB * WIDTH
    each = 2 * weights + LAYERS * 4 * LENGTH * WIDTH
    assert report["flops"]["counted"] == pytest.approx(3 * ROWS * LENGTH * each, rel=0.01)
    speed = report["speed"]
    assert speed["flops_per_second"] == report["flops"]["counted"] / report["step_seconds"]
    assert (speed["ceiling"], speed["ceiling_source"]) == (2e12, "measured")


def test_memory_by_kind(ran: Any) -> None:
    """ZeRO 3 halves the state; float32 gradients are as large as the parameters."""
    _, report, _ = ran
    kinds = report["memory"]["by_kind"]
    layer = 4 * (WIDTH * WIDTH + WIDTH) + 2 * WIDTH * HIDDEN + HIDDEN + WIDTH + 4 * WIDTH
    num = LAYERS * layer + 2 * WIDTH + (VOCAB + LENGTH) * WIDTH
    assert kinds["parameters"] == pytest.approx(4 * num / 2, rel=0.02)
    assert kinds["optimizer"] == pytest.approx(2 * kinds["parameters"], rel=0.02)
    assert kinds["gradients"] == kinds["parameters"]
    # Each layer saves more than its input for the backward pass.
    assert kinds["activations"] > LAYERS * ROWS // 2 * LENGTH * WIDTH * 4


class Keeps:
    """A tracker that keeps an array for each line."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def begin(self, run: Any, start: int) -> None: ...
    def close(self) -> None: ...

    def log(self, step: int, values: Any) -> None:
        self.kept.append(jnp.full((129, 131), step))


def test_a_run_without_a_profile_has_the_same_losses_and_names_a_leak(
    ran: Any, tmp_path: Path
) -> None:
    out, _, _ = ran
    line = inspect.getsourcelines(Keeps.log)[1] + 1
    where = rf"int32\[129,131\], .* made at {__file__}:{line}$"
    with pytest.warns(UserWarning, match=f"a leak: .*{where}"):
        fit(replace(RUN, log_every=1), tmp_path, trackers=[Keeps()])
    ours, theirs = (read_log(folder / "log.jsonl") for folder in (out, tmp_path))
    losses = {line["step"]: line["loss"] for line in theirs}
    assert [line["loss"] for line in ours] == [losses[line["step"]] for line in ours]
    assert not (tmp_path / "profile.json").exists()
    assert ["leak" in line for line in theirs] == [False] * 5 + [True, False, False]
    assert all(line["host_memory_peak"] >= line["host_memory"] > 0 for line in theirs)


def test_the_page(ran: Any, tmp_path: Path, show: Callable[..., Page]) -> None:
    out, report, _ = ran
    tab = show(out / "profile.html")
    assert tab.texts("h1") == [f"{1000 * report['step_seconds']:,.1f} ms a step"]
    names = ["compute", "communication", "input", "host"]
    assert tab.texts("#split tbody th") == names
    assert tab.texts("#advice li") == report["advice"]
    assert tab.evaluate("document.querySelectorAll('#timeline svg.line').length") == 2
    assert tab.texts("#memory tbody th")[:2] == ["parameters", "gradients"]
    assert len(tab.texts("#operations tbody tr")) == len(report["operations"])
    # The widths of the parts are their shares, on the screen.
    rects = "[...document.querySelectorAll('#split svg rect')]"
    widths = tab.evaluate(f"{rects}.map(r => r.getBoundingClientRect().width)")
    whole = sum(widths)
    assert [width / whole for width in widths] == pytest.approx(
        [report["split"][kind] / report["step_seconds"] for kind in names], abs=0.01
    )
    assert (
        show(out / "profile.html", width=360).evaluate("document.documentElement.scrollWidth")
        <= 360
    )
    # Names are shown as text.
    bad = report | {"device": HOSTILE, "advice": [HOSTILE], "timeline": {HOSTILE: [[1, 0, 0, 0]]}}
    bad["modules"] = [one | {"module": HOSTILE} for one in report["modules"]]
    bad["operations"] = [one | {"name": HOSTILE} for one in report["operations"]]
    file = tmp_path / "page.html"
    file.write_text(profile_page(bad))
    tab = show(file)
    assert tab.evaluate("window.hit") is None
    assert tab.evaluate("[document.scripts.length, document.images.length]") == [0, 0]
    assert len(tab.requests()) == 1


def test_a_trace_that_cannot_be_read_does_not_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(folder: Path) -> None:
        (next(folder.rglob("*.xplane.pb"))).write_bytes(b"\xff torn")
        read_trace(folder)

    monkeypatch.setattr(profiler, "read_trace", fail)
    with pytest.warns(UserWarning, match=r"there is no profile: .*xplane\.pb is not a trace"):
        state = fit(RUN, tmp_path, profile=Profile(steps=1))
    assert int(state.step) == RUN.steps
    assert not (tmp_path / "profile.json").exists()


def steps(num: int, folder: Path) -> int:
    """Some steps of a program that does nothing; how many were done."""
    done = 0

    def advance(state: Any, batch: Any) -> Any:
        nonlocal done
        done += 1
        return state, None

    program: Any = SimpleNamespace(advance=advance)
    with profiling(Profile(steps=2), RUN, program, folder) as profiled:
        for _ in range(num):
            profiled(jnp.zeros(()), {})
    return done


def test_a_run_that_ends_early_has_no_profile(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="there is no profile: the run ended before it"):
        assert steps(5, tmp_path) == 5
    jax.profiler.start_trace(tmp_path)  # the one before is closed
    jax.profiler.stop_trace()


def test_another_profiler_is_left_alone(tmp_path: Path) -> None:
    jax.profiler.start_trace(tmp_path)
    with pytest.warns(UserWarning, match="there is no profile: .*one profile"):
        assert steps(8, tmp_path) == 8
    jax.profiler.stop_trace()
    assert list(tmp_path.rglob("*.xplane.pb"))


def test_a_run_that_is_too_short_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="steps of a profile must be ≥ 1, got 0"):
        Profile(steps=0)
    with pytest.raises(
        ConfigError,
        match="a profile of 5 steps needs 10 steps, and the run has 8 left: profile at most 3",
    ):
        fit(RUN, tmp_path, profile=Profile())
    assert not tmp_path.joinpath("log.jsonl").exists()
    with pytest.raises(ConfigError, match="the run has 5 left: train for more steps"):
        Profile(steps=2).placed(RUN, 3)


def test_evaluations_and_checkpoints_are_left_out_where_they_can_be() -> None:
    run = replace(RUN, steps=40, evaluation=EvaluationSettings(every=10))
    assert Profile(steps=5).placed(run, 0).after == 3
    # Steps 8 to 12 would have the evaluation after step 9 (the tenth): 10 to 14 have none.
    assert Profile(steps=5, after=7).placed(run, 0).after == 9
    every = replace(run, checkpoint=CheckpointSettings(every=1))
    assert Profile(steps=5).placed(every, 0).after == 3
