"""Which inputs of a request a refusal names: paths, brackets, "at index 3", "第 3 条" (pure)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["find_indices", "mask_indices", "named_fields"]

_LISTS = (
    r"inputs?|texts?|documents?|instances?|requests?|contents?|data|items?|messages?|body|sentences?|passages?|quer(?:y|ies)|prompts?|"
    r"strings?|array|values?|list|chunks?|elements?|entries|embeddings"
)
_LONE = r"inputs?|texts?|documents?|instances?|items?|sentences?|passages?|prompts?|strings?|elements?|chunks?"
_MANY = r"(\d{1,6}(?:\s*(?:,|and|&|und|et|y|и|e|、|，|和|と|,\s*and)\s*\d{1,6}){0,63})"
_PATHS = re.compile(
    rf"(?:{_LISTS})\s?\[\s?(\d{{1,6}})\s?\]"
    r"|(?<![\w.])(?!(?:size|shape|tensor|dim|gpu|arg|target|line|token|ind)\w*\[)[^\W\d]\w{2,24}\[(\d{1,6})\](?!\[)"
    rf"|#?/(?:{_LISTS})/(\d{{1,6}})\b|\b(?:{_LISTS})\.(\d{{1,6}})\b(?!\.\d)"
)
_WORDED = re.compile(
    r"(?:\bindex|indices|indexes|\bidx|position|positions|indice|indizes|posicion|posicao|индекс\w*|позици\w*"
    r"|索引|下标|インデックス|位置|인덱스|위치|indeks\w*)"
    rf"(?:es|s)?\s?(?:is|are|no\.|number|nr\.|为|是|が|は)?\s?[:=#]?\s?[\[(]?\s?{_MANY}"
)
# "input 3 is too long": a noun, a number, and then what is said of it.
_NAMED = re.compile(
    rf"\b(?:{_LONE}) ?(?:#|no\. ?|number )\(?(\d{{1,6}})\b"
    rf"|\b(?:input id|(?:{_LONE}) (?:id|no\.?|number|nr\.?|at|in position|#)|(?:{_LONE})|входн\w+ текст"
    rf"|eingabe|texte|entree|texto|entrada|текст|элемент)s?\s?#?\(?{_MANY}\)?"
    r"(?=\s?(?:of (?:your|the)|in (?:your|the)|has|have|had|is|are|was|were|contains?|exceeds?|:|,|\)"
    r"|\((?:counting|1-based|0-based|one-based)|cannot|can't|must|too|longer|over|hat|ist|a |est|tiene|es "
    r"|tem |содерж|превыш|длин|слиш))"
)
_ORDINAL = re.compile(
    r"第\s?(\d{1,6}(?:\s?[、,和及]\s?\d{1,6}){0,63})\s?(?:个|個|条|條|项|項|篇|段|行|件|番目|入力|文本|输入)"
    r"|(?<!\d)(\d{1,6})\s?(?:番目|번째|-й|-я|-е)|"
    r"\b(\d{1,6})(?:st|nd|rd|th) (?:\w+ )?(?:input|text|item|element|document|string|entry|passage)"
)
_ORDINALS = (
    r"first|erste[rsn]?|premiere?|primer[oa]?|primeir[oa]|перв\w+",
    r"second|zweite[rsn]?|deuxieme|segund[oa]|втор\w+",
    r"third|dritte[rsn]?|troisieme|tercer[oa]?|terceir[oa]|terz[oa]|трет\w+",
    r"fourth|vierte[rsn]?|quatrieme|cuart[oa]|quart[oa]|четверт\w+",
    r"fifth|funfte[rsn]?|cinquieme|quint[oa]|пят(?:ый|ая|ое|ого|ом)",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
)
_ORDINAL_WORD = re.compile(
    rf"\b(?:{'|'.join(f'(?P<o{at}>{words})' for at, words in enumerate(_ORDINALS))}) (?:input|text|item|element"
    r"|document|string|entry|passage|sequence|prompt|eingabe|dokument|entree|entrada|текст|документ|testo)"
)
_FROM_ONE = re.compile(
    r"1-based|one-based|(?:counting|count|indexed|numbered|starting) (?:from|at) (?:1|one)\b|从1开始|從1開始"
    r"|1始まり|1から"
)
_TOTAL = re.compile(r"number of (?:\w+ )?(?:inputs?|texts?|items?|documents?)|count of|too many")
_OUT_OF = re.compile(r"invalid dimensions for input|out of (?:range|bounds|data)|index-select|dim size|not in \[0")
_DIGITS = re.compile(r"\d+")
_FIELD = re.compile(
    r"(?:^|[.:-] )(?:invalid (?:value (?:for|of) )?(?:parameter |field |argument )?"
    r"|(?:value )?error (?:in|for) |value \S+ for (?:argument|parameter) )?(?:the )?'([a-z_][\w.\[\]]*)'"
    r"|(?:parameter|field|argument|param) '([a-z_][\w.\[\]]*)'"
    r"|'([a-z_][\w.]*)' (?:parameter|field|argument|property)|valid (\w+_\w+) must be"
)


def find_indices(text: str, places: Iterable[Sequence[str | int]], *, limit: int | None = None) -> tuple[int, ...]:
    """Positions in the request, from 0, sorted, each once.

    Counting starts at 0 unless the reply says otherwise or uses an ordinal ("the 3rd text", "第 3 条").

    >>> find_indices("texts at index 7, 9 are too long", [])
    (7, 9)
    >>> find_indices("", [("body", "input", 3)])
    (3,)
    """
    found = {part for path in places for part in path if type(part) is int and 0 <= part < 1_000_000}
    text = " . ".join([text, *(str(path[0]).casefold() for path in places if len(path) == 1)])
    for match in _PATHS.finditer(text):
        found.add(int(next(group for group in match.groups() if group)))
    if not _OUT_OF.search(text):
        found |= _worded(text, limit)
    for match in _ORDINAL.finditer(text):
        found |= {int(digits) - 1 for digits in _DIGITS.findall(next(group for group in match.groups() if group))}
    found |= {int(str(match.lastgroup)[1:]) for match in _ORDINAL_WORD.finditer(text)}
    return tuple(sorted(at for at in found if at >= 0))[:256]


def mask_indices(text: str) -> str:
    """The text with the digits of places blanked, so that they are not read as quantities."""
    if _OUT_OF.search(text):
        return text
    for pattern in (_WORDED, _ORDINAL, _PATHS):
        text = pattern.sub(lambda match: _DIGITS.sub(lambda digits: "#" * len(digits[0]), match[0]), text)
    return text


def _worded(text: str, limit: int | None) -> set[int]:
    base = 1 if _FROM_ONE.search(text) else 0
    found = {int(digits) - base for match in _WORDED.finditer(text) for digits in _DIGITS.findall(match[1])}
    if _TOTAL.search(text):
        return found
    for match in _NAMED.finditer(text):
        # "input 3 is too long" names a place; "input 600 exceeds 512" a size.
        numbers = [int(digits) for digits in _DIGITS.findall(match[1] or match[2])]
        if all(number < (2_048 if limit is None else min(limit, 2_048)) for number in numbers):
            found |= {number - base for number in numbers}
    return found


def named_fields(text: str, places: Iterable[Sequence[str | int]]) -> set[str]:
    """The fields of the request that a reply complains about, by their last names.

    >>> sorted(named_fields("invalid 'user': string too long", [("body", "model")]))
    ['model', 'user']
    """
    names = {str(path[-1]) for path in places if path and isinstance(path[-1], str)}
    names |= {str(part) for path in places for part in path[1:] if isinstance(part, str)}
    for match in _FIELD.finditer(text[:2_000]):
        names.add(next(group for group in match.groups() if group))
    return {
        _DIGITS.sub("", name).replace("[]", "").strip("/.#$").replace("/", ".").rsplit(".", 1)[-1].casefold()
        for name in names
    }
