"""providers/websearch.py over real HTTP: three APIs, refusals, keys; and the fake of testing."""

import json

import pytest

from unabridged.errors import AuthFailed, BadReply, ConfigError, ProviderError
from unabridged.providers.websearch import BraveSearch, SearxngSearch, TavilySearch, open_search
from unabridged.testing import FakeSearch
from unabridged.testing.dialect import Incoming
from unabridged.testing.server import HttpServer


class Engine:
    """A search engine on loopback that answers with what it is given, in order; the last one again and again."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.seen = []
        self.server = HttpServer(self._handle)

    def _handle(self, exchange):
        body = json.loads(exchange.body) if exchange.body else None
        self.seen.append((exchange.method, Incoming.parse(exchange.target, exchange.headers, body)))
        status, answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        exchange.reply(status, json.dumps(answer).encode())

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.port}"


@pytest.fixture
def engine():
    opened = []

    def start(*answers):
        opened.append(Engine(*answers))
        opened[-1].server.start()
        return opened[-1]

    yield start
    for each in opened:
        each.server.stop()


SEARXNG = {
    "query": "acme", "answers": [{"answer": "Acme &amp; Co. is a firm."}], "infoboxes": [],
    "results": [
        {"title": "<b>Acme</b> news", "url": "https://a.example/1", "content": "Acme <em>opened</em> an office.", "publishedDate": "2026-11-01"},
        {"title": "Second", "url": "https://a.example/2", "content": None}, {"title": "no address"}, "odd",
        {"title": "Third", "url": "https://a.example/3"},
    ],
}  # fmt: skip
BRAVE = {
    "web": {
        "results": [
            {"title": "Acme", "url": "https://b.example", "description": "A firm.", "page_age": "2026-10-30T00:00:00"}
        ]
    }
}
TAVILY = {
    "answer": "It is a firm.",
    "results": [{"title": "Acme", "url": "https://t.example", "content": "Text.", "published_date": None}],
}


def test_a19_searxng(engine):
    running = engine((200, SEARXNG))
    search = SearxngSearch(base_url=running.url, results=2)
    reply = search.search("  latest\nnews about Acme ")
    search.close()
    assert reply.query == "latest news about Acme"
    assert reply.answer == "Acme & Co. is a firm."
    assert [(s.title, s.url, s.snippet, s.published) for s in reply.sources] == [
        ("Acme news", "https://a.example/1", "Acme opened an office.", "2026-11-01"),
        ("Second", "https://a.example/2", "", None),
    ]
    assert reply.text == (
        "Acme & Co. is a firm.\n\nAcme news (2026-11-01)\nAcme opened an office.\nhttps://a.example/1\n\nSecond\nhttps://a.example/2"
    )
    method, incoming = running.seen[0]
    assert (method, incoming.path, incoming.query) == (
        "GET",
        "/search",
        {"q": "latest news about Acme", "format": "json"},
    )
    assert "office" not in repr(reply)


def test_a19_brave_and_its_limits_of_a_query(engine):
    running = engine((200, BRAVE), (200, {"type": "search"}))
    search = BraveSearch(base_url=running.url, api_key="brave-secret-key", results=50)
    reply = search.search("word " * 60)
    assert [(s.snippet, s.published) for s in reply.sources] == [("A firm.", "2026-10-30T00:00:00")]
    _, incoming = running.seen[0]
    assert incoming.headers["x-subscription-token"] == "brave-secret-key"
    assert (len(incoming.query["q"].split()), incoming.query["count"]) == (50, "20")
    assert search.search("nothing").sources == ()
    search.close()


def test_a19_tavily(engine):
    running = engine((200, TAVILY))
    search = TavilySearch(base_url=running.url, api_key="tavily-secret-key")
    reply = search.search("Acme")
    search.close()
    assert (reply.answer, reply.provider, reply.sources[0].snippet) == ("It is a firm.", "tavily", "Text.")
    method, incoming = running.seen[0]
    assert (method, incoming.headers["authorization"]) == ("POST", "Bearer tavily-secret-key")
    assert incoming.body == {"query": "Acme", "max_results": 5, "include_answer": True}


def test_what_may_pass_is_tried_again_and_what_may_not_is_told_without_the_key(engine):
    running = engine((503, {"error": "busy"}), (200, TAVILY))
    search = open_search("Tavily", base_url=running.url, api_key="k")
    assert search.search("Acme").sources
    assert len(running.seen) == 2
    search.close()
    refused = engine((401, {"detail": {"error": "Unauthorized: invalid key tavily-secret-key"}}))
    search = open_search("tavily", base_url=refused.url, api_key="tavily-secret-key")
    with pytest.raises(AuthFailed) as raised:
        search.search("Acme")
    search.close()
    assert "secret-key" not in f"{raised.value}{raised.value.body!r}{search!r}"
    assert len(refused.seen) == 1


@pytest.mark.parametrize("answer", [[], {"results": "none"}, {}, "text"])
def test_an_answer_without_results_is_a_bad_reply(engine, answer):
    search = SearxngSearch(base_url=engine((200, answer)).url)
    with pytest.raises(ProviderError) as raised:
        search.search("Acme")
    search.close()
    assert isinstance(raised.value, BadReply)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: open_search("bing"), "provider: found 'bing', expected one of searxng, brave, tavily"),
        (lambda: open_search("searxng"), "base_url: searxng needs the address"),
        (lambda: open_search("brave"), "api_key: brave needs a key: set BRAVE_API_KEY; or pass api_key"),
        (lambda: open_search("searxng", base_url="http://localhost", results=0), "results: found 0"),
        (lambda: open_search("searxng", base_url="http://localhost").search(" \n"), "query: found nothing"),
    ],
)
def test_wrong_options_are_named(make, message, monkeypatch):
    monkeypatch.delenv("BRAVE_API_KEY", raising=False)
    with pytest.raises(ConfigError, match=message):
        make()


def test_a_key_of_the_environment(monkeypatch):
    monkeypatch.setenv("TAVILY_API_KEY", "from-outside")
    search = open_search("tavily")
    assert search.http.host == "api.tavily.com"
    search.close()


def test_the_fake_answers_from_what_it_was_given_and_remembers_queries():
    search = FakeSearch({"acme": "Acme grew.", "bolt": "Bolt fell."})
    assert (
        search.search("News of ACME and Bolt").text
        == "Acme grew.\nhttps://search.invalid/0\n\nBolt fell.\nhttps://search.invalid/1"
    )
    assert search.search("other").sources == ()
    assert search.queries == ["News of ACME and Bolt", "other"]
    search.error = ProviderError("down", None)
    with pytest.raises(ProviderError, match="down"):
        search.search("acme")
