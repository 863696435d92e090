"""Ways to cut a text into chunks, by name.

>>> [chunk.text for chunk in split("One. Two. Three.", method="sentence", max_tokens=32)]
['One. Two. Three.']
"""

from __future__ import annotations

from unabridged.text.segmenters.registry import Segmenter, register_segmenter, segmenters, split

__all__ = ["Segmenter", "register_segmenter", "segmenters", "split"]
