"""Plain functions, and the parts below the adapters."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from unabridged import Limit, wrap
from unabridged.adapters.client import PATIENCE, Answer, ClientProvider, rows_of
from unabridged.adapters.identity import host_of, identity_of, own_limit
from unabridged.adapters.shapes import like, listed, texts_of
from unabridged.adapters.token_ids import as_texts
from unabridged.errors import BadReply, BudgetExhausted, EmptyText, MissingExtra, Overflow, ProviderError
from unabridged.types import Fault, Request

LONG = " ".join(f"w{n}" for n in range(2000))
LIMIT = 512


def lengths(texts):
    """Longest text first: a function that fails, as a model does, on what is too long for it."""
    for text in texts:
        if len(text) > 4 * LIMIT:
            raise ValueError(f"maximum sequence length is {LIMIT} tokens, but got {len(text) // 4} tokens")
    return [[1.0, float(len(text))] for text in texts]


async def lengths_async(texts):
    await asyncio.sleep(0)
    return lengths(texts)


def test_a_function_is_called_as_it_is_and_long_texts_work():
    embed = wrap(lengths, limit=LIMIT)
    assert embed.__name__ == "lengths"
    assert embed.__doc__ == lengths.__doc__
    assert embed(["a", "bc"]) == [[1.0, 1.0], [1.0, 2.0]]
    rows = embed(["a", LONG])
    assert rows[0] == [1.0, 1.0]
    assert 1 < rows[1][1] < 4 * LIMIT


def test_a_limit_that_a_function_states_in_its_exception_is_learned():
    embed = wrap(lengths)
    assert len(embed([LONG * 20, "a"])) == 2
    with pytest.raises(ValueError, match="maximum sequence length"):
        wrap(lengths, chunking=False)([LONG * 20])


async def test_a_coroutine_function_stays_one():
    embed = wrap(lengths_async, limit=LIMIT)
    assert asyncio.iscoroutinefunction(embed)
    if sys.version_info >= (3, 12):
        assert inspect.iscoroutinefunction(embed)
    assert await embed(["a"]) == [[1.0, 1.0]]
    assert len(await embed([LONG, "a"])) == 2
    assert await embed([1, 2][:0]) == []


@pytest.mark.parametrize("text", ["short", LONG], ids=["short", "long"])
async def test_a_function_of_one_text_gives_one_vector(text):
    def one(text):
        return np.array([1.0, len(lengths([text])[0])], np.float32)

    async def one_async(text):
        return one(text).tolist()

    embed = wrap(one, limit=LIMIT)
    assert embed(text).shape == (2,)
    assert embed(text).dtype == np.float32
    assert len(await wrap(one_async, limit=LIMIT)(text)) == 2


@pytest.mark.parametrize(
    "kind",
    [
        np.asarray,
        list,
        tuple,
        lambda rows: [np.asarray(row) for row in rows],
        lambda rows: [tuple(r) for r in rows],
    ],
    ids=["array", "lists", "tuples", "arrays", "list of tuples"],
)
def test_answers_keep_their_type(kind):
    embed = wrap(lambda texts: kind(lengths(texts)), limit=LIMIT)
    short, long = embed(["a", "b"]), embed(["a", LONG])
    assert type(long) is type(short)
    assert type(long[0]) is type(short[0])
    assert np.asarray(long).shape == (2, 2)
    assert np.asarray(long).dtype == np.asarray(short).dtype


def test_answers_of_torch_keep_their_type():
    torch = pytest.importorskip("torch")
    embed = wrap(lambda texts: torch.tensor(lengths(texts), dtype=torch.float64), limit=LIMIT)
    assert embed(["a", LONG]).dtype == torch.float64
    assert embed(["a", LONG]).shape == (2, 2)


def test_further_arguments_are_passed_on_and_keep_calls_apart():
    def scaled(texts, scale=1.0, *, shift=0.0):
        return [[scale, a * 0 + shift + 1] for a, _ in lengths(texts)]

    embed = wrap(scaled, limit=LIMIT, cache=False)
    assert embed([LONG], 2.0)[0] == pytest.approx([2.0, 1.0])
    assert embed([LONG], shift=3.0)[0] == pytest.approx([1.0, 4.0])
    assert embed([LONG])[0] == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("text", ["short", LONG], ids=["short", "long"])
def test_a_function_of_one_text_may_give_a_table_of_one_row(text):
    rows = wrap(lambda text: lengths([text]), limit=LIMIT)(text)
    assert np.shape(rows) == (1, 2)


def test_texts_may_be_given_by_name():
    def by_name(*, model, input):
        assert model == "m"
        return lengths(input)

    embed = wrap(by_name, limit=LIMIT)
    assert embed(model="m", input=["a"]) == [[1.0, 1.0]]
    assert len(embed(model="m", input=[LONG, "a"])) == 2
    assert len(wrap(lengths, limit=LIMIT)(texts=[LONG, "a"])) == 2
    with pytest.raises(TypeError):
        embed(model="m")
    with pytest.raises(TypeError):
        wrap(lengths)()


def test_methods_partials_and_objects_are_functions_too():
    class Model:
        name = "a model"

        def embed(self, texts):
            return lengths(texts)

        __call__ = embed

    for thing in (Model().embed, functools.partial(lengths), Model()):
        assert len(wrap(thing, limit=LIMIT)([LONG, "a"])) == 2
    assert wrap(Model(), limit=LIMIT).name == "a model"
    with pytest.raises(AttributeError):
        _ = wrap(Model(), limit=LIMIT).no_such_thing

    class Waiting:
        async def __call__(self, texts):
            return lengths(texts)

    assert asyncio.run(wrap(functools.partial(Waiting()), limit=LIMIT)([LONG]))[0][0] == pytest.approx(1.0)


def test_a_function_can_be_pickled_and_copied():
    embed = wrap(lengths, limit=LIMIT)
    for again in (pickle.loads(pickle.dumps(embed)), copy.copy(embed), copy.deepcopy(embed)):
        assert again([LONG, "a"]) == embed([LONG, "a"])


def test_a_slip_in_a_function_is_no_refusal():
    calls = []

    def broken(texts):
        calls.append(len(texts))
        return texts.no_such_method()

    for texts in (["a", "b"], ["a", LONG]):
        calls.clear()
        with pytest.raises(AttributeError, match="no_such_method"):
            wrap(broken, limit=LIMIT)(texts)
        assert len(calls) == 1


@pytest.mark.parametrize(
    "rows", [[[1.0, 2.0]], [[1.0, 2.0]] * 50, [[1.0, 2.0], [0.0, 0.0]], [[1.0, 2.0], [1.0]], [None, [1.0]]]
)
def test_case_19_answers_of_long_texts_are_checked(rows):
    with pytest.raises(BadReply):
        wrap(lambda texts: rows if len(texts) > 1 else rows[:1], limit=LIMIT)(["a", LONG])


@pytest.mark.parametrize("rows", [[[1.0]], [[1.0], [0.0]], [[1.0], None], np.array([[1.0], [np.nan]])])
def test_case_19_answers_of_texts_that_fit_are_checked_too(rows):
    with pytest.raises(BadReply):
        wrap(lambda _: rows)(["a", "b"])
    with pytest.raises(BadReply):
        wrap(lambda _: [0.0, 0.0])("a")


def test_blank_texts_are_named_by_policy():
    with pytest.raises(EmptyText, match="text 1 is empty"):
        wrap(lengths, limit=LIMIT, empty="error")(["a", " "])
    rows = wrap(lengths, limit=LIMIT, empty="zero")([" "])
    assert rows == [[0.0, 0.0]]


def test_one_bad_text_hurts_only_itself_and_the_finished_part_is_kept():
    def picky(texts):
        if any("poison" in text for text in texts):
            raise ProviderError("no", Fault("bad_request", "input"))
        return lengths(texts)

    with pytest.raises(ProviderError) as failed:
        wrap(picky, limit=LIMIT)(["fine", "poison", LONG])
    assert [text.status for text in failed.value.unabridged] == ["ok", "failed", "chunked"]


def test_a_function_that_never_takes_anything_ends_within_its_budget():
    calls = []

    def never(texts):
        calls.append(texts)
        raise ValueError("input is too long: maximum context length is 32 tokens")

    with pytest.raises((ValueError, BudgetExhausted, ProviderError)):
        wrap(never)([LONG])
    assert len(calls) < 200


def test_an_unexpected_error_of_the_machine_is_the_callers():
    def lost(texts):
        raise ConnectionResetError("peer")

    with pytest.raises(ConnectionResetError):
        wrap(lost, limit=LIMIT)(["a"])
    with pytest.raises(ConnectionResetError):
        wrap(lost, limit=LIMIT, patience=0.1)([LONG])


def test_a_number_is_a_limit_in_tokens_and_the_rest_comes_from_the_table():
    embed = wrap(lengths, model="text-embedding-3-small", limit=LIMIT)
    embed(["a"])
    (bridge,) = embed._bridges._made.values()
    assert bridge.embedder.limit.input_tokens == LIMIT
    named = wrap(lengths, model="text-embedding-3-small")
    named(["a"])
    (bridge,) = named._bridges._made.values()
    assert (bridge.embedder.limit.input_tokens, bridge.embedder.limit.request_inputs) == (8192, 2048)


def test_a_third_partys_adapter_comes_by_entry_point(monkeypatch):
    class Foreign:
        pass

    theirs = SimpleNamespace(
        knows=lambda thing: isinstance(thing, Foreign), wrapped=lambda thing, options: (thing, options)
    )
    monkeypatch.setattr("unabridged.adapters.entry_points", lambda group: [SimpleNamespace(load=lambda: theirs)])
    thing = Foreign()
    assert wrap(thing, limit=LIMIT) == (thing, {"limit": Limit(input_tokens=LIMIT)})


# -- the parts -----------------------------------------------------------------------------------------


def test_texts_as_callers_pass_them():
    pa = pytest.importorskip("pyarrow")
    assert listed(np.array(["a", "b"])) == ["a", "b"]
    assert listed(pa.array(["a", "b"])) == ["a", "b"]
    assert listed({"a", "b"}) in (["a", "b"], ["b", "a"])
    assert listed(b"bytes") == b"bytes"
    assert listed(7) == 7
    assert texts_of(["a", None]) is None
    assert texts_of([np.str_("a")]) == ["a"]


def test_vectors_as_callers_expect_them():
    one = np.array([[0.5, 0.25]], np.float32)
    assert like([0.5, 0.5], one) == [0.5, 0.25]
    assert like((0.5, 0.5), one) == (0.5, 0.25)
    assert like(None, one) == [[0.5, 0.25]]
    assert like(np.zeros((1, 2), np.float16), one).dtype == np.float16


@pytest.mark.parametrize(
    ("attributes", "module", "expected"),
    [
        (
            {"model": "m", "openai_api_base": "http://key@host:1/v1"},
            "langchain_openai.embeddings",
            ("openai", "m", "host:1"),
        ),
        ({"model": "m"}, "langchain_cohere.embeddings", ("cohere", "m", "cohere")),
        ({"model_name": "m"}, "llama_index.embeddings.voyageai.base", ("voyageai", "m", "voyageai")),
        ({"model_name": "m"}, "langchain_huggingface.embeddings", ("huggingface", "m", "process")),
        ({}, "somewhere.else", ("somewhere", "", "process")),
    ],
)
def test_who_a_framework_object_stands_for(attributes, module, expected):
    kind = type("Embeddings", (), {"__module__": module, **attributes})
    found = identity_of(kind())
    assert (found.name, found.model, found.host) == expected


def test_a_class_name_tells_the_dialect_where_the_package_does_not():
    kind = type("AzureOpenAIEmbeddingFunction", (), {"__module__": "chromadb.utils", "model_name": "m"})
    assert identity_of(kind(), SimpleNamespace(base_url="https://h/x")).host == "h"
    assert identity_of(kind()).name == "azure"
    assert host_of("localhost:11434", "x") == "localhost:11434"
    assert own_limit(object()) == (None, None)
    model = SimpleNamespace(max_seq_length=64, encode=len, tokenizer=None)
    assert own_limit(SimpleNamespace(_model=model))[0] == Limit(input_tokens=64)


def test_token_ids_where_they_are_taken_and_where_not(monkeypatch):
    ids = [[9906, 1917]]
    assert as_texts(ids, "api.openai.com") == ids
    assert as_texts(ids[0], "my.openai.azure.com:443") == ids[0]
    assert as_texts([[1] * 9000], "api.openai.com") == ['"' * 9000]
    assert as_texts(ids, "evilapi.openai.com.example") == ["Hello world"]
    assert as_texts([["a"], [1]], "localhost") == [["a"], [1]]
    assert as_texts([None, 1], "localhost") == [None, 1]
    assert as_texts([[]], "localhost") == [[]]
    from unabridged.adapters import token_ids

    token_ids._decoder.cache_clear()
    monkeypatch.setitem(sys.modules, "quicktok", None)
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(MissingExtra):
        as_texts(ids, "localhost")
    token_ids._decoder.cache_clear()


class _Refusal(Exception):
    """An SDK's exception, with its attributes under any names."""

    def __init__(self, text="", **attributes):
        super().__init__(text)
        self.__dict__.update(attributes)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (
            _Refusal(status_code=400, body={"error": {"message": "maximum context length is 512 tokens"}}),
            "input_overflow",
        ),
        (_Refusal(http_status=401, json_body={"detail": "bad key"}), "auth"),
        (
            _Refusal(code=429, details={"error": {"message": "slow down"}}, headers={"retry-after": "3"}),
            "rate_limit",
        ),
        (_Refusal(response=SimpleNamespace(status_code=503, text="busy", headers={})), "overloaded"),
        (
            _Refusal("This model's maximum context length is 8192 tokens, you requested 9000 tokens"),
            "input_overflow",
        ),
        (type("APITimeoutError", (Exception,), {})("x"), "timeout"),
        (ConnectionRefusedError(), "upstream_error"),
        (TimeoutError(), "timeout"),
    ],
)
def test_exceptions_of_sdks_are_read(error, kind):
    refusal = ClientProvider(name="sdk", model="m").refusal(error)
    assert refusal is not None
    assert refusal.fault.kind == kind
    assert refusal.__cause__ is error


def test_exceptions_that_are_no_refusals_are_not_read():
    provider = ClientProvider(name="sdk", model="m")
    assert provider.refusal(KeyError("x")) is None
    assert provider.refusal(_Refusal("something", code="not a number")) is None
    own = Overflow("o", Fault("input_overflow"))
    assert provider.refusal(own) is own
    assert PATIENCE > 0


async def test_a_client_that_only_waits_cannot_be_asked_without_waiting():
    async def aask(request):
        return Answer([[1.0]] * len(request.texts))

    provider = ClientProvider(name="sdk", model="m", aask=aask)
    with pytest.raises(TypeError, match="async"):
        provider.send(Request(("a",)))
    assert (await provider.asend(Request(("a",)))).vectors.tolist() == [[1.0]]
    provider.close()
    await provider.aclose()

    def ask(request):
        return Answer(np.ones((len(request.texts), 2)))

    assert (await ClientProvider(name="sdk", model="m", ask=ask).asend(Request(("a",)))).vectors.shape == (
        1,
        2,
    )


def test_rows_of_any_kind():
    assert rows_of([np.float64(1.0), 2.0] and [[np.float64(1.0), 2.0]], 1, "x").tolist() == [[1.0, 2.0]]
    assert rows_of([(1, 2)], 1, "x").tolist() == [[1.0, 2.0]]
    assert rows_of(["AACAPw=="], 1, "x").tolist() == [[1.0]]
    assert rows_of([[2.0], [1.0]], 2, "x", [1, 0]).tolist() == [[1.0], [2.0]]
