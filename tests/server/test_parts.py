"""The gateway's parts on their own: what is kept warm, what is written late, where keys stand."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest

from unabridged import Embedder, VectorCache
from unabridged.embedding.cache import Entry
from unabridged.embedding.results import TextResult
from unabridged.embedding.widths import at_width
from unabridged.errors import (
    BudgetExhausted,
    CapUnenforceable,
    ConfigError,
    Conflict,
    EmbeddingFailed,
    EmptyText,
    InputError,
    JobError,
    MissingExtra,
    ModelMismatch,
    NotFound,
    Overflow,
    ProviderError,
    RateLimited,
    StoreError,
    UnabridgedError,
    UnknownScript,
    UnreadableFile,
)
from unabridged.server.faults import as_problem
from unabridged.server.gateway.inputs import texts_of
from unabridged.server.hot import LONGEST, Hot, Warm
from unabridged.server.late import LateCache
from unabridged.server.limits import read_use
from unabridged.server.problems import Problem
from unabridged.server.wire import dumps, loads
from unabridged.types import Fault


def warm(width=4, value=1.0):
    return Warm(TextResult(0, "ok", np.full(width, value, np.float32), tokens=3))


def entry(value=1.0):
    return Entry(np.full(4, value, np.float32), tokens=3)


# -- warm ----------------------------------------------------------------------------------------------------


def test_what_was_used_longest_ago_goes_first() -> None:
    hot = Hot(20 * warm().size)
    for n in range(20):
        hot.put(b"m", f"text {n}", warm())
    assert hot.get(b"m", "text 0")
    for n in range(20, 30):
        hot.put(b"m", f"text {n}", warm())
    assert len(hot) == 20
    assert hot.get(b"m", "text 0"), "it was used"
    assert hot.get(b"m", "text 1") is None
    hot.clear()
    assert len(hot) == 0


def test_models_and_roles_never_share() -> None:
    hot = Hot(1 << 20)
    hot.put(b"one", "a", warm(value=1))
    hot.put(b"two", "a", warm(value=2))
    assert hot.get(b"one", "a").vector[0] == 1
    assert hot.get(b"two", "a").vector[0] == 2
    hot.put(b"one", "a", warm(value=3))
    assert hot.get(b"one", "a").vector[0] == 3
    assert len(hot) == 2


def test_no_text_is_kept_in_memory() -> None:
    hot = Hot(1 << 20)
    hot.put(b"m", "a private text", warm())
    assert "private" not in repr(list(hot._entries))


def test_what_is_too_large_or_too_long_is_left_to_the_disk() -> None:
    hot = Hot(1 << 15)
    hot.put(b"m", "a", warm(width=2000))
    hot.put(b"m", "x" * (LONGEST + 1), warm())
    assert len(hot) == 0
    assert hot.get(b"m", "x" * (LONGEST + 1)) is None
    off = Hot(0)
    off.put(b"m", "a", warm())
    assert off.get(b"m", "a") is None
    lone = Hot(1 << 20)
    lone.put(b"m", "\ud83d", warm())
    assert lone.get(b"m", "\ud83d")


# -- late ----------------------------------------------------------------------------------------------------


def test_entries_are_found_while_they_wait_and_after(tmp_path) -> None:
    gate = threading.Event()

    class Slow(VectorCache):
        def put(self, entries):
            gate.wait(20)
            super().put(entries)

    cache = LateCache(Slow(tmp_path))
    for n in range(50):
        cache.put({b"%d" % n: entry(n)})
    assert cache.get([b"7", b"no"])[b"7"].vector[0] == 7
    with VectorCache(tmp_path) as other:
        assert not other.get([b"7"]), "not on disk yet"
    gate.set()
    cache.flush()
    with VectorCache(tmp_path) as other:
        assert len(other.get(b"%d" % n for n in range(50))) == 50
    assert cache.stats().entries == 50
    assert cache.verify() == (50, [])
    assert (cache.folder, cache.size_limit) == (tmp_path, 4 << 30)
    cache.close()


def test_what_is_deleted_while_it_waits_is_gone(tmp_path) -> None:
    told = []
    cache = LateCache(VectorCache(tmp_path), forgotten=lambda: told.append(1))
    cache.put({b"a": entry(), b"b": entry()})
    assert cache.delete([b"a"]) == 1
    assert not cache.get([b"a"])
    assert cache.clear() == 1
    assert not cache.get([b"b"])
    assert told == [1, 1], "copies in memory go too"
    cache.close()


def test_closing_writes_what_waits_and_later_puts_still_count(tmp_path) -> None:
    cache = LateCache(VectorCache(tmp_path))
    cache.put({b"a": entry()})
    cache.close()
    cache.put({b"b": entry()})
    with VectorCache(tmp_path) as other:
        assert len(other.get([b"a", b"b"])) == 2
    cache.close()


def test_too_much_at_once_is_written_by_who_brings_it(tmp_path, monkeypatch) -> None:
    from unabridged.server import late

    monkeypatch.setattr(late, "_MOST", 3)
    cache = LateCache(VectorCache(tmp_path))
    cache.put({b"%d" % n: entry() for n in range(10)})
    assert not cache._waiting
    cache.close()


def test_an_embedder_over_it_sends_each_text_once(tmp_path) -> None:
    with Embedder("hashing", cache=LateCache(VectorCache(tmp_path))) as embedder:
        first = embedder.embed_detailed(["a", "b", "a"])
        again = embedder.embed_detailed(["a", "b"])
        assert (first.usage.requests, again.usage.requests, again.usage.cached) == (1, 0, 2)
    with Embedder("hashing", cache=str(tmp_path)) as later:
        assert later.embed_detailed(["b"]).usage.cached == 1


def test_widths_share_the_provider_and_never_an_entry(tmp_path) -> None:
    with Embedder("hashing", cache=str(tmp_path)) as wide:
        narrow = at_width(wide, 8)
        assert wide.embed("a").shape == (256,)
        assert narrow.embed("a").shape == (8,)
        assert narrow.provider is wide.provider
        assert narrow.dimensions == 8
        assert narrow.check_drift() == 0
        with pytest.raises(ConfigError, match="dimensions"):
            at_width(wide, 0)


# -- errors and JSON -----------------------------------------------------------------------------------------

FAULT = Fault("rate_limit", retry_after=7.2)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (EmptyText([3, 4]), 400, "empty_input"),
        (UnknownScript("text 0"), 400, "unknown_script"),
        (CapUnenforceable("x"), 400, "cap_unenforceable"),
        (UnreadableFile("/secret/path", "is missing"), 422, "unreadable_file"),
        (InputError("x"), 400, "invalid_input"),
        (NotFound("x"), 404, "not_found"),
        (Conflict("x"), 409, "conflict"),
        (BudgetExhausted("secret"), 502, "budget_exhausted"),
        (ModelMismatch("x"), 409, "model_mismatch"),
        (StoreError("secret"), 503, "store_unavailable"),
        (JobError("x"), 409, "job_failed"),
        (MissingExtra("secret", "local"), 501, "not_installed"),
        (ConfigError("a", "x"), 400, "invalid_setting"),
        (UnabridgedError("secret"), 500, "internal_server_error"),
        (RateLimited("secret", FAULT), 429, "rate_limit_exceeded"),
        (RateLimited("secret", Fault("overloaded")), 503, "overloaded"),
        (RateLimited("secret", Fault("quota")), 429, "insufficient_quota"),
        (ProviderError("secret", Fault("unknown")), 502, "upstream_error"),
        (ProviderError("secret", Fault("wrong_shape")), 502, "upstream_bad_reply"),
        (ProviderError("secret", Fault("empty_input", indices=(2,))), 400, "empty_input"),
        (ProviderError("secret", Fault("invalid_dimensions", limit=384)), 400, "invalid_dimensions"),
        (Overflow("secret", Fault("input_overflow", limit=512, unit="tokens")), 400, "context_length_exceeded"),
        (EmbeddingFailed("secret", None), 500, "internal_server_error"),
    ],
)
def test_every_error_of_ours_has_an_answer(error, status, code) -> None:
    problem = as_problem(error)
    assert (problem.status, problem.code) == (status, code)
    assert "secret" not in problem.detail
    assert ("retry-after" in (problem.headers or {})) == (code in ("rate_limit_exceeded", "overloaded"))


def test_what_helps_is_in_the_words() -> None:
    assert as_problem(RateLimited("", FAULT)).headers == {"retry-after": "8"}
    assert as_problem(EmptyText([3, 4])).detail == "text 3 is empty or blank"
    failed = EmbeddingFailed("2 of 3 texts failed", None)
    failed.__cause__ = Overflow("", Fault("input_overflow", limit=512, unit="tokens"))
    assert as_problem(failed).detail.endswith("the limit is 512 tokens")


def test_json_of_what_utf8_cannot_hold() -> None:
    assert loads(dumps({"a": "\ud800"})) == {"a": "\ud800"}
    row = np.array([0.1, 1e-30, -0.0], np.float32)
    assert np.array_equal(np.float32(loads(dumps(row))), row)


def test_a_file_of_use_that_is_none_says_nothing(tmp_path) -> None:
    path = tmp_path / "use.sqlite"
    path.write_bytes(b"not a database at all, but long enough to be looked at" * 100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_use(path) == {}


# -- token ids -----------------------------------------------------------------------------------------------


class Anything:
    """Stands for an embedder: only its provider's tokenizer is looked at."""

    def __init__(self, tokenizer=None):
        self.provider = self
        self.tokenizer = tokenizer


def test_a_tokenizer_with_a_decoder_of_its_own_decodes() -> None:
    from tokenizers import Tokenizer, decoders, models

    raw = Tokenizer(models.WordLevel({"▁one": 0, "▁two": 1, "[UNK]": 2}, unk_token="[UNK]"))
    raw.decoder = decoders.Metaspace()

    class Own:
        name = "own"

    Own.raw = raw
    assert texts_of([[0, 1], "as it is"], Anything(Own())) == ["one two", "as it is"]
    with pytest.raises(Problem, match=r"input\[0\]\[1\]: the token id is not in the vocabulary of own"):
        texts_of([[0, 3]], Anything(Own()))


def test_other_ids_are_those_of_cl100k_as_clients_send_them() -> None:
    assert texts_of([9906, 1917], Anything()) == ["Hello world"]
    for ids, at in (([9906, 100_256], 1), ([100_256], 0), ([9906, 1917, 10**30], 2)):  # a gap, and far above
        with pytest.raises(Problem, match=rf"input\[{at}\]: the token id is not in the vocabulary of cl100k_base"):
            texts_of(ids, Anything())


def test_without_any_tokenizer_token_ids_are_refused(monkeypatch) -> None:
    import sys

    from unabridged.server.gateway import inputs

    for library in ("quicktok", "tiktoken"):
        monkeypatch.setitem(sys.modules, library, None)
    inputs._customary.cache_clear()
    with pytest.raises(Problem, match="no tokenizer for token ids is installed here; send the text itself"):
        texts_of([9906], Anything())
    inputs._customary.cache_clear()
