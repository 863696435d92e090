"""providers/chat.py over real HTTP: what servers take, and what they answer with."""

import json

import pytest

from unabridged.errors import AuthFailed, BadReply, ConfigError, ProviderError, ProviderTimeout
from unabridged.providers.chat import Chat
from unabridged.providers.chat_forms import Habits, Wanted, request_body
from unabridged.providers.chat_replies import read_reply
from unabridged.testing import ChatRule, ChatServer, Trouble

USER = [{"role": "user", "content": "Say it."}]
SCHEMA = {
    "type": "object",
    "properties": {"said": {"type": "string"}},
    "required": ["said"],
    "additionalProperties": False,
}
SAID = [ChatRule(answer={"said": "it"})]


@pytest.fixture
def serve():
    opened = []

    def start(**options):
        server = opened_server = ChatServer(SAID, **options).start()
        opened.append(opened_server)
        return server

    yield start
    for server in opened:
        server.stop()


@pytest.fixture
def chat_at():
    opened = []

    def make(server, model="tiny", **options):
        opened.append(Chat(model, base_url=server.url, **options))
        return opened[-1]

    yield make
    for chat in opened:
        chat.close()


def sent(server):
    return [seen.body for seen in server.requests]


# -- forms ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("knows", "form", "requests"),
    [
        ({}, "schema", 1),
        ({"schema": False}, "tools", 2),
        ({"schema": False, "tools": False}, "plain", 3),
    ],
)
def test_a_schema_then_a_tool_then_words_and_what_the_server_takes_is_remembered(serve, chat_at, knows, form, requests):
    server = serve(**knows)
    chat = chat_at(server)
    first = chat(USER, SCHEMA)
    assert (json.loads(first.text), first.form) == ({"said": "it"}, form)
    assert server.total == requests
    assert chat(USER, SCHEMA).form == form
    assert server.total == requests + 1  # no refused request is sent twice
    assert sent(server)[-1] == sent(server)[-2]


def test_in_words_the_schema_stands_in_the_prompt(serve, chat_at):
    server = serve(schema=False, tools=False)
    chat_at(server)(USER, SCHEMA)
    last = server.requests[-1]
    assert json.dumps(SCHEMA, separators=(",", ":")) in last.asked
    assert last.asked.startswith("Say it.")


def test_habits_are_a_models_own(serve, chat_at):
    server = serve(budget="max_completion_tokens")
    chat = chat_at(server)
    chat(USER, max_tokens=9)
    assert [("max_tokens" in body, "max_completion_tokens" in body) for body in sent(server)] == [
        (True, False),
        (False, True),
    ]
    chat(USER, max_tokens=9, model="other")
    assert "max_tokens" in sent(server)[2]


def test_openai_reasoning_models_are_known_by_name(serve, chat_at):
    server = serve(budget="max_completion_tokens", temperature=False)
    chat = chat_at(server, "o3-mini")
    chat(USER, SCHEMA, 100, reasoning="low")
    (body,) = sent(server)
    assert body["reasoning_effort"] == "low"
    assert body["max_completion_tokens"] > 100  # what it thinks with does not count against the answer
    assert "temperature" not in body


def test_they_think_unasked_and_have_room_for_it(serve, chat_at):
    server = serve(budget="max_completion_tokens", temperature=False)
    chat_at(server, "openai/gpt-5-mini")(USER, max_tokens=512)
    chat_at(server, "tiny")(USER, max_tokens=512)
    one, *_, other = sent(server)
    assert one["max_completion_tokens"] > 2 * 512
    assert other["max_completion_tokens"] == 512


def test_several_things_unknown_at_once_are_left_out_one_after_another(serve, chat_at):
    server = serve(schema=False, temperature=False, budget="max_completion_tokens", system=False)
    chat = chat_at(server)
    messages = [{"role": "system", "content": "Be brief."}, *USER]
    assert json.loads(chat(messages, SCHEMA, 50).text) == {"said": "it"}
    assert server.total == 5
    last = server.requests[-1]
    assert [message["role"] for message in last.messages] == ["user"]
    assert last.asked == "Be brief.\n\nSay it."
    chat(messages, SCHEMA, 50)
    assert server.total == 6


def test_a_server_that_knows_only_max_tokens(serve, chat_at):
    server = serve(budget="max_tokens")
    chat_at(server, "gpt-5-of-another-kind")(USER, max_tokens=7)
    assert [sorted({"max_tokens", "max_completion_tokens"} & body.keys()) for body in sent(server)] == [
        ["max_completion_tokens"], ["max_tokens"],
    ]  # fmt: skip


def test_a18_a_level_of_reasoning_that_was_asked_for_is_never_dropped(serve, chat_at):
    server = serve(reasoning=False)
    chat = chat_at(server)
    with pytest.raises(ProviderError, match="takes no reasoning level 'high'"):
        chat(USER, SCHEMA, reasoning="high")
    assert server.total == 1
    with pytest.raises(ConfigError, match="expected one of none, low, medium, high"):
        chat(USER, reasoning="much")
    assert chat(USER).text == '{"said": "it"}'


def test_a_bare_400_is_tried_in_the_next_form_and_the_first_refusal_of_the_last_form_is_told(serve, chat_at):
    server = serve()
    server.trouble(Trouble(status=400, body="Bad Request", times=1))
    chat = chat_at(server)
    assert chat(USER, SCHEMA).form == "tools"
    server.trouble(Trouble(status=400, body="Bad Request", times=None))
    before = server.total
    with pytest.raises(ProviderError):
        chat(USER, SCHEMA)
    assert server.total - before == 2  # tools, then words; nothing else is left


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, {"error": {"message": "Incorrect API key provided"}}, "auth"),
        (404, {"error": {"message": "The model `tiny` does not exist", "code": "model_not_found"}}, "model_not_found"),
        (429, {"error": {"message": "You exceeded your current quota"}}, "quota"),
        (503, "upstream connect error", "upstream_error"),
        (
            400,
            {
                "error": {
                    "message": "The response was filtered by our content management policy",
                    "code": "content_filter",
                }
            },
            "bad_request",
        ),
    ],
)
def test_other_refusals_are_not_taken_for_ignorance_of_a_form(serve, chat_at, status, body, kind):
    server = serve(troubles=[Trouble(status=status, body=body, times=None)])
    with pytest.raises(ProviderError) as raised:
        chat_at(server)(USER, SCHEMA)
    assert (raised.value.fault.kind, server.total) == (kind, 1)


@pytest.mark.parametrize(
    "refusal",
    [
        "'response_format.type' must be 'json_object' or 'text'",
        "Invalid schema for response_format 'answer': 'required' is required to be supplied",
        "Failed to initialize samplers: failed to parse grammar",
        "guided decoding is not supported by this engine",
    ],
)
@pytest.mark.parametrize("status", [400, 422, 500])
def test_words_of_real_servers_for_an_unknown_schema(serve, chat_at, refusal, status):
    server = serve(troubles=[Trouble(status=status, body={"error": {"message": refusal}}, times=1)])
    assert chat_at(server)(USER, SCHEMA).form == "tools"


@pytest.mark.parametrize(
    "refusal",
    [
        "registry.ollama.ai/library/gemma:2b does not support tools",
        "tools param requires --jinja flag",
        "No endpoints found that support tool use.",
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    ],
)
def test_words_of_real_servers_for_unknown_tools(serve, chat_at, refusal):
    told = {"error": {"message": refusal}}
    strikes = Trouble(status=400, body=told, times=None, when=lambda seen: "tools" in seen.body)
    server = serve(schema=False, troubles=[strikes])
    assert chat_at(server)(USER, SCHEMA).form == "plain"


def test_a_form_that_the_caller_names_is_used_and_not_remembered(serve, chat_at):
    server = serve()
    chat = chat_at(server)
    assert chat(USER, SCHEMA, form="plain").form == "plain"
    assert chat(USER, SCHEMA).form == "schema"
    chat.prefer("plain")
    assert chat(USER, SCHEMA).form == "plain"


def test_a_base_url_without_a_path_means_v1(serve):
    server = serve()
    chat = Chat("tiny", base_url=server.url.removesuffix("/v1"))
    assert chat(USER).text == '{"said": "it"}'
    chat.close()
    assert server.requests[0].path == "/v1/chat/completions"


# -- replies -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["plain", "parts", "parsed", "thought_apart"])
@pytest.mark.parametrize("knows", [{}, {"schema": False}])
def test_contents_in_every_shape(serve, chat_at, shape, knows):
    reply = chat_at(serve(shape=shape, **knows))(USER, SCHEMA)
    assert json.loads(reply.text) == {"said": "it"}
    assert (reply.model, reply.finished, reply.refusal, reply.withheld) == ("tiny", True, None, False)
    assert (reply.tokens_in > 0, reply.tokens_out > 0) == (True, True)
    assert bool(reply.thought) == (shape == "thought_apart")


def test_refusals_filters_and_cuts_are_told_apart(serve, chat_at):
    refused = chat_at(serve(shape="refusal"))(USER)
    assert (refused.text, refused.refusal) == ("", "I cannot help with that.")
    assert chat_at(serve(shape="filtered"))(USER).withheld
    assert not chat_at(serve())(USER, max_tokens=2).finished
    assert chat_at(serve(shape="null"))(USER).text == ""
    thinking = chat_at(serve(shape="only_thought"))(USER)
    assert (thinking.text, json.loads(thinking.thought)) == ("", {"said": "it"})


def test_no_usage_no_cost_prices_by_model_and_the_providers_own_cost(serve, chat_at):
    silent = chat_at(serve(usage=False), prices=(1, 2))(USER)
    assert (silent.tokens_in, silent.tokens_out, silent.cost_usd) == (None, None, None)
    priced = chat_at(serve(), prices={"tiny": (1e6, 0.0)})
    reply = priced(USER)
    assert reply.cost_usd == reply.tokens_in
    assert priced(USER, model="other").cost_usd is None
    data = {
        "choices": [{"message": {"content": "x"}}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 5, "cost": 0.25},
    }
    assert read_reply(data, model="m", form="plain", prices=(1, 1)).cost_usd == 0.25


def test_ollamas_own_route_and_old_function_calls_are_read():
    own = {"model": "q", "message": {"content": "Hi", "thinking": "hm"}, "done_reason": "length", "eval_count": 3}
    reply = read_reply(own, model="q", form="plain")
    assert (reply.text, reply.finished, reply.tokens_out, reply.thought) == ("Hi", False, 3, "hm")
    old = {"choices": [{"message": {"content": None, "function_call": {"name": "answer", "arguments": '{"a": 1}'}}}]}
    assert read_reply(old, model="q", form="tools").text == '{"a": 1}'
    parsed = {"choices": [{"message": {"tool_calls": [{"function": {"arguments": {"a": 1}}}]}}]}
    assert read_reply(parsed, model="q", form="tools").text == '{"a": 1}'
    thinking = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "Yes"},
        "!",
        7,
    ]
    assert read_reply({"choices": [{"message": {"content": thinking}}]}, model="q", form="plain").text == "Yes!"
    assert read_reply({"choices": [{"text": "old"}]}, model="q", form="plain").text == "old"


@pytest.mark.parametrize(
    "data",
    [None, [], {}, {"choices": []}, {"choices": "x"}, {"choices": ["x"]}, {"choices": [{"message": {"content": 7}}]}],
)
def test_a_reply_without_an_answer_is_none(data):
    assert read_reply(data, model="q", form="plain") is None


@pytest.mark.parametrize("kind", ["empty", "not_json"])
def test_an_answer_that_is_no_completion_is_a_bad_reply(serve, chat_at, kind):
    with pytest.raises(ProviderError) as raised:
        chat_at(serve(troubles=[Trouble(kind=kind)]))(USER)
    assert raised.value.fault.kind in {"bad_reply", "upstream_error"}
    assert isinstance(raised.value, BadReply) or kind == "not_json"


def test_an_error_in_a_200_and_a_dropped_connection(serve, chat_at):
    server = serve(troubles=[Trouble(kind="error_in_200"), Trouble(kind="drop")])
    chat = chat_at(server)
    for _ in range(2):
        with pytest.raises(ProviderError):
            chat(USER)
    assert chat(USER).text == '{"said": "it"}'


def test_case_22_the_timeout_is_kept(serve, chat_at):
    chat = chat_at(serve(latency=5.0))
    with pytest.raises(ProviderTimeout):
        chat(USER, timeout=0.2)


async def test_tasks_adapt_as_threads_do(serve, chat_at):
    server = serve(schema=False)
    chat = chat_at(server)
    reply = await chat.acall(USER, SCHEMA, 99)
    assert (reply.form, server.total) == ("tools", 2)
    with pytest.raises(AuthFailed):
        server.keys = {"other"}
        await chat.acall(USER)
    await chat.aclose()


def test_case_47_no_key_in_any_message_or_repr(serve, chat_at):
    server = serve(keys={"other"}, troubles=[])
    chat = chat_at(server, api_key="sk-very-secret-1", headers={"x-tenant": "tenant-secret-2"})
    with pytest.raises(AuthFailed) as raised:
        chat(USER)
    shown = f"{raised.value} {raised.value.body!r} {chat!r}"
    assert "very-secret" not in shown
    assert "tenant-secret" not in shown
    assert server.requests[0].headers["x-tenant"] == "tenant-secret-2"


def test_a_model_must_be_named():
    with pytest.raises(ConfigError, match="the name of a chat model"):
        Chat(" ")


def test_bodies_without_a_system_message_keep_everything_that_was_said():
    only = Wanted("m", [{"role": "system", "content": "a"}])
    assert request_body(only, Habits(system=False))["messages"] == [{"role": "user", "content": "a"}]
    assert "temperature" not in request_body(Wanted("m", USER, temperature=None), Habits())
