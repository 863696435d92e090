"""A query's words: what is asked of full text, and how much of it a text says; folding of scripts and accents."""

import pytest

from unabridged.memory import Memory
from unabridged.memory.recall.lanes_names import called
from unabridged.memory.recall.polarity import opposed
from unabridged.memory.recall.words import coverage, folded, han_forms, said_whole, simplified, stem, words_in


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("Who is the CEO of Acme?", ("ceo", "acme")),
        ("Is it for IT at the UN?", ("it", "un")),
        ("what is it", ("what", "is", "it")),  # nothing else is asked, so they are
        ("Wer wohnt in München und warum?", ("wohnt", "münchen")),
        ("foo_bar v1.2", ("foo", "bar", "v1", "2")),
        ("北京的天气", ("北京的天气",)),
        ("", ()),
    ],
)
def test_words_that_carry_a_query(query, terms):
    assert words_in(query).terms == terms


def test_phrases_and_questions():
    assert words_in('find "exact words" and «autres mots» 「漢字」').phrases == ("exact words", "autres mots", "漢字")
    assert words_in("Where to?").asks
    assert words_in("谁？").asks
    assert not words_in("It is open.").asks


def test_traditional_and_simplified_chinese_are_one():
    assert simplified("臺灣的電腦") == "台湾的电脑"
    assert {"头发", "頭發", "頭髮"} <= set(han_forms("头发"))
    assert len(han_forms("干干干干干干")) <= 6
    assert folded("頭髮") == folded("头发")


@pytest.mark.parametrize(
    ("query", "text", "share"),
    [
        ("running companies", "The company runs well.", 1.0),
        ("café crème", "CAFE CREME", 1.0),
        ("自然語言处理", "我们学习自然语言处理。", 1.0),
        ("alice bob", "Alice alone.", 0.5),
        ("alice", "palace", 0.0),
        ("!!", "anything", 0.0),
    ],
)
def test_how_much_a_text_says(query, text, share):
    assert coverage(words_in(query), text) == pytest.approx(share)


def test_words_far_apart_are_not_said_together():
    far = "alpha " + "filler words of no account " * 200 + "omega"
    assert coverage(words_in("alpha omega"), far) == 0.5
    assert coverage(words_in("alpha omega"), far + " near the alpha") == 1.0
    assert said_whole(words_in("Filler, words!"), far)
    assert not said_whole(words_in("words filler"), far)


def test_stems_are_short_and_safe():
    assert stem("dresses") == stem("dress")
    assert stem("sing") == "sing"
    assert stem("naïve") == "naïve"


@pytest.mark.parametrize(
    ("query", "text", "against"),
    [
        ("The tower is tall and never locked.", "The tower is tall and locked.", True),
        ("Prices rose in May.", "Prices fell in May.", True),
        ("Prices did not rise in May.", "Prices did not rise in May at all.", False),
        ("The shop isn't open.", "The shop is closed.", False),  # two turns are none
        ("Nobody works at Acme.", "Somebody else sings.", False),
        ("Prices", "Prices fell.", False),
        ("Bob always eats meat.", "Bob never eats meat.", True),  # the "never" is one turn, not two
        ("Everyone likes tea.", "Nobody likes tea.", True),
        ("Bob never eats meat.", "Bob does not eat meat.", False),
        ("We hate the new pricing.", "We like the new pricing.", True),
    ],
)
def test_case_44_statements_and_their_opposites(query, text, against):
    assert opposed(words_in(query), text) is against


def test_full_text_finds_across_scripts_accents_and_phrases():
    with Memory.open("memory://") as memory:
        memory.add_many(
            [
                "我們學習自然語言處理技術",
                "Crème brûlée at the café",
                "foo_bar baz",
                "東京タワーに行きました",
                "a bar, then more foo",
            ]
        )
        for query, text in (
            ("自然语言", "我們學習自然語言處理技術"),
            ("creme brulee", "Crème brûlée at the café"),
            ("CAFÉ", "Crème brûlée at the café"),
            ("foo_bar", "foo_bar baz"),
            ("東京", "東京タワーに行きました"),
        ):
            assert memory.recall(query)[0].text == text
        assert memory.recall('"then more foo"')[0].text == "a bar, then more foo"


def test_lexical_text_is_searched_in_place_of_the_text():
    with Memory.open("memory://") as memory:
        memory.add("It runs daily.", lexical="Handbook, chapter ferries: it runs daily.")
        memory.add("Another one.")
        assert memory.recall("ferries handbook", threshold=0.0)[0].text == "It runs daily."


def test_names_are_looked_for_in_every_run_of_words():
    names = called("Did Al meet the World Health Organization's head, or 王小明?")
    assert {"al", "world health organization", "王小明"} <= set(names)
    assert "the" not in names
    assert len(called("word " * 10_000)) < 400
