"""open_clip in a process of its own, with stand-ins for torchvision: models, files, features.

python clip_reference.py make FOLDER       small models, saved in every form, and their features
python clip_reference.py features FOLDER   features by open_clip of the model that lies there
python clip_reference.py tokens TEXTS OUT  ids of a JSON list of texts
python clip_reference.py large NAME FOLDER a published architecture with random weights
"""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np

RN = {
    "embed_dim": 24,
    "quick_gelu": True,
    "vision_cfg": {"image_size": 64, "layers": [1, 2, 1, 1], "width": 8, "head_width": 64},
    "text_cfg": {"context_length": 12, "vocab_size": 60, "width": 64, "heads": 1, "layers": 2},
}
VIT = {
    "embed_dim": 24,
    "quick_gelu": False,
    "vision_cfg": {
        "image_size": 32,
        "layers": 2,
        "width": 64,
        "head_width": 32,
        "patch_size": 8,
    },
    "text_cfg": {"context_length": 12, "vocab_size": 60, "width": 32, "heads": 4, "layers": 3},
}


def import_open_clip() -> Any:
    import transformers.utils.import_utils

    # Asked once and remembered: the stand-in must not be found later.
    transformers.utils.import_utils.is_torchvision_available()

    class Stand:
        BICUBIC = BILINEAR = NEAREST = None

        def __init__(self, *_: object, **__: object) -> None: ...

    names = "Normalize Compose RandomResizedCrop InterpolationMode ToTensor Resize CenterCrop"
    stands = dict.fromkeys([*names.split(), "ColorJitter", "Grayscale"], Stand)
    for name, held in {
        "torchvision": {},
        "torchvision.transforms": stands,
        "torchvision.transforms.functional": {},
        "torchvision.ops": {},
        "torchvision.ops.misc": {"FrozenBatchNorm2d": Stand},
    }.items():
        module = types.ModuleType(name)
        vars(module).update(held)
        sys.modules[name] = module
    sys.modules["torchvision.transforms"].functional = sys.modules[  # type: ignore[attr-defined]
        "torchvision.transforms.functional"
    ]
    import open_clip

    return open_clip


def built(config: dict[str, Any], *, seed: int) -> Any:
    """A model whose every number is random, batch norms' among them."""
    import torch

    open_clip = import_open_clip()
    torch.manual_seed(seed)
    model = open_clip.CLIP(**config).eval()
    shake(model)
    return model


def shake(model: Any) -> None:
    import torch

    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.ndim < 2 and name != "logit_scale":
                p.add_(0.2 * torch.randn_like(p))
        for name, b in model.named_buffers():
            if name.endswith("running_mean"):
                b.copy_(0.2 * torch.randn_like(b))
            if name.endswith("running_var"):
                b.copy_(0.5 + torch.rand_like(b))


def inputs(side: int, context: int, vocab_size: int, num: int = 3) -> tuple[Any, Any]:
    """Images [n, side, side, 3] and ids with an end of text, the highest id, somewhere."""
    rng = np.random.default_rng(0)
    images = rng.normal(size=(num, side, side, 3)).astype(np.float32)
    ids = rng.integers(1, vocab_size - 2, (num, context)).astype(np.int64)
    for row, end in enumerate(rng.integers(1, context, num)):
        ids[row, end] = vocab_size - 1
        ids[row, end + 1 :] = 0
    return images, ids


def features(model: Any, side: int, context: int, vocab_size: int) -> dict[str, Any]:
    import torch

    images, ids = inputs(side, context, vocab_size)
    with torch.no_grad():
        image = model.encode_image(torch.tensor(images.transpose(0, 3, 1, 2)))
        text = model.encode_text(torch.tensor(ids))
    return {"image": image.numpy(), "text": text.numpy(), "images": images, "ids": ids}


def make(folder: Path) -> None:
    import torch
    from safetensors.torch import save_file

    for name, config, seed in (("rn", RN, 1), ("vit", VIT, 2)):
        model = built(config, seed=seed)
        text, image = config["text_cfg"], config["vision_cfg"]
        sizes = image["image_size"], text["context_length"], text["vocab_size"]
        np.savez(folder / f"{name}.npz", **features(model, *sizes))
        state = {k: v.contiguous() for k, v in model.state_dict().items()}
        torch.save(state, folder / f"{name}.pt")
        torch.save(
            {"epoch": 3, "state_dict": {f"module.{k}": v for k, v in state.items()}},
            folder / f"{name}_trained.pt",
        )
        save_file(state, folder / f"{name}.safetensors")
        images, ids = inputs(*sizes)
        both = torch.tensor(images.transpose(0, 3, 1, 2)), torch.tensor(ids)
        script = torch.jit.trace_module(model, {"forward": both}, check_trace=False)
        script.save(str(folder / f"{name}_script.pt"))
        torch.save({k: v.half() for k, v in state.items()}, folder / f"{name}_half.pt")


def main() -> None:
    what, *rest = sys.argv[1:]
    if what == "make":
        make(Path(rest[0]))
    elif what == "features":
        open_clip = import_open_clip()
        for folder in rest:
            model = open_clip.create_model(f"local-dir:{folder}").eval()
            side = model.visual.image_size
            side = side[0] if isinstance(side, tuple) else side
            found = features(model, side, model.context_length, model.vocab_size)
            np.savez(Path(folder) / "features.npz", **found)
    elif what == "tokens":
        import_open_clip()
        from open_clip.tokenizer import SimpleTokenizer

        reference = SimpleTokenizer(*rest[2:])
        texts = json.loads(Path(rest[0]).read_text())
        Path(rest[1]).write_text(json.dumps([reference.encode(text) for text in texts]))
    elif what == "large":
        import torch

        open_clip = import_open_clip()
        torch.manual_seed(0)
        model = open_clip.create_model(rest[0]).eval()
        shake(model)
        side = model.visual.image_size
        side = side[0] if isinstance(side, tuple) else side
        found = features(model, side, model.context_length, model.vocab_size)
        np.savez(Path(rest[1]) / "features.npz", **found)
        torch.save(model.state_dict(), Path(rest[1]) / "model.pt")


if __name__ == "__main__":
    main()
