"""What of a hit is shown: the place that says most of the query, exact to the byte (SPEC R1, R2)."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from unabridged.memory import Memory
from unabridged.memory.recall.data import Hit
from unabridged.memory.recall.excerpt import excerpt
from unabridged.memory.recall.words import places, words_in

FILLER = "Der Zug fährt über die Brücke … und hält im ﬁrnen Tal. "
LONG = f"# The tunnel\n\n{FILLER * 60}\n\n## Money\n\nThe cost is 41,000 francs a metre.\n\n{FILLER * 60}"


def hit(text, kind="passage"):
    return Hit(kind, "a1", text, 0.9, 1.0)


def test_r2_the_excerpt_of_a_recall_is_the_place_that_answers_and_its_bytes():
    with Memory.open("memory://") as memory:
        note = memory.add(LONG)
        found = memory.recall("What does it cost?")
        place = found.excerpt(found[0])
        assert "The cost is 41,000 francs a metre." in place.text
        assert (place.before, place.after, place.artifact_id) == (True, True, note.id)
        assert memory.slice(note, place.start, place.end) == place.text
        assert len(place.text) <= 500
        told = found.to_dict()["hits"][0]["excerpt"]
        assert (told["text"], told["start"], told["end"]) == (place.text, place.start, place.end)
        asked = memory.query("What does it cost?").to_dict()
        assert asked["recalled"]["hits"][0]["excerpt"] == told


def test_a_short_text_is_its_own_excerpt_and_a_fact_has_no_bytes():
    place = excerpt(hit(" Mia works at Acmé. \n"), words_in("Mia"))
    assert (str(place), place.start, place.end) == ("Mia works at Acmé.", 1, 20)
    place = excerpt(hit("Mia works at Acme.", "fact"), words_in("Mia"))
    assert (str(place), place.artifact_id, place.start, place.end) == ("Mia works at Acme.", None, None, None)
    place = excerpt(hit("", "entity"), words_in("Mia"))
    assert str(place) == ""


@pytest.mark.parametrize(
    ("text", "query", "said"),
    [
        (f"{FILLER * 40}Mia leads it.\n{FILLER * 40}", "who leads", "Mia leads it."),
        (f"{FILLER * 40}価格は高い。{FILLER * 40}", "価格", "価格は高い。"),
        (f"{FILLER * 40}The price is 1,000 pounds. {FILLER * 40}", "1000 pounds", "1,000 pounds"),
        (f"{'word ' * 400}needle {'word ' * 400}", "needle", "needle"),  # a sentence without an end
        (f"{'x' * 4000}needle{'x' * 4000}", "nothing", "xxxx"),
        (f"The boiler. {FILLER * 40}The boiler is serviced in May. {FILLER * 40}", "boiler serviced", "in May."),
        (f"{FILLER * 40}The end says so: needle", "needle", "needle"),
    ],
)
def test_the_place_that_says_most_is_found_in_any_script(text, query, said):
    place = excerpt(hit(text), words_in(query), 200)
    assert said in place.text
    assert len(place.text) <= 240
    assert text.encode()[place.start : place.end].decode() == place.text
    assert place.before == bool(text[: text.index(place.text)].strip())


def test_words_are_not_cut_where_a_blank_is_near():
    place = excerpt(hit("The boiler is old. Mia services the boiler."), words_in("Who services the boiler?"), 30)
    assert str(place) == "The boiler is old. Mia …"


def test_where_nothing_is_said_the_beginning_is_shown():
    place = excerpt(hit(LONG), words_in("violin concertos"), 120)
    assert place.text.startswith("# The tunnel")
    assert (place.before, place.after) == (False, True)


@example(text="\r0", query="", room=1)
@example(text="ab cd efgh", query="cd", room=1)
@given(text=st.text(max_size=1500), query=st.text(max_size=30), room=st.integers(1, 200))
def test_any_excerpt_is_the_very_bytes_and_has_its_marks(text, query, room):
    place = excerpt(hit(text), words_in(query), room)
    raw = text.encode("utf-8")
    assert raw[place.start : place.end].decode("utf-8") == place.text
    assert place.text == place.text.strip()
    assert place.before == bool(raw[: place.start].decode("utf-8").strip())
    assert place.after == bool(raw[place.end :].decode("utf-8").strip())
    assert bool(place.text) == bool(text.strip())


def test_places_are_of_the_text_as_it_is_written():
    text = "ﬁne… Straße\nCafé ﬁne… cafés\nand 1,000 cafes"
    assert [text[at : at + 4] for at, _ in places(words_in("the café"), text)] == ["Café", "café", "cafe"]


def test_an_excerpt_is_cheap():
    asked, long = words_in("What does it cost?"), hit(LONG)
    took = []
    for _ in range(20):
        began = time.perf_counter()
        excerpt(long, asked)
        took.append(time.perf_counter() - began)
    assert min(took) < 0.005  # 0.2 ms; split into sentences and read one by one 6 ms
