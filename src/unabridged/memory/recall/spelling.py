"""One word in the ways that it is written: accents, scripts, joined and apart, figures with their separators (pure).

What is stored is never rewritten. Full text folds case, Latin accents and width itself; for all else the query is
asked in several spellings (:func:`forms`), and texts are compared folded (:func:`plain`). What no spelling of the
query reaches, a word inside another (犬 in 子犬) or one with marks between its letters (vocalised Arabic and Hebrew),
is found by a pattern (:func:`loosely`), where a dataset is small enough to be read through.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain, islice, pairwise, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "INDIC",
    "UNSPACED",
    "apart",
    "bare_figures",
    "bare_marks",
    "bare_spaces",
    "forms",
    "han_forms",
    "joined",
    "loosely",
    "plain",
    "simplified",
]

FORMS = 4  # ways to write one query in traditional characters: 乾 and 幹 are both 干
MOST_FORMS = 20  # spellings of one word that full text is asked for
LONGEST = 100  # letters of a word that has other spellings, or stands inside others: the longest of German law has 63
_LONGEST_FIGURE = 40  # digits: nobody sets a longer one apart by thousands, and a number of thousands is slow to make
_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
UNSPACED = rf"{_HAN}\u3040-\u30ff\uff66-\uff9f\u0e00-\u0e7f\u1780-\u17ff\u1000-\u109f\u0e80-\u0eff"
INDIC = r"\u0900-\u0963\u0966-\u0d7f"  # whose vowel signs are letters of a word, and none to Python
_MARKS = (
    "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff"
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u0640\u064b-\u065f\u0670"
)
_SIGNS = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]+")
_ACCENTS = re.compile(f"[{_MARKS}]+")  # of alphabets; kana keep their marks
_OWN_LETTERS = re.compile("[йїўЙЇЎ]")  # which NFKD takes for и, і, у with an accent
_FOLDED = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t", "ς": "σ"}
    | {"أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ة": "ه", "ى": "ي", "ی": "ي", "ک": "ك", "\u00ad": ""}
)
_ANY_FOLDED = re.compile(f"[{''.join(map(chr, _FOLDED))}]")  # to look first is a tenth of translating for nothing
_ANY_HAN = re.compile(f"[{_HAN}]")
_SPACED = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})+(?![\d.,]?\d)")  # 10 000 kr
_THOUSANDS = re.compile(r"[,.'’\u00a0\u202f](?<=\d.)(?=\d{3}(?!\d))")  # the class first: three times as fast
_CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_JOINS = re.compile(r"(?<=[^\W_])['’.\-\u2010\u2011](?=[^\W_])")
_HANGUL = re.compile(r"[\uac00-\ud7af]{2,}")
_PARTICLES = (
    "은",
    "는",
    "이",
    "가",
    "을",
    "를",
    "의",
    "에",
    "에서",
    "으로",
    "로",
    "도",
    "와",
    "과",
    "만",
    "까지",
    "부터",
    "에게",
)
_GREEK = re.compile(r"[\u0370-\u03ff]{2,}")
_ACUTE = dict(zip("αεηιουω", "άέήίόύώ", strict=True))
_ARABIC = re.compile(r"[\u0621-\u064a]{3,}")
_KATAKANA = re.compile(r"[\u30a1-\u30fc]{2,}")


@cache
def _variants() -> tuple[Mapping[int, str], Mapping[str, str]]:
    """Traditional to simplified, and a simplified character with all its traditional forms."""
    lines = (files("unabridged") / "data" / "han_variants.txt").read_text("utf-8").split()
    return {ord(form): line[0] for line in lines for form in line[1:]}, {line[0]: line[1:] for line in lines}


def simplified(text: str) -> str:
    """Text with traditional Chinese characters as simplified ones; as long as before.

    >>> simplified("自然語言 abc")
    '自然语言 abc'
    """
    return text.translate(_variants()[0]) if _ANY_HAN.search(text) else text


@lru_cache(maxsize=4096)
def han_forms(term: str) -> tuple[str, ...]:
    """A word as it is, in simplified characters, and in traditional ones (at most four of those).

    >>> han_forms("自然语言")
    ('自然语言', '自然語言')
    """
    plain = simplified(term)
    forms = _variants()[1] if not term.isascii() else {}
    ways = product(*((forms.get(letter) or letter) for letter in plain)) if forms else ()
    return tuple(dict.fromkeys([term, plain, *("".join(way) for way in islice(ways, FORMS))]))


def bare_figures(text: str) -> str:
    """Text with the separators of thousands left out.

    >>> bare_figures("1,000,000 or 1.000, not 3.14")
    '1000000 or 1000, not 3.14'
    """
    return _THOUSANDS.sub("", text)


def bare_spaces(text: str) -> str:
    """Text with the spaces of thousands left out: of a query, for in a text they may part figures of a table.

    >>> bare_spaces("10 000 euros in 2020 300 times")
    '10000 euros in 2020 300 times'
    """
    return _SPACED.sub(lambda match: match[0].replace(" ", ""), text)


def bare_marks(text: str) -> str:
    """Text composed, without the vowel signs of Arabic and Hebrew: a word is then a run of letters.

    >>> bare_marks("كِتَاب cafe\u0301")
    'كتاب café'
    """
    return text if text.isascii() else _SIGNS.sub("", unicodedata.normalize("NFC", text))


def plain(text: str) -> str:
    """Text with case, accents, vowel signs, width, Chinese variants and figures folded.

    >>> plain("Café, ＡＢＣ, ёлка й, أَحْمَد, 1,000")
    'cafe, abc, елка й, احمد, 1000'
    """
    text = bare_figures(text.casefold())
    if text.isascii():
        return text
    text = text.replace("№", " ")
    apart = _OWN_LETTERS.split(text)
    kept = _OWN_LETTERS.findall(text)
    bare = [_ACCENTS.sub("", unicodedata.normalize("NFKD", part)) for part in apart]
    whole = unicodedata.normalize("NFC", "".join(chain.from_iterable(zip(bare, [*kept, ""], strict=True))))
    return simplified(whole.translate(_FOLDED) if _ANY_FOLDED.search(whole) else whole)


def joined(text: str) -> str:
    """Text with what stands apart by a hyphen, a point or an apostrophe inside a word as one word.

    >>> joined("wi-fi at O'Brien's")
    'wifi at OBriens'
    """
    return _JOINS.sub("", text)


def apart(text: str) -> str:
    """Text with the words of an identifier apart.

    >>> apart("getUserName, HTTPServer")
    'get User Name, HTTP Server'
    """
    return _CAMEL.sub(" ", text)


@lru_cache(maxsize=4096)
def forms(word: str) -> tuple[str, ...]:
    """The spellings of a word that full text is asked for; what full text folds itself is not spelled out.

    One that full text reads as several words, whatever stands between them, has a space there: 1,000 and 1.000 too.

    >>> forms("1000"), forms("ёж"), forms("mueller")
    (('1000', '1 000'), ('ёж', 'еж'), ('mueller', 'muller'))
    """
    if len(word) > LONGEST:
        return han_forms(word)
    every = chain(han_forms(word), _figures(word), _latin(word), _greek(word), _cyrillic(word), _arabic(word))
    return tuple(islice(dict.fromkeys(chain(every, _korean(word), _kana(word))), MOST_FORMS))


def _figures(word: str) -> Iterator[str]:
    if word.isascii() and word.isdigit() and 3 < len(word) <= _LONGEST_FIGURE:
        yield f"{int(word):,}".replace(",", " ")
    elif not word.isascii():
        yield unicodedata.normalize("NFKC", word).replace("\u2044", " ")  # one half is 1, a stroke of its own, 2


def _latin(word: str) -> Iterator[str]:
    """The dotted capital of Turkish; ä as ae and the like."""
    if word.startswith("i\u0307"):
        yield "i" + word[2:]
    elif word.startswith("i") and len(word) > 2:
        yield "İ" + word[1:]
    if re.search("[äöüÄÖÜ]", word):
        yield re.sub("[äöü]", lambda match: {"ä": "ae", "ö": "oe", "ü": "ue"}[match[0]], word.lower())
    elif len(word) > 4 and word.isascii() and (found := re.sub("([aou])e(?!$)", r"\1", word)) != word:
        yield found


def _greek(word: str) -> Iterator[str]:
    if not _GREEK.fullmatch(word):
        return
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", word))
    bare = bare[:-1] + "ς" if bare.endswith("σ") else bare
    yield from (bare, bare.replace("ς", "σ"))  # of a word in capitals
    yield from (bare[:at] + _ACUTE[c] + bare[at + 1 :] for at, c in enumerate(bare) if c in _ACUTE)


def _cyrillic(word: str) -> Iterator[str]:
    if "ё" in word:
        yield word.replace("ё", "е")
    else:
        yield from (f"{word[:at]}ё{word[at + 1 :]}" for at, c in enumerate(word) if c == "е")


def _arabic(word: str) -> Iterator[str]:
    bare = _ACCENTS.sub("", word)
    if not _ARABIC.fullmatch(bare):
        if bare != word and "\u0590" <= bare[:1] <= "\u05ff":
            yield bare
        return
    yield bare
    stem = bare[2:] if bare.startswith("ال") and len(bare) > 4 else bare
    heads = {"ا": "اأإ", "أ": "أا", "إ": "إا", "آ": "آا"}.get(stem[0], stem[0])
    tails = {"ة": "ةه", "ه": "هة", "ى": "ىي", "ي": "يى"}.get(stem[-1], stem[-1])
    for article, head, tail in product(("", "ال"), heads, tails):
        yield article + head + stem[1:-1] + tail


def _korean(word: str) -> Iterator[str]:
    if not _HANGUL.fullmatch(word):
        return
    endings = [each for each in _PARTICLES if word.endswith(each) and len(word) - len(each) > 1]
    bare = word[: -len(max(endings, key=len))] if endings else word
    yield from (bare, *(bare + each for each in _PARTICLES))


def _kana(word: str) -> Iterator[str]:
    """As narrow letters, which tills and banks still print."""
    if _KATAKANA.fullmatch(word):
        yield "".join(_narrow().get(c, c) for c in word)


@cache
def _narrow() -> Mapping[str, str]:
    single = {unicodedata.normalize("NFKC", chr(c)): chr(c) for c in range(0xFF66, 0xFF9E)}
    voiced: dict[str, str] = {}
    for c, narrow in single.items():
        for mark, own in (("\u3099", "\uff9e"), ("\u309a", "\uff9f")):
            whole = unicodedata.normalize("NFC", c + mark)
            voiced |= {whole: narrow + own} if len(whole) == 1 else {}
    return single | voiced


# -- patterns -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def loosely(terms: Sequence[str]) -> str:
    """A pattern (of Rust's regular expressions) for the words that may stand inside others or with marks in them.

    Letters may be accented and have a mark, a hyphen or an apostrophe between them; two words that follow each other
    may be one. Of a word over :data:`LONGEST` letters there is none: a pattern of 100,000 letters, each with its
    accents, takes the engine 4 to 55 seconds to refuse.

    >>> import re
    >>> re.findall(loosely(("user", "name")), "getUserName, user_name, username")
    ['UserName', 'user_name', 'username']
    """
    terms = [term for term in terms if len(term) <= LONGEST]
    ways = [_inside(form) for term in terms for form in han_forms(term) if _hides(term)]
    ways += [rf"\b{_loose(term)}\b" for term in terms if not _hides(term) and len(term) > 2]
    pairs = [(one, two) for one, two in pairwise(terms) if one.isascii() and two.isascii()]
    ways += [rf"{_loose(one)}[-_ ]?{_loose(two)}" for one, two in pairs if len(one + two) > 4]
    return f"(?i){'|'.join(dict.fromkeys(ways))}" if ways else ""


def _hides(term: str) -> bool:
    """Whether a word may stand inside another: one Chinese character, or what is joined to others in its script."""
    return re.match(rf"[{_HAN}\u3040-\u30ff]$|[\u0590-\u06ff\u0e00-\u109f\u1780-\u17ff\uac00-\ud7af]", term) is not None


def _inside(term: str) -> str:
    return _loose(term) if re.match(r"[\u0590-\u06ff]", term) else re.escape(term)


def _loose(term: str) -> str:
    between = rf"[{_MARKS}'’.,\-]*" if term.isascii() else f"[{_MARKS}]*"
    return between.join(_spelled(letter) for letter in plain(term))


@lru_cache(maxsize=1024)
def _spelled(letter: str) -> str:
    every = _alike().get(letter, "")
    return f"[{letter}{every}]" if every else re.escape(letter)


@cache
def _alike() -> Mapping[str, str]:
    """The letters that are folded to each letter."""
    found: dict[str, str] = {}
    for code in chain(range(0xC0, 0x250), range(0x370, 0x530), range(0x621, 0x6D4), range(0x1E00, 0x2000)):
        folded = plain(chr(code))
        if len(folded) == 1 and folded != chr(code) and folded.isalpha():
            found[folded] = found.get(folded, "") + chr(code)
    return found
