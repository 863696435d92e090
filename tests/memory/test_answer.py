"""Questions answered (SPEC R, A11, A18): every sentence cites evidence and is checked; unknown is said."""

import json

import pytest

from unabridged.errors import ChatError
from unabridged.memory import Memory
from unabridged.memory.asking.asking import Asker
from unabridged.memory.recall.answer import NOTHING, UNKNOWN, problem_of
from unabridged.testing.chat import ChatServer


class Chat:
    """Says what it is told to, one answer a question, and keeps what it was asked."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    def __call__(self, messages):
        self.asked.append(messages)
        answer = self.answers.pop(0)
        return answer if isinstance(answer, str) else json.dumps(answer)


def says(*sentences, known=True):
    return {"known": known, "sentences": [{"text": text, "sources": list(sources)} for text, *sources in sentences]}


def opened(chat):
    memory = Memory.open("memory://", chat=None if chat is None else Asker(chat, cache=False))
    memory.add("The boiler is serviced every May by Dana. It was bought in 2011.", source="house.md")
    return memory


QUESTION = "When is the boiler serviced?"


def test_every_sentence_carries_its_evidence():
    memory = opened(Chat(says(("The boiler is serviced every May.", 1), ("Dana does it.", 1))))
    found = memory.query(QUESTION)
    assert found.known
    assert found.answer == "The boiler is serviced every May. [1] Dana does it. [1]"
    assert [each.citations[0].source for each in found.sentences] == ["house.md", "house.md"]
    for sentence in found.sentences:
        for each in sentence.citations:
            assert memory.slice(each.artifact_id, each.start, each.end) == each.quote
    assert found.to_dict()["sentences"][0]["numbers"] == [1]
    assert found.degraded == found.recalled.degraded


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (("It costs 300 euros.", 1), "300"),
        (("The boiler is serviced every May.",), "cites nothing"),
        (("The boiler is serviced every May.", 7), "no evidence [7]"),
        (("Penguins breed in Antarctic colonies.", 1), "something else"),
    ],
)
def test_a_sentence_that_does_not_hold_is_sent_back_once_then_left_out(bad, said):
    good = ("The boiler is serviced every May.", 1)
    chat = Chat(says(good, bad), says(good))
    found = opened(chat).query(QUESTION)
    assert found.answer == "The boiler is serviced every May. [1]"
    assert found.dropped == 0
    assert said in chat.asked[1][-1]["content"]
    stubborn = opened(Chat(says(good, bad), says(good, bad))).query(QUESTION)
    assert stubborn.answer == "The boiler is serviced every May. [1]"
    assert stubborn.dropped == 1


def test_it_says_when_the_memory_does_not_know():
    never = Chat()
    nothing = opened(never).query("Who painted the ceiling of the chapel?")
    assert (nothing.known, nothing.answer, never.asked) == (False, UNKNOWN, [])
    unsure = opened(Chat(says(known=False))).query(QUESTION)
    assert (unsure.known, unsure.answer) == (False, UNKNOWN)
    wrong = says(("Elephants fly south.", 1))
    assert opened(Chat(wrong, wrong)).query(QUESTION).answer == UNKNOWN


def test_without_a_chat_model_the_pack_is_the_answer():
    found = opened(None).query(QUESTION)
    assert found.answer == found.recalled.pack.text
    assert found.known is None  # nobody claims an answer
    assert "chat" in found.degraded[-1].reason


def test_where_nothing_is_found_and_nobody_was_asked_nobody_claims_not_to_know():
    found = opened(None).query("Who painted the ceiling of the chapel?")
    assert (found.known, found.answer) == (None, NOTHING)
    assert found.degraded[-1].reason.endswith("nothing was found, and nobody was asked")


def test_a_chat_model_that_fails_leaves_the_pack_and_its_calls_are_kept():
    memory = opened(Chat("not json at all", "still not"))
    found = memory.query(QUESTION)
    assert "the chat model failed (unreadable answer)" in found.degraded[-1].reason
    assert found.answer == found.recalled.pack.text
    assert found.calls
    assert {each.stage for each in memory.inferences.list()} == {"answer_query"}
    assert issubclass(ChatError, Exception)


def test_a11_a18_calls_are_recorded_with_their_session():
    with ChatServer() as server:
        server.rule("serviced", says(("The boiler is serviced every May.", 1)))
        from unabridged.providers.chat import Chat as Real

        chat = Real("any", base_url=server.url, api_key="k")
        memory = Memory.open("memory://", chat=Asker(chat, cache=False))
        memory.add("The boiler is serviced every May.", session_id="s1")
        found = memory.query(QUESTION, session_id="s1", asked_in="s1")
        memory.asker.close()
    assert found.known
    (kept,) = memory.inferences.list()
    assert (kept.stage, kept.session_id, kept.status) == ("answer_query", "s1", "ok")
    (asked,) = memory.queries.list()
    assert (asked.session_id, asked.text) == ("s1", QUESTION)


def test_figures_dates_and_words_are_held_against_the_evidence():
    quotes = ["In 2011 the boiler cost 1,200 euros."]
    assert problem_of("The boiler cost 1200 euros in 2011.", quotes) is None
    assert problem_of("The boiler cost 1300 euros.", quotes)
    assert problem_of("Did 40 people buy it? The boiler cost 1,200.", quotes, "40 people?") is None
    assert problem_of("Yes.", ["Yes, it did."]) is None


@pytest.mark.parametrize(
    ("sentence", "quotes"),
    [
        ("Bruno died on 5 November 2023.", ["Bruno died. He was 12.", "note.md · 2023-11-05"]),
        ("Bruno starb am 5. November 2023.", ["Bruno died. He was twelve.", "note.md · 2023-11-05"]),
        ("The cat is 2 years old.", ["Minka, the cat, is about two years old."]),
        ("It was approved on 2024-07-17.", ["The subsidy was approved on 17 July 2024."]),
        ("It cost 1.200,50 euros.", ["It cost 1,200.50 euros."]),
        ("The roof was repaired on 15.03.2021.", ["Roof repaired by Vogt.", "note.md · 2021-03-15"]),
        (
            "Der Heizkessel wird von Pavel gewartet, und das ist der Sohn von Dana.",
            ["Pavel, the son of Dana, services it."],
        ),
        ("锅炉由达娜维修。", ["The boiler is serviced by Dana."]),
    ],
)
def test_a_true_sentence_holds_however_it_says_a_date_a_figure_or_in_which_language(sentence, quotes):
    assert problem_of(sentence, quotes) is None


@pytest.mark.parametrize(
    ("sentence", "quotes"),
    [
        ("It cost 35 euros.", ["It cost 3.5 euros."]),
        ("Bruno died on 6 November 2023.", ["Bruno died.", "note.md · 2023-11-05"]),
        ("Bruno died on 5 November 2022.", ["Bruno died.", "note.md · 2023-11-05"]),
        (
            "Der Heizkessel wird von Pavel gewartet, und das kostet 90 Euro.",
            ["Pavel services the boiler, and it is fine."],
        ),
        ("The boiler is serviced by Dana. Elephants migrate south every winter.", ["The boiler is serviced by Dana."]),
    ],
)
def test_a_false_figure_or_one_false_sentence_of_two_does_not_hold(sentence, quotes):
    assert problem_of(sentence, quotes)


def test_marks_that_a_model_writes_into_its_sentences_are_not_doubled():
    memory = opened(Chat(says(("The boiler is serviced every May [1].", 1, 1), ("Dana does it. [1, 1]", 1))))
    assert memory.query(QUESTION).answer == "The boiler is serviced every May. [1] Dana does it. [1]"


def test_case_45_the_model_sees_when_each_piece_is_from_and_what_day_it_is():
    chat = Chat(says(("Dana retired on 13 May 2022.", 1, 2)), says(("Dana services the boiler.", 1)))
    memory = Memory.open("memory://", chat=Asker(chat, cache=False))
    memory.add("Dana services the boiler.", valid_at="2020-05-08", source="a.md")
    memory.add("Dana retired; the boiler is serviced by Pavel.", valid_at="2022-05-13", source="b.md")
    found = memory.query("Who services the boiler, Dana?")
    assert found.known
    asked = chat.asked[0][-1]["content"]
    assert "b.md · 2022-05-13" in asked
    assert "<today>20" in asked
    then = memory.query("Who services the boiler, Dana?", as_of="2021-01-01")
    assert then.answer == "Dana services the boiler. [1]"
    assert "<today>2021-01-01</today>" in chat.asked[1][-1]["content"]
    assert "Pavel" not in chat.asked[1][-1]["content"]


def test_sources_that_disagree_are_both_cited():
    chat = Chat(says(("The boiler was bought in 2011.", 1), ("Another note says that it was bought in 2013.", 2)))
    memory = Memory.open("memory://", chat=Asker(chat, cache=False))
    memory.add("The boiler was bought in 2011.", source="a.md")
    memory.add("The boiler was bought in 2013.", source="b.md")
    found = memory.query("When was the boiler bought?")
    assert len(found.sentences) == len({each.citations[0].source for each in found.sentences})
    assert found.dropped in {0, 2}  # a number that stands beside the wrong source would not hold
