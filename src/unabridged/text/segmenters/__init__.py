"""Ways to cut a text into chunks, by name.

>>> [chunk.text for chunk in split("One. Two. Three.", method="sentence", max_tokens=32)]
['One. Two. Three.']
"""

from __future__ import annotations

from unabridged.text.segmenters.pieces import Cut, Piece
from unabridged.text.segmenters.registry import Segmenter, register_segmenter, segmenters
from unabridged.text.segmenters.spec import SegmentSpec, segment_spec
from unabridged.text.segmenters.split import split

__all__ = ["Cut", "Piece", "SegmentSpec", "Segmenter", "register_segmenter", "segment_spec", "segmenters", "split"]
