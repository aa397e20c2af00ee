"""Sentences that a class name is put into: "{}" is the name.

The eighty are those that OpenAI published for ImageNet with CLIP (MIT licence); the seven are the
subset that they found to do nearly as well.
"""

from __future__ import annotations

PLAIN = ("a photo of a {}.",)

SEVEN = (
    "itap of a {}.",
    "a bad photo of the {}.",
    "a origami {}.",
    "a photo of the large {}.",
    "a {} in a video game.",
    "art of the {}.",
    "a photo of the small {}.",
)


def _both(*sentences: str) -> tuple[str, ...]:
    return tuple(s.replace("#", article) for s in sentences for article in ("a", "the"))


EIGHTY = (
    *_both(
        "a bad photo of # {}.",
        "a sculpture of # {}.",
        "a low resolution photo of # {}.",
        "graffiti of # {}.",
        "a cropped photo of # {}.",
        "a bright photo of # {}.",
        "a dark photo of # {}.",
        "a drawing of # {}.",
        "a close-up photo of # {}.",
        "a black and white photo of # {}.",
        "a painting of # {}.",
        "a pixelated photo of # {}.",
        "a jpeg corrupted photo of # {}.",
        "a blurry photo of # {}.",
        "a photo of # {}.",
        "a good photo of # {}.",
        "a rendition of # {}.",
        "a doodle of # {}.",
        "a sketch of # {}.",
        "# origami {}.",
        "# toy {}.",
        "# plushie {}.",
        "# cartoon {}.",
        "# embroidered {}.",
        "a rendering of # {}.",
        "a tattoo of # {}.",
        "# {} in a video game.",
        "# plastic {}.",
        "itap of # {}.",
        "art of # {}.",
    ),
    "a photo of many {}.",
    "a photo of the hard to see {}.",
    "a photo of a hard to see {}.",
    "itap of my {}.",
    "a photo of my {}.",
    "a photo of one {}.",
    "a photo of the clean {}.",
    "a photo of a clean {}.",
    "a photo of the dirty {}.",
    "a photo of a dirty {}.",
    "a photo of the cool {}.",
    "a photo of a cool {}.",
    "a photo of the weird {}.",
    "a photo of a weird {}.",
    "a photo of the nice {}.",
    "a photo of a nice {}.",
    "a photo of the large {}.",
    "a photo of a large {}.",
    "a photo of the small {}.",
    "a photo of a small {}.",
)

TEMPLATES: dict[str, tuple[str, ...]] = {"plain": PLAIN, "seven": SEVEN, "eighty": EIGHTY}
