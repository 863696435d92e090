"""What all calls of one embedder share: the numbers in force, the tokenizer, the cache, the open flights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.embedding.flights import Flights
from unabridged.embedding.plan import Chunking, Cutting, cut_text, fitting, in_force
from unabridged.text.measure import utf8_length
from unabridged.text.tokens import Estimate, as_tokenizer
from unabridged.types import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unabridged.embedding.cache import VectorCache
    from unabridged.embedding.limits import LimitsInForce
    from unabridged.embedding.pooling import Pooling
    from unabridged.text.tokens import Measure

__all__ = ["Settings"]

_JOIN_CHARACTERS = 1 << 20


class Settings:
    """Fixed for the life of an embedder, but for the limits, which are learned."""

    def __init__(
        self,
        *,
        chunking: Chunking,
        cuts: bool,
        truncates: bool,
        limits: LimitsInForce,
        tokenizer: object,
        cache: VectorCache | None,
        pooling: Pooling,
        budget: int,
        spread: int,
        pads: bool = False,
    ) -> None:
        self.pads = pads
        self.chunking = chunking
        if chunking.method is not None:
            from unabridged.text.segmenters import registry

            registry.find_segmenter(chunking.method)  # a wrong name is told now, not with the first long text
        self.cuts = cuts
        self.truncates = truncates
        self.limits = limits
        # A tokenizer of a library under it gives offsets, so the text is encoded once, not piece by piece.
        self.measure: Measure = as_tokenizer(getattr(tokenizer, "raw", tokenizer))
        self.tokenizer_name = str(getattr(tokenizer, "name", getattr(self.measure, "name", "custom")))
        self.cache = cache
        self.flights = Flights()
        self.pooling = pooling
        self.pool_as: Pooling = "weighted" if pooling == "none" else pooling
        self.budget = budget
        self.spread = spread
        self.special_tokens = int(getattr(tokenizer, "special_tokens", 0))
        self.declared_cutting = in_force(chunking, limits.declared)
        self._plan = limits.declared, self.declared_cutting

    @property
    def cutting(self) -> Cutting | None:
        """The numbers under the limit that holds now."""
        limit = self.limits.limit
        known, plan = self._plan
        if limit is not known:  # a limit is a new object only when it has been tightened
            plan = in_force(fitting(self.chunking, limit.input_tokens), limit)
            self._plan = limit, plan
        return plan

    def count(self, text: str) -> int:
        """The tokens of one text."""
        return self.measure.count(text)

    def counts(self, texts: Sequence[str]) -> list[int]:
        """The tokens of many short texts: the estimator counts them in one pass over their lines."""
        if len(texts) < 4 or not isinstance(self.measure, Estimate):
            return [self.measure.count(text) for text in texts]
        made: list[int] = []
        at = 0
        while at < len(texts):
            end, size = at, 0
            while end < len(texts) and (end == at or size + len(texts[end]) < _JOIN_CHARACTERS):
                size += len(texts[end]) + 1
                end += 1
            made += self._joined(texts[at:end])
            at = end
        return made

    def _joined(self, texts: Sequence[str]) -> list[int]:
        import numpy as np

        # A newline costs nothing and ends every run, so the sums over lines are those of the texts.
        ends = np.cumsum([len(text) + 1 for text in texts])
        sums = self.measure.measure("\n".join(texts) + "\n").many(ends)
        return [int(n) for n in np.diff(sums, prepend=0)]

    def surely_fits(self, text: str) -> bool:
        """Whether no counting is needed: no tokenizer makes more tokens than UTF-8 bytes."""
        plan = self.cutting
        if plan is None:
            return True
        triggers = (plan.trigger_tokens, plan.trigger_chars, plan.trigger_bytes)
        least = min(x for x in (*triggers, 1 << 62) if x is not None)
        return len(text) * (1 if text.isascii() else 4) + self.special_tokens <= least

    def over(self, text: str, tokens: int) -> bool:
        """Whether a text of so many tokens, as counted here, is over a limit in force."""
        plan = self.cutting
        if plan is None:
            return False
        billed = (tokens + self.special_tokens) * self.limits.scales.of(text)
        return (
            (plan.trigger_tokens is not None and billed > plan.trigger_tokens)
            or (plan.trigger_chars is not None and len(text) > plan.trigger_chars)
            or (plan.trigger_bytes is not None and utf8_length(text) > plan.trigger_bytes)
        )

    def fits(self, texts: Sequence[str]) -> bool:
        """Whether these texts are within every limit in force, each alone and together in one request."""
        limit = self.limits.limit
        if limit.request_inputs is not None and len(texts) > limit.request_inputs:
            return False
        if limit.request_bytes is not None and sum(map(utf8_length, texts)) > limit.request_bytes:
            return False
        doubtful = [text for text in texts if not self.surely_fits(text)]
        if any(self.over(text, tokens) for text, tokens in zip(doubtful, self.counts(doubtful), strict=True)):
            return False
        together = limit.request_tokens
        if together is None or sum(map(len, texts)) * 4 <= together:
            return True
        counted = zip(texts, self.counts(texts), strict=True)
        return sum(tokens * self.limits.scales.of(text) for text, tokens in counted) <= together

    def segment(self, text: str) -> list[Span]:
        """The spans of a text that is over the limit."""
        plan, limit = self.cutting, self.limits.limit
        assert plan is not None  # noqa: S101
        scale = self.limits.scales.of(text)
        if plan.method is None:
            return cut_text(text, plan, limit, self.measure, scale=scale)
        from unabridged.text.segmenters import split

        size = max(1, int(plan.max_size / scale))
        chunks = split(
            text,
            method=plan.method,
            max_tokens=size,
            overlap_tokens=min(plan.overlap, size - 1),
            min_tokens=min(plan.minimum, size),
            tokenizer=self.measure,
        )
        return [Span(chunk.start, chunk.end) for chunk in chunks]
