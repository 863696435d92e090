"""Front matter: the keys at the head of a Markdown text, with where each value stands (pure).

As much of YAML as front matter uses: texts, quoted texts, lists in brackets or by dashes, and TOML's
``key = value`` between ``+++``. What is nested deeper is read as lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from unabridged.text.markdown import Mark

__all__ = ["FrontMatter", "Item", "front_matter"]

_KEY = re.compile(
    r"(?P<key>[^\s#\-\[\]{}:=][^:=\n]{0,200}?)[ \t]*(?::(?=[ \t\r\n]|$)|=(?=[ \t]))[ \t]*(?P<value>[^\n]*)"
)
_DASH = re.compile(r"[ \t]*-[ \t]+(?P<value>[^\n]*)")
_COMMENT = re.compile(r"(?:^|[ \t])#.*")
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^']|'')*)'")
_BLOCK = re.compile(r"[|>][+-]?\d?[ \t]*")


@dataclass(frozen=True, slots=True)
class Item:
    """One value as it is written, where it begins in the text, and what it says without its quotes."""

    text: str
    at: int

    @property
    def value(self) -> str:
        """Without quotes."""
        found = _QUOTED.fullmatch(self.text)
        if not found:
            return " ".join(self.text.split())
        inner = found[1] if found[1] is not None else found[2].replace("''", "'")
        return " ".join(inner.replace('\\"', '"').split())

    @property
    def place(self) -> int:
        """Where what it says begins."""
        return self.at + max(self.text.find(self.value), 0)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Keys and their values, in order; ``own`` are the keys that describe the subject itself."""

    items: dict[str, list[Item]] = field(default_factory=dict)

    own = frozenset({"title", "name", "type", "kind", "aliases", "alias", "description", "summary"})

    @property
    def title(self) -> Item | None:
        """What the text is about."""
        return self._first("title", "name")

    @property
    def type(self) -> str | None:
        """What kind of thing that is."""
        found = self._first("type", "kind")
        return found.value.lower() or None if found is not None else None

    @property
    def description(self) -> str | None:
        """A few words on it."""
        found = self._first("description", "summary")
        return found.value if found is not None else None

    @property
    def aliases(self) -> tuple[str, ...]:
        """Its other names."""
        given = [*self.items.get("aliases", ()), *self.items.get("alias", ())]
        return tuple(dict.fromkeys(item.value for item in given if item.value))

    def _first(self, *keys: str) -> Item | None:
        return next((item for key in keys for item in self.items.get(key, ()) if item.value), None)


def front_matter(text: str, marks: Sequence[Mark]) -> FrontMatter:
    """The front matter of a text, empty where there is none.

    >>> from unabridged.text.markdown import scan
    >>> text = "---\\ntitle: 'Acme'\\naliases: [ACME, Acme Inc]\\n---\\nText."
    >>> front = front_matter(text, scan(text))
    >>> front.title.value, front.aliases
    ('Acme', ('ACME', 'Acme Inc'))
    """
    mark = next((each for each in marks if each.kind == "front_matter"), None)
    if mark is None:
        return FrontMatter()
    items: dict[str, list[Item]] = {}
    key: str | None = None
    for at, line in _lines(text, mark):
        found = _KEY.match(line) if line[:1].strip() else None
        if found:
            key = found["key"].strip("\"' ")
            folded = key.casefold() if key.casefold() in FrontMatter.own else key
            key = folded
            items.setdefault(key, []).extend(_values(found["value"], at + found.start("value")))
        elif key is not None and line.strip():
            items[key].extend(_continued(line, at))
    return FrontMatter(items)


def _lines(text: str, mark: Mark) -> Iterator[tuple[int, str]]:
    """The lines between the marks, with where each begins."""
    at = text.find("\n", mark.start) + 1
    end = text.rfind("\n", mark.start, mark.end)
    while 0 < at <= end:
        stop = text.find("\n", at, mark.end)
        yield at, text[at:stop].rstrip("\r")
        at = stop + 1


def _continued(line: str, at: int) -> Iterator[Item]:
    """A line below a key: an item of its list, or more of its text."""
    found = _DASH.match(line)
    if found:
        yield from _values(found["value"], at + found.start("value"))
    else:
        indent = len(line) - len(line.lstrip())
        yield from _values(line.lstrip(), at + indent)


def _values(written: str, at: int) -> Iterator[Item]:
    """A value, or each of a list in brackets; a wiki link has brackets of its own."""
    text = written.rstrip()
    quoted = _QUOTED.match(text)
    if quoted and text[quoted.end() :].lstrip()[:1] in {"", "#"}:
        text = quoted[0]
    elif "[[" not in text:
        text = _COMMENT.sub("", text).rstrip()
    if not text or _BLOCK.fullmatch(text):
        return
    if text.startswith("[") and text.endswith("]") and not _is_links(text):
        for part in _parts(text):
            yield Item(part[0], at + part[1])
    else:
        yield Item(text, at)


def _is_links(text: str) -> bool:
    """``[[A]], [[B]]`` is no list in brackets, ``["[[A]]", "[[B]]"]`` and ``[[[A]], [[B]]]`` are."""
    return text.startswith("[[") and not text.startswith("[[[")


def _parts(text: str) -> Iterator[tuple[str, int]]:
    for found in re.finditer(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|\[\[[^\[\]]*\]\]|[^,\[\]]+", text[1:-1]):
        part = found[0].strip()
        if part:
            yield part, 1 + found.start() + len(found[0]) - len(found[0].lstrip())
