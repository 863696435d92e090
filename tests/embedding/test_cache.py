"""L5, cases 27, 28, 30, 32: what is kept, under which key, and what is never run."""

from __future__ import annotations

import os
import pickle
import sqlite3
import stat
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from unabridged.embedding.cache import Entry, VectorCache, default_cache_folder
from unabridged.embedding.fingerprint import document_fingerprint, key, vector_fingerprint
from unabridged.errors import ConfigError
from unabridged.providers.hashing import HashingProvider


@pytest.fixture
def cache(tmp_path):
    with VectorCache(tmp_path / "vectors") as made:
        yield made


def entry(value: float = 1.0, width: int = 5) -> Entry:
    return Entry(np.full(width, value, np.float32), tokens=3)


def test_what_goes_in_comes_out(cache) -> None:
    spans = np.array([[0, 10, 4, 0], [8, 20, 5, 1]], np.int64)
    cache.put({b"a": Entry(np.arange(4, dtype=np.float32), 9, 0.5, 0.25, spans), b"b": entry()})
    found = cache.get([b"a", b"missing", b"b"])
    assert set(found) == {b"a", b"b"}
    a = found[b"a"]
    assert a.vector.tolist() == [0, 1, 2, 3]
    assert (a.tokens, a.dispersion, a.unknown, a.spans.tolist()) == (9, 0.5, 0.25, spans.tolist())
    b = found[b"b"]
    assert (b.tokens, b.dispersion, b.unknown, b.spans) == (3, None, None, None)


def test_case_30_a_caller_who_changes_the_array_changes_nothing(cache) -> None:
    cache.put({b"a": entry(1.0)})
    cache.get([b"a"])[b"a"].vector[:] = 7
    assert cache.get([b"a"])[b"a"].vector.tolist() == [1.0] * 5


class Boom:
    def __reduce__(self):
        return os.mkdir, (os.environ["UNABRIDGED_BOOM"],)


@pytest.mark.parametrize("mode", [1, 2, 3, 4])
def test_case_32_a_pickle_in_the_file_is_a_miss_and_never_run(tmp_path, monkeypatch, mode) -> None:
    monkeypatch.setenv("UNABRIDGED_BOOM", str(tmp_path / "boom"))
    folder = tmp_path / "vectors"
    with VectorCache(folder) as cache:
        cache.put({b"a": entry(), b"b": entry()})
    bomb = pickle.dumps(Boom())
    database = sqlite3.connect(folder / "cache.db")
    with database:
        database.execute(
            "UPDATE Cache SET mode = ?, value = ?, filename = NULL WHERE key = ?",
            (mode, sqlite3.Binary(bomb), b"a"),
        )
    database.close()
    with VectorCache(folder) as cache:
        with pytest.warns(RuntimeWarning, match="damaged"):
            assert set(cache.get([b"a", b"b"])) == {b"b"}
        assert cache.verify() == (1, [b"a"])
        assert cache.delete([b"a"]) == 1
        assert cache.verify() == (1, [])
    assert not (tmp_path / "boom").exists()


def test_case_32_a_pickled_key_is_never_read(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNABRIDGED_BOOM", str(tmp_path / "boom"))
    folder = tmp_path / "vectors"
    with VectorCache(folder) as cache:
        cache.put({b"a": entry()})
    database = sqlite3.connect(folder / "cache.db")
    with database:
        database.execute("UPDATE Cache SET raw = 0, key = ?", (sqlite3.Binary(pickle.dumps(Boom())),))
    database.close()
    with VectorCache(folder) as cache:
        assert cache.get([b"a"]) == {}
        whole, damaged = cache.verify()
        assert (whole, len(damaged)) == (0, 1)
    assert not (tmp_path / "boom").exists()


def test_nothing_but_bytes_can_be_stored(cache) -> None:
    with pytest.raises(TypeError, match="key is bytes"):
        cache._store.set("text", b"value")
    with pytest.raises(TypeError, match="value is bytes"):
        cache._store.set(b"key", {"a": 1})


@pytest.mark.parametrize("at", [0, 5, 30, 60, -1])
def test_a_flipped_byte_is_a_miss_and_a_warning(tmp_path, at) -> None:
    folder = tmp_path / "vectors"
    with VectorCache(folder) as cache:
        cache.put({b"a": entry(width=40)})
    database = sqlite3.connect(folder / "cache.db")
    with database:
        value = bytearray(database.execute("SELECT value FROM Cache").fetchone()[0])
        value[at] ^= 0xFF
        database.execute("UPDATE Cache SET value = ?", (sqlite3.Binary(bytes(value)),))
    database.close()
    with VectorCache(folder) as cache:
        if at == 30:  # the dispersion, which the checksum does not cover: a number, never a vector
            assert b"a" in cache.get([b"a"])
            return
        with pytest.warns(RuntimeWarning, match="damaged"):
            assert cache.get([b"a"]) == {}


def test_the_folder_is_the_users_alone(tmp_path) -> None:
    folder = tmp_path / "new" / "vectors"
    VectorCache(folder).close()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_stats_clear_and_a_bound_on_the_size(tmp_path) -> None:
    with VectorCache(tmp_path / "v", size_limit=1 << 20) as cache:
        for block in range(12):
            cache.put({f"{block}-{i}".encode(): entry(width=1000) for i in range(100)})
        stats = cache.stats()
        assert 0 < stats.entries < 1200
        assert stats.limit_bytes == 1 << 20
        assert stats.bytes < 3 << 20
        assert cache.get([b"11-99"]), "what was stored last is there"
        assert cache.clear() == stats.entries
        assert cache.stats().entries == 0


def test_a_folder_that_cannot_be_one_is_named(tmp_path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match=r"cache: the folder .*file cannot be used"):
        VectorCache(tmp_path / "file")
    with pytest.raises(ConfigError, match=r"cache\.size_limit: found 10 bytes"):
        VectorCache(tmp_path / "v", size_limit=10)


def test_the_default_folder_can_be_named(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("UNABRIDGED_CACHE", str(tmp_path))
    assert default_cache_folder() == tmp_path
    monkeypatch.delenv("UNABRIDGED_CACHE")
    assert default_cache_folder().name == "vectors"


def test_several_processes_share_it(tmp_path) -> None:
    script = textwrap.dedent(
        """
        import sys, numpy as np
        from unabridged.embedding.cache import Entry, VectorCache
        with VectorCache(sys.argv[1]) as cache:
            for i in range(40):
                cache.put({f"{sys.argv[2]}-{i}".encode(): Entry(np.ones(9, np.float32))})
        """
    )
    command = [sys.executable, "-c", script, str(tmp_path / "v")]
    workers = [subprocess.Popen([*command, str(who)]) for who in range(3)]
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    with VectorCache(tmp_path / "v") as cache:
        assert cache.verify() == (120, [])


def test_what_was_acknowledged_survives_kill(tmp_path) -> None:
    script = textwrap.dedent(
        """
        import sys, numpy as np
        from unabridged.embedding.cache import Entry, VectorCache
        cache = VectorCache(sys.argv[1])
        for i in range(100000):
            cache.put({b"%d" % i: Entry(np.full(300, i, np.float32))})
            print(i, flush=True)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "v")], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    last = 0
    for line in process.stdout:
        last = int(line)
        if last >= 150:
            process.kill()
            break
    process.stdout.close()
    process.wait()
    with VectorCache(tmp_path / "v") as cache:
        found = cache.get(b"%d" % i for i in range(last + 1))
        assert len(found) == last + 1
        assert all(found[b"%d" % i].vector[0] == i for i in range(last + 1))
        assert cache.verify()[1] == []


def test_case_27_query_and_document_have_two_keys() -> None:
    provider = HashingProvider()
    prints = {vector_fingerprint(provider, role=role, dimensions=None) for role in ("query", "document")}
    assert len({key(p, "the same text") for p in prints}) == 2


def test_case_28_no_part_of_a_key_can_be_taken_for_another() -> None:
    assert key("q", "x:hello") != key("q:x", "hello")
    assert key("q\x00", "hello") != key("q", "\x00hello")


def test_K6_whatever_changes_a_vector_changes_its_fingerprint() -> None:
    base = vector_fingerprint(HashingProvider(), role="document", dimensions=None)
    assert base == vector_fingerprint(HashingProvider(), role="document", dimensions=None)
    others = [
        vector_fingerprint(HashingProvider(model="other"), role="document", dimensions=None),
        vector_fingerprint(HashingProvider(), role="document", dimensions=64),
        vector_fingerprint(HashingProvider(), role="query", dimensions=None),
    ]
    documents = [document_fingerprint(base, {"pooling": how}) for how in ("mean", "weighted")]
    assert len({base, *others, *documents}) == 6


def test_lone_surrogates_have_a_key() -> None:
    assert key("p", "\ud800") != key("p", "\udfff")
