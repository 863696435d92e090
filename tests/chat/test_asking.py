"""memory/asking/asking.py over real HTTP: retries, repairs, keys, the cache, the account of every call."""

import asyncio
import itertools
import json
import pickle
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from unabridged.errors import (
    AuthFailed,
    Cancelled,
    ChatError,
    ConfigError,
    Overflow,
    ProviderError,
    ProviderTimeout,
    RateLimited,
)
from unabridged.memory.asking.asking import STAGES, Asker, asker_of
from unabridged.memory.asking.cache import AnswerCache, answer_key
from unabridged.memory.asking.judge import Unusable
from unabridged.providers.chat import Chat
from unabridged.providers.chat_replies import ChatReply
from unabridged.testing import ChatRule, ChatServer, RateLimit, Trouble
from unabridged.testing.chat_shapes import SHAPES

SCHEMA = {
    "type": "object",
    "properties": {"said": {"type": "array", "items": {"type": "string"}}},
    "required": ["said"],
    "additionalProperties": False,
}
SAID = {"said": ["one", "two {2}"]}
STAGE = "answer_query"


@pytest.fixture
def serve():
    opened = []

    def start(rules=None, **options):
        opened.append(ChatServer(rules or [ChatRule(answer=SAID)], **options).start())
        return opened[-1]

    yield start
    for server in opened:
        server.stop()


# -- shapes and repairs --------------------------------------------------------------------------------

LOST = {"schema", "cut", "empty", "null", "refusal", "filtered"}


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape not in LOST])
@pytest.mark.parametrize("knows", [{}, {"schema": False}, {"schema": False, "tools": False}])
def test_case_38_every_readable_shape_in_every_form_costs_one_call(serve, ask_at, user, shape, knows):
    answer = ask_at(serve(shape=shape, **knows)).ask(user("?"), stage=STAGE, schema=SCHEMA)
    assert answer.value == SAID
    (call,) = answer.calls
    assert (call.status, call.stage, call.model, call.cached, call.reasoning) == ("ok", STAGE, "tiny", False, "none")


@pytest.mark.parametrize(
    ("shape", "reason", "requests"),
    [("schema", "unreadable", 2), ("cut", "truncated", 2), ("empty", "empty", 2), ("null", "empty", 2),
     ("refusal", "refused", 1), ("filtered", "withheld", 1)],
)  # fmt: skip
def test_case_38_one_attempt_at_a_repair_then_a_typed_error_with_every_call(
    serve, ask_at, user, shape, reason, requests
):
    server = serve(shape=shape)
    with pytest.raises(ChatError) as raised:
        ask_at(server, cache=True).ask(user("secret words"), stage=STAGE, schema=SCHEMA)
    error = raised.value
    assert (error.reason, [call.status for call in error.calls]) == (reason, [reason] * requests)
    assert server.total == requests
    assert all(call.tokens_in > 0 for call in error.calls)
    assert "secret" not in str(error)
    assert "two {2}" not in str(error)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.reason, copy.calls) == (str(error), reason, error.calls)


@pytest.mark.parametrize("shape", ["schema", "cut", "empty", "null"])
def test_case_38_the_repair_is_asked_in_words_with_what_was_wrong(serve, ask_at, user, shape):
    server = serve([ChatRule(answer=SAID, shape=shape, times=1), ChatRule(answer=SAID)])
    answer = ask_at(server).ask(user("?"), stage=STAGE, schema=SCHEMA)
    assert answer.value == SAID
    assert [call.status for call in answer.calls] == [
        "truncated" if shape == "cut" else "unreadable" if shape == "schema" else "empty",
        "ok",
    ]
    first, second = server.requests
    assert second.body != first.body  # no identical request is ever sent twice
    roles = [message["role"] for message in second.messages]
    assert all(one != other for one, other in itertools.pairwise(roles))
    if shape == "cut":
        assert second.body["max_tokens"] == 4 * first.body["max_tokens"]
    else:
        assert second.form == "plain"


def test_prose_is_an_answer_too_and_an_empty_or_cut_one_is_not(serve, ask_at, user):
    server = serve(
        [
            ChatRule(pattern="fine", answer="It is fine.", shape="think"),
            ChatRule(answer="", times=1),
            ChatRule(answer="Late."),
        ]
    )
    asker = ask_at(server)
    assert asker.ask(user("fine?"), stage=STAGE).value == "It is fine."
    late = asker.ask(user("?"), stage=STAGE)
    assert (late.value, late.text, [call.status for call in late.calls]) == ("Late.", "Late.", ["empty", "ok"])
    with pytest.raises(ChatError, match="cut off") as raised:
        ask_at(serve([ChatRule(answer="word " * 100)])).ask(user("?"), stage=STAGE, max_tokens=8)
    assert raised.value.reason == "truncated"
    assert (
        ask_at(serve([ChatRule(answer="word " * 20)]))
        .ask(user("?"), stage=STAGE, max_tokens=8)
        .value.startswith("word word")
    )


def test_a_complete_answer_is_taken_although_it_ran_into_its_length(serve, ask_at, user):
    server = serve([ChatRule(answer=json.dumps(SAID) + "   ", finish="length")])
    assert ask_at(server).ask(user("?"), stage=STAGE, schema=SCHEMA).value == SAID
    thought = serve(
        [ChatRule(answer=f"Perhaps {json.dumps(SAID)} or", finish="length", times=1), ChatRule(answer=SAID)]
    )
    assert len(ask_at(thought).ask(user("?"), stage=STAGE, schema=SCHEMA).calls) == 2


def test_a_server_that_takes_a_schema_and_does_not_keep_to_it_is_asked_in_words_after_a_while(serve, ask_at, user):
    server = serve([ChatRule(pattern="JSON Schema", answer=SAID), ChatRule(answer="As you wish!")])
    asker = ask_at(server)
    counts = []
    for at in range(4):
        before = server.total
        assert asker.ask(user(f"{at}?"), stage=STAGE, schema=SCHEMA).value == SAID
        counts.append(server.total - before)
    assert counts == [2, 2, 1, 1]


# -- faults --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "trouble",
    [
        Trouble(status=503, times=2),
        Trouble(status=429, body={"error": {"message": "Rate limit reached. Please try again in 5ms."}}, times=2),
        Trouble(status=529, body={"error": {"message": "Overloaded"}}, headers={"retry-after": "0"}, times=1),
        Trouble(kind="drop", times=2),
        Trouble(kind="not_json", times=1),
        Trouble(kind="empty", times=1),
        Trouble(kind="error_in_200", times=1),
    ],
)
def test_what_may_pass_is_asked_again_and_is_one_call(serve, ask_at, user, trouble):
    server = serve(troubles=[trouble])
    answer = ask_at(server).ask(user("?"), stage=STAGE, schema=SCHEMA)
    (call,) = answer.calls
    assert (answer.value, call.status, call.requests) == (SAID, "ok", server.total)
    assert call.requests == trouble.times + 1
    assert call.seconds > 0


def test_what_does_not_pass_ends_with_the_providers_error_and_its_call(serve, ask_at, user):
    server = serve(troubles=[Trouble(status=503, headers={"retry-after": "0"}, times=None)])
    with pytest.raises(ProviderError) as raised:
        ask_at(server).ask(user("?"), stage=STAGE)
    assert [(call.status, call.requests, call.tokens_in) for call in raised.value.calls] == [
        (raised.value.fault.kind, 5, None)
    ]
    assert server.total == 5


@pytest.mark.parametrize(
    ("status", "message", "error"),
    [
        (401, "Incorrect API key provided", AuthFailed),
        (429, "You exceeded your current quota, please check your plan", RateLimited),
        (
            400,
            "This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens.",
            Overflow,
        ),
    ],
)
def test_what_is_final_is_sent_once(serve, ask_at, user, status, message, error):
    server = serve(troubles=[Trouble(status=status, body={"error": {"message": message}}, times=None)])
    with pytest.raises(error) as raised:
        ask_at(server).ask(user("?"), stage=STAGE)
    assert (server.total, len(raised.value.calls)) == (1, 1)


@pytest.mark.parametrize(
    ("message", "sent"),
    [
        ("max_tokens is too large: 4096. This model supports at most 1000 completion tokens, whereas you provided 4096.", 1000),
        (
            ("This model's maximum context length is 2048 tokens. However, you requested 4200 tokens (104 in the messages, "
             "4096 in the completion). Please reduce the length of the messages or completion."), 1944,
        ),
    ],
)  # fmt: skip
def test_an_answers_budget_that_is_too_large_is_lowered(serve, ask_at, user, message, sent):
    told = {"error": {"message": message, "type": "invalid_request_error"}}
    server = serve(
        troubles=[Trouble(status=400, body=told, times=None, when=lambda seen: seen.body["max_tokens"] > sent)]
    )
    assert ask_at(server).ask(user("?"), stage=STAGE, schema=SCHEMA, max_tokens=4096).value == SAID
    budgets = [seen.body["max_tokens"] for seen in server.requests]
    assert budgets[0] == 4096
    assert sent // 2 <= budgets[-1] <= sent
    assert len(budgets) <= 3


def test_case_24_a_revoked_key_is_taken_out_and_another_host_is_the_fallback(serve, user):
    one, other = serve(keys={"good"}), serve([ChatRule(answer="from afar")])
    chats = [Chat("tiny", base_url=one.url, api_key=key) for key in ("revoked-1", "good")]
    asker = Asker([*chats, Chat("large", base_url=other.url)], models={STAGE: "special"}, cache=False)
    for _ in range(4):
        assert asker.ask(user("?"), stage=STAGE, schema=SCHEMA).value == SAID
    assert sorted(seen.status for seen in one.requests) == [200] * 4 + [401]
    assert {seen.model for seen in one.requests} == {"special"}
    one.keys.clear()
    answer = asker.ask(user("?"), stage=STAGE)
    assert (answer.value, answer.calls[-1].model, answer.calls[-1].host) == ("from afar", "large", other.url[7:-3])
    asker.close()


def test_a_host_that_is_down_is_left_for_the_next_one(serve, user):
    down = serve(troubles=[Trouble(status=503, headers={"retry-after": "0"}, times=None)])
    up = serve([ChatRule(answer="up")])
    asker = Asker([Chat("m", base_url=down.url), Chat("m", base_url=up.url)], cache=False)
    assert asker.ask(user("?"), stage=STAGE).value == "up"
    asker.close()


def test_case_23_never_more_in_flight_than_configured_and_a_rate_limit_is_obeyed(serve, ask_at, user):
    server = serve(latency=0.03, rate=RateLimit(requests=40, seconds=1.0, burst=0.5, tell="milliseconds"))
    asker = ask_at(server, concurrency=3)
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda at: asker.ask(user(f"{at}?"), stage=STAGE, schema=SCHEMA).value, range(30)))
    assert answers == [SAID] * 30
    assert server.in_flight_max <= 3


async def test_case_8_tasks_give_what_threads_give(serve, ask_at, user):
    server = serve(latency=0.02, troubles=[Trouble(status=503, times=2)])
    asker = ask_at(server, concurrency=4, cache=True)
    answers = await asyncio.gather(*(asker.aask(user(f"{at % 5}?"), stage=STAGE, schema=SCHEMA) for at in range(20)))
    assert {json.dumps(answer.value) for answer in answers} == {json.dumps(SAID)}
    assert sum(not call.cached for answer in answers for call in answer.calls) == 5
    assert server.in_flight_max <= 4
    await asker.aclose()


def test_the_callers_timeout_is_kept_while_it_waits_for_an_answer_a_pause_or_its_turn(serve, ask_at, user):
    slow = ask_at(serve(latency=10.0))
    started = time.monotonic()
    with pytest.raises(ProviderTimeout) as raised:
        slow.ask(user("?"), stage=STAGE, timeout=0.2)
    assert len(raised.value.calls) == 1
    waiting = ask_at(serve(troubles=[Trouble(status=429, headers={"retry-after": "60"}, times=None)]), timeout=0.2)
    with pytest.raises(RateLimited):
        waiting.ask(user("?"), stage=STAGE)
    assert time.monotonic() - started < 2.0


@pytest.mark.parametrize("how", ["thread", "task"])
async def test_cancelling_ends_a_pause_at_once(serve, ask_at, user, how):
    server = serve(troubles=[Trouble(status=429, headers={"retry-after": "30"}, times=None)])
    asker, cancel = ask_at(server), threading.Event()
    threading.Timer(0.15, cancel.set).start()
    started = time.monotonic()
    with pytest.raises(Cancelled):
        if how == "task":
            await asker.aask(user("?"), stage=STAGE, cancel=cancel)
        else:
            await asyncio.to_thread(asker.ask, user("?"), stage=STAGE, cancel=cancel)
    assert time.monotonic() - started < 3.0
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(Cancelled):
        asker.ask(user("?"), stage=STAGE, cancel=cancelled)


async def test_a_cancelled_task_gives_its_place_back(serve, ask_at, user):
    server = serve(latency=lambda seen: 30.0 if "slow" in seen.prompt else 0.0)
    asker = ask_at(server, concurrency=1)
    task = asyncio.create_task(asker.aask(user("slow?"), stage=STAGE))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await asker.aask(user("?"), stage=STAGE, schema=SCHEMA, timeout=5.0)).value == SAID


# -- the cache -----------------------------------------------------------------------------------------


def test_a_retry_is_free_also_in_another_process_of_ours(serve, ask_at, user):
    server = serve()
    first = ask_at(server, cache=True).ask(user("?"), stage=STAGE, schema=SCHEMA)
    second = ask_at(server, cache=True).ask(user("?"), stage=STAGE, schema=SCHEMA)
    assert second.value == first.value == SAID
    (call,) = second.calls
    assert (call.cached, call.cost, call.tokens_in, call.tokens_out, call.model, call.requests) == (
        True,
        0.0,
        0,
        0,
        "tiny",
        0,
    )
    assert server.total == 1


def test_what_changes_the_answer_changes_the_key(serve, ask_at, user):
    server = serve()
    asker = ask_at(server, cache=True)
    other = {**SCHEMA, "description": "other"}
    asks = [
        {}, {"schema": other}, {"model": "m2"}, {"reasoning": "low"}, {"key": "k"}, {"key": "k2"}, {"about": "a text"},
        {"stage": "rerank"}, {"messages": user("another?")},
    ]  # fmt: skip
    for _ in range(2):
        for given in asks:
            asker.ask(**{"messages": user("?"), "stage": STAGE, "schema": SCHEMA, **given})
    assert server.total == len(asks)
    asker.ask(user("not the same words"), stage=STAGE, schema=SCHEMA, key="k")  # the key stands for the messages
    assert server.total == len(asks)
    assert ask_at(server, cache=True, model="m3").ask(user("?"), stage=STAGE, schema=SCHEMA).calls[0].cached is False


def test_what_is_not_to_be_kept_is_neither_kept_nor_looked_for(serve, ask_at, user):
    server = serve()
    asker = ask_at(server, cache=True)
    for keep in (False, False, True, False):
        asker.ask(user("?"), stage=STAGE, schema=SCHEMA, keep=keep)
    assert (server.total, asker.cache.stats().entries) == (4, 1)


def test_what_failed_is_not_kept(serve, ask_at, user):
    server = serve([ChatRule(answer="no", times=2), ChatRule(answer=SAID)])
    asker = ask_at(server, cache=True)
    with pytest.raises(ChatError):
        asker.ask(user("?"), stage=STAGE, schema=SCHEMA)
    assert asker.ask(user("?"), stage=STAGE, schema=SCHEMA).value == SAID


def test_case_31_fifty_threads_that_ask_the_same_send_one_request(serve, ask_at, user):
    server = serve(latency=0.1)
    asker = ask_at(server, cache=True)
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: asker.ask(user("?"), stage=STAGE, schema=SCHEMA), range(50)))
    assert server.total == 1
    assert sum(call.cached for answer in answers for call in answer.calls) == 49


def test_those_who_wait_ask_for_themselves_when_the_first_one_fails(serve, ask_at, user):
    server = serve([ChatRule(answer=SAID)], latency=0.1, troubles=[Trouble(status=401, body="no", times=1)])
    asker = ask_at(server, cache=True)

    def ask(_):
        try:
            return asker.ask(user("?"), stage=STAGE, schema=SCHEMA).value
        except ProviderError as error:
            return error.fault.kind

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, range(4)))
    assert set(map(str, answers)) <= {"auth", str(SAID)}
    assert "auth" in answers


def test_a29_the_answers_about_a_text_are_forgotten_with_it(serve, ask_at, user, tmp_path):
    server = serve()
    asker = ask_at(server, cache=True)
    for about in ("one text", "another"):
        for key in ("a", "b"):
            asker.ask(user("?"), stage=STAGE, schema=SCHEMA, about=about, key=key)
    assert asker.forget(["one text"]) == 2
    assert asker.forget(["one text", "no text"]) == 0
    asker.ask(user("?"), stage=STAGE, schema=SCHEMA, about="another", key="a")
    assert server.total == 4
    asker.ask(user("?"), stage=STAGE, schema=SCHEMA, about="one text", key="a")
    assert server.total == 5
    assert ask_at(server).forget(["one text"]) == 0


def test_case_32_a_damaged_or_pickled_answer_is_a_miss_with_a_warning(tmp_path):
    cache = AnswerCache(tmp_path)
    at = answer_key("text", "x")
    cache.put({at: {"value": "\ud800 lone", "n": [1]}})
    assert cache.get([at]) == {at: {"value": "\ud800 lone", "n": [1]}}
    no_json = zlib.compress(b"{")
    whole = b"UBA\x01" + zlib.crc32(no_json).to_bytes(4, "little") + no_json
    for damage in (b"", b"UBA\x01", b"UBA\x01\0\0\0\0junk", pickle.dumps({"value": 1}), whole):
        cache._store.set(at, damage)
        with pytest.warns(RuntimeWarning, match="answer cache is damaged"):
            assert cache.get([at]) == {}
    cache.close()


def test_answers_stand_beside_the_vectors_or_in_the_folder_that_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("UNABRIDGED_CACHE", str(tmp_path))
    with AnswerCache() as cache:
        assert cache.folder == tmp_path / "answers"
    monkeypatch.delenv("UNABRIDGED_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    with AnswerCache() as cache:
        assert (cache.folder.name, cache.folder.parent.name) == ("answers", "unabridged")


# -- options -------------------------------------------------------------------------------------------


def test_a18_model_reasoning_and_budget_by_stage_and_by_call(serve, ask_at, user):
    server = serve([ChatRule(answer="Fine.")])
    asker = ask_at(
        server,
        chat={"prices": {"tiny": (1.0, 2.0)}},
        models={"rerank": "cheap"},
        reasoning={"rerank": "low"},
        max_tokens={"rerank": 33},
    )
    assert (asker.model, asker.host, asker.concurrency) == ("tiny", server.url[7:-3], 8)
    assert (asker.model_of("rerank"), asker.reasoning_of("rerank"), asker.budget_of("rerank")) == ("cheap", "low", 33)
    assert (asker.model_of(STAGE), asker.reasoning_of(STAGE), asker.budget_of("summarize_chunk")) == (
        "tiny",
        "none",
        512,
    )
    assert (asker.prices(STAGE), asker.prices("rerank")) == ((1.0, 2.0), None)
    asker.ask(user("?"), stage="rerank")
    asker.ask(user("?"), stage="rerank", model="dear", reasoning="none", max_tokens=5)
    one, other = (seen.body for seen in server.requests)
    assert (one["model"], one["reasoning_effort"], one["max_tokens"] > 33) == ("cheap", "low", True)
    assert (other["model"], "reasoning_effort" in other, other["max_tokens"]) == ("dear", False, 5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"models": {"extrakt": "m"}}, "models.extrakt: unknown stage, known are extract_graph"),
        ({"reasoning": {"rerank": "much"}}, r"reasoning\.rerank: found 'much'"),
        ({"max_tokens": {"x": 1}}, r"max_tokens\.x"),
        ({"concurrency": 0}, "concurrency"),
    ],
)
def test_case_46_wrong_options_are_named(options, message):
    with pytest.raises(ConfigError, match=message):
        Asker(lambda messages: "", **options)


@pytest.mark.parametrize("chat", ["a name", 7, []])
def test_what_is_no_chat_is_named(chat):
    with pytest.raises(ConfigError, match="chat: found"):
        Asker(chat)


def test_wrong_levels_and_budgets_of_a_call_are_refused(user):
    with pytest.raises(ConfigError, match="reasoning: found 'x'"):
        Asker(lambda messages: "").ask(user("?"), stage=STAGE, reasoning="x")


# -- functions of one's own ----------------------------------------------------------------------------


class Completion:
    def model_dump(self):
        return {
            "choices": [{"message": {"content": "dumped"}}],
            "model": "m",
            "usage": {"prompt_tokens": 3, "completion_tokens": 1},
        }


class Reply:
    text, tokens_in, tokens_out, cost_usd, model = "an object", 5, 6, 0.5, "own"


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("plain", "plain"),
        ({"text": "mapped", "tokens_in": 4}, "mapped"),
        ({"choices": [{"message": {"content": "raw"}}]}, "raw"),
        (Completion(), "dumped"),
        (Reply(), "an object"),
        (ChatReply("reply"), "reply"),
    ],
)
def test_a_function_may_answer_in_many_ways(user, answer, value):
    found = Asker(lambda messages: answer).ask(user("?"), stage=STAGE)
    assert found.value == value
    if isinstance(answer, Reply):
        assert (found.tokens_in, found.tokens_out, found.cost_usd, found.model) == (5, 6, 0.5, "own")


def test_a_function_gets_the_options_that_it_takes(user):
    seen = []

    def chat(messages, schema=None, *, stage, reasoning="unset", model="unset"):
        seen.append((messages, schema, stage, reasoning, model))
        return [{"said": ["x"]}]

    asker = Asker(chat)
    assert asker.ask(user("?"), stage=STAGE, schema=SCHEMA, reasoning="low").value == {"said": ["x"]}
    assert seen == [(user("?"), SCHEMA, STAGE, "low", "unset")]
    assert (asker.cache, asker.model, asker.host, asker.prices()) == (None, "chat", "process", None)
    assert asker.forget(["x"]) == 0

    def everything(prompt, **options):
        seen.append((prompt, sorted(options)))
        return "done"

    Asker(everything).ask(
        [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}], stage=STAGE, model="m"
    )
    assert seen[-1] == ("a\n\nb", ["max_tokens", "model", "schema", "stage"])


def test_promise_9_a_functions_own_exceptions_come_back(user):
    def chat(messages):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        Asker(chat).ask(user("?"), stage=STAGE)
    with pytest.raises(ProviderError, match="answered with a float"):
        Asker(lambda messages: 1.5).ask(user("?"), stage=STAGE)


async def test_coroutine_functions_are_for_tasks(user):
    async def chat(messages):
        await asyncio.sleep(0)
        return "awaited"

    assert (await Asker(chat).aask(user("?"), stage=STAGE)).value == "awaited"
    assert (await Asker(lambda messages: "in a thread").aask(user("?"), stage=STAGE)).value == "in a thread"
    with pytest.raises(ConfigError, match="coroutine"):
        Asker(chat).ask(user("?"), stage=STAGE)


def test_an_asker_stays_one_and_none_stays_none():
    asker = Asker(lambda messages: "")
    assert (asker_of(asker), asker_of(None)) == (asker, None)
    assert isinstance(asker_of(lambda messages: ""), Asker)
    assert not Unusable("refused", "x").repairable
    assert all(STAGES.values())


def test_an_option_that_asking_does_not_have_is_refused_as_python_does() -> None:
    asker = Asker(lambda messages: "Yes.")
    with pytest.raises(TypeError, match="unexpected keyword argument 'modle'"):
        asker.ask([{"role": "user", "content": "Is it?"}], stage="answer_query", modle="m")
