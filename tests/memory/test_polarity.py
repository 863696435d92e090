"""What says the opposite is no hit (case 44): opposites, denials and their scope, in many languages."""

import pytest

from unabridged.embedding.embedder import Embedder
from unabridged.memory import Memory
from unabridged.memory.recall.polarity import opposed
from unabridged.memory.recall.words import words_in

AGAINST = [
    ("The boiler works fine.", "The boiler failed."),
    ("The boiler works fine.", "On Monday the boiler broke down, and it was cold."),
    ("The boiler is out of order.", "The boiler works fine since May."),
    ("The boiler works.", "The boiler failed to start."),
    ("The boiler works.", "The boiler stopped working."),
    ("The nightly backup succeeded.", "The nightly backup failed."),
    ("The claim was approved in June.", "The claim was rejected in June."),
    ("The invoice of March is paid.", "The invoice of March is overdue."),
    ("The invoice was paid.", "The invoice is still unpaid."),
    ("The package is safe.", "The package is unsafe."),
    ("The drug is harmful.", "The drug is harmless."),
    ("The mark is visible.", "The mark is invisible at night."),
    ("Our dog is alive.", "Our dog died in March."),
    ("Sales grew in spring.", "Sales declined in spring."),
    ("The contract was signed.", "The contract has not been signed yet."),
    ("Die Heizung funktioniert einwandfrei.", "Die Heizung ist ausgefallen."),
    ("Die Heizung funktioniert.", "Die Heizung funktioniert nicht."),
    ("Die Tür ist geöffnet.", "Die Tür war geschlossen."),
    ("La chaudière marche bien.", "La chaudière est en panne."),
    ("La caldera funciona bien.", "La caldera está averiada."),
    ("El servidor funciona.", "El servidor no funciona desde ayer."),
    ("Il server funziona.", "Il server non ha mai funzionato."),
    ("De verwarming werkt.", "De verwarming werkt niet."),
    ("Котёл работает.", "Котел сломался."),
    ("Магазин открыт.", "Магазин сегодня закрыт."),
    ("锅炉正常工作。", "锅炉出故障了。"),
    ("商店开着", "商店关门了"),
    ("他同意这个计划", "他不同意这个计划"),
    ("價格上漲了", "价格下跌了"),
    ("ボイラーは正常に動いています", "ボイラーが故障しました"),
    ("彼は肉を食べる", "彼は肉を食べない"),
    ("보일러가 정상 작동한다", "보일러가 고장났다"),
    ("الغلاية تعمل جيدا", "الغلاية معطلة"),
]
NOT_AGAINST = [
    ("The boiler works fine.", "The boiler works. It failed in 2011."),  # it says so, too
    ("The boiler works fine.", "The boiler, which was not serviced, works fine."),  # the denial is of an aside
    ("The boiler works fine.", "The pump failed."),  # something else
    ("The shop isn't open.", "The shop is closed."),  # two turns are none
    ("The shop is not open.", "The shop is not open."),
    ("Alice works at Acme.", "Alice not only works at Acme, she owns it."),
    ("Maria moved to Lisbon in 2020.", "Maria moved to Lisbon in 2020, not to Porto."),
    ("The company is in good form.", "The company will inform us of its good form."),
    ("Room no. 5 is free.", "Room 5 is free."),
    ("O servidor funciona em casa no verão.", "O servidor funciona em casa"),  # "no" is "in the"
    ("Die Preise stiegen.", "Die Preise stiegen im Mai."),  # no Italian "mai"
    ("Il server non funziona.", "Il server non ha mai funzionato."),  # denied twice is denied once
    ("他去过非洲", "他去年去过非洲"),
    ("Is the boiler working?", "The boiler failed."),  # an answer
    ("boiler", "The boiler failed."),
    ("If not, the old device is removed and a new one registered.", "- the device to be removed"),
    ("KVM_SEV_LAUNCH_START requires the field to be valid.", "KVM_SEV_SEND_FINISH"),
    ("Loopback on the DMA block.", "Loopback: off"),
    ("Drivers should provide the number of statistics.", "If the driver doesn't provide a number of statistics, stop."),
    ("Access threshold for hot memory regions in permil.", "memory regions that are not accessed for a while"),
    ("backup failed", "The nightly backup failed again."),
]


@pytest.mark.parametrize(("query", "text"), AGAINST)
def test_case_44_a_statement_and_its_opposite(query, text):
    assert opposed(words_in(query), text)


@pytest.mark.parametrize(
    ("query", "text"),
    [(text, query) for query, text in AGAINST if len(text) < 32 and " no" not in text and "nicht" not in text],
)
def test_case_44_the_opposite_of_the_opposite_too(query, text):
    assert opposed(words_in(query), text)


@pytest.mark.parametrize(("query", "text"), NOT_AGAINST)
def test_what_agrees_or_is_about_something_else_is_not_against(query, text):
    assert not opposed(words_in(query), text)


@pytest.mark.parametrize("model", [None, "hashing"])
def test_case_44_the_opposite_of_a_statement_is_no_hit_and_what_says_it_is(model):
    embedder = None if model is None else Embedder(model, cache=False)
    with Memory.open("memory://", embedder=embedder) as memory:
        memory.add("The boiler failed on Monday.")
        memory.add("Marta's claim was approved by the insurer.")
        assert not memory.recall("The boiler works fine.")
        assert not memory.recall("Marta's claim was rejected by the insurer.")
        assert memory.recall("The boiler failed.")[0].text == "The boiler failed on Monday."
        assert memory.recall("Does the boiler work?", threshold=0.0)[0].text == "The boiler failed on Monday."


def test_an_endless_text_or_a_text_without_sentences_is_read_in_time():
    assert not opposed(words_in("The boiler works fine."), "boiler works, not " * 2_000)
    assert not opposed(words_in("The boiler works fine."), "boiler " * 2_800)
