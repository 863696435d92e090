"""Issue 10, 1 and 5: keys hashed at rest, checked in constant time, with rights, datasets, limits and quotas."""

from __future__ import annotations

import hmac
import json
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from fastapi import FastAPI
from serving import HASHING, client_of, get, post, serving
from starlette.testclient import TestClient

from unabridged.cli.app import run
from unabridged.config import load_config
from unabridged.errors import ConfigError
from unabridged.server import ServerSettings, create_app, keys, limits
from unabridged.server.auth import Caller, is_near, needs
from unabridged.server.keys import KeyFile, KeyRing
from unabridged.server.limits import read_use
from unabridged.server.run import listen


@pytest.fixture
def file(tmp_path):
    return KeyFile(tmp_path / "deep" / "keys.json")


READER = needs("read")


def bearer(key):
    return {"authorization": f"Bearer {key}"}


def test_a_key_is_kept_as_a_hash_only(file) -> None:
    key, shown = file.add("ci")
    written = file.path.read_text()
    assert shown not in written
    assert shown.split("_", 2)[2] not in written
    assert len(shown) > 50, "256 random bits"
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700
    assert key.hash not in repr(key)
    assert KeyRing(file).find(shown) == key


def test_only_the_very_key_opens(file) -> None:
    _, shown = file.add("ci")
    ring = KeyRing(file, ["a key of the configuration"])
    near = [shown[:-1], shown + "x", shown.upper(), shown[:-1] + ("a" if shown[-1] != "a" else "b"), "", "unb", "unb__"]
    near += [f"unb_{shown.split('_')[1]}_", "\ud800", "x" * 100_000, " " + shown]
    assert not any(ring.find(each) for each in near)
    assert ring.find("a key of the configuration").name == "configuration 0"


def test_the_check_takes_as_long_for_an_unknown_id(file, monkeypatch) -> None:
    """As many digests are compared, by the function that takes its time, whether the id is known or not."""
    _, shown = file.add("ci")
    ring = KeyRing(file, ["a key of the configuration"])
    compared = []

    def counted(a, b):
        compared.append(len(a) == len(b) == 64)
        return real(a, b)

    real = hmac.compare_digest
    monkeypatch.setattr(keys.hmac, "compare_digest", counted)
    for each in (shown, "unb_00000000_x", "nothing"):
        compared.clear()
        ring.find(each)
        assert compared == [True, True]


def test_a_revoked_or_expired_key_stops_opening(file, monkeypatch) -> None:
    monkeypatch.setattr(keys, "_LOOK_AGAIN", 0.0)
    _, one = file.add("one")
    _, two = file.add("two", expires_at="2020-01-01T00:00:00+00:00")
    ring = KeyRing(file)
    assert ring.find(one)
    assert not ring.find(two)
    file.revoke("one")
    assert not ring.find(one), "the file is read again when it has changed"
    assert not ring
    _, three = file.add("three")
    assert ring.find(three)
    file.path.unlink()
    assert not ring.find(three)


def test_revoking_names_what_it_cannot_tell_apart(file) -> None:
    first, _ = file.add("same")
    file.add("other")
    file.path.write_text(file.path.read_text().replace('"other"', '"same"'))  # as it could be before
    with pytest.raises(ConfigError, match="2 keys have"):
        file.revoke("same")
    with pytest.raises(ConfigError, match="no key has"):
        file.revoke("nobody")
    assert file.revoke(first.id).revoked_at == file.revoke(first.id).revoked_at


def test_writers_take_turns(file) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: KeyFile(file.path).add(f"key {n}")[0].id, range(24)))
    assert sorted(made) == sorted(key.id for key in file.read())


@pytest.mark.parametrize("content", ["", "{", "[]", '{"keys": 3}', '{"keys": [{"id": 1}]}', '{"keys": [3]}'])
def test_a_file_that_is_none_of_keys_opens_to_nobody(file, content) -> None:
    file.path.parent.mkdir()
    file.path.write_text(content)
    with pytest.raises(ConfigError, match="is not a file of keys"):
        file.read()


def test_a_key_for_nothing_in_particular_may_embed_and_nothing_else(file) -> None:
    """Who forgets to say what a key is for gives the least away: no memory is read, none is changed."""
    key, _ = file.add("forgotten")
    caller = Caller(key.id, key.name, key.scopes, key.datasets, key)
    assert [right for right in keys.SCOPES if caller.may(right)] == ["embed"]


def test_a_wrong_scope_is_refused(file) -> None:
    with pytest.raises(ConfigError, match="expected some of embed, read, write, admin"):
        file.add("x", scopes=("everything",))


# -- over HTTP -----------------------------------------------------------------------------------------------


def test_requests_without_a_key_are_refused_before_their_body_is_read(tmp_path) -> None:
    _, shown = KeyFile(tmp_path / "keys.json").add("ci")
    with serving(tmp_path) as served, client_of(served) as client:
        for headers in (
            {},
            bearer("wrong"),
            {"authorization": "Basic eDp5"},
            {"authorization": "Bearer"},
            {"x-api-key": "n"},
        ):
            answer = client.post("/v1/embeddings", content=b"not even JSON", headers=headers)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"].startswith("Bearer")
            assert answer.json()["error"]["type"] == "authentication_error"
        for headers in (bearer(shown), {"x-api-key": shown}, {"api-key": shown}, {"authorization": f"bearer  {shown}"}):
            assert client.post("/v1/embeddings", json={"input": "a"}, headers=headers).status_code == 200
        assert client.get("/v1/gb/anything").status_code == 401, "unknown paths tell strangers nothing"
        assert client.get("/health").status_code == client.get("/ready").status_code == 200


def test_rights_and_datasets() -> None:
    writer = Caller("1", "w", ("write",), ("team-*", "shared"))
    assert (writer.may("read"), writer.may("write"), writer.may("embed"), writer.may("admin")) == (
        True,
        True,
        False,
        False,
    )
    assert all(Caller("2", "a", ("admin",)).may(right) for right in keys.SCOPES)
    assert [writer.reaches(name) for name in ("team-a", "shared", "default", "ateam-b")] == [True, True, False, False]
    with pytest.raises(ValueError, match="no such right"):
        needs("fly")


def test_a_route_gets_its_caller_or_none(tmp_path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    _, embeds = file.add("e", scopes=("embed",))
    _, reads = file.add("r", scopes=("read",), datasets=("mine",))
    app: FastAPI = create_app(load_config(HASHING), settings=ServerSettings(keys_file=str(file.path)))

    async def route(dataset: str = "default", caller: Caller = READER):
        caller.require(dataset)
        return caller.name

    app.get("/v1/gb/test-route")(route)
    app.router.routes.insert(0, app.router.routes.pop())
    with TestClient(app) as client:
        assert client.get("/v1/gb/test-route?dataset=mine", headers=bearer(reads)).json() == "r"
        other = client.get("/v1/gb/test-route", headers=bearer(reads))
        assert (other.status_code, other.json()["code"]) == (403, "dataset_forbidden")
        no = client.get("/v1/gb/test-route?dataset=mine", headers=bearer(embeds))
        assert (no.status_code, no.json()["code"]) == (403, "insufficient_scope")
        assert no.headers["content-type"] == "application/problem+json"
        assert client.post("/v1/embeddings", json={"input": "a"}, headers=bearer(reads)).status_code == 403
        assert client.post("/v1/embeddings", json={"input": "a"}, headers=bearer(embeds)).status_code == 200


def test_a_server_that_others_reach_needs_keys(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for given in ({"host": "0.0.0.0"}, {"host": "::"}, {"allowed_hosts": ["example.com"]}):
        with pytest.raises(ConfigError, match="needs keys: `unabridged serve keys add NAME`"):
            listen(ServerSettings(port=0, **given))
    listen(ServerSettings(host="0.0.0.0", port=0, keys=["a long enough secret"])).close()
    with pytest.raises(ConfigError, match=r"cannot listen on 203\.0\.113\.7 port 1"):
        listen(ServerSettings(host="203.0.113.7", port=1, keys=["a long enough secret"]))


def test_without_keys_only_this_machine_is_served(tmp_path) -> None:
    """Behind another ASGI server the address is not ours: who calls decides."""
    app = create_app(load_config(HASHING), settings=ServerSettings(keys_file=str(tmp_path / "keys.json")))
    for client, status in ((("10.1.2.3", 5), 401), (("::1", 5), 200), (("127.0.0.9", 5), 200)):
        with TestClient(app, client=client) as browser:
            assert browser.get("/v1/models").status_code == status
    with TestClient(app) as proxied:
        assert proxied.get("/v1/models", headers={"x-forwarded-for": "10.1.2.3"}).status_code == 401
    assert is_near(None, {})
    assert not is_near(("example.com", 1), {})


def test_keys_that_are_all_revoked_do_not_open_the_server(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(keys, "_LOOK_AGAIN", 0.0)
    file = KeyFile(tmp_path / "keys.json")
    with serving(tmp_path) as served, client_of(served) as client:
        assert client.get("/v1/models").status_code == 200
        _, shown = file.add("only")
        assert client.get("/v1/models").status_code == 401, "the first key locks the door, without a restart"
        assert client.get("/v1/models", headers=bearer(shown)).status_code == 200
        file.revoke("only")
        assert client.get("/v1/models").status_code == 401
        assert client.get("/v1/models", headers=bearer(shown)).status_code == 401


# -- limits --------------------------------------------------------------------------------------------------


@pytest.fixture
def still(monkeypatch):
    """A clock that stands, as the limits see it."""
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: 100.0))


def test_requests_a_minute_of_a_key(tmp_path, still) -> None:
    file = KeyFile(tmp_path / "keys.json")
    _, slow = file.add("slow", requests_per_minute=3)
    _, free = file.add("free")
    with serving(tmp_path) as served, client_of(served) as client:
        answers = [client.get("/v1/models", headers=bearer(slow)) for _ in range(5)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
        assert answers[0].headers["x-ratelimit-limit-requests"] == "3"
        assert [answer.headers["x-ratelimit-remaining-requests"] for answer in answers[:3]] == ["2", "1", "0"]
        assert 0 < int(answers[3].headers["retry-after"]) <= 20
        assert answers[3].json()["error"]["type"] == "rate_limit_error"
        assert client.get("/v1/models", headers=bearer(free)).status_code == 200


def test_every_answer_to_a_key_with_limits_says_how_they_stand(tmp_path, still) -> None:
    """As OpenAI's do, whether the texts were known, refused, or too many."""
    _, shown = KeyFile(tmp_path / "keys.json").add("t", requests_per_minute=6, tokens_per_minute=1000)
    with serving(tmp_path) as served, client_of(served, headers=bearer(shown)) as client:

        def left(answer):
            told = {name: answer.headers[f"x-ratelimit-{name}"] for name in ("limit-requests", "limit-tokens")}
            assert told == {"limit-requests": "6", "limit-tokens": "1000"}
            assert all(answer.headers[f"x-ratelimit-reset-{what}"].endswith("s") for what in ("requests", "tokens"))
            return tuple(int(answer.headers[f"x-ratelimit-remaining-{what}"]) for what in ("requests", "tokens"))

        ask = {"input": "a b c d e f g h i j"}
        assert left(client.get("/v1/models")) == (5, 1000)
        assert left(client.post("/v1/embeddings", json=ask)) == (4, 990), "what was billed, not what was guessed"
        assert left(client.post("/v1/embeddings", json=ask)) == (3, 990), "known: it is free"
        assert left(client.post("/api/embed", json={"model": "nobody", "input": "x"})) == (2, 990)
        much = client.post("/v1/embeddings", json={"input": "x y " * 5000})
        assert (much.status_code, left(much)) == (429, (1, 990))
        assert int(much.headers["retry-after"]) >= 1
        assert much.headers["x-ratelimit-reset-tokens"] == "0.600s"
        assert client.get("/v1/gb/stats").status_code == 403
        none = client.get("/v1/models")
        assert (none.status_code, left(none)) == (429, (0, 990))
        assert (none.headers["retry-after"], none.headers["x-ratelimit-reset-requests"]) == ("10", "60.000s")


def test_tokens_a_minute_are_those_that_were_billed(tmp_path, still) -> None:
    _, shown = KeyFile(tmp_path / "keys.json").add("t", tokens_per_minute=1000)
    with serving(tmp_path) as served, client_of(served, headers=bearer(shown)) as client:
        first = client.post("/v1/embeddings", json={"input": "1 2 3 4 5 " * 150})  # 750 tokens, guessed at 375
        assert first.status_code == 200
        assert client.post("/v1/embeddings", json={"input": "1 2 3 4 5 " * 150}).status_code == 200, "known: it is free"
        second = client.post("/v1/embeddings", json={"input": "6 7 8 9 0 " * 150})
        assert second.status_code == 429
        assert "1000 tokens a minute" in second.json()["error"]["message"]
        assert client.post("/v1/embeddings", json={"input": "few"}).status_code == 200
        assert client.post("/v1/embeddings", json={"input": "x y " * 5000}).status_code == 429


def test_more_than_a_minute_holds_is_let_in_when_the_bucket_is_full(tmp_path, still) -> None:
    _, shown = KeyFile(tmp_path / "keys.json").add("t", tokens_per_minute=100)
    with serving(tmp_path) as served, client_of(served, headers=bearer(shown)) as client:
        assert client.post("/v1/embeddings", json={"input": "a b c d " * 500}).status_code == 200
        late = client.post("/v1/embeddings", json={"input": "more"})
        assert late.status_code == 429
        assert int(late.headers["retry-after"]) > 600, "the debt is paid off at the limit's own pace"


def test_a_months_quota_outlives_the_server(tmp_path) -> None:
    key, shown = KeyFile(tmp_path / "keys.json").add("t", tokens_per_month=100)
    use = tmp_path / "use.sqlite"
    with serving(tmp_path) as served, client_of(served, headers=bearer(shown)) as client:
        assert client.post("/v1/embeddings", json={"input": "a b c d e f g h i j " * 10}).status_code == 200
    assert (read_use(use)[key.id].requests, read_use(use)[key.id].tokens) == (1, 100)
    with serving(tmp_path) as served, client_of(served, headers=bearer(shown)) as client:
        answer = client.post("/v1/embeddings", json={"input": "other"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (429, "insufficient_quota")
        assert answer.headers["x-should-retry"] == "false", "the SDK would try again at once"
        assert 0 < int(answer.headers["retry-after"]) <= 31 * 86_400
        assert client.get("/v1/models").status_code == 200
        served.state.meters._month = "2020-01"  # a new month begins
        served.state.meters.collect()
        assert client.post("/v1/embeddings", json={"input": "other"}).status_code == 200


def test_a_bucket_fills_evenly(monkeypatch) -> None:
    now = [100.0]
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: now[0]))
    bucket = limits._Bucket(60)
    bucket.take(60)
    assert bucket.wait(1) == pytest.approx(1.0)
    now[0] += 30
    assert bucket.wait(1) == 0
    assert bucket.wait(40) == pytest.approx(10.0)
    now[0] += 1000
    assert bucket.wait(500) == 0, "full, so more than it holds is let in"
    assert bucket.level == 60


def test_use_is_written_while_the_server_runs(tmp_path, monkeypatch) -> None:
    from unabridged.server import state

    monkeypatch.setattr(state, "_WRITE_USE", 0.05)
    key, shown = KeyFile(tmp_path / "keys.json").add("t")
    with serving(tmp_path) as served:
        post(f"{served.url}/embeddings", json={"input": "a b c"}, headers=bearer(shown))
        until = time.monotonic() + 10
        while time.monotonic() < until and not (used := read_use(tmp_path / "use.sqlite").get(key.id)):
            time.sleep(0.02)
        while used.tokens == 0 and time.monotonic() < until:
            used = read_use(tmp_path / "use.sqlite")[key.id]
        assert (used.requests, used.tokens) == (1, 3)


def test_use_that_cannot_be_written_stops_nothing(tmp_path, caplog) -> None:
    _, shown = KeyFile(tmp_path / "keys.json").add("t")
    (tmp_path / "use.sqlite").mkdir()
    with serving(tmp_path) as served:
        assert get(f"{served.url}/models", headers=bearer(shown)).status_code == 200
    assert "the use of 1 keys could not be written" in caplog.text


def test_limits_of_the_settings_hold_for_all(tmp_path, still) -> None:
    config = {**HASHING, "server": {"limits": {"requestsPerMinute": 2}}}
    with serving(tmp_path, config) as served:
        assert [get(f"{served.url}/models").status_code for _ in range(3)] == [200, 200, 429]
        assert get(f"{served.root}/health").status_code == 200


# -- the commands --------------------------------------------------------------------------------------------


def test_the_commands(tmp_path, capsys) -> None:
    place = ["--keys-file", str(tmp_path / "keys.json")]
    assert run(["serve", "keys", "list", *place]) == 0
    assert "no keys in" in capsys.readouterr().err
    given = ["--scope", "embed", "--dataset", "team-*", "--tokens-per-minute", "5", "--days", "3"]
    assert run(["serve", "keys", "add", "my-app", *given, *place]) == 0
    out, err = capsys.readouterr()
    shown = out.strip()
    assert shown.startswith("unb_")
    assert shown not in err
    assert run(["serve", "keys", "list", "--json", *place]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["name"], row["scopes"], row["datasets"], row["tokens_per_minute"]) == (
        "my-app",
        ["embed"],
        ["team-*"],
        5,
    )
    assert "hash" not in row
    assert row["used"] == {"requests": 0, "tokens": 0}
    assert run(["serve", "keys", "list", *place]) == 0
    head, line = capsys.readouterr().out.splitlines()
    assert head.split()[:6] == ["ID", "NAME", "STATE", "RIGHTS", "DATASETS", "LIMITS"]
    assert line.index("team-*") == head.index("DATASETS")
    assert "5 tokens a minute  0 requests, 0 tokens" in line
    assert "  until 20" in line
    assert run(["serve", "keys", "revoke", "my-app", *place]) == 0
    capsys.readouterr()
    assert run(["serve", "keys", "list", *place]) == 0
    listed = capsys.readouterr().out
    assert "revoked" in listed
    assert shown not in listed
    assert run(["serve", "keys", "revoke", "my-app", *place]) == 2
    assert run(["serve", "keys", "add", "\n", *place]) == 2
    assert run(["serve", "keys", "add", "x", "--scope", "all", *place]) == 2
    assert "expected some of" in capsys.readouterr().err


def test_a_name_stands_for_one_key(tmp_path, capsys) -> None:
    place = ["--keys-file", str(tmp_path / "keys.json")]
    add = ["serve", "keys", "add", "my-app", *place]
    assert run(add) == 0
    first = capsys.readouterr().out.strip()
    assert run([*add, "--scope", "admin"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "'my-app' names a key already" in err
    assert "--replace" in err
    assert run([*add, "--replace"]) == 0
    second = capsys.readouterr().out.strip()
    ring = KeyRing(KeyFile(tmp_path / "keys.json"))
    assert ring.find(first) is None
    assert ring.find(second).name == "my-app"
    assert run(["serve", "keys", "revoke", "my-app", *place]) == 0
    assert run(add) == 0, "a revoked key is no longer in the way"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "may embed only (--scope gives more); the server's limits; until it is revoked"),
        (["--scope", "write"], "may write in every dataset; the server's limits; until it is revoked"),
        (
            ["--scope", "embed", "--scope", "read", "--dataset", "a", "--dataset", "b-*"],
            "may embed and read in the datasets a, b-*; ",
        ),
        (["--requests-per-minute", "9000", "--tokens-per-month", "5"], "9,000 requests a minute, 5 tokens a month; "),
        (["--days", "3"], "; until 20"),
    ],
)
def test_what_a_new_key_may_do_is_said(tmp_path, capsys, given, said) -> None:
    assert run(["serve", "keys", "add", "my-app", *given, "--keys-file", str(tmp_path / "keys.json")]) == 0
    assert said in capsys.readouterr().err
