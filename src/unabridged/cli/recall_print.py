"""How hits, their sources and answers are shown."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from unabridged.cli.advice import WORDS
from unabridged.cli.console import put

if TYPE_CHECKING:
    from unabridged.memory.recall.answer import Answered
    from unabridged.memory.recall.data import Citation, Recalled

__all__ = ["answered", "cited", "data_of", "explained", "hits"]

_WIDTH = 96  # characters of a line; terminals have 80 to 120
_LINES = 6  # of a hit's text


def hits(found: Recalled) -> None:
    """Each hit: what it is, how relevant, what it says, where that stands."""
    for at, hit in enumerate(found.hits, 1):
        put(f"{at}. {hit.kind}  {hit.score:.2f}\n{_brief(hit.text)}\n")
        for source in hit.evidence[:2]:
            put(f"   {cited(source)}\n")
        put("\n")


def cited(source: Citation) -> str:
    """Where a passage stands, as ``unabridged memory show`` takes it."""
    place = f"{source.artifact_id} --bytes {source.start}:{source.end}"
    about = [source.source, source.speaker, f"page {source.page}" if source.page is not None else None]
    moment = source.valid_at or source.created_at
    known = [each for each in (*about, f"{moment:%Y-%m-%d}" if moment else None) if each]
    return f"{place}  {' · '.join(known)}".rstrip()


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
    known = cites or dict(enumerate(found.recalled.pack.citations if found.known is not False else (), 1))
    if known:
        put("\n" + "".join(f"[{at}] {cited(source)}\n" for at, source in sorted(known.items())))


def _brief(text: str) -> str:
    lines = textwrap.wrap(" ".join(text.split()), _WIDTH, initial_indent="   ", subsequent_indent="   ")
    return "\n".join([*lines[:_LINES], *(["   …"] if len(lines) > _LINES else [])])
