"""How much of a query a text says, held against a slow reference, and against texts that nobody would write (R1, R4)."""

from __future__ import annotations

import random
import re
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from unabridged.memory.recall import polarity, words
from unabridged.memory.recall.densest import around, densest
from unabridged.memory.recall.polarity import opposed
from unabridged.memory.recall.spelling import forms
from unabridged.memory.recall.words import WINDOW, coverage, mentions, plain, said_whole, stem, words_in

SPACED = (
    *("boiler", "boilers", "running", "run", "runs", "Café", "cafes", "company", "companies", "naïve", "Řeka", "x9"),
    *("ботинок", "ёлка", "елка", "Θάλασσα", "θαλασσα", "çay", "ñandú", "हिन्दी", "भाषा"),
)
JOINED = ("한국어", "한국어를", "바다", "바다가", "كتابي", "كتابيهم", "שלום", "שלומות")
UNSPACED = ("自然语言", "子犬", "東京", "とうきょう", "ภาษาไทย", "海")
WORDS = st.sampled_from([*SPACED, *JOINED, *UNSPACED])
# A query's word with a particle is said by the word without it, too, which the slow reading does not know.
ASKED = st.sampled_from(
    [*SPACED, *(word for word in JOINED if {plain(form) for form in forms(word)} == {plain(word)}), *UNSPACED]
)
SEPARATORS = st.sampled_from([" ", ", ", "! ", "\n", " / ", "\x00", "。", " 😀 ", " \ud800 "])
TEXTS = st.lists(st.tuples(WORDS, SEPARATORS), max_size=40).map(lambda each: "".join(map("".join, each)))
SENTENCES = st.lists(st.lists(WORDS, min_size=1, max_size=5).map(" ".join), min_size=1, max_size=12)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]")
_JOINED = re.compile(r"[\u0590-\u06ff\uac00-\ud7af]")
_RUN = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]+|(?:(?![\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f])\w|[\u0900-\u0963])+"
)


def weights(query):
    """The parts of a query and what each of them counts: a word one, of a script without spaces its pairs."""
    found = {}
    for term in words_in(query).terms:
        for run in _RUN.findall(plain(term)):
            pairs = [run[at : at + 2] for at in range(len(run) - 1)] if _UNSPACED.match(run) else []
            each = max(1.0, len(run) / 4) / len(pairs) if len(pairs) > 1 else 1.0
            for part in pairs or [stem(run)]:
                found[part] = max(each, found.get(part, 0.0))
    return found


def places(parts, body):
    """Where a text says each part of a query."""
    for at in range(len(body)):
        yield from ((at, part) for part in parts if _UNSPACED.match(part) and body.startswith(part, at))
    for run in _RUN.finditer(body):
        name = stem(run[0])
        if name not in parts and _JOINED.match(run[0]):
            name = max((part for part in parts if run[0].startswith(part) and len(part) > 1), key=len, default="")
        if name in parts and not _UNSPACED.match(name):
            yield run.start(), name


def reference(query, text):
    """The most that any window of a text says of a query."""
    parts, body = weights(query), plain(text)
    wide = max(WINDOW, 2 * len(query))
    found = sorted(places(parts, body))
    said = [{part for at, part in found if begun <= at <= begun + wide} for begun, _ in found]
    return max((sum(parts[part] for part in each) for each in said), default=0.0) / sum(parts.values())


@settings(max_examples=150, deadline=None)
@given(query=st.lists(ASKED, min_size=1, max_size=6).map(" ".join), text=TEXTS, times=st.sampled_from([1, 1, 8]))
@example(query="한국어 한국어를", text="한국어를 한국어", times=1)
@example(query="한국어", text="한국어를", times=1)
@example(query="boiler 自然语言", text="自然 boilers 语言", times=8)
def test_r1_a_text_says_of_a_query_what_a_slow_reading_finds(query, text, times):
    text = ("nothing of it " * 30 + text) * times
    known = words_in(query)
    share = coverage(known, text)
    assert share == pytest.approx(reference(query, text))
    assert share <= 1.0
    if len(query) < 100:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(words, "MANY", 0)
            assert coverage(known, text) == share
    assert coverage(known, f"{text} {query} {text}") == 1.0


@settings(max_examples=100, deadline=None)
@given(query=st.lists(WORDS, min_size=1, max_size=3).map(" ".join), text=TEXTS)
def test_r1_a_text_holds_a_query_whole_where_its_words_follow_each_other(query, text):
    told, asked = (_RUN.findall(plain(each)) for each in (text, query))
    held = any(told[at : at + len(asked)] == asked for at in range(len(told)))
    assert said_whole(words_in(query), text) == held
    assert said_whole(words_in(query), f"{text} {query}, {text}")


@settings(max_examples=150, deadline=None)
@given(query=SENTENCES, parts=SENTENCES)
@example(query=["The wifi works"], parts=["Get the wifi password", "The wi-fi failed", "My wi\u2010fi"])
@example(query=["getUserName failed O'Brien's"], parts=["the user", "the OBriens", "U.S.E.R", "Straße 1,000"])
def test_no_sentence_says_a_word_that_is_not_counted_among_its_mentions(query, parts):
    known = words_in(" ".join(query))
    counted = mentions(known, parts)
    assert counted is not None
    for at, part in enumerate(parts):
        assert coverage(known, part) == 0 or counted[at] > 0
    assert all(0 <= at < len(parts) for at in counted)
    assert mentions(known, [*parts, "a\x00b"]) is None


def test_r1_a_word_with_a_particle_is_said_without_it():
    assert coverage(words_in("바다가"), "바다") == coverage(words_in("한국어를"), "한국어") == 1.0


def test_case_44_a_sentence_is_looked_at_however_it_writes_the_words():
    wifi = words_in("The wifi works.")
    assert opposed(wifi, "Get the wifi password. The wi-fi failed.")
    assert opposed(wifi, f"{'Straße, ' * 9} {'1,000 and ' * 9}. wi-fi failed.")
    assert not opposed(wifi, "Get the wifi password. The wi-fi works fine.")
    long = words_in(f"The wifi works. {' '.join(f'word{n}' for n in range(words.MANY))}")
    assert mentions(long, ["The wifi works."]) is None


BLOBS = ("x", "я", "א", "ا", "한", "中", "あ", "ก", "क", "\u0301", "é", "a-", "aB", "1", "1,000", "\0", "😀", "a'", '"')
QUOTES = ("“", "„", "«", "»", "「", "『", "“a", "»a")


def quick(work, seconds=2.0):
    began = time.process_time()
    work()
    assert time.process_time() - began < seconds


@pytest.mark.parametrize("letter", [*BLOBS, *QUOTES])
def test_hundreds_of_thousands_of_letters_without_a_space_are_read_at_once(letter):
    blob = letter * (200_000 // len(letter))
    short = words_in(f"{letter * 3} {letter} boiler works")

    def ask():
        known = words_in(blob)
        assert known.matched is not None
        coverage(known, densest(known, blob))
        said_whole(known, blob)
        coverage(short, blob)
        coverage(short, densest(short, blob))
        around(short, blob, 1000)
        opposed(short, blob[:20_000])
        coverage(known, f"the boiler failed {letter * 5}")

    quick(ask)


@pytest.mark.parametrize("script", ["latin", "han"])
def test_case_43_a_long_query_is_held_against_a_long_text_at_once(script):
    rng = random.Random(3)
    if script == "han":
        text = "".join(chr(0x4E00 + rng.randrange(3000)) for _ in range(100_000))
    else:
        text = " ".join("".join(rng.choice("abcdefghij") for _ in range(6)) for _ in range(15_000))
    known = words_in(text[40_000:48_000])
    quick(lambda: [coverage(known, densest(known, each)) for each in (text, text[:6000], text[44_000:45_000])])
    assert coverage(known, densest(known, text)) > 0.99
    assert coverage(known, text[:6000]) < 0.5 < coverage(known, text[42_000:48_000])


def test_without_a_preselection_the_verdict_is_the_same(monkeypatch):
    rng = random.Random(5)
    things = ["boiler", "wifi", "wi-fi", "O'Brien", "getUserName", "userName", "café", "Straße 1,000", "犬", "ботинок"]
    states = ["works", "failed", "does not work", "is open", "is closed", "rose", "fell", "is unhappy", "is happy"]

    def sentence():
        return f"{rng.choice(['The ', 'Our ', ''])}{rng.choice(things)} {rng.choice(states)}"

    drawn = [(words_in(f"{sentence()}."), ". ".join(sentence() for _ in range(rng.randint(1, 9)))) for _ in range(300)]
    quickly = [opposed(*each) for each in drawn]
    monkeypatch.setattr(polarity, "mentions", lambda *_: None)
    assert quickly == [opposed(*each) for each in drawn]
    assert 5 < sum(quickly) < 250
