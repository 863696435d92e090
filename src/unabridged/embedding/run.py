"""One call of an embedder, step by step: texts -> documents -> look up -> cut -> send -> pool -> outcomes."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from unabridged.embedding.cache import Entry
from unabridged.embedding.fingerprint import key
from unabridged.embedding.outcomes import outcome, pooled
from unabridged.embedding.pieces import Document, Piece
from unabridged.embedding.plan import Chunking, cut_text, fitting, in_force
from unabridged.embedding.results import Progress
from unabridged.embedding.work import Work
from unabridged.errors import CapUnenforceable
from unabridged.text.packing import to_chunks
from unabridged.types import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from unabridged.embedding.flights import Landing
    from unabridged.embedding.results import TextResult
    from unabridged.embedding.settings import Settings
    from unabridged.types import Chunk, Limit

__all__ = ["Run", "aside"]

T = TypeVar("T")
_log = logging.getLogger("unabridged")

# In characters: counting and hashing so much takes less than waking a thread does.
_LIGHT = 1 << 14
# In characters: no limit is so small that a shorter text has ever been cut.
_MAY_BE_CUT = 128
# Characters per token of the limit: no prose or code has tokens so long.
_PLAINLY_OVER = 16


async def aside(run: Run, step: Callable[..., T], *given: Any, **named: Any) -> T:
    """A step of a run, in a thread; at once where that takes no longer, and the cache does not wait for a disk."""
    if run.is_light:
        return step(*given, **named)
    return await asyncio.to_thread(step, *given, **named)


class Run:
    """The texts of one call on their way.

    The order: :meth:`prepare`, then while :meth:`work` gives work: drive it, :meth:`keep` after each
    answer, wait for ``theirs`` (vectors that other callers are asking for), :meth:`join`; at last
    :meth:`outcomes`.
    """

    def __init__(
        self,
        settings: Settings,
        texts: Sequence[str],
        *,
        vector_print: str,
        document_print: str,
        chunk_vectors: bool,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.settings = settings
        self.texts = texts
        self.blank = [at for at, text in enumerate(texts) if not text or text.isspace()]
        self.theirs: dict[bytes, Landing] = {}
        self.requests = self.billed = 0
        self._vector_print = vector_print
        self._document_print = document_print
        self._chunk_vectors = chunk_vectors
        self._progress = progress
        self._started = time.monotonic()
        self._documents = self._distinct()
        self._leaders: dict[bytes, Piece] = {}
        self._mine: set[bytes] = set()
        self._left: list[Piece] = []
        self._work: Work | None = None
        self._tokens_done = self._tokens_all = self._texts_done = 0
        self._found: list[Piece] = []  # with vectors of the cache, or of others, that are not counted yet

    @property
    def is_light(self) -> bool:
        """Whether its steps are shorter than a thread takes to wake."""
        cache = self.settings.cache
        return (cache is None or getattr(cache, "is_quick", False)) and sum(map(len, self.texts)) <= _LIGHT

    # -- looking up and cutting --------------------------------------------------------------------

    def prepare(self) -> None:
        """Hash, look up, count and cut; what is not known yet becomes pieces."""
        documents = list(self._documents.values())
        short: list[Document] = []
        long: list[Document] = []
        for document in documents:
            (short if self.settings.surely_fits(document.text) else long).append(document)
        for document, tokens in zip(short, self.settings.counts([d.text for d in short]), strict=True):
            self._whole(document, tokens)
        self._look_up_documents(long)
        for document in long:
            if document.entry is None or self._chunk_vectors:
                self._cut(document)
        self._look_up_pieces([p for d in documents for p in d.pieces])
        self._look_again()
        self._tokens_all = sum(d.tokens for d in documents)
        for document in documents if self._progress is not None else ():
            if document.entry is not None and not document.pieces:
                self._tokens_done += document.tokens
                self._texts_done += len(document.indices)
        self._count(())
        self._report()

    def _distinct(self) -> dict[str, Document]:
        documents: dict[str, Document] = {}
        blank = set(self.blank)
        for at, text in enumerate(self.texts):
            if at in blank:
                continue
            if text in documents:
                documents[text].indices.append(at)
            else:
                documents[text] = Document(text, [at])
        return documents

    def _look_up_documents(self, documents: list[Document]) -> None:
        for document in documents:
            document.key = key(self._document_print, document.text)
        cache = self.settings.cache
        found = cache.get(d.key for d in documents) if cache is not None else {}
        for document in documents:
            document.entry = found.get(document.key)
            if document.entry is not None:
                document.tokens = document.entry.tokens or 0
                document.cut = document.entry.spans is not None

    def _whole(self, document: Document, tokens: int) -> None:
        document.tokens = tokens
        span = Span(0, len(document.text))
        document.pieces = [Piece(document, span, document.text, tokens, key(self._vector_print, document.text))]

    def _cut(self, document: Document) -> None:
        settings, text = self.settings, document.text
        if document.entry is not None and document.entry.spans is not None:
            rows = document.entry.spans.tolist()
            document.pieces = [self._piece(document, Span(a, b), tokens) for a, b, tokens, _ in rows]
            return
        if settings.cutting is None or not settings.cuts:
            self._whole(document, settings.count(text))
            return
        # A text that is plainly over is not counted before it is cut: the cut counts it.
        plainly = len(text) > _PLAINLY_OVER * (settings.cutting.trigger_tokens or len(text))
        tokens = 0 if plainly else document.tokens or settings.count(text)
        chunks = self._chunks(text) if plainly or settings.over(text, tokens) else ()
        if plainly:
            tokens = sum(c.tokens - c.overlap_tokens for c in chunks)
        if not chunks or not settings.over(text, tokens):
            self._whole(document, tokens or settings.count(text))
            return
        limit = _limit_words(settings.limits.limit)
        _log.info("Document of %d tokens exceeds the limit (%s), chunking it", tokens, limit)
        _log.info("Document split into %d chunks", len(chunks))
        document.tokens, document.truncated = tokens, settings.truncates
        document.cut = len(chunks) > 1
        kept = chunks[:1] if document.truncated else chunks
        document.pieces = [self._piece(document, Span(c.start, c.end), c.tokens) for c in kept]

    def _chunks(self, text: str) -> tuple[Chunk, ...]:
        """The chunks of a text that is over; none if it cannot be cut (L8: the provider says so)."""
        try:
            return to_chunks(text, self.settings.segment(text), self.settings.measure)
        except CapUnenforceable:
            return ()

    def _piece(self, document: Document, span: Span, tokens: int) -> Piece:
        text = document.text[span.start : span.end]
        return Piece(document, span, text, tokens, key(self._vector_print, text))

    def _look_up_pieces(self, pieces: list[Piece]) -> None:
        """Claim each new key once, take what the cache has, and leave what others are asking for to them."""
        fresh = self._lead(pieces)
        mine, self.theirs = self.settings.flights.claim(p.key for p in fresh)
        self._mine.update(mine)
        self._take_cached([self._leaders[k] for k in mine])
        self._left = [p for p in fresh if p.vector is None and p.key not in self.theirs]

    def _look_again(self) -> None:
        """Texts that seem to fit may have been refused and cut before: then they are kept as documents."""
        cache = self.settings.cache
        waiting = [p for p in self._left if not p.document.key and len(p.text) >= _MAY_BE_CUT and not p.twins]
        if cache is None or not waiting:
            return
        for piece in waiting:
            piece.document.key = key(self._document_print, piece.text)
        found = cache.get(p.document.key for p in waiting)
        for piece in waiting:
            entry = found.get(piece.document.key)
            if entry is not None and not self._chunk_vectors:
                document = piece.document
                document.entry, document.cut, document.pieces = entry, entry.spans is not None, []
                piece.dropped = True
                self._land(piece.key, None)
        self._left = [p for p in self._left if not p.dropped]

    def _lead(self, pieces: Iterable[Piece]) -> list[Piece]:
        fresh = []
        for piece in pieces:
            leader = self._leaders.setdefault(piece.key, piece)
            if leader.dropped:
                leader = self._leaders[piece.key] = piece
            if leader is piece:
                fresh.append(piece)
                continue
            piece.follows = True
            if leader.vector is None:
                leader.twins.append(piece)
            else:
                piece.vector, piece.unknown, piece.cached = leader.vector, leader.unknown, leader.cached
                self._found.append(piece)
        return fresh

    def _take_cached(self, pieces: list[Piece]) -> None:
        cache = self.settings.cache
        found = cache.get(p.key for p in pieces) if cache is not None else {}
        for piece in pieces:
            entry = found.get(piece.key)
            if entry is not None:
                self._accept(piece, entry)
                self._land(piece.key, entry)

    def _accept(self, piece: Piece, entry: Entry) -> None:
        for one in (piece, *piece.twins):
            one.vector, one.unknown, one.cached = entry.vector, entry.unknown, True
            self._found.append(one)
            if not one.tokens:
                one.tokens = entry.tokens or 0

    # -- the work ----------------------------------------------------------------------------------

    def work(self) -> Work | None:
        """What has to be sent now, or ``None`` when everything is known or has failed."""
        if not self._left and not self.theirs:
            return None
        settings = self.settings
        recut = self._recut if settings.cuts else None
        if settings.pads:  # a third more texts a second, where their lengths differ
            self._left.sort(key=lambda piece: -piece.tokens)
        self._work = Work(self._left, settings.limits, recut, budget=settings.budget, spread=settings.spread)
        self._left = []
        return self._work

    def keep(self) -> None:
        """After an answer: store what is new, let others have it, pool the documents that are complete."""
        work = self._work
        if work is None:
            return
        settled, work.settled = work.settled, []
        entries = {}
        self._count(settled)
        for piece in settled:
            if not piece.follows and piece.vector is not None:
                entries[piece.key] = Entry(piece.vector, piece.tokens, None, piece.unknown)
        if self.settings.cache is not None and entries:
            self.settings.cache.put(entries)
        for at, entry in entries.items():
            self._land(at, entry)
        self._report()

    def join(self, landed: dict[bytes, Entry | None]) -> None:
        """Take what others' flights brought; what they did not bring is asked for here, in the next round."""
        work, self._work = self._work, None
        if work is not None:
            self.requests += work.requests
            self.billed += work.billed
        self.theirs = {}
        again = []
        for at, entry in landed.items():
            piece = self._leaders[at]
            if entry is not None:
                self._accept(piece, entry)
            else:
                again.append(piece)
        if again and work is not None and work.error is None:
            mine, self.theirs = self.settings.flights.claim(p.key for p in again)
            self._mine.update(mine)
            self._take_cached([self._leaders[k] for k in mine])
            self._left = [self._leaders[k] for k in mine if self._leaders[k].vector is None]
        elif again and work is not None and work.error is not None:
            for piece in again:
                piece.document.error = piece.document.error or work.error
        self._count(())

    def release(self) -> None:
        """Whatever happened: nobody waits for this call for ever."""
        for at in list(self._mine):
            self._land(at, None)

    def _land(self, at: bytes, entry: Entry | None) -> None:
        if at in self._mine:
            self._mine.discard(at)
            self.settings.flights.land(at, entry)

    def _recut(self, piece: Piece, limit: Limit) -> list[Piece]:
        """Smaller pieces of one that is over, looked up in the cache; fewer than two if it cannot be cut."""
        settings = self.settings
        whole = piece.whole or not piece.document.cut
        chunking = settings.chunking if whole else Chunking(overlap_tokens=0, min_tokens=0)
        text, scale = piece.text, settings.limits.scales.of(piece.text)
        try:
            plan = in_force(fitting(chunking, limit.input_tokens), limit)
            if plan is None:
                return [piece]
            spans = cut_text(text, plan, limit, settings.measure, scale=scale)
            if len(spans) < 2 and piece.tokens > 1:  # what was refused must shrink
                half = replace(plan, max_size=max(1, piece.tokens // 2), overlap=0, minimum=0, unit="tokens")
                spans = cut_text(text, half, limit, settings.measure)
        except CapUnenforceable:
            return [piece]
        if settings.truncates and whole:
            spans, piece.document.truncated = spans[:1], True
        at = piece.span.start
        _log.info("Document exceeds the limit (%s), cut again into %d chunks", _limit_words(limit), len(spans))
        chunks = to_chunks(text, spans, settings.measure)
        children = [self._piece(piece.document, Span(at + c.start, at + c.end), c.tokens) for c in chunks]
        for child in children:
            child.recut = True
        if piece.key in self._mine:
            self._land(piece.key, None)
        fresh = self._lead(children)
        self._take_cached(fresh)
        return children

    def _count(self, fresh: Iterable[Piece]) -> None:
        """Pieces that have their vectors now: for whoever watches, at a cost that does not grow with the call."""
        found, self._found = self._found, []
        if self._progress is None:
            return
        for piece in itertools.chain(found, fresh):
            document = piece.document
            document.landed += 1
            self._tokens_done += piece.tokens
            if document.landed == len(document.pieces):
                self._texts_done += len(document.indices)

    def _report(self) -> None:
        if self._progress is None:
            return
        self._progress(
            Progress(
                texts=len(self.texts) - len(self.blank),
                texts_done=self._texts_done,
                tokens=max(self._tokens_all, self._tokens_done),
                tokens_done=self._tokens_done,
                requests=self.requests + (self._work.requests if self._work is not None else 0),
                seconds=time.monotonic() - self._started,
            )
        )

    def outcomes(self) -> dict[int, TextResult]:
        """Every text that was not blank, by its position. Documents are pooled, and kept."""
        made: dict[int, TextResult] = {}
        new: dict[bytes, Entry] = {}
        for document in self._documents.values():
            entry = pooled(document, self.settings)
            if entry is not None and document.entry is None and document.cut and not document.truncated:
                new[document.key or key(self._document_print, document.text)] = entry
            result = outcome(document, entry, self.settings, chunk_vectors=self._chunk_vectors)
            for at in document.indices:
                made[at] = result if at == result.index else replace(result, index=at)
        if self.settings.cache is not None and new:
            self.settings.cache.put(new)
        return made


def _limit_words(limit: Limit) -> str:
    for name in ("tokens", "chars", "bytes"):
        value = getattr(limit, f"input_{name}")
        if value is not None:
            return f"{value} {name}"
    return "not stated"
