"""Where sentences end: short forms, lists within a line, quotations, pauses, in the scripts of many languages."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from unabridged.text.packing import cut
from unabridged.text.sentences import Sentences, sentences

# "|" stands where a sentence ends.
CASES = [
    # short forms: a name, a number, a small letter, a capital follows
    "We met Prof. Alder and Mrs. Finch. |They had come by the 9 p.m. train. |It was late.",
    "See p. 12 of vol. 3, fig. 4. |Then turn to no. 7.",
    "They sold to Brown, Hale & Co. at dawn. |It rained.",
    "They sold to Brown, Hale & Co. |The rest is known.",
    "She moved to the U.S. |Who could have known?",
    "He served in the U.S. Navy for years.",
    "The letter came from A. B. Crane, of course.",
    "It was meant for Ada and I. |They laughed.",
    "Mt. Hood is near. |St. Paul is not.",
    "Call no. 5 at once. |He said no. |She said yes.",
    "The word is etc. |When it ends, it ends.",
    "We came in Mar. 2021 and left. |Spring was late.",
    "King Louis XIV. Street is no street. |So it goes.",
    # numbers, dates, lists
    "It costs 5.50 today. |It was 4 yesterday.",
    "Am 3. Oktober war frei. |Der 4. war ein Montag.",
    "1. Wash the pan 2. Dry the pan 3. Go home".replace(" 2.", " |2.").replace(" 3.", " |3."),
    "1) wake 2) eat",
    "1) Wake up |2) Eat well",
    "a. Red paint |b. Blue paint",
    "• Milk |• Bread |• Salt",
    "1. First the pan.\n|2. Then the lid.",
    # quotations, pauses, dialogue
    '"It is done." she said. |He left.',
    '"It is done." |He left.',
    "Yippee! they cried. |Nobody heard.",
    "Well ... perhaps not. |I waited.",
    "I waited. |. . . The door stayed shut.",
    "I waited . . . . |The door stayed shut.",
    "I waited . . . and left.",
    "So it was. |...and then it was not.",
    "The note [...] was lost. |So was he.",
    "„Er kommt. Er kommt nicht.“ |Sie zählte.",
    "– Кто там? – спросила она. |Никто не ответил.",
    # other scripts
    "今天很好。|我们去《什么？》看看。|好！|走吧。",
    "率は３．５％です。|２人で行く。",
    "هل أنت هنا؟ |نعم أنا هنا۔ |حسنا",
    "यह एक है। |यह दो है।",
    "Ես այստեղ եմ: |Դու այնտեղ ես:",
    "Πού είσαι; |Εδώ.",
    "እንደምን ነህ፧|ደህና ነኝ።",
    "Он жил в г. Твери на ул. Мира. |Потом уехал.",
    "Hablé con la Sra. Gómez y el Lic. Ruiz. |Se fueron.",
    "Wir brauchen z. B. Wasser usw. |Das ist alles.",
    "Bor på Skt. Hans Torv. |De er glade.",
    "ฉันไปโรงเรียนทุกวัน |แต่เมื่อวานฝนตกหนักมาก |เด็ก ๆ อยู่บ้าน |พรุ่งนี้จะไปทะเล 2 วัน",
    # lines end a sentence, unless the next one goes on in lower case; a blank line always does
    "A heading\n|The text goes on\nover a line.",
    "And so on, etc.\n\n|Next part.",
]


@pytest.mark.parametrize("marked", CASES)
def test_C7_where_sentences_end(marked: str) -> None:
    text = marked.replace("|", "")
    pieces, at = [], 0
    for end in [*sentences(text), len(text)]:
        pieces.append(text[at:end])
        at = end
    assert "|".join(piece for piece in pieces if piece) == marked


FRAGMENTS = st.sampled_from(
    ["Dr. ", "word ", "Word. ", "e.g. ", "3.14 ", "1. ", "2) ", "• ", ". ", "! ", '." ', "\n", "\n\n", "。", "《", "》", "„",
     "“ ", "... ", "U.S. ", "I. ", "The ", "[...] ", "է: ", "; "]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@example("word • Dr. ", 0, 5)  # an end that lies where, or before, what tells of it stands
@example("word 1) Word. 2) Word. ", 0, 14)
@given(st.lists(FRAGMENTS, max_size=60).map("".join), st.integers(0, 100), st.integers(1, 80))
def test_an_end_is_the_same_wherever_it_is_looked_for_from(text: str, low: int, width: int) -> None:
    ends = [end for end in sentences(text) if end < len(text)]
    assert ends == sorted(set(ends))
    inside = [end for end in ends if low < end <= low + width]
    found = Sentences(text)
    last = found.last(low, min(low + width, len(text)))
    assert last == (inside[-1] if inside else None) or last == len(text)
    first = Sentences(text).first(low, min(low + width, len(text)))
    assert first == (inside[0] if inside else None) or first == len(text)


def test_thai_is_cut_between_words_where_a_clause_is_over_the_cap() -> None:
    pytest.importorskip("icu4py", reason="the extra 'southeast'")
    text = "ฉันไปโรงเรียนทุกวันแต่เมื่อวานฝนตกหนักมากฉันจึงอยู่บ้านและอ่านหนังสือ" * 20
    from icu4py.breakers import WordBreaker

    words = set(itertools.accumulate(len(str(word)) for word in WordBreaker(text, "th")))
    spans = cut(text, max_tokens=40)
    assert len(spans) > 10
    assert all(span.end in words for span in spans)
    assert "".join(text[span.start : span.end] for span in spans) == text
