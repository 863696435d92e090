"""Replies are checked before they are believed (promise 7, case 19)."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unabridged.errors import BadReply
from unabridged.providers.function import FunctionProvider
from unabridged.providers.replies import Plateau, checked, vectors_from
from unabridged.types import Limit, Request


def packed(*values):
    return base64.b64encode(np.array(values, "<f4").tobytes()).decode()


@given(st.permutations(range(8)), st.booleans())
def test_case_19_any_order_of_right_indices_is_the_right_order(order, as_base64):
    rows = [[float(n + 1), 0.5] for n in range(8)]
    items = [(n, packed(*rows[n]) if as_base64 else rows[n]) for n in order]
    assert vectors_from(items, count=8, width=2, provider="p").tolist() == rows


@pytest.mark.parametrize(
    ("items", "kind", "indices", "says"),
    [
        ([(0, [1.0]), (1, [1.0])], "bad_reply", (), "2 vectors for 3 texts"),
        ([], "bad_reply", (), "0 vectors for 3 texts"),
        ([(0, [1.0]), (1, [1.0]), (1, [1.0])], "bad_reply", (), "index 1 twice, index 2 missing"),
        ([(0, [1.0]), (1, [1.0]), (3, [1.0])], "bad_reply", (), "index 3 is not in 0 … 2"),
        ([(0, [1.0]), (1, [1.0]), (-1, [1.0])], "bad_reply", (), "index -1"),
        ([(0, [1.0]), (None, [1.0]), (2, [1.0])], "bad_reply", (), "no index"),
        ([(0, [1.0]), (True, [1.0]), (2, [1.0])], "bad_reply", (), "an index of type bool"),
        ([(None, [1.0]), (None, [1.0, 2.0]), (None, [1.0])], "bad_reply", (), "index 1 is 2 wide, 1 expected"),
        ([(None, []), (None, []), (None, [])], "bad_reply", (), "0 wide"),
        ([(None, [1.0]), (None, None), (None, [1.0])], "bad_values", (1,), "null"),
        ([(None, [1.0]), (None, [None]), (None, [float("nan")])], "bad_values", (1, 2), "NaN"),
        ([(None, [1e39]), (None, [1.0]), (None, [1.0])], "bad_values", (0,), "infinite"),
        ([(None, [10**400]), (None, [1.0]), (None, [1.0])], "bad_values", (0,), "out of range"),
        ([(None, [0.0]), (None, [1.0]), (None, [-0.0])], "bad_values", (0, 2), "zeros"),
        ([(None, [1.0]), (None, ["1.0"]), (None, [1.0])], "bad_reply", (), "no number"),
        ([(None, [1.0]), (None, [True]), (None, [1.0])], "bad_reply", (), "no number"),
        ([(None, [[1.0]]), (None, [1.0]), (None, [1.0])], "bad_reply", (), "one for each token"),
        ([(None, {"a": 1}), (None, [1.0]), (None, [1.0])], "bad_reply", (), "type dict"),
        ([(None, "no base64!"), (None, [1.0]), (None, [1.0])], "bad_reply", (), "not base64"),
        ([(None, "AAAA"), (None, [1.0]), (None, [1.0])], "bad_reply", (), "3 bytes"),
    ],
)
def test_case_19_what_is_wrong_is_said(items, kind, indices, says):
    with pytest.raises(BadReply) as caught:
        vectors_from(items, count=3, provider="p")
    assert (caught.value.fault.kind, caught.value.fault.indices) == (kind, indices)
    assert says in str(caught.value)


def test_case_19_the_width_that_was_asked_for():
    with pytest.raises(BadReply, match="192 wide, 768 expected"):
        vectors_from([(0, [1.0] * 192)], count=1, width=768, provider="p")
    with pytest.raises(BadReply, match="3 wide, 4 expected"):
        checked(np.ones((1, 3)), count=1, width=4, provider="p")
    with pytest.raises(BadReply, match="shape"):
        checked(np.ones(3), count=1, provider="p")


def test_values_that_are_small_or_large_but_right_pass():
    rows = [[1e-30, 1e-30], [3e38, 3e38], [1, 0]]  # their squares under- or overflow float32
    assert vectors_from(list(enumerate(rows)), count=3, provider="p").shape == (3, 2)


def test_many_bad_texts_are_named_in_short():
    with pytest.raises(BadReply) as caught:
        checked(np.zeros((40, 2)), count=40, provider="p")
    assert caught.value.fault.indices == tuple(range(40))
    assert str(caught.value).endswith("index 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 30 more")


def test_a_plateau_needs_long_texts_and_counts_that_stand_still():
    seen = Plateau(limit=512)
    assert seen.suspect([2000], 512) is None  # a dense text may well fill the limit
    assert seen.suspect([9000], 512)
    assert seen.suspect([9000, 9000], 1024)
    assert seen.suspect([9000], None) is None
    assert seen.suspect([9000, 8000], 1001) is None
    assert seen.suspect([400], 8) is None
    unknown = Plateau()
    assert unknown.suspect([9000], 256) is None
    assert unknown.suspect([9100], 256) is None
    assert unknown.suspect([20000], 256)
    for n in range(1200):
        unknown.suspect([100_000 + n], 40 + n)
    assert len(unknown._seen) <= 1000


def test_a_function_is_a_provider():
    tokenizer, request = object(), Request(("ab", "c"))
    provider = FunctionProvider(
        lambda texts: np.array([[len(t), 1.0] for t in texts]),
        model="m",
        limit=Limit(request_inputs=2),
        tokenizer=tokenizer,
        settings={"version": "1"},
    )
    assert (provider.limit.request_inputs, provider.tokenizer, provider.settings) == (2, tokenizer, {"version": "1"})
    assert provider.send(request).vectors.tolist() == [[2.0, 1.0], [1.0, 1.0]]
    assert FunctionProvider(lambda t: [np.ones(2) for _ in t], model="m").send(request).vectors.shape == (2, 2)
    assert FunctionProvider(lambda t: [(1, 2) for _ in t], model="m").send(request).vectors.shape == (2, 2)
    for wrong in (lambda _: None, lambda _: [[1.0]], lambda t: [[0.0] for _ in t]):
        with pytest.raises(BadReply):
            FunctionProvider(wrong, model="m").send(request)
    provider.close()


async def test_a_function_of_tasks():
    async def function(texts):
        return [[float(len(text))] for text in texts]

    provider = FunctionProvider(function, model="m")
    assert (await provider.asend(Request(("abc",)))).vectors.tolist() == [[3.0]]
    with pytest.raises(TypeError, match="coroutine"):
        provider.send(Request(("abc",)))
    plain = FunctionProvider(lambda texts: [[1.0] for _ in texts], model="m")
    assert (await plain.asend(Request(("abc",)))).vectors.tolist() == [[1.0]]
    await plain.aclose()
