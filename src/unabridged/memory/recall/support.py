"""Whether a sentence holds against what it cites: its figures, its dates, its words (pure)."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from unabridged.memory.recall.spelling import bare_figures, plain
from unabridged.memory.recall.words import coverage, folded, words_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["bare", "problem_of"]

SUPPORT = 0.34  # share of a sentence's words that its sources must say: a third leaves room to put it otherwise
_TOLD = 2  # words of a language by which it is known
_FIGURE = re.compile(r"\d+(?:[.,:/-]\d+)*")
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})|(\d{1,2})[./](\d{1,2})[./](\d{4})")
_END = re.compile(r"(?<=\D[.!?])\s+(?=[^\W\d_a-zß-ÿ])|(?<=[。！？])")
_MARK = re.compile(r"\s*\[\d+(?:\s*,\s*\d+)*\]")
_WORD = re.compile(r"[^\W\d_]+")
# Each line: a number, and how it is written; months by their number too, for a date may be put either way.
_NUMBERS = """
1 one first january ein eins eine erste ersten januar un une premier janvier uno una primero enero gennaio janeiro
2 two second february zwei zweite zweiten februar deux février dos febrero due febbraio dois fevereiro
3 three third march drei dritte dritten märz trois mars tres marzo tre março três
4 four fourth april vier vierte quatre avril cuatro abril quattro aprile quatro
5 five fifth may fünf fünfte mai cinq cinco mayo cinque maggio maio
6 six sixth june sechs sechste juni juin seis junio sei giugno junho
7 seven seventh july sieben siebte juli sept juillet siete julio sette luglio sete julho
8 eight eighth august acht achte huit août ocho agosto otto oito
9 nine ninth september neun neunte neuf septembre nueve septiembre nove settembre setembro
10 ten tenth october zehn zehnte oktober dix octobre diez octubre dieci ottobre dez outubro
11 eleven november elf novembre once noviembre undici onze novembro
12 twelve december zwölf dezember douze décembre doce diciembre dodici dicembre doze dezembro
"""


def bare(sentence: str) -> str:
    """A sentence without the numbers of sources that a model wrote into it.

    >>> bare("Alice works at Acme [1, 2].")
    'Alice works at Acme.'
    """
    return _MARK.sub("", sentence).strip()


def problem_of(sentence: str, quotes: Sequence[str], question: str = "") -> str | None:
    """Why a sentence, or one of several that stand together, does not hold against what it cites; ``None`` if it does.

    >>> problem_of("Alice earns 90,000.", ["Alice works at Acme."])
    'its figures (90,000) stand in nothing that it cites'
    >>> problem_of("Alice is employed at Acme.", ["Alice works at Acme."]) is None
    True
    """
    said = " ".join(quotes)
    known = set(_figures(f"{said} {question}")) | set(_written(f"{said} {question}"))
    missing = [each for each in _FIGURE.findall(sentence) if not known.issuperset(_figures(each))]
    if missing:
        return f"its figures ({', '.join(missing)}) stand in nothing that it cites"
    parts = [part for part in _END.split(sentence) if folded(part) and not part.rstrip().endswith(("?", "？"))]
    for part in parts:
        words = words_in(part)
        brief = len(parts) > 1 and len(words.terms) < 3  # "Yes."
        if not brief and coverage(words, said) < SUPPORT and not _in_other_words(part, said):
            return "what it cites says something else"
    return None


def _figures(text: str) -> Iterator[str]:
    """The figures of a text, as they are compared: dates by their parts, thousands without separators."""
    for figure in _FIGURE.findall(text):
        date = _DATE.fullmatch(figure)
        for part in filter(None, date.groups() if date else (figure,)):
            yield _figure(part)


def _figure(figure: str) -> str:
    whole = bare_figures(figure)
    if re.fullmatch(r"\d+[.,]\d+", whole):
        return whole.replace(",", ".").rstrip("0").rstrip(".")
    joined = re.sub(r"[,.:/-]", "", whole)
    return joined.lstrip("0") or "0" if len(joined) < 3 else joined


def _written(text: str) -> Iterator[str]:
    for word in _WORD.findall(plain(text)):
        yield from _numerals().get(word, ())


@cache
def _numerals() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in _NUMBERS.strip().splitlines():
        number, *words = line.split()
        found |= {plain(word): (*found.get(plain(word), ()), number) for word in words}
    return found


def _in_other_words(sentence: str, said: str) -> bool:
    """Whether a sentence is in another language than its sources, where words cannot be held against each other."""
    one, other = _language(sentence), _language(said)
    return one is not None and other is not None and one != other


def _language(text: str) -> str | None:
    """The language of a text by its commonest words, or its script; ``None`` where neither tells."""
    for name, letters in _SCRIPTS.items():
        if len(letters.findall(text)) * 3 > len(_WORD.findall(text)):
            return name
    words = [word.casefold() for word in _WORD.findall(text)]
    counts = {name: sum(word in known for word in words) for name, known in _languages().items()}
    ordered = sorted(counts, key=lambda name: -counts[name])
    best, second = ordered[:2]
    return best if counts[best] >= _TOLD and counts[best] > counts[second] else None


_SCRIPTS = {
    "Chinese or Japanese": re.compile(r"[\u3040-\u30ff\u3400-\u9fff]"),
    "Korean": re.compile(r"[\uac00-\ud7af]+"),
    "Cyrillic": re.compile(r"[\u0400-\u04ff]+"),
    "Greek": re.compile(r"[\u0370-\u03ff]+"),
    "Arabic": re.compile(r"[\u0600-\u06ff]+"),
    "Hebrew": re.compile(r"[\u0590-\u05ff]+"),
    "Thai": re.compile(r"[\u0e00-\u0e7f]+"),
    "Devanagari": re.compile(r"[\u0900-\u097f]+"),
}


@cache
def _languages() -> Mapping[str, frozenset[str]]:
    """Function words by language, as their list has them."""
    found: dict[str, frozenset[str]] = {}
    name = ""
    for line in (files("unabridged") / "data" / "function_words.txt").read_text("utf-8").splitlines():
        if line.startswith("#"):
            name = line[1:].strip()
        elif name in {"English", "German", "French", "Spanish"}:
            found[name] = found.get(name, frozenset()) | frozenset(line.split())
    return found
