"""Facts that a Markdown text declares, read without a model: front matter, and ``- predicate: [[Object]]`` lines.

The subject is what the text is about: the front matter's ``title`` (or ``name``), else the level-1 heading
above the line, else the first heading, else the name given. Fences and quotes declare nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unabridged.memory.extraction.extraction import Extraction
from unabridged.memory.extraction.front import FrontMatter, Item, front_matter
from unabridged.memory.extraction.read import UNKNOWN_TYPE, FoundEdge, FoundEntity, date_of
from unabridged.memory.values import NAME_LIMIT, normalise
from unabridged.text.markdown import heading_text, scan

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Sequence

    from unabridged.text.markdown import Mark

__all__ = ["declared"]

_LINK = r"\[\[[^\[\]\n]{1,500}\]\]"
_OBJECTS = rf"{_LINK}(?:(?:[ \t]*,[ \t]*|[ \t]+and[ \t]+){_LINK})*"
_ENDING = r"[ \t]*(?:\((?P<when>[^()\n]*)\))?[ \t]*[.;]?(?:[ \t]+#[\w/-]+)*[ \t]*(?:<!--[^\n]*-->)?[ \t]*\r?"
_DECLARES = re.compile(
    rf"^[ \t]*[-*+][ \t]+(?P<predicate>[^\[\]:\n]{{1,200}}?)[ \t]*::?[ \t]*(?P<objects>{_OBJECTS}){_ENDING}$",
    re.MULTILINE,
)
_IN_FRONT = re.compile(
    rf"(?:(?P<predicate>[^\[\]:\n]{{1,200}}?)[ \t]*:[ \t]*)?[\"']?(?P<objects>{_OBJECTS})[\"']?{_ENDING}"
)
_FENCE = re.compile(r"^[ \t]*(?:[-*+][ \t]+)?(?P<mark>`{3,}|~{3,})", re.MULTILINE)
_MARKS = "*_`~ \t"
_DATE = r"\d{4}(?:-\d{1,2}(?:-\d{1,2})?)?"
_SINCE = re.compile(rf"(?:since|from|in|ab|seit)?[ \t]*({_DATE})", re.IGNORECASE)
_UNTIL = re.compile(rf"(?:until|till|to|bis|–|—|-|\.\.)[ \t]*({_DATE})[ \t]*$", re.IGNORECASE)
# What front matter says about the file, not about its subject.
_HOUSEKEEPING = frozenset({
    "tags", "tag", "keywords", "categories", "category", "layout", "permalink", "slug", "url", "uri", "link",
    "draft", "published", "publish", "date", "created", "created_at", "modified", "updated", "updated_at",
    "lastmod", "time", "lang", "language", "locale", "template", "theme", "weight", "order", "id", "uid", "uuid",
    "cssclass", "cssclasses", "image", "cover", "banner", "icon", "toc", "math", "comments", "status", "version",
    "license", "schema", "valid_at", "invalid_at", "valid_from", "valid_until", "author_url",
})  # fmt: skip
_PLAIN_FACT = re.compile(r"(?=.*[^\W\d_])[^\n\[\]{}<>|]{1,80}")
_NO_NAME = re.compile(r"(?:true|false|yes|no|null|none|~|\d[\d.,:/-]*|https?://.*|[./~].*|.*\.\w{2,4})", re.IGNORECASE)
_MOST_WORDS = 8


@dataclass(frozen=True, slots=True)
class _Fact:
    """A declared fact: its subject is known only when the whole text has been read."""

    at: int
    end: int
    predicate: str
    objects: tuple[tuple[str, str | None, int], ...]  # name, alias, where it stands
    valid_at: dt.datetime | None = None
    invalid_at: dt.datetime | None = None


def declared(text: str, *, name: str | None = None) -> Extraction:
    """The entities and facts that a text declares; no call is made. Offsets are bytes of the UTF-8 text.

    ``name`` is the subject of a text that names none. A thing whose type nobody declares has the type
    ``unknown``. ``notes`` say what was declared and could not be taken.

    >>> found = declared("---\\ntitle: Alice\\ntype: person\\n---\\n- works at: [[Acme]] (since 2020)\\n")
    >>> [(entity.name, entity.type) for entity in found.entities]
    [('Alice', 'person'), ('Acme', 'unknown')]
    >>> found.edges[0].fact, found.edges[0].valid_at.year
    ('Alice works at Acme', 2020)
    """
    marks = scan(text)
    front = front_matter(text, marks)
    facts = [*_front_facts(front), *_line_facts(text, marks)]
    return _Graph(text, front, marks, name).of(facts)


def _front_facts(front: FrontMatter) -> Iterator[_Fact]:
    for key, items in front.items.items():
        if key in front.own:
            continue
        for item in items:
            fact = _front_fact(key, item)
            if fact is not None:
                yield fact


def _front_fact(key: str, item: Item) -> _Fact | None:
    linked = _IN_FRONT.fullmatch(item.text)
    if linked:
        began, ended = _times(linked["when"])
        objects = _objects(linked["objects"], item.at + linked.start("objects"))
        return _Fact(item.at, item.at + len(item.text), linked["predicate"] or key, objects, began, ended)
    plain = item.value
    is_name = _PLAIN_FACT.fullmatch(plain) and not _NO_NAME.fullmatch(plain) and len(plain.split()) <= _MOST_WORDS
    if not is_name or normalise(key).replace(" ", "_").replace("-", "_") in _HOUSEKEEPING:
        return None
    return _Fact(item.at, item.at + len(item.text), key, ((plain, None, item.place),))


def _line_facts(text: str, marks: Sequence[Mark]) -> Iterator[_Fact]:
    for mark in marks:
        if mark.kind != "list":
            continue
        fenced = _fenced(text, mark)
        for found in _DECLARES.finditer(text, mark.start, mark.end):
            if any(start <= found.start() < end for start, end in fenced):
                continue
            began, ended = _times(found["when"])
            start = found.start() + len(found[0]) - len(found[0].lstrip())
            end = found.end() - (len(found[0]) - len(found[0].rstrip()))
            yield _Fact(
                start, end, found["predicate"], _objects(found["objects"], found.start("objects")), began, ended
            )


def _fenced(text: str, mark: Mark) -> list[tuple[int, int]]:
    """The fences inside a list: what stands in one is code."""
    spans: list[tuple[int, int]] = []
    opened: re.Match[str] | None = None
    for found in _FENCE.finditer(text, mark.start, mark.end):
        if opened is None:
            opened = found
        elif found["mark"][0] == opened["mark"][0] and len(found["mark"]) >= len(opened["mark"]):
            spans.append((opened.start(), found.end()))
            opened = None
    return spans if opened is None else [*spans, (opened.start(), mark.end)]


def _objects(said: str, at: int) -> tuple[tuple[str, str | None, int], ...]:
    """``[[Name]]``, ``[[Name#part]]`` and ``[[Name|shown]]``: the name, what is shown, where the name begins."""
    found = []
    for link in re.finditer(r"\[\[([^\[\]|#\n]*)(?:#[^\[\]|\n]*)?(?:\|([^\[\]\n]*))?\]\]", said):
        name, shown = " ".join(link[1].split()), " ".join((link[2] or "").split()) or None
        if name:
            found.append(
                (name, shown if shown != name else None, at + link.start(1) + len(link[1]) - len(link[1].lstrip()))
            )
    return tuple(found)


def _times(said: str | None) -> tuple[dt.datetime | None, dt.datetime | None]:
    """``(since 2020)``, ``(2019 – 2021-05)``, ``(until 2022)``."""
    text = (said or "").strip()
    until = _UNTIL.search(text)
    head = text[: until.start()].strip() if until else text
    since = _SINCE.fullmatch(head)
    return (date_of(since[1]) if since else None), (date_of(until[1]) if until else None)


class _Graph:
    """What declared facts come to."""

    def __init__(self, text: str, front: FrontMatter, marks: Sequence[Mark], name: str | None) -> None:
        self._text = text
        self._front = front
        self._headings = [mark for mark in marks if mark.kind == "heading"]
        self._name = name
        self._entities: dict[tuple[str, str], FoundEntity] = {}
        self._edges: dict[tuple[int, str, int], FoundEdge] = {}
        self._types: dict[str, str] = {}

    def of(self, facts: Sequence[_Fact]) -> Extraction:
        orphans = 0
        if self._front.title is not None:
            self._subject(0)
        for fact in sorted(facts, key=lambda each: each.at):
            subject = self._subject(fact.at)
            if subject is None:
                orphans += 1
            else:
                self._state(subject, fact)
        notes = (f"declared: {orphans} facts have no subject; give the text a title or a heading",) if orphans else ()
        return Extraction(tuple(self._entities.values()), tuple(self._edges.values()), (), notes)

    def _subject(self, at: int) -> int | None:
        """What a place in the text speaks of."""
        front = self._front
        if front.title is not None:
            kind = front.type or UNKNOWN_TYPE
            return self._entity(front.title.value, kind, front.title.place, front.aliases, front.description)
        above = [mark for mark in self._headings if mark.start < at and mark.level == 1]
        mark = above[-1] if above else next(iter(self._headings), None)
        if mark is not None and (title := heading_text(self._text, mark).strip(_MARKS)):
            place = self._text.find(title, mark.start, mark.end)
            return self._entity(title, front.type or UNKNOWN_TYPE, place, front.aliases, front.description)
        return None if not self._name else self._entity(self._name, front.type or UNKNOWN_TYPE, -1)

    def _state(self, subject: int, fact: _Fact) -> None:
        relation = " ".join(fact.predicate.replace("_", " ").strip(_MARKS).split())
        if not relation:
            return
        names = [entity.name for entity in self._entities.values()]
        start, end = self._bytes(fact.at), self._bytes(fact.end)
        for name, shown, at in fact.objects:
            target = self._entity(name, UNKNOWN_TYPE, at, () if shown is None else (shown,))
            if target == subject:
                continue
            said = f"{names[subject]} {relation} {name}"
            edge = FoundEdge(subject, relation, target, said, fact.valid_at, fact.invalid_at, start, end)
            self._edges.setdefault((subject, normalise(relation), target), edge)

    def _entity(
        self, name: str, kind: str, at: int, aliases: tuple[str, ...] = (), description: str | None = None
    ) -> int:
        name = " ".join(name.split())
        while len(name.encode()) > NAME_LIMIT:
            name = name[: NAME_LIMIT // 4]
        kind = self._types.setdefault(normalise(name), kind)
        key = (normalise(name), kind)
        if key not in self._entities:
            start = None if at < 0 else self._bytes(at)
            end = None if start is None else start + len(self._text[at : at + len(name)].encode())
            self._entities[key] = FoundEntity(name, kind, aliases, description, start, end)
        return list(self._entities).index(key)

    def _bytes(self, at: int) -> int:
        return len(self._text[:at].encode("utf-8", "surrogatepass"))
