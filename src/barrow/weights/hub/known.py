"""Short names of published weights."""

from __future__ import annotations

from dataclasses import dataclass

_CLIP = "https://openaipublic.azureedge.net/clip/models"


@dataclass(frozen=True)
class Known:
    """A name, its source (a Hugging Face repository id or a URL), and a description."""

    name: str
    source: str
    what: str


def _clip(name: str, sha256: str) -> Known:
    # OpenAI puts the digest into the address.
    return Known(f"clip-{name}", f"{_CLIP}/{sha256}/{name}.pt", "CLIP (OpenAI)")


KNOWN = (
    Known("distilroberta", "distilbert/distilroberta-base", "masked LM, 82M"),
    Known("gpt2", "openai-community/gpt2", "GPT-2, 124M"),
    Known("gpt2-medium", "openai-community/gpt2-medium", "GPT-2, 355M"),
    Known("gpt2-large", "openai-community/gpt2-large", "GPT-2, 774M"),
    Known("gpt2-xl", "openai-community/gpt2-xl", "GPT-2, 1.5B"),
    Known("pythia-70m", "EleutherAI/pythia-70m-deduped", "GPT-NeoX on the Pile, 70M"),
    Known("pythia-160m", "EleutherAI/pythia-160m-deduped", "GPT-NeoX on the Pile, 160M"),
    Known("pythia-410m", "EleutherAI/pythia-410m-deduped", "GPT-NeoX on the Pile, 410M"),
    Known("pythia-1.4b", "EleutherAI/pythia-1.4b-deduped", "GPT-NeoX on the Pile, 1.4B"),
    Known("smollm2-135m", "HuggingFaceTB/SmolLM2-135M", "Llama, 135M"),
    Known("smollm2-360m", "HuggingFaceTB/SmolLM2-360M", "Llama, 360M"),
    Known("smollm2-1.7b", "HuggingFaceTB/SmolLM2-1.7B", "Llama, 1.7B"),
    _clip("RN50", "afeb0e10f9e5a86da6080e35cf09123aca3b358a0c3e3b6c78a7b63bc04b6762"),
    _clip("RN101", "8fa8567bab74a42d41c5915025a8e4538c3bdbe8804a470a72f30b0d94fab599"),
    _clip("RN50x4", "7e526bd135e493cef0776de27d5f42653e6b4c8bf9e0f653bb11773263205fdd"),
    _clip("RN50x16", "52378b407f34354e150460fe41077663dd5b39c54cd0bfd2b27167a4a06ec9aa"),
    _clip("RN50x64", "be1cfb55d75a9666199fb2206c106743da0f6468c9d327f3e0d0a543a9919d9c"),
    _clip("ViT-B-32", "40d365715913c9da98579312b702a82c18be219cc2a73407c4526f58eba950af"),
    _clip("ViT-B-16", "5806e77cd80f8b59890b7e101eabd078d9fb84e6937f9e85e4ecb61988df416f"),
    _clip("ViT-L-14", "b8cca3fd41ae0c99ba7e8951adf17d267cdb84cd88be6f7c2e0eca1737a03836"),
    _clip("ViT-L-14-336px", "3035c92b350959924f9f00213499208652fc7ea050643e8b385c2dac08641f02"),
)


def known(name: str) -> Known | None:
    """The entry of that name, whatever its case."""
    return next((entry for entry in KNOWN if entry.name.lower() == name.lower()), None)
