"""What is on its way in one call: documents, their pieces, and the requests that carry them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from unabridged.errors import BudgetExhausted
from unabridged.text.measure import utf8_length
from unabridged.types import Span

if TYPE_CHECKING:
    from collections.abc import Container

    from unabridged.embedding.cache import Entry
    from unabridged.embedding.lanes import Lane
    from unabridged.errors import ProviderError
    from unabridged.types import Limit, Vector

__all__ = ["Call", "Document", "Group", "Piece", "Recut", "exhausted", "fresh_cut", "probe"]

_PROBE = "probe"


@dataclass(slots=True, eq=False)
class Document:
    """One text of the caller's, whichever positions it stands at, and its pieces in order."""

    text: str = field(repr=False)
    indices: list[int]
    key: bytes = b""
    tokens: int = 0
    pieces: list[Piece] = field(default_factory=list, repr=False)
    landed: int = 0  # pieces that have their vectors, where somebody watches
    cut: bool = False
    truncated: bool = False
    entry: Entry | None = None
    refusals: int = 0
    refused_at: int = 0
    sizes: list[int] = field(default_factory=list)
    error: Exception | None = None


@dataclass(slots=True, eq=False)
class Piece:
    """What is sent: a text, or a chunk of one.

    ``twins`` are equal pieces of the same call: they ``follow`` this one, which alone is sent. A piece is
    ``dropped`` when its document has been cut afresh; ``whole`` marks a document on its way to that.
    """

    document: Document = field(repr=False)
    span: Span
    text: str = field(repr=False)
    tokens: int
    key: bytes
    vector: Vector | None = field(default=None, repr=False)
    unknown: float | None = None
    cached: bool = False
    recut: bool = False
    alone: int = 0
    follows: bool = False
    dropped: bool = False
    whole: bool = False
    twins: list[Piece] = field(default_factory=list, repr=False)

    @property
    def wanted(self) -> bool:
        """Whether a document that has not failed still needs its vector."""
        mine = not self.dropped and self.document.error is None
        return self.vector is None and (mine or any(p.document.error is None for p in self.twins))

    def over(self, limit: Limit, scale: float) -> bool:
        """Whether it is larger than a limit takes; ``scale`` turns our tokens into the provider's."""
        return (
            (limit.input_tokens is not None and self.tokens * scale > limit.input_tokens)
            or (limit.input_chars is not None and len(self.text) > limit.input_chars)
            or (limit.input_bytes is not None and utf8_length(self.text) > limit.input_bytes)
        )


class Recut(Protocol):
    """Cuts a piece that is over; fewer than two pieces mean that no cut can help."""

    def __call__(self, piece: Piece, limit: Limit) -> list[Piece]:
        """The smaller pieces, in order."""
        ...


@dataclass(slots=True, eq=False)
class Call:
    """One request to make.

    ``rest`` are the suspects that this test leaves out; ``probe`` is the refusal in whose light it is sent.
    """

    pieces: list[Piece]
    group: Group | None = None
    rest: list[Piece] = field(default_factory=list)
    probe: ProviderError | None = None
    tries: int = 0
    lane: Lane | None = None
    ticket: int | None = None
    tried: frozenset[int] = frozenset()
    begun: bool = False

    @property
    def aside(self) -> list[Piece]:
        """What the search that this test belongs to has set aside; it must go out whatever comes back."""
        return [*self.rest, *(() if self.group is None else self.group.cleared)]

    @property
    def everything(self) -> list[Piece]:
        """All that hangs on this call."""
        return [*self.pieces, *self.aside]


@dataclass(slots=True, eq=False)
class Group:
    """Suspects of which at least one is refused, the texts cleared so far, and the refusal."""

    suspects: list[Piece]
    cleared: list[Piece]
    error: ProviderError


def probe() -> Piece:
    """A text that no model refuses: if this one is refused as well, it is not the texts."""
    return Piece(Document(_PROBE, [0]), Span(0, len(_PROBE)), _PROBE, 1, b"", follows=True)


def fresh_cut(piece: Piece, limit: Limit, recut: Recut, refused: Container[bytes]) -> list[Piece]:
    """Smaller pieces of one, none of which was refused before; none if it cannot be cut so."""
    made: list[Piece] = []
    for child in recut(piece, limit):
        parts = [child]
        if child.key in refused:
            parts = fresh_cut(child, limit, recut, refused) if child.tokens < piece.tokens else []
        if not parts:
            return []
        made += parts
    return made


def exhausted(document: Document, budget: int, limit: int | None) -> BudgetExhausted:
    """The error that ends a text: the limit, the attempts, the sizes (promise 5)."""
    sizes = ", ".join(map(str, document.sizes[:8])) + (" …" if len(document.sizes) > 8 else "")
    known = "unknown" if limit is None else f"{limit} tokens"
    return BudgetExhausted(
        f"text {document.indices[0]}: {document.refusals} refusals, more than the budget of {budget}; "
        f"limit in force: {known}; sizes tried: {sizes} tokens"
    )
