"""`lm_eval`'s `local-completions` gives what its own model of the folder does (DEEPSPEED-2)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.serve.http.conftest import Running


def _instances(kind: str, arguments: list[tuple[Any, ...]]) -> list[Any]:
    from lm_eval.api.instance import Instance

    return [Instance(kind, {}, args, number) for number, args in enumerate(arguments)]  # type: ignore[arg-type]


def test_local_completions(server: Running) -> None:
    from lm_eval.models.huggingface import HFLM
    from lm_eval.models.openai_completions import LocalCompletionsAPI

    theirs = HFLM(pretrained=str(server.folder), device="cpu", dtype="float32", add_bos_token=False)
    ours = LocalCompletionsAPI(
        base_url=f"{server.url}/v1/completions",
        model="small",
        tokenizer=str(server.folder),
        tokenizer_backend="huggingface",
        num_concurrent=2,
        max_length=256,
    )
    pairs = [("The barrow", " carries stones"), ("one", " by one."), ("It says", " x")]
    # What the model would write itself, too.
    said = ours.generate_until(
        _instances("generate_until", [("one by", {"until": ["?"], "max_gen_toks": 6})])
    )
    pairs.append(("one by", said[0]))
    expected = theirs.loglikelihood(_instances("loglikelihood", pairs), disable_tqdm=True)
    found = ours.loglikelihood(_instances("loglikelihood", pairs), disable_tqdm=True)
    for (number, greedy), (other, also) in zip(found, expected, strict=True):
        assert number == pytest.approx(other, abs=1e-3)
        assert greedy == also
    texts = [("The barrow carries stones to the mound.",)]
    (whole,) = ours.loglikelihood_rolling(_instances("loglikelihood_rolling", texts))
    assert whole < 0
    theirs_said = theirs.generate_until(
        _instances("generate_until", [("one by", {"until": ["?"], "max_gen_toks": 6})])
    )
    assert said == theirs_said
