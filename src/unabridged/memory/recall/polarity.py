"""Whether a text says the opposite of what a query states (case 44; pure).

A vector hardly tells "the boiler works" from "the boiler failed". So where one sentence is about what a statement
is about, its denials are counted in both, and its words held against axes of opposites (works … fails, open …
closed, rose … fell, in many languages): an odd difference is a contradiction. A text of which another sentence says
the same as the statement contradicts nothing. A question is no statement, whatever answers it: to "Is the door
open?", "It is closed" is an answer.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from unabridged.memory.recall.words import coverage, mentions, plain, stem, words_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from unabridged.memory.recall.words import Words

__all__ = ["OPPOSED", "opposed"]

OPPOSED = 0.25  # the score of what says the opposite: half of a stranger's
_SAID = 0.6  # share of a statement's other words from which a sentence is about the same
_SOME = 0.5  # share that is enough where the other says hardly anything else
_LONGEST = 20_000  # characters in which a contradiction is looked for
_HELD = 16  # sentences, those that mention most of the statement's words, that are held against it
_LOOKED_INTO = 8  # sentences, those that say most of the statement's words
_NEAR = 5  # words between a denial and what it denies: "does not, as far as I know, work" has four
_SENTENCE = re.compile(r"[^.!?。！？؟\n]+(?:\.\d[^.!?。！？؟\n]*)*")
_CLAUSE = re.compile(r"[,;:()、，；：–—]|\s-\s|\b(?:but|aber|mais|pero|ma)\b|但")
_WORD = re.compile(r"[^\W\d_]+")
_ALONE = re.compile(r"(?<!\w)[^\W\d_]+(?!\w)")  # no part of an identifier: SEND_FINISH
_JOINED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
_IF = re.compile(
    r"\b(?:if|unless|whether|wenn|falls|ob|sofern|si|se|als|indien|om|если|eger|jesli)\b|如果|若|假如|もし|たら|なら|만약|إذا|אם"
)
_HANGUL = re.compile(r"[\uac00-\ud7af]")
_HIRAGANA = re.compile(r"[\u3040-\u309f]+")
_NUMBER = re.compile(r"no\.?\s*\d")  # no. 5
_SHORT = re.compile(r"n['’]t\b")  # isn't, won't
_PORTUGUESE = re.compile(r"\b(?:um|uma|em|foi|ao|nao|dos|das|pelo|pela)\b|(?:cao|coes)\b")  # whose "no" is "in the"
_BEFORE = ("un", "non", "dis")  # happy, unhappy
_BEFORE_ADJECTIVES = ("in", "im", "il", "ir")  # visible, invisible; but not form, inform
_ADJECTIVE = re.compile(r"[^\W\d_]{2,}(?:[ai]ble|al|[ea]nt|a[cr]t?|id|lar|[ai]te|ure|ive|ious|ect)$")
_NO_OPPOSITES = {
    "cover",
    "play",
    "pose",
    "charge",
    "count",
    "course",
    "tress",
    "tract",
    "ease",
    "patch",
    "less",
    "tent",
}

Pole = tuple[int, int]  # an axis, and which end of it


@dataclass(frozen=True, slots=True)
class _Axes:
    """The words of all poles: single ones by their stem, all others in one pattern."""

    words: Mapping[str, tuple[Pole, ...]]
    others: Mapping[str, tuple[Pole, ...]]
    pattern: re.Pattern[str]

    def of(self, text: str) -> Iterator[tuple[Pole, int, int]]:
        """Every pole that a text names, and where."""
        for match in _ALONE.finditer(text):
            for pole in self.words.get(stem(match[0]), ()):
                yield pole, match.start(), match.end()
        for match in self.pattern.finditer(text):
            for pole in self.others[next(name for name in self._named(match[0]))]:
                yield pole, match.start(), match.end()

    def _named(self, found: str) -> Iterator[str]:
        return (found[:end] for end in range(len(found), 0, -1) if found[:end] in self.others)


@dataclass(frozen=True, slots=True)
class _Reading:
    """A sentence, read: its text, folded; where it denies; the poles that it names and the spans of each."""

    text: str
    denials: tuple[int, ...]
    poles: Mapping[Pole, list[tuple[int, int]]]


def opposed(words: Words, text: str) -> bool:
    """Whether a text contradicts a statement.

    >>> from unabridged.memory.recall.words import words_in
    >>> opposed(words_in("The boiler works fine."), "The boiler failed on Monday.")
    True
    >>> opposed(words_in("Alice works at Acme."), "Alice does not work at Acme.")
    True
    >>> opposed(words_in("Alice works at Acme."), "Alice works at Acme."), opposed(words_in("Is it open?"), "Closed.")
    (False, False)
    """
    if words.asks or len(text) > _LONGEST or not _states(words):
        return False
    near = [(coverage(words, each), each) for each in _touched(words, text)]
    told = [each for _, each in sorted((one for one in near if one[0] > 0), key=lambda one: -one[0])[:_LOOKED_INTO]]
    if not any(_turned(words, each) for each in told):
        return False
    verdicts = [verdict for each in told if (verdict := _against(words, each)) is not None]
    return bool(verdicts) and all(verdicts)


def _touched(words: Words, text: str) -> list[str]:
    """The sentences of a text that may say most of the statement's words, in order."""
    sentences = _SENTENCE.findall(text)
    told = mentions(words, sentences)
    if told is None:
        return sentences
    least = sorted(told.values(), reverse=True)[:_HELD][-1:]
    return [sentences[at] for at in sorted(told) if told[at] >= least[0]]


def _turned(words: Words, sentence: str) -> bool:
    """Whether anything of a sentence, or of the statement, turns it: a quick look, for most have nothing that does."""
    ours, theirs = _claim(words), _read(sentence)
    if ours.denials or theirs.denials or any(_meets(pole, ours, theirs) for pole in ours.poles):
        return True
    return bool(_affixed(ours.text, theirs.text))


def _states(words: Words) -> bool:
    """A statement says something of something: two words, or a run of a script that sets no spaces."""
    return len(words.terms) > 1 or any(len(term) > 3 and _JOINED.match(term) for term in words.terms)


def _against(words: Words, sentence: str) -> bool | None:
    """Whether a sentence denies the statement; ``None`` where it is about something else."""
    ours, theirs = _claim(words), _read(sentence)
    turned = [pole for pole in ours.poles if _meets(pole, ours, theirs)]
    agreed = [pole for pole in ours.poles if pole in theirs.poles]
    mine = [span for pole in (*turned, *agreed) for span in ours.poles[pole]]
    said = [span for axis, side in turned for span in theirs.poles[axis, 1 - side]]
    said += [span for pole in agreed for span in theirs.poles[pole]]
    told, heard = _blanked(ours.text, mine), _blanked(theirs.text, said)
    affixed = _affixed(told, heard)
    rest, other = _rest(told, affixed), _rest(heard, _affixed(heard, told))
    mostly = _shared(rest, sentence, len(agreed))
    told_apart = bool(turned or affixed)
    if not (mostly >= _SAID or (told_apart and _same(mostly, _shared(other, ours.text, len(agreed))))):
        return None
    if _IF.search(theirs.text) and not _IF.search(ours.text):
        return None  # what happens if something is not so says nothing of whether it is
    denied = bool(_effective(theirs, rest, said)) != bool(_outside(ours.denials, mine))
    return (_turns(turned, ours, theirs) + len(affixed) + denied) % 2 == 1


def _shared(rest: Words, text: str, agreed: int) -> float:
    """The share of a sentence's words, those that turn it apart, that a text says too."""
    if not rest.terms:
        return 0.0
    return (coverage(rest, text) * len(rest.terms) + agreed) / (len(rest.terms) + agreed)


def _same(ours: float, theirs: float) -> bool:
    """Whether two sentences are about the same: most of either is in the other, and some of that in the first."""
    return ours >= _SAID or (theirs >= _SAID and ours >= _SOME)


def _meets(pole: Pole, ours: _Reading, theirs: _Reading) -> bool:
    """Whether each says one end of an axis, and not the other."""
    axis, side = pole
    other = (axis, 1 - side)
    return other in theirs.poles and pole not in theirs.poles and other not in ours.poles


def _turns(turned: Iterable[Pole], ours: _Reading, theirs: _Reading) -> int:
    """How many words are turned: one that two axes have is one."""
    seen: set[tuple[str, int, int]] = set()
    found = 0
    for axis, side in turned:
        spans = {("ours", *span) for span in ours.poles[axis, side]}
        spans |= {("theirs", *span) for span in theirs.poles[axis, 1 - side]}
        found += not spans & seen
        seen |= spans
    return found


@lru_cache(maxsize=256)
def _claim(words: Words) -> _Reading:
    return _read(words.text)


@lru_cache(maxsize=256)
def _read(text: str) -> _Reading:
    said = plain(text)
    poles: dict[Pole, list[tuple[int, int]]] = defaultdict(list)
    for pole, start, end in _axes().of(said):
        poles[pole].append((start, end))
    return _Reading(said, tuple(_denials(said)), dict(poles))


def _denials(text: str) -> Iterator[int]:
    """Where a text denies something."""
    portuguese = _PORTUGUESE.search(text) is not None
    for match in _nots().finditer(text):
        idle = match["not"] == "no" and (portuguese or _NUMBER.match(text, match.start()))
        if match["not"] and not idle:
            yield match.start()
    yield from (match.start() for match in _SHORT.finditer(text))


def _effective(theirs: _Reading, rest: Words, spans: Iterable[tuple[int, int]]) -> list[int]:
    """The denials of a sentence that are of what the statement is about, not of an aside."""
    about = [at for at, _ in spans]
    stems = {stem(term) for term in plain(" ".join(rest.terms)).split()}
    about += [match.start() for match in _WORD.finditer(theirs.text) if _is_of(match[0], stems)]
    return [at for at in _outside(theirs.denials, spans) if any(_close(theirs.text, at, other) for other in about)]


def _outside(places: Iterable[int], spans: Iterable[tuple[int, int]]) -> list[int]:
    """The denials that are no part of a word which an axis has: "failed to start" is one turn."""
    spans = list(spans)
    return [at for at in places if not any(start <= at < end for start, end in spans)]


def _is_of(word: str, stems: set[str]) -> bool:
    return stem(word) in stems or (_JOINED.search(word) is not None and any(each[:2] in word for each in stems))


def _close(text: str, one: int, other: int) -> bool:
    between = text[min(one, other) : max(one, other)]
    return not _CLAUSE.search(between) and len(_WORD.findall(between)) <= _NEAR + 1


def _blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """A text without some spans; of Hangul, which joins endings to its words, without the whole word."""
    letters = list(text)
    for start, end in spans:
        while _HANGUL.match(text, start, end) and end < len(text) and _HANGUL.match(text, end):
            end += 1  # noqa: PLW2901 - the word's own end
        letters[start:end] = " " * (end - start)
    return "".join(letters)


@lru_cache(maxsize=1024)
def _rest(text: str, affixed: tuple[str, ...]) -> Words:
    """What is left of a statement, without the words that deny and, of Japanese, without its grammar."""
    left = _nots().sub(lambda match: " " if match["not"] else match[0], _SHORT.sub("", text))
    for word in affixed:
        left = re.sub(rf"\b{re.escape(word)}\b", " ", left)
    bare = _HIRAGANA.sub(" ", left)
    return words_in(bare if words_in(bare).terms else left)


def _affixed(ours: str, theirs: str) -> tuple[str, ...]:
    """The statement's words that the other has with, or without, a syllable that denies: happy, unhappy."""
    one, other = set(_WORD.findall(ours)), set(_WORD.findall(theirs))
    mine, others = one - other, other - one
    found = {word for word in mine for each in _without(word, others) if _denies(word, each)}
    return tuple(sorted(found.union(each for word in others for each in _without(word, mine) if _denies(each, word))))


def _without(word: str, others: set[str]) -> Iterator[str]:
    """Those of some words that may be a word without the syllable with which it denies."""
    if word.endswith("less"):
        yield from others & {f"{word[:-4]}ful"}
    if word.startswith(_BEFORE_ADJECTIVES):
        yield from others & {word[2:]}
    for before in _BEFORE:
        if word.startswith(before):
            root = stem(word)[len(before) :]
            yield from (each for each in others if stem(each) == root)


def _denies(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if short[:-3] == long[:-4] and short.endswith("ful") and long.endswith("less"):
        return True
    if len(short) < 4 or stem(short) in _NO_OPPOSITES or short in _NO_OPPOSITES:
        return False
    if any(stem(long) == before + stem(short) for before in _BEFORE):
        return True
    return any(long == before + short for before in _BEFORE_ADJECTIVES) and _ADJECTIVE.match(short) is not None


@cache
def _axes() -> _Axes:
    words: dict[str, list[Pole]] = defaultdict(list)
    others: dict[str, list[Pole]] = defaultdict(list)
    for axis, line in enumerate(_lines("opposites.txt")):
        for side, pole in enumerate(line.split("|")):
            for word in plain(pole).split():
                single = word.isalpha() and not _JOINED.search(word)
                for name in {word, stem(word)} if single else ():
                    words[name].append((axis, side))
                if not single:
                    others[word.rstrip("*").replace("_", " ")].append((axis, side))
    found = {word: tuple(dict.fromkeys(poles)) for word, poles in others.items()}
    written = dict.fromkeys(word for line in _lines("opposites.txt") for word in plain(line.replace("|", " ")).split())
    listed = [word for word in written if word.replace("_", " ").rstrip("*") in found]
    return _Axes({word: tuple(dict.fromkeys(poles)) for word, poles in words.items()}, found, _any_of(listed))


@cache
def _nots() -> re.Pattern[str]:
    words = [word for line in _lines("negations.txt") for word in plain(line).split()]
    idle = _any_of([word[1:] for word in words if word.startswith("!")]).pattern
    return re.compile(rf"(?:{idle})|(?P<not>{_any_of([word for word in words if word[0] != '!']).pattern})")


def _lines(name: str) -> list[str]:
    text = (files("unabridged") / "data" / name).read_text("utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    """One pattern for words as the lists write them, the longest first.

    The words' boundary stands before all of them: so each is tried where its first letter stands, not everywhere.
    """
    ordered = sorted(words, key=len, reverse=True)
    joined = [_written(word) for word in ordered if _JOINED.search(word)]
    apart = [_written(word) for word in ordered if not _JOINED.search(word)]
    return re.compile("|".join([*([rf"\b(?:{'|'.join(apart)})"] if apart else []), *joined]))


def _written(word: str) -> str:
    bare = re.escape(word.rstrip("*").replace("_", " "))
    if _JOINED.search(word):
        return bare
    return rf"{bare}[^\W\d_]*" if word.endswith("*") else rf"{bare}\b"
