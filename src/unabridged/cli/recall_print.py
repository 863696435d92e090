"""How hits, their sources and answers are shown."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from unabridged.cli.advice import WORDS
from unabridged.cli.console import number, put

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unabridged.memory.recall.answer import Answered
    from unabridged.memory.recall.data import Citation, Hit, Recalled
    from unabridged.memory.recall.excerpt import Excerpt
    from unabridged.memory.recall.words import Words

__all__ = ["answered", "cited", "data_of", "explained", "hits", "unanswered"]

_WIDTH = 96  # characters of a line; terminals have 80 to 120
_LINES = 6  # of what a hit says
_ROOM = 500  # characters of it that fill them
_SENTENCES = 5  # in place of an answer
_OF_SENTENCE = 3  # lines
_TELLING = 280  # characters up to which what follows a sentence is shown with it


def hits(found: Recalled) -> None:
    """Each hit: what it is, how relevant, what of it says most of the query, where that stands, where the whole."""
    for at, hit in enumerate(found.hits, 1):
        place = found.excerpt(hit, _ROOM)
        put(f"{at}. {hit.kind}  {hit.score:.2f}\n{_brief(str(place))}\n")
        for source in hit.evidence[:2]:
            put(f"   {cited(source, place)}\n")
        put("\n")


def cited(source: Citation, place: Excerpt | None = None) -> str:
    """Where a passage stands, as ``unabridged memory show`` takes it; of one that is shown in part, where that is."""
    start, end, whole = source.start, source.end, None
    if place is not None and place.artifact_id == source.artifact_id and (place.before or place.after):
        start, end, whole = place.start, place.end, f"of {start}:{end}"
    told = f"{source.artifact_id} --bytes {start}:{end}"
    about = [whole, source.source, source.speaker, f"page {source.page}" if source.page is not None else None]
    moment = source.valid_at or source.created_at
    known = [each for each in (*about, f"{moment:%Y-%m-%d}" if moment else None) if each]
    return f"{told}  {' · '.join(known)}".rstrip()


def data_of(found: Answered | Recalled) -> dict[str, Any]:
    """All of it for programs; what would help is told in the words of this door."""
    data = found.to_dict()
    for part in (data, data.get("recalled") or {}):
        for each in part.get("degraded", ()):
            each["advice"] = WORDS[each["advice"]] if each["advice"] else None
    return data


def explained(found: Recalled) -> None:
    """A line for each hit and lane, and what the whole of it took."""
    for at, hit in enumerate(found.hits, 1):
        lanes = "  ".join(f"{each.lane} #{each.rank} ({each.score:.3g})" for each in hit.lanes)
        put(f"{at}. fused {hit.fused:.3f} × relevance {hit.score:.3f}: {lanes}\n")
    took = "  ".join(f"{name} {ms:.0f}" for name, ms in found.timings.items())
    put(f"ms: {took}\n")


def answered(found: Answered) -> None:
    """The answer, and a list of what its numbers cite."""
    put(f"{found.answer}\n")
    cites: dict[int, Citation] = {
        number: source
        for sentence in found.sentences
        for number, source in zip(sentence.numbers, sentence.citations, strict=True)
    }
    if cites:
        put("\n" + "".join(f"[{at}] {cited(source)}\n" for at, source in sorted(cites.items())))


def unanswered(found: Answered) -> None:
    """Where nobody has answered: the sentences that say most of the question's words, each with its place."""
    from unabridged.memory.recall.words import words_in

    words = words_in(found.question)
    told: dict[str, Citation | None] = {}
    for hit in found.recalled.hits:
        text, source = _telling(hit, words)
        told.setdefault(" ".join(text.split()), source)
    for at, (text, source) in enumerate(list(told.items())[:_SENTENCES], 1):
        put(f"{at}. {_brief(text, _OF_SENTENCE).lstrip()}\n")
        if source is not None:
            put(f"   {cited(source)}\n")
    if len(told) > _SENTENCES:
        put(f"\n{number(len(told) - _SENTENCES)} more: `unabridged recall` shows them\n")
    elif not told:
        put(f"{found.answer}\n")


def _telling(hit: Hit, words: Words) -> tuple[str, Citation | None]:
    """The sentence of a hit that says most of the words, what follows it, and where they stand; a fact as it is."""
    from unabridged.memory.recall.words import coverage

    source = hit.evidence[0] if hit.evidence else None
    if hit.kind in {"fact", "entity"} or source is None or source.quote is None or source.start is None:
        return hit.text, source
    text, spans = source.quote, list(_spans(source.quote))
    at = max(range(len(spans)), key=lambda at: coverage(words, text[slice(*spans[at])]))
    start, end = spans[at]
    for _, further in spans[at + 1 :]:  # a heading, or a short sentence, alone says little
        if further - start > _TELLING:
            break
        end = further
    first = source.start + len(text[:start].encode())
    return text[start:end], replace(source, start=first, end=first + len(text[start:end].encode()))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """The sentences of a text, blank space apart."""
    from unabridged.text.sentences import sentences

    for start, end in pairwise(sorted({0, *sentences(text), len(text)})):
        piece = text[start:end]
        if piece.strip():
            yield start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def _brief(text: str, most: int = _LINES) -> str:
    lines = textwrap.wrap(" ".join(text.split()), _WIDTH, initial_indent="   ", subsequent_indent="   ")
    return "\n".join([*lines[:most], *(["   …"] if len(lines) > most else [])])
