"""How long texts are cut: settings -> the numbers in force -> spans. Pure.

The automatic plan takes, from a model's limit of ``n`` tokens, chunks of 70 %, an overlap of 5 % and a
minimum of 10 % (SPEC L3): 8,192 gives 5,734 / 409 / 819. What is set by hand stays as it is, and what is
unset scales with it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Literal

from unabridged.errors import ConfigError
from unabridged.text.packing import cut
from unabridged.text.tokens import Characters
from unabridged.types import Span

if TYPE_CHECKING:
    from unabridged.text.tokens import Measure
    from unabridged.types import Limit

__all__ = ["Chunking", "Cutting", "cut_text", "fitting", "in_force"]

# SPEC L3, in hundredths of the limit.
_CHUNK, _OVERLAP, _MINIMUM = 70, 5, 10
_COMPAT_LINES = 50


@dataclass(frozen=True, slots=True)
class Chunking:
    """How to cut a text that is over the limit; ``None`` leaves a number to the automatic plan.

    Sizes are in ``unit``. ``semantic`` prefers sentence ends. ``max_lines`` ends a chunk after so many
    new lines. ``compat`` does as the system before this one documents it: characters, 50 lines, a plain
    mean. ``method`` names a segmenter instead of the plain cut.

    >>> Chunking(max_tokens=500, overlap_tokens=600)
    Traceback (most recent call last):
    unabridged.errors.ConfigError: overlap_tokens: found 600, expected less than max_tokens (500)
    """

    max_tokens: int | None = None
    overlap_tokens: int | None = None
    min_tokens: int | None = None
    max_lines: int | None = None
    semantic: bool = True
    unit: Literal["tokens", "chars"] = "tokens"
    compat: bool = False
    method: str | None = None

    def __post_init__(self) -> None:
        """Refuse what contradicts itself, by the name of the setting."""
        for name, least in (("max_tokens", 1), ("overlap_tokens", 0), ("min_tokens", 0), ("max_lines", 1)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise ConfigError(name, f"found {value!r}, expected a whole number of at least {least}")
        if self.unit not in ("tokens", "chars"):
            raise ConfigError("unit", f"found {self.unit!r}, expected tokens or chars")
        _check(self.max_tokens, self.overlap_tokens, self.min_tokens)


@dataclass(frozen=True, slots=True)
class Cutting:
    """The numbers in force for one model: sizes in ``unit``, and where cutting begins.

    A text is cut when it has more than ``trigger_tokens`` tokens, ``trigger_chars`` characters or
    ``trigger_bytes`` UTF-8 bytes; a chunk is held to all of the caps at once.
    """

    max_size: int
    overlap: int
    minimum: int
    max_lines: int | None
    semantic: bool
    unit: Literal["tokens", "chars"]
    method: str | None
    trigger_tokens: int | None
    trigger_chars: int | None
    trigger_bytes: int | None

    def settings(self) -> dict[str, object]:
        """What a fingerprint takes."""
        return asdict(self)


def in_force(chunking: Chunking, limit: Limit) -> Cutting | None:
    """The numbers for a limit, or ``None`` where nothing has to be cut (a model without a limit).

    >>> from unabridged.types import Limit
    >>> plan = in_force(Chunking(), Limit(input_tokens=8192))
    >>> plan.max_size, plan.overlap, plan.minimum, plan.trigger_tokens
    (5734, 409, 819, 8192)
    """
    tokens = limit.input_tokens
    explicit = chunking.max_tokens
    unit: Literal["tokens", "chars"] = "chars" if chunking.compat else chunking.unit
    if explicit is not None:
        size = explicit if tokens is None or unit == "chars" else min(explicit, tokens)
    elif tokens is not None:
        size = max(1, tokens * _CHUNK // 100)
    elif limit.input_chars is not None or limit.input_bytes is not None:
        size, unit = max(1, (limit.input_chars or limit.input_bytes or 1) * _CHUNK // 100), "chars"
    else:
        return None
    overlap = _share(chunking.overlap_tokens, size, tokens, explicit, _OVERLAP)
    minimum = _share(chunking.min_tokens, size, tokens, explicit, _MINIMUM)
    _check(size, overlap, minimum)
    below = unit == "chars" or size < (tokens or size + 1)
    begins = size if explicit is not None and below else None
    return Cutting(
        max_size=size,
        overlap=overlap,
        minimum=minimum,
        max_lines=chunking.max_lines or (_COMPAT_LINES if chunking.compat else None),
        semantic=chunking.semantic,
        unit=unit,
        method=chunking.method,
        trigger_tokens=_least(tokens, begins if unit == "tokens" else None),
        trigger_chars=_least(
            limit.input_chars, (begins or (tokens if chunking.compat else None)) if unit == "chars" else None
        ),
        trigger_bytes=limit.input_bytes,
    )


def cut_text(text: str, cutting: Cutting, limit: Limit, measure: Measure, *, scale: float = 1.0) -> list[Span]:
    """The spans of an over-long text. ``scale`` turns our token counts into the provider's."""
    if cutting.unit == "chars":
        return _by_characters(text, cutting, limit, measure, scale)
    size = max(1, int(cutting.max_size / scale))
    return cut(
        text,
        max_tokens=size,
        overlap_tokens=min(int(cutting.overlap / scale), size - 1),
        min_tokens=min(int(cutting.minimum / scale), size),
        max_lines=cutting.max_lines,
        tokenizer=measure,
        semantic=cutting.semantic,
        max_chars=limit.input_chars,
        max_bytes=limit.input_bytes,
    )


def _by_characters(text: str, cutting: Cutting, limit: Limit, measure: Measure, scale: float) -> list[Span]:
    """Sizes in characters; a chunk that is over the model's tokens all the same is cut again."""
    size = cutting.max_size if limit.input_chars is None else min(cutting.max_size, limit.input_chars)
    spans = cut(
        text,
        max_tokens=size,
        overlap_tokens=min(cutting.overlap, size - 1),
        min_tokens=min(cutting.minimum, size),
        max_lines=cutting.max_lines,
        tokenizer=Characters(),
        semantic=cutting.semantic,
        max_bytes=limit.input_bytes,
    )
    if limit.input_tokens is None:
        return spans
    most, kept = max(1, int(limit.input_tokens / scale)), []
    for span in spans:
        piece = text[span.start : span.end]
        if measure.count(piece) <= most:
            kept.append(span)
            continue
        parts = cut(piece, max_tokens=most, tokenizer=measure, semantic=cutting.semantic)
        covered = kept[-1].end if kept else 0
        made = (Span(span.start + part.start, span.start + part.end) for part in parts)
        kept += [one for one in made if one.end > covered]  # what is overlap alone has its chunk already
    return kept


def fitting(chunking: Chunking, tokens: int | None) -> Chunking:
    """The user's sizes, unless a limit learned since has made them contradict each other.

    A size in characters is not held against tokens: a chunk that has too many of those is cut again.

    >>> fitting(Chunking(overlap_tokens=300), 254).overlap_tokens is None
    True
    >>> fitting(Chunking(max_tokens=2000, overlap_tokens=500, unit="chars"), 254).overlap_tokens
    500
    """
    if tokens is None:
        return chunking
    size = tokens * _CHUNK // 100 if chunking.max_tokens is None else chunking.max_tokens
    if chunking.unit == "tokens" and not chunking.compat:
        size = min(size, tokens)
    overlap, minimum = chunking.overlap_tokens, chunking.min_tokens
    if (overlap is not None and overlap >= size) or (minimum is not None and minimum > size):
        return replace(chunking, max_tokens=None, overlap_tokens=None, min_tokens=None)
    return chunking


def _share(given: int | None, size: int, tokens: int | None, explicit: int | None, percent: int) -> int:
    if given is not None:
        return given
    if explicit is None and tokens is not None:
        return tokens * percent // 100
    return size * percent // _CHUNK


def _check(size: int | None, overlap: int | None, minimum: int | None) -> None:
    if size is None:
        return
    if overlap is not None and overlap >= size:
        raise ConfigError("overlap_tokens", f"found {overlap}, expected less than max_tokens ({size})")
    if minimum is not None and minimum > size:
        raise ConfigError("min_tokens", f"found {minimum}, expected at most max_tokens ({size})")


def _least(*numbers: int | None) -> int | None:
    known = [n for n in numbers if n is not None]
    return min(known) if known else None
