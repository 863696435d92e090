"""A small reader of simple English, so that a fake chat server can answer what a memory asks of a model.

"Alice works at Acme." gives two entities and a fact; passives, pronouns, "and", and dates are understood as far
as worked examples go. It is no model: it is the same every time, and quick.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unabridged.testing.understander_facts import compare_facts
from unabridged.testing.understander_questions import answer_question

if TYPE_CHECKING:
    from unabridged.testing.chat import AskedChat

__all__ = ["Understander", "read_english", "sentences_of"]

Handler = Callable[["AskedChat"], Any]

_TEXT = re.compile(r"<text>\n(.*)\n</text>", re.DOTALL)
_KNOWN = re.compile(r"^- (.+?)(?: \(([^()]+)\))?$", re.MULTILINE)
_NOTHING: Mapping[str, Any] = {"array": [], "boolean": False, "integer": 0, "number": 0, "object": {}}
_GIVEN = frozenset("Alice Ann Anna Bob Carl Carol Dan Dave Eve Frank Grace John Mary Maria Peter Tom".split())  # noqa: SIM905
_SENTENCE = re.compile(r"[^.!?\n]+(?:(?:\.(?=\w)|(?<=\bDr)\.|(?<=\bMr)\.|(?<=\bMs)\.)[^.!?\n]*)*[.!?]?")
_WORD = r"[A-ZÀ-ÞĀ-Ž][\w&’'-]*"
_NAME = rf"(?:the\s+)?{_WORD}(?:\s+(?:of\s+(?:the\s+)?|de\s+|van\s+|von\s+)?{_WORD})*"
_AMOUNT = r"(?:[$€£]\s?[\d,.]*\d\s?(?:[MKB]|million|billion)?)"
_NAMES = rf"{_NAME}(?:(?:,\s+|,?\s+and\s+){_NAME})*"
_VERB = r"(?:[a-z][a-z-]*'?s?\s+)?(?:(?:the|a|an|new|chief|C[ETFO]O|[a-z][a-z-]*)\s+){0,5}?[a-z][a-z-]*"
_CLAUSE = re.compile(
    rf"^(?P<verb>{_VERB}|is\s+(?:the\s+)?C[ETFO]O\s+(?:of|at))\s+(?P<object>{_NAMES}|{_AMOUNT})(?P<rest>.*)$", re.DOTALL
)
_SUBJECT = re.compile(rf"^(?:(?:In|On|Since)\s+[^,]+,\s+)?(?P<subject>{_NAMES}|I|We)\s+(?P<rest>[a-z].*)$", re.DOTALL)
_PASSIVE = re.compile(
    r"^(?:is|was|are|were|has been|have been)\s+(?P<verb>\w+(?:ed|en|ought|old|un|uilt|ade|itten))\s+by$"
)
_AND = re.compile(r",?\s+and\s+(?=[a-z]+(?:s|ed)?\s)")
_PRONOUNS = {"he": "person", "she": "person", "they": None, "it": "organization", "we": None, "i": "person"}
_MONTH = "january|february|march|april|may|june|july|august|september|october|november|december"
_MONTHS = _MONTH.split("|")
_DATE = rf"(?:\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}\s+(?:{_MONTH})\s+\d{{4}}|(?:{_MONTH})\s+\d{{4}}|\d{{4}})"
_FROM = re.compile(rf"\b(?:since|in|on|from|as of)\s+(?:the\s+)?({_DATE})", re.IGNORECASE)
_UNTIL = re.compile(rf"\b(?:until|till|to)\s+({_DATE})", re.IGNORECASE)
_PLACES = re.compile(r"\b(?:lives?|lived|moved?|resides?|born|located|based|visits?|visited|travel\w*|flew)\b")
_EMPLOY = re.compile(
    r"\b(?:works?|worked|join\w*|left|runs?|leads?|led|manages?|administers|employed|studies|founded|C[ETFO]O|director|head)\b"
)
_OF_ORGANIZATIONS = re.compile(r"\b(?:acquir\w+|bought|merged)\b")
_OF_PERSONS = re.compile(r"\b(?:knows?|met|married|loves|likes)\b")
_COMPANY = re.compile(r"\b(?:Inc|Corp|Ltd|GmbH|AG|University|Institute|Company|Bank|Labs?)\b")


@dataclass
class Understander:
    """Answers what the memory's own prompts ask; ``handlers`` (a test of the request, an answer) come first."""

    handlers: list[tuple[Callable[[AskedChat], bool], Handler]] = field(default_factory=list)

    def __call__(self, seen: AskedChat) -> Any:
        """The answer to a request."""
        for asks, answer in self.handlers:
            if asks(seen):
                return answer(seen)
        keys = set((seen.schema or {}).get("properties", ()))
        if {"entities", "edges"} <= keys:
            return read_english(_text_of(seen), known=_KNOWN.findall(seen.asked.partition("<text>")[0]))
        if "decisions" in keys:
            return compare_facts(seen.asked)
        if seen.schema is None:
            return " ".join(sentence.strip() for sentence in sentences_of(_text_of(seen))[:3]) or "Nothing is said."
        if {"known", "sentences"} <= keys:
            return answer_question(seen.asked)
        return {name: _NOTHING.get(str(each.get("type")), "") for name, each in seen.schema["properties"].items()}


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, as they are written.

    >>> sentences_of("Dr. Who left. It is 3.14!")
    ['Dr. Who left.', 'It is 3.14!']
    """
    return [found.strip() for found in _SENTENCE.findall(text) if found.strip(" .!?\n\t")]


def read_english(text: str, *, known: Sequence[tuple[str, str]] = ()) -> dict[str, list[dict[str, Any]]]:
    """Entities and edges of simple sentences.

    >>> graph = read_english("Alice works at Acme. She was hired by Bob in 2021.")
    >>> [(edge["source"], edge["relation"], edge["target"]) for edge in graph["edges"]]
    [('Alice', 'works at', 'Acme'), ('Bob', 'hired', 'Alice')]
    >>> [entity["type"] for entity in graph["entities"]]
    ['person', 'organization', 'person']
    """
    reader = _Reader(dict(known))
    for sentence in sentences_of(text):
        reader.read(sentence)
    return {"entities": list(reader.entities.values()), "edges": reader.edges}


class _Reader:
    def __init__(self, known: dict[str, str]) -> None:
        self.entities: dict[str, dict[str, Any]] = {}
        self.edges: list[dict[str, Any]] = []
        self._known = known
        self._last: list[str] = []

    def read(self, sentence: str) -> None:
        found = _SUBJECT.match(sentence)
        if found is None:
            return
        subjects = self._meant(found["subject"])
        if not subjects:
            return
        for clause in _AND.split(found["rest"].rstrip(".!? ")):
            self._clause(subjects, clause, sentence)
        self._last = subjects

    def _clause(self, subjects: list[str], clause: str, sentence: str) -> None:
        found = _CLAUSE.match(clause)
        if found is None:
            return
        verb = " ".join(found["verb"].split())
        passive = _PASSIVE.match(verb)
        began, ended = _times(sentence)
        for subject in subjects:
            for target in _split(found["object"]):
                ends, relation = ((target, subject), passive["verb"]) if passive else ((subject, target), verb)
                kinds = _kinds(relation)
                source, goal = self._entity(ends[0], kinds[0], sentence), self._entity(ends[1], kinds[1], sentence)
                fact = f"{source} {relation} {goal}{_tail(found['rest'])}"
                self.edges.append(
                    {
                        "source": source,
                        "relation": relation,
                        "target": goal,
                        "fact": fact,
                        "valid_at": began,
                        "invalid_at": ended,
                        "quote": sentence,
                    }
                )

    def _entity(self, name: str, kind: str, sentence: str) -> str:
        if re.fullmatch(_AMOUNT, name):
            kind = "value"
        elif _COMPANY.search(name):
            kind = "organization"
        kind = self._known.get(name) or kind
        row: dict[str, Any] = {"name": name, "type": kind, "aliases": [], "description": None, "quote": sentence}
        self.entities.setdefault(name, row)
        return name

    def _meant(self, said: str) -> list[str]:
        """Who is meant: the names, or whom a pronoun stands for."""
        if said.lower() not in _PRONOUNS:
            return _split(said)
        if self._last:
            return self._last
        kind = _PRONOUNS[said.lower()]
        typed = [name for name, of in self._known.items() if of and (kind is None or of == kind)]
        untyped = [name for name, of in self._known.items() if not of]
        people = [name for name in untyped if name.split()[0] in _GIVEN]
        return (typed[-1:] or (people if kind == "person" else untyped))[:1]


def _text_of(seen: AskedChat) -> str:
    found = _TEXT.search(seen.asked)
    return found[1] if found else seen.asked


def _split(names: str) -> list[str]:
    parts = re.split(r",\s+(?:and\s+)?|\s+and\s+", names)
    return [re.sub(r"^[Tt]he |['’]s$", "", part) for part in parts]


def _kinds(relation: str) -> tuple[str, str]:
    if _PLACES.search(relation):
        return "person", "place"
    if _OF_ORGANIZATIONS.search(relation):
        return "organization", "organization"
    if _OF_PERSONS.search(relation) or relation == "hired":
        return "person", "person"
    return ("person", "organization") if _EMPLOY.search(relation) else ("thing", "thing")


def _times(sentence: str) -> tuple[str | None, str | None]:
    began, ended = _FROM.search(sentence), _UNTIL.search(sentence)
    return _iso(began[1]) if began else None, _iso(ended[1]) if ended else None


def _iso(said: str) -> str:
    words = said.lower().split()
    if len(words) == 1:
        return said
    month = _MONTHS.index(words[-2]) + 1
    return f"{words[-1]}-{month:02d}" + (f"-{int(words[0]):02d}" if len(words) == 3 else "")


def _tail(rest: str) -> str:
    rest = rest.rstrip()
    return rest if rest and rest[0].isspace() else ""
