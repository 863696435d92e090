"""The segmenters by name: ours, those of installed packages, and those registered here (SPEC S1)."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from importlib.metadata import entry_points
from typing import Any

from unabridged.errors import ConfigError
from unabridged.text.segmenters.contextual import segment_contextual
from unabridged.text.segmenters.fixed import segment_fixed
from unabridged.text.segmenters.page import segment_page
from unabridged.text.segmenters.paragraph import segment_paragraph
from unabridged.text.segmenters.proposition import segment_proposition
from unabridged.text.segmenters.recursive import segment_recursive
from unabridged.text.segmenters.semantic import segment_semantic
from unabridged.text.segmenters.sentence import segment_sentence
from unabridged.text.segmenters.structural import segment_structural

__all__ = ["Segmenter", "find_segmenter", "register_segmenter", "segmenters"]

_GROUP = "unabridged.segmenters"
_ALL = ("page", "section", "block")


@dataclass(frozen=True, slots=True)
class Segmenter(Mapping[str, Any]):
    """A way to cut: one row of :func:`segmenters`. Fields are read as attributes or by name.

    ``function(document, spec, tools)`` gives a :class:`~unabridged.text.segmenters.pieces.Cut`, or what one of
    a user's own may give: spans, ``(start, end)`` pairs, or slices of the text in order. It may take fewer
    parameters. ``cost`` is ``free``, ``embedding`` or ``llm``; ``provenance`` says which places its chunks carry.
    """

    name: str
    hypothesis: str
    function: Callable[..., Any] = field(repr=False)
    cost: str = "free"
    needs_client: bool = False
    calls: str = ""
    provenance: tuple[str, ...] = _ALL
    settings: tuple[str, ...] | None = ()

    def __getitem__(self, key: str) -> Any:
        """A field by its name."""
        if key not in tuple(self):
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        """The names of the fields, the function's left out."""
        return (one.name for one in fields(self) if one.name != "function")

    def __len__(self) -> int:
        """How many there are."""
        return len(fields(self)) - 1


_OURS = (
    Segmenter("fixed", "meaning is uniform; cut on a ruler (the control)", segment_fixed, provenance=()),
    Segmenter("paragraph", "the author's paragraph breaks are real", segment_paragraph),
    Segmenter("sentence", "sentences are atomic; pack tightly", segment_sentence),
    Segmenter("recursive", "the strongest separator that still fits", segment_recursive, provenance=(),
              settings=("separators",)),
    Segmenter("structural", "headings are boundaries; never merge across sections", segment_structural, settings=("prefix_section",)),  # noqa: E501
    Segmenter("page", "the page is the unit", segment_page),
    Segmenter("semantic", "cut where neighbouring embeddings differ most", segment_semantic, "embedding", True,
              "segment.semantic", settings=("semantic_window", "semantic_percentile")),
    Segmenter("contextual", "chunks opened by a line that says where they sit", segment_contextual, "free", False,
              "segment.context", settings=("context_source",)),
    Segmenter("proposition", "rewritten as statements that stand alone", segment_proposition, "llm", True,
              "segment.proposition", (), ("proposition_batch_tokens",)),
)  # fmt: skip
_REGISTERED: dict[str, Segmenter] = {one.name: one for one in _OURS}


def segmenters() -> tuple[Segmenter, ...]:
    """All that can be named, in order of name: a table of rows.

    >>> [row.name for row in segmenters() if row.cost != "free"]
    ['proposition', 'semantic']
    """
    for entry in entry_points(group=_GROUP):
        if entry.name not in _REGISTERED:
            register_segmenter(entry.name, entry.load())
    return tuple(_REGISTERED[name] for name in sorted(_REGISTERED))


def register_segmenter(
    name: str | Segmenter,
    function: Callable[..., Any] | None = None,
    *,
    hypothesis: str = "",
    cost: str = "free",
    needs_client: bool = False,
    calls: str = "",
    provenance: tuple[str, ...] = _ALL,
    settings: tuple[str, ...] | None = None,
) -> Segmenter:
    """Add a segmenter, or replace one. It is held to the cap like all others (SPEC S3).

    ``settings`` names those that it takes; ``None`` lets any through.

    >>> halves = lambda document: [(0, len(document.text) // 2), (len(document.text) // 2, len(document.text))]
    >>> register_segmenter("halves", halves, hypothesis="the middle").cost
    'free'
    >>> _REGISTERED.pop("halves").hypothesis
    'the middle'
    """
    if not isinstance(name, Segmenter):
        if not callable(function):
            raise ConfigError("function", f"found a {type(function).__name__}, expected a function of a document")
        if function.__class__ is Segmenter:  # type: ignore[comparison-overlap]
            raise ConfigError("function", "found a Segmenter, expected a function of a document")
        name = Segmenter(name, hypothesis, function, cost, needs_client, calls, tuple(provenance), settings)
    _REGISTERED[name.name] = name
    return name


def find_segmenter(name: str) -> Segmenter:
    """The segmenter of that name; an unknown one names the nearest."""
    if name not in _REGISTERED:
        segmenters()  # those of installed packages
    if name not in _REGISTERED:
        near = difflib.get_close_matches(name, _REGISTERED, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(sorted(_REGISTERED))}"
        raise ConfigError("method", f"found {name!r}, {hint}")
    return _REGISTERED[name]
