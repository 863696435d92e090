"""Words in the ways that they are written, asked of the real full text (R1): scripts, accents, figures, identifiers."""

import pytest

from unabridged.memory import Memory
from unabridged.memory.recall.spelling import forms, loosely, plain
from unabridged.memory.recall.words import coverage, words_in

FOUND = [  # what is asked, what stands there
    ("猫", "我家有一只黑猫"),
    ("台灣", "台湾的天气"),
    ("台湾", "臺灣的天氣"),
    ("頭髮", "头发很长"),
    ("カタカナ", "ｶﾀｶﾅ の表"),
    ("ABC株式会社", "ＡＢＣ株式会社の報告"),
    ("ＡＢＣ", "the ABC report"),
    ("123", "部屋は１２３番"),
    ("１２３", "room 123 is free"),
    ("Αθηνα", "Η Αθήνα είναι πρωτεύουσα"),
    ("Αθήνα", "ΑΘΗΝΑ 2004"),
    ("αθήνα", "Η Αθηνα ειναι"),
    ("δρόμος", "ΔΡΟΜΟΣ ΤΗΣ ΘΑΛΑΣΣΑΣ"),
    ("δρόμος", "ο δρόμος προς τη θάλασσα"),
    ("еж", "Ёж пришёл"),
    ("ёж", "Еж пришел"),
    ("пришел", "Ёж пришёл"),
    ("Чайковский", "балет Чайковский"),
    ("strasse", "Die Straße ist lang"),
    ("Straße", "Die Strasse ist kurz"),
    ("STRASSE", "Die Straße ist lang"),
    ("Müller", "Herr Mueller kam"),
    ("mueller", "Frau Müller ging"),
    ("ISTANBUL", "İstanbul güzel"),
    ("İstanbul", "istanbul'da hava"),
    ("ısı", "ISI pompası"),
    ("kızılay", "KIZILAY MEYDANI"),
    ("Łódź", "Lodz is a city"),
    ("lodz", "miasto Łódź"),
    ("smørrebrød", "smorrebrod"),
    ("cafe", "un café noir"),
    ("cafe\u0301", "un café noir"),
    ("Viet Nam", "đi Việt Nam chơi"),
    ("كِتَاب", "قرأت كتاب التاريخ"),
    ("احمد", "ذهب أحمد إلى السوق"),
    ("أحمد", "ذهب احمد الى المدينة"),
    ("مدرسة", "المدرسه قريبة"),
    ("مستشفى", "مستشفي المدينة"),
    ("שָׁלוֹם", "שלום לכולם"),
    ("แมว", "ฉันมีแมวดำหนึ่งตัว"),
    ("학교", "학교에서 만나자"),
    ("학교는", "학교에서 만나자"),
    ("हिंदी", "मैं हिंदी बोलता हूँ"),
    ("well-known", "a well known author"),
    ("well known", "a well-known writer"),
    ("e-mail", "send an email to us"),
    ("wi-fi", "the wifi is up"),
    ("getUserName", "call getUserName() first"),
    ("getusername", "call getUserName() first"),
    ("UserName", "the user name is set"),
    ("get_user_name", "call get_user_name() next"),
    ("user", "call get_user_name() next"),
    ("HTTPServer", "an HTTPServer object"),
    ("1000", "it costs 1,000 euros"),
    ("1,000", "it costs 1000 dollars"),
    ("1.000", "es kostet 1000 Euro"),
    ("1000000", "a budget of 1,000,000"),
    ("1 000", "prix : 1 000 francs"),
    ("1000", "prix : 1 000 francs"),
    ("3.14", "pi is 3.14 or so"),
    ("x²", "the x2 term"),
    ("№5", "room №5"),
    ("Ⅳ", "chapter IV"),
    ("finance", "the ﬁnance report"),
    ("alice@example.com", "write to alice@example.com soon"),
    ("alice", "write to alice@example.com soon"),
    ("example.com", "write to alice@example.com soon"),
    ("https://www.example.org/path/page.html", "see https://www.example.org/path/page.html?q=1"),
    ("page.html", "see https://www.example.org/path/page.html?q=1"),
    ("C++", "written in C++ by Bob"),
    ("AT&T", "AT&T raised prices"),
    ("O'Brien", "Mr O'Brien came"),
    ("covid-19", "COVID-19 cases"),
    ("2024-05-01", "on 2024-05-01 we met"),
    ('"to be or not to be"', "He said: to be or not to be, that is it"),
    ('"the who"', "We saw The Who in concert"),
    ("„schöne Stadt“", "eine schöne Stadt am Meer"),
    ("『漢字』", "これは漢字です"),
]
INSIDE = [  # what no spelling of the query reaches: it is read for
    ("犬", "子犬が庭で遊んでいる"),
    ("海", "東海道新幹線で北海へ行く"),
    ("語", "我們學習自然語言"),
    ("语", "我們學習自然語言"),
    ("كتاب", "قَرَأْتُ كِتَابًا جديدا"),
    ("שלום", "שָׁלוֹם לכולם"),
    ("กรุงเทพ", "ฉันอยู่ที่กรุงเทพมหานคร"),
    ("ភាសា", "ខ្ញុំរៀនភាសាខ្មែរ"),
    ("한국", "한국어를 배운다"),
    ("서울", "서울특별시에 산다"),
    ("email", "send an e-mail to Bob"),
    ("wifi", "the wi-fi is down"),
    ("covid19", "many COVID-19 patients"),
    ("obrien", "Mrs O'Brien left"),
    ("user name", "call setUserName() last"),
    ("http server", "an HTTPServer instance"),
    ("cafe", "un cafe\u0301 au lait"),
]
APART = [  # what is not the same
    ("йод", "на полке иод и бинт"),
    ("cat", "the concatenation of strings"),
    ("1000", "there were 1,0001 of them"),
    ("京都", "東京都庁"),
    ('"the who"', "The doctor, who came late"),
]
NOISE = [
    "The weather in Lisbon is fine today.",
    "今天天气很好",
    "Сегодня хорошая погода",
    "Ο καιρός",
    "اليوم جميل",
    "היום יפה",
]


@pytest.fixture(scope="module")
def texts():
    with Memory.open("memory://", upkeep=False) as memory:
        memory.add_many(list(dict.fromkeys([text for _, text in (*FOUND, *INSIDE, *APART)] + NOISE)))
        memory.optimize()
        yield memory


@pytest.mark.parametrize(("query", "text"), FOUND + INSIDE)
def test_R1_a_word_is_found_however_it_is_written(texts, query, text):
    assert text in [hit.text for hit in texts.recall(query, limit=8)]


@pytest.mark.parametrize(("query", "text"), APART)
def test_what_is_another_word_is_not_found(texts, query, text):
    assert text not in [hit.text for hit in texts.recall(query, limit=50)]


@pytest.mark.parametrize(("query", "text"), [(query, text) for query, text in FOUND if '"' not in query])
def test_what_is_found_counts_as_said(query, text):
    assert coverage(words_in(query), text) == pytest.approx(1.0)


def test_a_dataset_too_large_is_not_read_through(texts, monkeypatch):
    monkeypatch.setattr("unabridged.memory.recall.inside.SCANNED", 10)
    assert "the wi-fi is down" not in [hit.text for hit in texts.recall("wifi", limit=8)]
    assert "the wifi is up" in [hit.text for hit in texts.recall("wifi", limit=8)]


def test_facts_and_names_are_read_for_words_inside_others_too():
    with Memory.open("memory://") as memory:
        with memory.write() as tx:
            note = tx.artifact("about the dog")
            tx.edge(
                tx.entity("Ken", "person", artifact=note),
                "has",
                tx.entity("子犬", "animal", artifact=note),
                artifact=note,
                fact="健は子犬を飼う",
            )
        assert "健は子犬を飼う" in [hit.text for hit in memory.recall("犬", kinds="fact")]
        assert memory.recall("犬", kinds="entity")[0].record.name == "子犬"


def test_spellings_are_few_and_folding_keeps_letters_of_their_own():
    assert (
        max(len(forms(word)) for word in ("學" * 20, "ееееееееееееееееееее", "ααααααααααααααα", "학교", "الاااااا"))
        <= 20
    )
    assert plain("Йод їжак ў") == "йод їжак ў"
    assert plain("ёлка İstanbul ﬁx Łódź") == "елка istanbul fix lodz"
    assert plain("בְּרֵאשִׁית") == "בראשית"


def test_r1_the_pieces_of_a_figure_bring_nothing_by_themselves():
    words = words_in("Who was hired in 2020 for 12,500 euros?")
    assert words.matched.split() == ["hired", "2020", "12500", "euros"]
    assert words.parted == ("2 020", "12 500")
    assert len(words_in(" ".join(str(number) for number in range(2000, 2060))).parted) == 8


@pytest.mark.parametrize("letters", ["abcdefghij", "е", "αε", "كتاب", "에서"])
def test_r1_a_word_longer_than_any_has_one_spelling_and_no_pattern(texts, letters):
    word = letters * 20_000
    assert forms(word) == (word,)
    assert loosely((word, "wifi")) == loosely(("wifi",))
    assert loosely((word,)) == ""
    assert [each.lane for each in texts.recall(word).degraded] == ["vector"]  # these texts have none
