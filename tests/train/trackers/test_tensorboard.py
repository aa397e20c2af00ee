"""Against TensorBoard's own reader (ACCELERATE-14)."""

from __future__ import annotations

from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from barrow.train.trackers import make_tracker


def test_a_run_that_goes_on(tmp_path: Path) -> None:
    """Steps that are done again have their second value alone."""
    for start, loss in ((0, 1.5), (2, 0.25)):
        tracker = make_tracker("tensorboard", tmp_path)
        tracker.begin({"steps": 4}, start)
        for step in range(start, 4):
            tracker.log(step, {"loss": loss, "overflow": "embed/table"})
        tracker.close()
    found = EventAccumulator(str(tmp_path / "tensorboard"))
    found.Reload()
    assert found.Tags()["scalars"] == ["loss"]
    points = [(point.step, point.value) for point in found.Scalars("loss")]
    assert points == [(0, 1.5), (1, 1.5), (2, 0.25), (3, 0.25)]
    assert all(point.wall_time > 1e9 for point in found.Scalars("loss"))
