"""``recursive``: the strongest separator that still gives a piece under the cap (SPEC S9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unabridged.errors import ConfigError
from unabridged.text.boundaries import Lines, Marks, Words, paragraphs
from unabridged.text.engine import Meter, pack
from unabridged.text.segmenters.pieces import Cut
from unabridged.text.sentences import Sentences

if TYPE_CHECKING:
    from unabridged.text.boundaries import Level
    from unabridged.text.documents.model import Document
    from unabridged.text.segmenters.pieces import Tools
    from unabridged.text.segmenters.spec import SegmentSpec

__all__ = ["Separator", "segment_recursive"]


@dataclass(frozen=True, slots=True)
class Separator:
    """Boundaries after every occurrence of a string.

    >>> Separator("a; b; c", "; ").last(0, 6)
    6
    """

    text: str
    mark: str

    def last(self, low: int, high: int) -> int | None:
        """The largest in ``(low, high]``."""
        found = self.text.rfind(self.mark, max(0, low - len(self.mark) + 1), high)
        return found + len(self.mark) if found >= 0 else None

    def first(self, low: int, high: int) -> int | None:
        """The smallest in ``(low, high]``."""
        found = self.text.find(self.mark, max(0, low - len(self.mark) + 1), high)
        return found + len(self.mark) if found >= 0 else None


def segment_recursive(document: Document, spec: SegmentSpec, tools: Tools) -> Cut:
    """Blank lines, lines, sentence ends, semicolons, commas, spaces; or ``separators``, strongest first."""
    text = document.text
    levels = _levels(text, tools, spec.settings.get("separators"))
    meters = [Meter(tools.costs, spec.max_tokens)]
    return Cut(pack(text, meters, None, levels, overlap=spec.overlap_tokens, minimum=spec.min_tokens))


def _levels(text: str, tools: Tools, separators: object) -> tuple[Level, ...]:
    if separators is None:
        blank = Marks(paragraphs(text, getattr(tools.costs, "scan", None)))
        return (blank, Lines(text), Sentences(text), Separator(text, "; "), Separator(text, ", "), Words(text))
    if not isinstance(separators, Sequence) or isinstance(separators, str):
        raise ConfigError("separators", f"found a {type(separators).__name__}, expected a list of strings")
    if not all(isinstance(mark, str) for mark in separators):
        raise ConfigError("separators", "found an item that is no string, expected strings, strongest first")
    return tuple(Separator(text, mark) for mark in separators if mark)
