from __future__ import annotations

from typing import get_args

from barrow.nn.layers.remat import ATTENTION_ONLY, CHEAP, EVERYTHING
from barrow.train.run import Remat, policy_of


def test_every_name_has_its_policy() -> None:
    found = {name: policy_of(name) for name in get_args(Remat)}
    policies = {"cheap": CHEAP, "attention": ATTENTION_ONLY, "all": EVERYTHING}
    assert found == {"none": None, **policies}
